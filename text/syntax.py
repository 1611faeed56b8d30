"""Parses a pattern in the syntax of ``re`` into nodes."""

import re._constants as sre  # type: ignore[import-not-found]  # the parser of re is not typed
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from re import ASCII, DOTALL, IGNORECASE, MULTILINE
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from text.letters import Characters, cases, is_word


class UnsupportedSyntax(ValueError):
    """The pattern contains what no linear engine supports: a backreference, a condition, an atomic group."""


@dataclass(frozen=True, slots=True)
class One:
    characters: Characters
    literal: str = ""


@dataclass(frozen=True, slots=True)
class Anchor:
    """kind: begin, begin_line, end, end_line, end_string, word, not_word."""

    kind: str
    ascii: bool


@dataclass(frozen=True, slots=True)
class Row:
    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Alternation:
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
    """width: length of a lookbehind in characters; else 0."""

    ahead: bool
    negate: bool
    part: "Node"
    width: int


Node = One | Anchor | Row | Alternation | Repeat | Group | Look

_AT = {
    sre.AT_BEGINNING_STRING: "begin",
    sre.AT_END_STRING: "end_string",
    sre.AT_BOUNDARY: "word",
    sre.AT_NON_BOUNDARY: "not_word",
}


@dataclass(frozen=True, slots=True)
class ParsedPattern:
    node: Node
    groups: int
    names: Mapping[str, int]


def parse(pattern: str, flags: int) -> ParsedPattern:
    """Raises re.error for an invalid pattern, UnsupportedSyntax for one that cannot be matched in linear time."""
    tree = parser.parse(pattern, flags)
    state = tree.state
    return ParsedPattern(_row(tree, state.flags), state.groups - 1, dict(state.groupdict))


def _row(tree: Any, flags: int) -> Node:
    parts = tuple(_node(op, value, flags) for op, value in tree)
    return parts[0] if len(parts) == 1 else Row(parts)


def _node(op: Any, value: Any, flags: int) -> Node:
    if op is sre.LITERAL:
        return _literal(value, bool(flags & IGNORECASE))
    if op in (sre.NOT_LITERAL, sre.ANY, sre.IN):
        return One(_characters(op, tuple(value) if op is sre.IN else value, flags & (IGNORECASE | ASCII | DOTALL)))
    if op is sre.AT:
        return Anchor(_place(value, flags), bool(flags & ASCII))
    if op is sre.BRANCH:
        return Alternation(tuple(_row(branch, flags) for branch in value[1]))
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
            raise UnsupportedSyntax("a look behind of more than one width")
        return Look(direction > 0, op is sre.ASSERT_NOT, _row(tree, flags), least if direction < 0 else 0)
    raise UnsupportedSyntax(f"{op} has no linear equivalent: write it otherwise")


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


# ---- first and last characters, for word boundaries and for choosing among branches


def edge(node: Node, *, last: bool = False) -> tuple[list[Characters], bool]:
    """The classes of the possible first (or last) characters, and whether the node can match the empty string."""
    if isinstance(node, One):
        return [node.characters], False
    if isinstance(node, (Anchor, Look)):
        return [], True
    if isinstance(node, Group):
        return edge(node.part, last=last)
    if isinstance(node, Repeat):
        found, empty = edge(node.part, last=last)
        return found, empty or node.least == 0
    found = []
    if isinstance(node, Alternation):
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


def is_at_ascii(parts: tuple[Node, ...], *, last: bool) -> bool:
    found, empty = edge(Row(parts), last=last)
    return not empty and all(characters.is_ascii_word for characters in found)


def holds(node: Node, kind: type) -> bool:
    if isinstance(node, kind):
        return True
    if isinstance(node, Row):
        return any(holds(part, kind) for part in node.parts)
    if isinstance(node, Alternation):
        return any(holds(branch, kind) for branch in node.branches)
    return isinstance(node, (Repeat, Group)) and holds(node.part, kind)


def closing(node: Node) -> tuple[int, ...]:
    """The groups of the node in closing order."""
    if isinstance(node, (Row, Alternation)):
        return tuple(
            group for part in (node.parts if isinstance(node, Row) else node.branches) for group in closing(part)
        )
    if isinstance(node, Group):
        return (*closing(node.part), node.index)
    return closing(node.part) if isinstance(node, Repeat) else ()
