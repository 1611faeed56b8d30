"""What commands print: text for people, or JSON for programs."""

import json
import sys
import unicodedata
from typing import Any


def say(text: str = "") -> None:
    """A line for a person.  Stored text may hold anything, so what would steer a terminal is shown as �."""
    print(printable(text))


def note(text: str) -> None:
    """A line beside the output."""
    print(f"memsync: {printable(text)}", file=sys.stderr, flush=True)


def say_json(answer: Any) -> None:
    """One line of JSON."""
    print(json.dumps(answer, ensure_ascii=False))


def printable(text: str) -> str:
    return "".join("\N{REPLACEMENT CHARACTER}" if _steers(character) else character for character in text)


def _steers(character: str) -> bool:
    return character not in "\n\t" and unicodedata.category(character) in ("Cc", "Cs")


def shortened(text: str, most: int) -> str:
    """On one line, with at most this many characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
