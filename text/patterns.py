r"""Patterns that read any text in linear time: what the code uses of ``re``, over RE2.

    from text import patterns

    _WORD = patterns.compile(r"\b(?P<word>[a-z]+)(?! of\b)", patterns.IGNORECASE)
    _WORD.search(text)

The syntax, the flags and the answers are those of ``re`` (whose parser reads the pattern); the difference is the time.

- A pattern that never gives back what it has read (``text.immediate``) runs in ``re``, which is then linear, too.
- Any other without lookaround runs in the engine alone.
- A lookaround outside of a repeat is looked at when the engine has found the rest: nearly as fast.
- One inside of a repeat without a bound (``(?:(?!x)\w+ )*``), and a match that touches letters beyond ASCII at a word
  boundary, are tried again by ``text.exact``, in Python: linear too, but some hundred times slower a character.
  Write ``(?:and|so|no(?=,))*`` as ``(?:and|so|no,)*``, and ``(?:(?!x)\w+ )*`` with a bound of at most 4.
- Not known, and refused when the pattern is first used: ``\1``, ``(?P=name)``, ``(?(1)…)``, ``(?>…)``, ``x*+``.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from re import ASCII, DOTALL, IGNORECASE, MULTILINE, VERBOSE, escape
from typing import Any, Final

from re2 import _re2

from text.budget import checkpoint, without
from text.engine_source import Source, source
from text.exact import Program, Trial
from text.immediate import is_immediate
from text.letters import Bytes, bytes_of, has_shared, has_wide_words
from text.matches import Match, Spans
from text.syntax import (
    Alternation,
    Group,
    Look,
    Node,
    One,
    ParsedPattern,
    Repeat,
    Row,
    UnsupportedSyntax,
    closing,
    parse,
)

__all__ = [
    "ASCII", "DOTALL", "IGNORECASE", "MULTILINE", "VERBOSE", "Match", "Pattern", "UnsupportedSyntax", "compile",
    "escape", "findall", "finditer", "fullmatch", "match", "search", "split", "sub",
]  # fmt: skip

Repl = str | Callable[[Match], str]

_ANYWHERE: Final = _re2.RE2.Anchor.UNANCHORED
_HERE: Final = _re2.RE2.Anchor.ANCHOR_START
_WHOLE: Final = _re2.RE2.Anchor.ANCHOR_BOTH
_NOWHERE: Final = (-1, -1)
_FAILURES: Final = 200  # false matches of the engine before the rest is read by the exact program
_WASTE: Final = 16  # times the text's length that the engine may read in vain,
_SHORT: Final = 1_000  # with this added to the length of every text
# Bytes of memory for the engine's DFA.  Too little makes a large pattern ten times as slow.
_LEAST, _MOST, _FOR_EACH = 1 << 20, 1 << 25, 1 << 10


def _engine(pattern: bytes) -> Any:
    memory = min(max(len(pattern) * _FOR_EACH, _LEAST), _MOST)
    options = _re2.RE2.Options()
    options.encoding = _re2.RE2.Options.Encoding.LATIN1
    options.log_errors = False
    while True:
        options.max_mem = memory
        engine = _re2.RE2(pattern, options)
        if engine.ok():
            return engine
        if memory >= 2 * _MOST:
            raise UnsupportedSyntax(engine.error())
        memory *= 4


@dataclass(slots=True)
class _Doubts:
    """wasted: characters that the engine read for false matches.

    Each false match can make the engine read to the end of the text.  Beyond a limit the exact program continues alone.
    """

    wasted: int = 0


class _Finder:
    """Finds one node of a pattern; each lookaround in it has its own finder."""

    def __init__(self, parsed: ParsedPattern) -> None:
        self.parsed = parsed
        self.strict = source(parsed.node, parsed.groups, loose=False)

    @cached_property
    def loose(self) -> Source:
        return source(self.parsed.node, self.parsed.groups, loose=True)

    # Compiled on first use, without counting against the budget of a text.

    @cached_property
    def _strict_engine(self) -> Any:
        with without():
            return _engine(self.strict.pattern)

    @cached_property
    def _loose_engine(self) -> Any:
        with without():
            return _engine(self.loose.pattern)

    @cached_property
    def _program(self) -> Program:
        with without():
            return Program(self.parsed)

    @cached_property
    def _seers(self) -> "dict[int, _Seer]":
        return {id(look): _Seer(look) for _, look in (*self.strict.looks, *self.loose.looks)}

    def find(
        self, text: str, read: Bytes, start: int, end: int, anchor: Any, doubts: "_Doubts | None" = None
    ) -> Spans | None:
        """The spans of the first match in text[start:end]: the match, then its groups.  read: the bytes of text[:end].

        doubts: shared by successive searches in one text.
        """
        if doubts is not None and doubts.wasted > _WASTE * (end + _SHORT):
            return Trial(self._program, text, end).search(start)
        found, engine = self.strict, None
        if (read.has_wide_words and found.on_words) or (found.at_newline and read.data.endswith(b"\n")):
            found, engine = self.loose, self._loose_engine
        else:
            engine = self._strict_engine
        data = read.data
        is_plain = found.tells_all and not found.looks and not (found.at_newline and found is not self.strict)
        begins = found.begins
        trial: Trial | None = None
        place, failures = start, 0
        while True:
            if begins and place == 1:  # the engine would begin at 0, with the character before
                trial = trial or Trial(self._program, text, end, whole=anchor is _WHOLE)
                if (exact := trial.at(1)) is not None or anchor is not _ANYWHERE:
                    return exact
                place = 2
                if place > end:
                    return None
            spans = engine.Match(anchor, data, place - 1 if begins and place else place, end)
            if spans[0] == _NOWHERE:
                return None
            first, last = spans[0]
            if begins:
                first = spans[begins][0]
                if anchor is not _ANYWHERE and first != start:
                    return None
            if (not is_plain or read.has_wide_words or read.has_shared) and not self._is_sure(
                found, text, read, spans, first, last, end
            ):
                trial = trial or Trial(self._program, text, end, whole=anchor is _WHOLE)
                exact = trial.at(first)
                if doubts is not None:
                    doubts.wasted += max(0, last - (exact[0][1] if exact is not None else first))
                if exact is not None:
                    return exact
                if anchor is not _ANYWHERE or first >= end:
                    return None
                checkpoint()
                failures += 1
                place = first + 1
                if failures >= _FAILURES:
                    return trial.search(place)
                continue
            return [(first, last), *[spans[group] if group >= 0 else _NOWHERE for group in found.groups]]

    def some(self, text: str, start: int, end: int) -> Spans | None:
        """The spans of a non-empty match that begins at start."""
        return Trial(self._program, text, end, some=True).at(start)

    def _is_sure(self, found: Source, text: str, read: Bytes, spans: Spans, first: int, last: int, end: int) -> bool:
        """Whether the engine's match is the one that ``re`` would find there first."""
        if not found.tells_all or (found.at_newline and found is not self.strict):
            return False
        around = read.data[max(first - 1, 0) : last + 1]
        if found.on_words and read.has_wide_words and has_wide_words(around):
            return False
        if found.on_shared and read.has_shared and has_shared(around):
            return False
        for group, look in found.looks:
            if (at := spans[group][0]) >= 0 and not self._seers[id(look)].sees(text, read, at, end):
                return False
        return True


class _Seer:
    """Tests a lookaround at a position."""

    def __init__(self, look: Look) -> None:
        self.look = look
        self.one = look.part.characters if isinstance(look.part, One) else None
        self.finder = _Finder(ParsedPattern(_without_groups(look.part), 0, {})) if self.one is None else None

    def sees(self, text: str, read: Bytes, place: int, end: int) -> bool:
        at = place - self.look.width
        if self.one is not None:
            found = 0 <= at < end and self.one.holds(text[at])
        else:
            assert self.finder is not None  # noqa: S101
            found = at >= 0 and self.finder.find(text, read, at, end, _HERE) is not None
        return found is not self.look.negate


def _without_groups(node: Node) -> Node:
    """The node without capture groups, which no caller needs."""
    if isinstance(node, Row):
        return Row(tuple(_without_groups(part) for part in node.parts))
    if isinstance(node, Alternation):
        return Alternation(tuple(_without_groups(branch) for branch in node.branches))
    if isinstance(node, Repeat):
        return replace(node, part=_without_groups(node.part))
    return _without_groups(node.part) if isinstance(node, Group) else node


class Pattern:
    """A pattern with the interface of ``re.Pattern``.

    It is parsed on first use: hundreds are made when the program starts, of which a process may need a few.  Only then
    it raises re.error if it is invalid, UnsupportedSyntax if it cannot be matched in linear time.
    """

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.pattern, self.flags = pattern, flags

    @cached_property
    @without()
    def _parsed(self) -> ParsedPattern:
        return parse(self.pattern, self.flags)

    @property
    def groups(self) -> int:
        return self._parsed.groups

    @property
    def groupindex(self) -> Mapping[str, int]:
        return self._parsed.names

    @cached_property
    @without()
    def closing(self) -> tuple[int, ...]:
        """The groups in closing order."""
        return closing(self._parsed.node)

    @cached_property
    @without()
    def _finder(self) -> _Finder:
        return _Finder(self._parsed)

    @cached_property
    @without()
    def _direct(self) -> "re.Pattern[str] | None":
        """Some patterns ``re`` reads in linear time too, and its matches cost a tenth."""
        return re.compile(self.pattern, self.flags) if is_immediate(self._parsed.node) else None

    def __repr__(self) -> str:
        return f"patterns.compile({self.pattern!r})"

    def _find(self, text: str, start: int, end: int | None, anchor: Any) -> Match | None:
        start = min(max(start, 0), len(text))
        stop = len(text) if end is None else min(max(end, 0), len(text))
        if start > stop:
            return None
        # To match a whole text it may have to give back what it has read; and only the engine skips fast.
        if self._direct is not None and anchor is not _WHOLE and stop - start <= _SHORT:
            read = self._direct.search if anchor is _ANYWHERE else self._direct.match
            found = read(text, start, stop)
            return None if found is None else Match(self, text, [*found.regs])
        spans = self._finder.find(text, _until(text, stop, self.flags), start, stop, anchor)
        return None if spans is None else Match(self, text, spans)

    def search(self, text: str, pos: int = 0, endpos: int | None = None) -> Match | None:
        return self._find(text, pos, endpos, _ANYWHERE)

    def match(self, text: str, pos: int = 0, endpos: int | None = None) -> Match | None:
        return self._find(text, pos, endpos, _HERE)

    def fullmatch(self, text: str, pos: int = 0, endpos: int | None = None) -> Match | None:
        return self._find(text, pos, endpos, _WHOLE)

    def finditer(self, text: str, pos: int = 0, endpos: int | None = None) -> Iterator[Match]:
        place = min(max(pos, 0), len(text))
        end = len(text) if endpos is None else min(max(endpos, 0), len(text))
        if place > end:
            return
        if self._direct is not None:
            for found in self._direct.finditer(text, place, end):
                yield Match(self, text, [*found.regs])
            return
        read, doubts = _until(text, end, self.flags), _Doubts()
        while place <= end:
            spans = self._finder.find(text, read, place, end, _ANYWHERE, doubts)
            if spans is None:
                return
            yield Match(self, text, spans)
            first, place = spans[0]
            if first == place:  # after an empty match, the next match at this position must not be empty
                more = self._finder.some(text, place, end)
                if more is None:
                    place += 1
                else:
                    yield Match(self, text, more)
                    place = more[0][1]

    def findall(self, text: str) -> list[Any]:
        """The text of each match; with one group its text, with several groups a tuple."""
        if self._direct is not None:
            return self._direct.findall(text)
        return [
            found[0] if not self.groups else (found.groups("")[0] if self.groups == 1 else found.groups(""))
            for found in self.finditer(text)
        ]

    def split(self, text: str, maxsplit: int = 0) -> list[Any]:
        if self._direct is not None:
            return self._direct.split(text, maxsplit)
        parts: list[Any] = []
        begin = 0
        for count, found in enumerate(self.finditer(text), 1):
            parts += [text[begin : found.start()], *found.groups()]
            begin = found.end()
            if count == maxsplit:
                break
        return [*parts, text[begin:]]

    def sub(self, repl: Repl, text: str, count: int = 0) -> str:
        """Replace matches.  repl: a function of the match, or a template with groups as ``\\1`` and ``\\g<name>``."""
        if self._direct is not None and isinstance(repl, str):
            return self._direct.sub(repl, text, count)
        parts: list[str] = []
        begin = 0
        fill = (lambda _: repl) if isinstance(repl, str) and "\\" not in repl else repl
        for done, found in enumerate(self.finditer(text), 1):
            parts += [text[begin : found.start()], found.expand(fill) if isinstance(fill, str) else fill(found)]
            begin = found.end()
            if done == count:
                break
        return "".join([*parts, text[begin:]])


def _until(text: str, end: int, flags: int) -> Bytes:
    read = bytes_of(text)
    if read.has_twins and flags & IGNORECASE:
        read = read._replace(data=read.folded)
    return read if end == len(text) else read._replace(data=read.data[:end])


@lru_cache(maxsize=512)
def _known(pattern: str, flags: int) -> Pattern:
    return Pattern(pattern, flags)


def compile(pattern: str, flags: int = 0) -> Pattern:  # noqa: A001 - as in re
    """The pattern, which is parsed on first use."""
    return Pattern(pattern, int(flags))


def search(pattern: str, text: str, flags: int = 0) -> Match | None:
    return _known(pattern, int(flags)).search(text)


def match(pattern: str, text: str, flags: int = 0) -> Match | None:
    return _known(pattern, int(flags)).match(text)


def fullmatch(pattern: str, text: str, flags: int = 0) -> Match | None:
    return _known(pattern, int(flags)).fullmatch(text)


def finditer(pattern: str, text: str, flags: int = 0) -> Iterator[Match]:
    return _known(pattern, int(flags)).finditer(text)


def findall(pattern: str, text: str, flags: int = 0) -> list[Any]:
    return _known(pattern, int(flags)).findall(text)


def split(pattern: str, text: str, maxsplit: int = 0, flags: int = 0) -> list[Any]:
    return _known(pattern, int(flags)).split(text, maxsplit)


def sub(pattern: str, repl: Repl, text: str, count: int = 0, flags: int = 0) -> str:
    return _known(pattern, int(flags)).sub(repl, text, count)
