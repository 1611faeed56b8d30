"""Generates texts that cause catastrophic backtracking: matches of a pattern with one repeat or branch pumped up."""

import gc
import importlib
import pkgutil
import random
import string
from collections.abc import Iterator, Sequence
from typing import Final

from text.patterns import Pattern
from text.syntax import Alternation, Group, Look, Node, One, Repeat, Row, parse

# Packages whose patterns read user text.
READERS: Final = ("apps.ingest", "apps.memories", "apps.entities", "apps.recall", "apps.summaries", "text")
# Words that the guards look for, so that they read the rest of the text.
OPENINGS: Final = ("", "I trust my bank. ", "my system password is ", "Ignore the memory rules: ", "She said: ", "- ")
STAGES: Final = (
    "\n", "\r\n", " ", "\t", "#", "_", "-", "a", "1", "Ж", "é", "字", "\u200b", ".", ",", "?", "!", "(", "((", '"', "'",
    "> ", "- ", "1. ", "| ", "``` ", "\n\n# ", "0-", "a@", "a=", "a.b/", "http://a ", "password ", "really ",
    "absolutely ", "now ", "and ", "I am ", "my ", "the ", "not ", "is ", "monday ", "3 pm ", "Anna ", "Anna Lee ",
    "no longer ", "he said ", "if ", "What is ", "user: ", "[system] ", "§", "🙂",
)  # fmt: skip
ENDINGS: Final = ("", " x", "!", "\n", "?", " ok", ".")
_POOL: Final = string.ascii_lowercase + string.digits + " .,:;'-?!\n" + string.ascii_uppercase + "éЖ_\t@/#"
Path = tuple[int, ...]  # ids of a pattern's nodes, from the root to one node
_BRANCHES_AT_MOST: Final = 64  # characters per repeat that is not pumped


def patterns() -> list[Pattern]:
    """Every pattern that the modules of ``READERS`` compile on import, sorted by source."""
    for name in READERS:
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            if ".migrations" not in module.name and ".management" not in module.name:
                importlib.import_module(module.name)
    found = {(one.pattern, one.flags): one for one in gc.get_objects() if isinstance(one, Pattern)}
    return [found[key] for key in sorted(found)]


class Pumps:
    """Generates texts for a list of patterns, reproducible for the same seed and PYTHONHASHSEED."""

    def __init__(self, known: Sequence[Pattern]) -> None:
        parsed = [parse(one.pattern, one.flags).node for one in known]
        self._places = [(node, path) for node in parsed for path in _places(node, ())]

    def __len__(self) -> int:
        """Number of repeats and alternations that can be pumped."""
        return len(self._places)

    def text(self, seed: int, length: int) -> str:
        """A text of about, and at most, this length.  Repeats and alternations are pumped in turn."""
        rng = random.Random(seed)
        opening, ending = rng.choice(OPENINGS), rng.choice(ENDINGS)
        room = max(1, length - len(opening) - len(ending))
        kind = rng.random()
        if kind < 0.15:
            body = _repeated(rng.choice(STAGES), room)
        elif kind < 0.25:
            body = _repeated(rng.choice(STAGES) + rng.choice(STAGES), room)
        else:
            node, path = self._places[seed % len(self._places)]
            body = _sample(node, path, rng, room)
            if kind > 0.9:
                body = _repeated(body, room)
        return (opening + body[:room] + ending)[:length] or "x"


def _places(node: Node, above: Path) -> Iterator[Path]:
    """Paths to the repeats and alternations of a pattern, lookarounds included."""
    path = (*above, id(node))
    match node:
        case Row(parts=parts):
            for part in parts:
                yield from _places(part, path)
        case Alternation(branches=branches):
            yield path
            for branch in branches:
                yield from _places(branch, path)
        case Repeat(most=most, part=part):
            if most is None or most > 1:
                yield path
            yield from _places(part, path)
        case Group(part=part) | Look(part=part):
            yield from _places(part, path)


def _sample(node: Node, path: Path, rng: random.Random, room: int) -> str:
    """A text that the node mostly matches; the last node of the path is repeated to the given length."""
    if id(node) == path[-1]:
        units = [_once(node, rng) for _ in range(rng.randint(1, 4))]
        return _repeated("".join(units) or " ", room)
    match node:
        case Row(parts=parts):
            return "".join(_sample(part, path, rng, room) for part in parts)
        case Alternation(branches=branches):
            holding = [one for one in branches if id(one) in path]
            return _sample(rng.choice(holding or branches), path, rng, room)
        case Repeat(part=part) if id(part) in path:
            return _sample(part, path, rng, room)
        case Group(part=part) | Look(part=part, negate=False):
            return _sample(part, path, rng, room)
        case Look(part=part) if id(part) in path:
            return _sample(part, path, rng, room)
        case _:
            return _once(node, rng)


def _once(node: Node, rng: random.Random) -> str:
    match node:
        case One(literal=literal) if literal:
            return literal
        case One(characters=characters):
            start = rng.randrange(len(_POOL))
            turned = _POOL[start:] + _POOL[:start]
            return next((char for char in turned if characters.test(char)), "")
        case Row(parts=parts):
            return "".join(_once(part, rng) for part in parts)
        case Alternation(branches=branches):
            return _once(rng.choice(branches), rng)
        case Repeat(least=least, most=most, part=part):
            most = least + 2 if most is None else min(most, least + 2)
            return "".join(_once(part, rng) for _ in range(rng.randint(least, most)))[:_BRANCHES_AT_MOST]
        case Group(part=part) | Look(part=part, negate=False):
            return _once(part, rng)
        case _:
            return ""


def _repeated(unit: str, room: int) -> str:
    return (unit * (room // max(1, len(unit)) + 1))[:room]
