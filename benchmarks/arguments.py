"""Command line of `python -m benchmarks`: a sub-command for each benchmark, with the function it runs."""

import argparse
from collections.abc import Callable
from pathlib import Path

from benchmarks import subcommands
from benchmarks.instance import Instance, instance

# For benchmarks whose results do not depend on the model: embedding 50,000 texts takes half an hour.
WITHOUT_MODEL = {
    "EMBEDDER_BACKEND": "apps.adapters.embedders.fake.FakeEmbedder",
    "EMBEDDER_OPTIONS": "{}",
    "CLASSIFIER_BACKEND": "",
}


def build_parser(description: str | None) -> argparse.ArgumentParser:
    """The parser, which stores the function to call in ``run``."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=description)
    verbs = parser.add_subparsers(dest="verb", required=True)

    def verb(name: str, run: Callable[[argparse.Namespace], object], text: str) -> argparse.ArgumentParser:
        one = verbs.add_parser(name, help=text, description=text)
        one.add_argument("--json", metavar="OUT", help="also write everything to the file OUT; - writes it here")
        one.set_defaults(run=run)
        return one

    def number(one: argparse.ArgumentParser, name: str, usual: float, text: str) -> None:
        one.add_argument(name, type=type(usual), default=usual, help=f"{text} (default {usual})")

    def files(one: argparse.ArgumentParser) -> None:
        one.add_argument("files", nargs="+", type=Path, metavar="FILE", help="one haystack a line, as JSON")

    recall = verb(
        "recall",
        _in_instance(subcommands.run_recall),
        "load labelled sets, ask their questions, score every leg and all",
    )
    files(recall)
    recall.add_argument("--gated", action="store_true", help="let extraction decide what is kept")
    recall.add_argument("--profile", choices=("default", "memorysync", "rrf"), help="the ranking profile")
    recall.add_argument(
        "--without", action="append", default=[], metavar="LEG", help="leave this way of finding out (repeatable)"
    )
    recall.add_argument(
        "--ablate",
        choices=("legs", "all"),
        help="say what each leg, or each leg and factor, is worth by leaving it out",
    )

    verb(
        "lives",
        _in_instance(subcommands.run_lives),
        "months of turns by unseen writers, and what is asked about them afterwards",
    )

    bystanders = verb(
        "bystanders", _in_instance(subcommands.run_bystanders), "two facts in one turn, of which one changes"
    )
    number(bystanders, "--pairs", 2_000, "of facts")

    latency = verb(
        "latency",
        _in_instance(subcommands.run_latency),
        "adds and queries over HTTP beside the bare limit of the same run",
    )
    number(latency, "--rows", 1000, "memories in the space")
    number(latency, "--runs", 100, "measured calls of each kind")
    latency.add_argument("--sealed", action="store_true", help="of a sealed space: nothing searchable at rest")
    latency.add_argument(
        "--kind", choices=("sentences", "dialogue", "chats"), default="sentences",
        help="what the space holds: sentences, a dialogue in sessions, or messages of 2,000 characters",
    )  # fmt: skip

    scale = verb(
        "scale", _in_instance(subcommands.run_scale), "queries in spaces of different sizes, while the tables grow"
    )
    scale.add_argument("--spaces", type=_numbers, default=[1_000, 10_000, 100_000], help="rows of each, as 1000,10000")
    scale.add_argument("--tables", type=_numbers, default=[100_000, 1_000_000], help="rows of all, ascending")
    number(scale, "--runs", 100, "measured calls of each kind")

    ingest = verb(
        "ingest", _in_instance(subcommands.run_ingest), "adds, one at a time and many at once, beside the bare writes"
    )
    number(ingest, "--rows", 2_000, "written in each way")
    number(ingest, "--runs", 100, "measured single adds")

    typed = verb("typed", _in_instance(subcommands.run_typed), "typed adds over HTTP, beside a bare transaction")
    number(typed, "--runs", 200, "measured calls of each kind")
    tools = verb("tools", _in_instance(subcommands.run_tools), "tool calls over MCP, beside their REST routes")
    number(tools, "--runs", 200, "measured calls of each kind")
    throughput = verb(
        "throughput", _in_instance(subcommands.run_throughput), "requests a second beside a view that does nothing"
    )
    number(throughput, "--rows", 1000, "memories in the space")
    number(throughput, "--callers", 8, "that ask at once")
    number(throughput, "--seconds", 20.0, "of each kind of request")

    extraction = verb(
        "extraction", subcommands.run_extraction, "what the pipeline makes of labelled turns, as predictions"
    )
    extraction.add_argument("labels", type=Path, metavar="LABELS")
    extraction.add_argument("--out", type=Path, required=True, metavar="PREDICTIONS")
    extraction.add_argument("--by-rule", action="store_true", help="print how often each rule is right")
    extraction.add_argument("--rules-alone", action="store_true", help="weigh no sentence: the rules say what is kept")

    reading = verb(
        "reading",
        _in_instance(subcommands.run_reading, **WITHOUT_MODEL),
        "texts that pump every pattern, up to a mebibyte",
    )
    number(reading, "--texts", 1_000_000, "to read")
    number(reading, "--seed", 0, "of the first of them")
    number(reading, "--processes", 2, "that read")

    files(
        verb(
            "leakage",
            _in_instance(subcommands.run_leakage),
            "attack what is stored of labelled sets: words, vectors, sizes",
        )
    )

    isolation = verb(
        "isolation", _in_instance(subcommands.run_isolation), "words and vectors of many tenants, asked for unfiltered"
    )
    number(isolation, "--tenants", 20, "that said the same")
    number(isolation, "--texts", 500, "that each of them said")
    number(isolation, "--hits", 1_000_000, "to see by words")

    rotation = verb(
        "rotation",
        _in_instance(subcommands.run_rotation, **WITHOUT_MODEL),
        "a data key turns under load while workers are killed",
    )
    number(rotation, "--rows", 50_000, "memories of the tenant")
    number(rotation, "--kills", 100, "of workers")
    number(rotation, "--restarts", 3, "of the database, at once")
    number(rotation, "--questions", 500, "asked at each quarter")
    number(rotation, "--pace-rows", 4_000, "for the bare loop; 0: none")

    importing = verb(
        "import", _in_instance(subcommands.run_import), "a file of records comes in while workers are killed"
    )
    number(importing, "--records", 100_000, "in the file")
    number(importing, "--kills", 5, "of the workers")
    importing.add_argument("--skip-embedding", action="store_true", help="do not wait for the vectors")

    outbox = verb(
        "outbox",
        _in_instance(subcommands.run_outbox),
        "dialogues, bulk adds and a large import while workers are killed",
    )
    outbox.add_argument("file", type=Path, metavar="FILE", help="a labelled set with dialogues")
    number(outbox, "--runs", 10, "of loading the dialogues")
    number(outbox, "--records", 100_000, "in the file of another tenant")
    number(outbox, "--kills", 50, "of the workers' processes")

    retype = verb(
        "retype",
        _in_instance(subcommands.run_retype, **WITHOUT_MODEL),
        "memories get another type while others are added and read",
    )
    number(retype, "--rows", 20_000, "memories of the tenant")

    swept = verb(
        "sweep", _in_instance(subcommands.run_sweep), "the retention takes out many memories while others are asked for"
    )
    number(swept, "--rows", 1_000_000, "that are past their time")
    number(swept, "--live", 1000, "in the space that is asked")
    number(swept, "--runs", 200, "recalls before and after")
    number(swept, "--pause", 1.0, "as RETENTION_PAUSE")

    pages = verb(
        "pages", _in_instance(subcommands.run_pages), "every page for people, in a tenant that holds many memories"
    )
    number(pages, "--rows", 1_000_000, "memories of the tenant")
    number(pages, "--readable", 10_000, "of them in one space that opens")
    number(pages, "--audit-rows", 100_000, "of the tenant's trail")
    number(pages, "--runs", 40, "measured calls of each page")

    residue = verb(
        "residue",
        _in_instance(subcommands.run_residue),
        "what is left in files after an erasure, and after each step of a purge",
    )
    number(residue, "--people", 10, "of whom half are erased")

    abuse = verb(
        "abuse", _in_instance(subcommands.run_abuse), "what others notice of slow connections and of costly documents"
    )
    number(abuse, "--seconds", 30.0, "of each kind of misuse, and as long without it")

    listeners = verb(
        "listeners",
        _in_instance(subcommands.run_listeners, **WITHOUT_MODEL),
        "event streams that are broken off and resumed, while events are written",
    )
    number(listeners, "--listeners", 500, "open streams")
    number(listeners, "--of-all", 50, "of them listen to all events, the others to one of fifty end users each")
    number(listeners, "--rate", 200.0, "events a second")
    number(listeners, "--seconds", 60.0, "of events")
    number(listeners, "--reconnects", 20, "of each listener")

    verb("receipts", subcommands.run_receipts, "how long the check of a receipt takes, in logs of different lengths")
    verb("columns", subcommands.run_columns, "every column as sealed, keyed or plain: the table of docs/security.md")
    return parser


def _in_instance(
    run: Callable[[Instance, argparse.Namespace], object], **settings: str
) -> Callable[[argparse.Namespace], object]:
    """Run the benchmark on a fresh instance with these settings."""

    def running(options: argparse.Namespace) -> object:
        with instance(**settings) as one:
            return run(one, options)

    return running


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]
