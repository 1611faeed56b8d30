"""Translates a pattern to the part that the linear engine can express.

The engine has no lookaround, and its word boundary knows only ASCII. ``source`` writes a pattern that matches
everything the original matches; ``Source.tells_all`` is true if it matches nothing else.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from text.syntax import Alternation, Anchor, Group, Look, Node, One, Repeat, Row, holds, is_at_ascii

_MOST = 1000  # the engine's limit for repeat counts
_WRITTEN_OUT = 4  # repeats unrolled if they contain a lookaround
_ALL = frozenset(range(256))


@dataclass(slots=True)
class Source:
    """A pattern for the engine.

    pattern: in Latin-1.  groups: the engine's group for each group of the original, the whole match first.
    looks: lookarounds to check at the position of an (empty) group of the engine.  begins: the group where the match
    begins, if one character before it is part of the engine's pattern; else 0.
    tells_all: with the lookarounds satisfied, it matches nothing that the original does not, with these exceptions:
    on_words: where non-ASCII letters touch the match.  on_shared: where characters that share a byte do.
    at_newline: in a text that ends with a line feed.
    """

    pattern: bytes = b""
    groups: tuple[int, ...] = ()
    looks: tuple[tuple[int, Look], ...] = ()
    begins: int = 0
    tells_all: bool = True
    on_words: bool = False
    on_shared: bool = False
    at_newline: bool = False


class _Writer:
    """loose: omit word boundaries and end anchors where the engine would reject what ``re`` accepts."""

    def __init__(self, *, loose: bool) -> None:
        self.loose = loose
        self.found = Source()
        self.groups: dict[int, int] = {}
        self.looks: list[tuple[int, Look]] = []
        self.last_group = 0
        self.repeats = 0

    def write_all(self, node: Node, groups: int) -> Source:
        behind = _behind(node)
        if behind is not None and isinstance(node, Row):
            held = behind.part.characters.bytes  # type: ignore[union-attr]
            self.found.on_shared = behind.part.characters.is_shared  # type: ignore[union-attr]
            self.found.begins = self._new_group()
            before = rf"(?:\A|{_class(_ALL - held)})" if behind.negate else _class(held)
            pattern = f"{before}()" + "".join(self._part(node.parts, place) for place in range(1, len(node.parts)))
        else:
            pattern = self.write(node)
        self.found.pattern = pattern.encode("latin-1")
        self.found.groups = tuple(self.groups.get(index, -1) for index in range(1, groups + 1))
        self.found.looks = tuple(self.looks)
        return self.found

    def _new_group(self) -> int:
        self.last_group += 1
        return self.last_group

    def write(self, node: Node) -> str:
        if isinstance(node, One):
            self.found.on_shared = self.found.on_shared or node.characters.is_shared
            return _class(node.characters.bytes)
        if isinstance(node, Row):
            return "".join(self._part(node.parts, place) for place in range(len(node.parts)))
        if isinstance(node, Alternation):
            return "(?:" + "|".join(self.write(branch) for branch in node.branches) + ")"
        if isinstance(node, Group):
            self.groups[node.index] = self._new_group()
            return "(" + self.write(node.part) + ")"
        if isinstance(node, Repeat):
            return self._repeat(node)
        if isinstance(node, Look):
            if self.repeats:
                self.found.tells_all = False
                return "(?:)"
            self.looks.append((self._new_group(), node))
            return "()"
        return self._part((node,), 0)

    def _part(self, parts: tuple[Node, ...], place: int) -> str:
        node = parts[place]
        if not isinstance(node, Anchor):
            return self.write(node)
        match node.kind:
            case "begin":
                return r"\A"
            case "begin_line":
                return "(?m:^)"
            case "end_line":
                return "(?m:$)"
            case "end_string":
                return r"\z"
            case "end":
                self.found.at_newline = True
                return "(?:)" if self.loose else r"\z"
        sign = r"\b" if node.kind == "word" else r"\B"
        if node.ascii:
            return sign
        self.found.on_words = True
        if not self.loose:
            return sign
        beside = is_at_ascii(parts[place + 1 :], last=False) or is_at_ascii(parts[:place], last=True)
        if beside and node.kind == "word":
            return sign
        self.found.tells_all = False
        return "(?:)"

    def _repeat(self, node: Repeat) -> str:
        least, most, lazy = node.least, node.most, "?" if node.lazy else ""
        looks, groups = holds(node.part, Look), holds(node.part, Group)
        if looks and not groups and most is not None and 1 < most <= _WRITTEN_OUT:
            optional = ""
            for _ in range(most - least):
                optional = f"(?:{self.write(node.part)}{optional})?{lazy}"
            return "".join(self.write(node.part) for _ in range(least)) + optional
        self.repeats += most != 1
        part = self.write(node.part)
        self.repeats -= most != 1
        part = part if isinstance(node.part, (One, Alternation, Group)) else f"(?:{part})"
        if most is None and least <= 1:
            return part + "*+"[least] + lazy
        if (least, most) == (0, 1):
            return part + "?" + lazy
        if max(least, most or 0) <= _MOST:
            bounds = f"{least}" if least == most else f"{least},{'' if most is None else most}"
            return f"{part}{{{bounds}}}{lazy}"
        if isinstance(node.part, One) and not node.lazy:
            rest = part + "*" if most is None else "".join(f"{part}{{0,{n}}}" for n in _steps(most - least))
            return "(?:" + "".join(f"{part}{{{n}}}" for n in _steps(least)) + rest + ")"
        self.found.tells_all = False
        return f"{part}{{{min(least, _MOST)},}}{lazy}"


def _behind(node: Node) -> Look | None:
    """The lookbehind of one character with which the pattern begins, or None."""
    first = node.parts[0] if isinstance(node, Row) and node.parts else None
    if isinstance(first, Look) and not first.ahead and isinstance(first.part, One):
        return first
    return None


def _steps(count: int) -> Iterator[int]:
    while count > 0:
        yield min(count, _MOST)
        count -= _MOST


@lru_cache(maxsize=8192)
def _class(held: frozenset[int]) -> str:
    if len(held) == 256:
        return r"(?s:.)"
    if not held:
        return r"[^\x00-\xff]"
    runs: list[list[int]] = []
    for byte in sorted(held):
        if runs and byte == runs[-1][1] + 1:
            runs[-1][1] = byte
        else:
            runs.append([byte, byte])
    if len(held) == 1:
        return _byte(runs[0][0])
    return "[" + "".join(_byte(a) if a == b else f"{_byte(a)}-{_byte(b)}" for a, b in runs) + "]"


def _byte(byte: int) -> str:
    char = chr(byte)
    return char if (byte < 0x80 and char.isalnum()) or char in " _" else f"\\x{byte:02x}"


def source(node: Node, groups: int, *, loose: bool) -> Source:
    return _Writer(loose=loose).write_all(node, groups)
