"""A pattern in the syntax of ``re``, taken apart, and what of it the linear engine can be told.

The engine knows no lookaround, and its word boundary knows ASCII alone.  ``source`` writes a pattern that finds
all that the original finds, and says by ``Source.is_exact`` whether it finds nothing else.
"""

import re._constants as sre  # type: ignore[import-not-found]  # the parser of re is not typed
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from re import ASCII, DOTALL, IGNORECASE, MULTILINE
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from text.letters import Characters, cases, is_word


class Unsupported(ValueError):
    """The pattern holds what no linear engine knows: a reference to a group, a condition, an atomic group."""


@dataclass(frozen=True, slots=True)
class One:
    characters: Characters
    literal: str = ""


@dataclass(frozen=True, slots=True)
class At:
    """kind: begin, begin_line, end, end_line, end_string, word, not_word."""

    kind: str
    ascii: bool


@dataclass(frozen=True, slots=True)
class Row:
    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Choice:
    branches: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    least: int
    most: int | None
    lazy: bool
    part: "Node"


@dataclass(frozen=True, slots=True)
class Group:
    index: int
    part: "Node"


@dataclass(frozen=True, slots=True)
class Look:
    """width: characters behind, where it looks there."""

    ahead: bool
    negate: bool
    part: "Node"
    width: int


Node = One | At | Row | Choice | Repeat | Group | Look

_AT = {
    sre.AT_BEGINNING_STRING: "begin",
    sre.AT_END_STRING: "end_string",
    sre.AT_BOUNDARY: "word",
    sre.AT_NON_BOUNDARY: "not_word",
}


@dataclass(frozen=True, slots=True)
class Parsed:
    node: Node
    groups: int
    names: Mapping[str, int]


def parse(pattern: str, flags: int) -> Parsed:
    """Raises re.error where the pattern is none, Unsupported where it cannot be matched in linear time."""
    tree = parser.parse(pattern, flags)
    state = tree.state
    return Parsed(_row(tree, state.flags), state.groups - 1, dict(state.groupdict))


def _row(tree: Any, flags: int) -> Node:
    parts = tuple(_node(op, value, flags) for op, value in tree)
    return parts[0] if len(parts) == 1 else Row(parts)


def _node(op: Any, value: Any, flags: int) -> Node:
    if op is sre.LITERAL:
        return _literal(value, bool(flags & IGNORECASE))
    if op in (sre.NOT_LITERAL, sre.ANY, sre.IN):
        return One(_characters(op, tuple(value) if op is sre.IN else value, flags & (IGNORECASE | ASCII | DOTALL)))
    if op is sre.AT:
        return At(_place(value, flags), bool(flags & ASCII))
    if op is sre.BRANCH:
        return Choice(tuple(_row(branch, flags) for branch in value[1]))
    if op in (sre.MAX_REPEAT, sre.MIN_REPEAT):
        least, most, tree = value
        return Repeat(least, None if most is sre.MAXREPEAT else most, op is sre.MIN_REPEAT, _row(tree, flags))
    if op is sre.SUBPATTERN:
        index, added, removed, tree = value
        part = _row(tree, (flags | added) & ~removed)
        return part if index is None else Group(index, part)
    if op in (sre.ASSERT, sre.ASSERT_NOT):
        direction, tree = value
        least, most = tree.getwidth()
        if direction < 0 and least != most:
            raise Unsupported("a look behind of more than one width")
        return Look(direction > 0, op is sre.ASSERT_NOT, _row(tree, flags), least if direction < 0 else 0)
    raise Unsupported(f"{op} has no linear equivalent: write it otherwise")


def _place(value: Any, flags: int) -> str:
    if value is sre.AT_BEGINNING:
        return "begin_line" if flags & MULTILINE else "begin"
    if value is sre.AT_END:
        return "end_line" if flags & MULTILINE else "end"
    return _AT[value]


@lru_cache(maxsize=4096)
def _literal(code: int, ignores_case: bool) -> One:
    char = chr(code)
    same = cases(char) if ignores_case else frozenset({char})
    return One(Characters(same.__contains__, [(ord(c), ord(c)) for c in same if c == char]), char)


@lru_cache(maxsize=4096)
def _characters(op: Any, value: Any, flags: int) -> Characters:
    ignores_case, is_ascii = bool(flags & IGNORECASE), bool(flags & ASCII)
    if op is sre.ANY:
        return Characters((lambda _: True) if flags & DOTALL else (lambda char: char != "\n"))
    if op is sre.NOT_LITERAL:
        same = cases(chr(value)) if ignores_case else frozenset({chr(value)})
        return Characters(lambda char: char not in same, [(value, value)])
    items = [item for item in value if item[0] is not sre.NEGATE]
    negate = len(items) != len(value)
    named = [(v, v) if op is sre.LITERAL else v for op, v in items if op is not sre.CATEGORY]

    def among(char: str) -> bool:
        return any(_is_of(op, wanted, char, is_ascii) for op, wanted in items)

    def test(char: str) -> bool:
        found = any(among(c) for c in cases(char)) if ignores_case else among(char)
        return found is not negate

    return Characters(test, named)


def _is_of(op: Any, wanted: Any, char: str, is_ascii: bool) -> bool:
    if op is sre.LITERAL:
        return bool(ord(char) == wanted)
    if op is sre.RANGE:
        first, last = wanted
        return bool(first <= ord(char) <= last)
    kind = str(wanted).removeprefix("CATEGORY_")
    inside = not is_ascii or char.isascii()
    if kind.endswith("DIGIT"):
        found = inside and char.isdecimal()
    elif kind.endswith("SPACE"):
        found = char in " \t\n\r\f\v" if is_ascii else char.isspace()
    else:
        found = inside and is_word(char)
    return found is not kind.startswith("NOT_")


# ---- what may come first or last, for word boundaries and for choosing among branches


def edge(node: Node, *, last: bool = False) -> tuple[list[Characters], bool]:
    """The classes of which the first (or last) character is, and whether the node may match nothing at all."""
    if isinstance(node, One):
        return [node.characters], False
    if isinstance(node, (At, Look)):
        return [], True
    if isinstance(node, Group):
        return edge(node.part, last=last)
    if isinstance(node, Repeat):
        found, empty = edge(node.part, last=last)
        return found, empty or node.least == 0
    found = []
    if isinstance(node, Choice):
        empty = False
        for branch in node.branches:
            more, may_be_empty = edge(branch, last=last)
            found += more
            empty = empty or may_be_empty
        return found, empty
    for part in reversed(node.parts) if last else node.parts:
        more, may_be_empty = edge(part, last=last)
        found += more
        if not may_be_empty:
            return found, False
    return found, True


def _is_at_ascii(parts: tuple[Node, ...], *, last: bool) -> bool:
    found, empty = edge(Row(parts), last=last)
    return not empty and all(characters.is_ascii_word for characters in found)


# ---- the engine's pattern

_MOST = 1000  # the engine counts no further
_WRITTEN_OUT = 4  # repeats in which something is looked at
_ALL = frozenset(range(256))


@dataclass(slots=True)
class Source:
    """pattern: for the engine, in Latin-1.  groups: the engine's group for each of the original, the whole first.

    looks: what has to be seen at the place of an (empty) group of the engine.  begins: the group where the match
    begins, when one character before it had to be read along; else 0.
    tells_all: with the looks granted it finds nothing that the original does not find, but for what follows.
    on_words: where letters beyond ASCII touch the match.  on_shared: where characters that share a byte do.
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
    """loose: boundaries of words and the end are left out where the engine would deny what ``re`` grants."""

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
        if isinstance(node, Choice):
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
        if not isinstance(node, At):
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
        beside = _is_at_ascii(parts[place + 1 :], last=False) or _is_at_ascii(parts[:place], last=True)
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
        part = part if isinstance(node.part, (One, Choice, Group)) else f"(?:{part})"
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


def holds(node: Node, kind: type) -> bool:
    if isinstance(node, kind):
        return True
    if isinstance(node, Row):
        return any(holds(part, kind) for part in node.parts)
    if isinstance(node, Choice):
        return any(holds(branch, kind) for branch in node.branches)
    return isinstance(node, (Repeat, Group)) and holds(node.part, kind)


def closing(node: Node) -> tuple[int, ...]:
    """The groups in it, in the order in which they close."""
    if isinstance(node, (Row, Choice)):
        return tuple(
            group for part in (node.parts if isinstance(node, Row) else node.branches) for group in closing(part)
        )
    if isinstance(node, Group):
        return (*closing(node.part), node.index)
    return closing(node.part) if isinstance(node, Repeat) else ()


def _behind(node: Node) -> Look | None:
    """The look at the one character before the match, where the pattern begins with one."""
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
