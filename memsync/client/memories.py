"""`memsync add` and `memsync ask`."""

import argparse
import json
import sys
from collections.abc import Mapping
from typing import Any

from memsync.client.output import note, say, say_json
from memsync.client.server import MISUSED, CommandFailed, Server, add_address_options, address_of, require


def add_parsers(commands: Any) -> None:
    add_command = commands.add_parser(
        "add",
        help="store a text about an end user",
        description="Store a text. What is not worth keeping is not stored; the reason is printed.",
    )
    add_command.add_argument("text", nargs="*", help="the text; `-` or none: standard input")
    add_command.add_argument("--source", help="a label of where it is from, stored unencrypted")
    add_command.add_argument("--tag", action="append", default=[], dest="tags", help="may be repeated")
    add_command.add_argument("--importance", type=_fraction, metavar="0..1", help="from 0.5 on it is stored as it is")
    add_command.add_argument("--occurred-at", metavar="TIME", help="when it was said, if not now: 2026-05-05T14:22:00Z")
    add_command.add_argument("--session", dest="session_id", metavar="ID", help="the conversation that it is from")
    add_command.add_argument("--ref", dest="client_ref", metavar="ID", help="your own ID: the same is stored once")
    add_command.add_argument("--metadata", type=_object, metavar="JSON", help="an object, returned unchanged")
    add_command.set_defaults(run=add)
    ask_command = commands.add_parser(
        "ask",
        help="recall what answers a question",
        description="Print the memories that answer a question, best first.",
    )
    ask_command.add_argument("question", nargs="*", help="the question; `-` or none: standard input")
    ask_command.add_argument("-k", type=_count, default=5, metavar="N", help="at most so many (default: %(default)s)")
    ask_command.add_argument("--rerank", action="store_true", help="let a cross-encoder read the best; slower")
    ask_command.add_argument("--min-relevance", type=_fraction, metavar="0..1", help="leave out what is below it")
    ask_command.add_argument("--as-of", metavar="TIME", help="what held then: 2026-03-01")
    ask_command.add_argument("--source", help="only from this source")
    ask_command.add_argument("--tag", action="append", default=[], dest="tags", help="only with one of these tags")
    form = ask_command.add_mutually_exclusive_group()
    form.add_argument("--answer", action="store_true", help="print an answer of quotes, each with its memory")
    form.add_argument("--context", action="store_true", help="print only lines for a prompt")
    ask_command.set_defaults(run=ask)
    for parser in (add_command, ask_command):
        add_address_options(parser)
        parser.add_argument("--json", action="store_true", help="print the server's answer as one line of JSON")


def add(options: argparse.Namespace) -> int:
    address = address_of(options)
    require(address, end_user=True)
    names = ("source", "importance", "occurred_at", "session_id", "client_ref", "metadata")
    body = {name: value for name in names if (value := getattr(options, name)) is not None}
    body |= {"text": _text(options.text, "text")} | ({"tags": options.tags} if options.tags else {})
    with Server(address) as server:
        answer = server.call("POST", "/memory/add", json=body)
    if options.json:
        say_json(answer)
    elif answer.get("status") == "skipped":
        say(f"Not stored: {answer['reason']}")
    else:
        numbers = answer["memory_ids"]
        say(f"Stored as memory {', '.join(map(str, numbers))}.")
    return 0


def ask(options: argparse.Namespace) -> int:
    address = address_of(options)
    require(address, end_user=True)
    question = _text(options.question, "question")
    with Server(address) as server:
        if options.answer:
            _refuse_filters(options)
            answer = server.call("POST", "/memory/synthesize", json={"query": question, "max_memories": options.k})
            say_json(answer) if options.json else _show_quotes(answer)
            return 0
        answer = server.call("POST", "/memory/query", json=_query(question, options))
    if options.json:
        say_json(answer)
    elif options.context:
        say(answer["context"])
    else:
        _show_hits(answer["memories"])
    return 0


def _query(question: str, options: argparse.Namespace) -> dict[str, Any]:
    filters = {name: value for name, value in (("source", options.source), ("tags", options.tags)) if value}
    named = {"min_relevance": options.min_relevance, "as_of": options.as_of, "rerank": options.rerank or None}
    given = {name: value for name, value in named.items() if value is not None}
    return {"query": question, "k": options.k, "explain": False} | given | ({"filters": filters} if filters else {})


def _refuse_filters(options: argparse.Namespace) -> None:
    given = {"--as-of": options.as_of, "--rerank": options.rerank or None, "--min-relevance": options.min_relevance,
             "--source": options.source, "--tag": options.tags}  # fmt: skip
    if named := [name for name, value in given.items() if value not in (None, [])]:
        raise CommandFailed(f"--answer cannot be combined with {', '.join(named)}", MISUSED)


def _show_hits(memories: list[Mapping[str, Any]]) -> None:
    if not memories:
        note("nothing found")
    for place, memory in enumerate(memories, 1):
        relevance = memory.get("relevance")
        facts = [
            f"memory {memory['id']}",
            str(memory.get("extracted_type", "")),
            "" if relevance is None else f"relevance {relevance:.2f}",
            str(memory.get("created_at", ""))[:10],
        ]
        say(f"{place}. {memory['text']}")
        say(f"   {', '.join(fact for fact in facts if fact)}")


def _show_quotes(answer: Mapping[str, Any]) -> None:
    if not answer["citations"]:
        note("nothing found")
        return
    say(answer["answer"])
    for citation in answer["citations"]:
        say(f"   memory {citation['memory_id']}: {citation['quote']}")


def _text(words: list[str], name: str) -> str:
    """The arguments, or standard input."""
    if words and words != ["-"]:
        return " ".join(words)
    if not words and sys.stdin.isatty():
        raise CommandFailed(f"missing the {name}: give it as an argument, or on standard input", MISUSED)
    try:
        text = sys.stdin.buffer.read().decode().strip()
    except UnicodeDecodeError:
        raise CommandFailed("standard input is not text in UTF-8", MISUSED) from None
    if not text:
        raise CommandFailed(f"the {name} is empty", MISUSED)
    return text


def _fraction(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 to 1")
    return number


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 50:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to 50")
    return int(text)


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError("metadata is a JSON object")
    return value
