"""Matches one pattern at one position of a str exactly as ``re`` does, without repeating work.

It decides what the linear engine cannot: lookarounds, and word boundaries beside non-ASCII letters.  It tries the
alternatives in the order of ``re`` and remembers, for each position, which branches have failed.  So a text costs at
most (branches of the pattern) x (characters) steps.  Results of lookarounds are remembered as well.
"""

from typing import Final

from text.budget import checkpoint
from text.letters import Characters, is_word
from text.syntax import Alternation, Anchor, Group, Look, Node, One, ParsedPattern, Repeat, Row, edge

# Operations; each has its arguments in a tuple.
_ONE, _FORK, _JUMP, _SAVE, _AT, _LOOK, _CHOICE, _DONE, _STUCK = range(9)
Branch = tuple[int, list[Characters] | None]  # its first operation, and the classes of its possible first characters

_STEPS_BETWEEN: Final = 2_000
_MOST_OPERATIONS: Final = 400_000


class Program:
    """The pattern as a list of operations.  groups: number of capture groups."""

    def __init__(self, parsed: ParsedPattern) -> None:
        self.groups = parsed.groups
        self.operations: list[tuple[int, object, object]] = []
        self._write(parsed.node)
        self._add(_DONE)
        found, empty = edge(parsed.node)
        self._first: list[Characters] | None = None if empty else found
        self._first_known: dict[str, bool] = {}

    def _add(self, operation: int, one: object = None, other: object = None) -> int:
        self.operations.append((operation, one, other))
        if len(self.operations) > _MOST_OPERATIONS:
            raise ValueError("the pattern is too large to be matched exactly")
        return len(self.operations) - 1

    def _here(self) -> int:
        return len(self.operations)

    def _write(self, node: Node) -> None:
        if isinstance(node, One):
            self._add(_ONE, node.characters)
        elif isinstance(node, Anchor):
            self._add(_AT, node.kind, node.ascii)
        elif isinstance(node, Row):
            for part in node.parts:
                self._write(part)
        elif isinstance(node, Group):
            self._add(_SAVE, 2 * node.index)
            self._write(node.part)
            self._add(_SAVE, 2 * node.index + 1)
        elif isinstance(node, Look):
            look = self._add(_LOOK)
            self._write(node.part)
            self._add(_DONE)
            self.operations[look] = (_LOOK, node, self._here())
        elif isinstance(node, Alternation):
            self._choice(node)
        else:
            self._repeat(node)

    def _choice(self, node: Alternation) -> None:
        choice = self._add(_CHOICE)
        branches: list[Branch] = []
        jumps = []
        for branch in node.branches:
            found, empty = edge(branch)
            branches.append((self._here(), None if empty else found))
            self._write(branch)
            jumps.append(self._add(_JUMP))
        for jump in jumps:
            self.operations[jump] = (_JUMP, self._here(), None)
        self.operations[choice] = (_CHOICE, branches, {})

    def _repeat(self, node: Repeat) -> None:
        for _ in range(node.least):
            self._write(node.part)
        if node.most is None:
            fork = self._add(_FORK)
            self._write(node.part)
            self._add(_JUMP, fork)
            self._turn(fork, node.lazy, self._here())
            return
        forks = []
        for _ in range(node.most - node.least):
            forks.append(self._add(_FORK))
            self._write(node.part)
        for fork in forks:
            self._turn(fork, node.lazy, self._here())

    def _turn(self, fork: int, lazy: bool, after: int) -> None:
        self.operations[fork] = (_FORK, after, fork + 1) if lazy else (_FORK, fork + 1, after)

    def may_begin(self, char: str) -> bool:
        if self._first is None:
            return True
        known = self._first_known.get(char)
        if known is None:
            known = any(characters.holds(char) for characters in self._first)
            if len(self._first_known) < 512:
                self._first_known[char] = known
        return known

    @property
    def may_be_empty(self) -> bool:
        return self._first is None


def _branches(
    branches: list[tuple[int, list[Characters] | None]], known: dict[str, tuple[int, ...]], char: str
) -> tuple[int, ...]:
    """The branches to try for this character ("" at the end), the last branch first."""
    found = known.get(char)
    if found is None:
        found = tuple(
            place
            for place, first in reversed(branches)
            if first is None or (char and any(characters.holds(char) for characters in first))
        )
        if len(known) < 512:
            known[char] = found
    return found


Saved = tuple[int, int, "Saved"] | None


class Trial:
    """A program applied to one text; failures are remembered between positions.

    end: the text is treated as if it ended there.  whole: a match must reach the end.  some: it must not be empty.
    """

    def __init__(self, program: Program, text: str, end: int, *, whole: bool = False, some: bool = False) -> None:
        self._program, self._text, self._end, self._whole, self._some = program, text, end, whole, some
        self._failed: set[int] = set()
        self._seen: dict[tuple[int, int], bool] = {}

    def at(self, start: int) -> list[tuple[int, int]] | None:
        """The spans of the match that begins at start, the whole first; (-1, -1) for a group outside the match."""
        if start < self._end:
            if not self._program.may_begin(self._text[start]):
                return None
        elif not self._program.may_be_empty:
            return None
        reached = self._run(0, start, self._failed, whole=self._whole, some=self._some)
        if reached is None:
            return None
        self._failed = set()  # states on the way of a match have not failed
        end, saved = reached
        places = [-1] * (2 * self._program.groups + 2)
        while saved is not None:
            slot, at, saved = saved
            if places[slot] < 0:
                places[slot] = at
        places[0], places[1] = start, end
        return [
            (places[i], places[i + 1]) if places[i + 1] >= 0 <= places[i] else (-1, -1)
            for i in range(0, len(places), 2)
        ]

    def search(self, start: int) -> list[tuple[int, int]] | None:
        for place in range(start, self._end + 1):
            if (found := self.at(place)) is not None:
                return found
            if place % 512 == 0:
                checkpoint()
        return None

    def _run(self, begin: int, start: int, failed: set[int], *, whole: bool, some: bool) -> tuple[int, Saved] | None:
        text, end = self._text, self._end
        operations = self._program.operations
        size = len(operations)
        waiting: list[tuple[int, int, Saved]] = [(begin, start, None)]
        steps = 0
        while waiting:
            at, place, saved = waiting.pop()
            while True:
                steps += 1
                if steps % _STEPS_BETWEEN == 0:
                    checkpoint()
                operation, one, other = operations[at]
                if operation == _ONE:
                    if place < end and one.holds(text[place]):  # type: ignore[attr-defined]
                        at += 1
                        place += 1
                        continue
                    break
                if operation == _JUMP:
                    at = one  # type: ignore[assignment]
                    continue
                if operation == _FORK:
                    key = place * size + at
                    if key in failed:
                        break
                    failed.add(key)
                    waiting.append((other, place, saved))  # type: ignore[arg-type]
                    at = one  # type: ignore[assignment]
                    continue
                if operation == _CHOICE:
                    key = place * size + at
                    if key in failed:
                        break
                    failed.add(key)
                    char = text[place] if place < end else ""
                    branches = _branches(one, other, char)  # type: ignore[arg-type]
                    if not branches:
                        break
                    waiting.extend((branch, place, saved) for branch in branches[:-1])
                    at = branches[-1]
                    continue
                if operation == _SAVE:
                    saved = (one, place, saved)  # type: ignore[assignment]
                    at += 1
                    continue
                if operation == _AT:
                    if self._stands(one, other, place):  # type: ignore[arg-type]
                        at += 1
                        continue
                    break
                if operation == _LOOK:
                    if self._looks(at, one, place) is not one.negate:  # type: ignore[arg-type,attr-defined]
                        at = other  # type: ignore[assignment]
                        continue
                    break
                if (not whole or place == end) and (not some or place > start):
                    return place, saved
                break
        return None

    def _looks(self, at: int, look: Look, place: int) -> bool:
        key = (at, place)
        known = self._seen.get(key)
        if known is None:
            start = place - look.width
            # Each lookaround has its own set of failures: what fails there may match elsewhere.
            known = start >= 0 and self._run(at + 1, start, set(), whole=False, some=False) is not None
            self._seen[key] = known
        return known

    def _stands(self, kind: str, is_ascii: bool, place: int) -> bool:
        text, end = self._text, self._end
        match kind:
            case "begin":
                return place == 0
            case "begin_line":
                return place == 0 or text[place - 1] == "\n"
            case "end":
                return place == end or (place == end - 1 and text[place] == "\n")
            case "end_line":
                return place == end or text[place] == "\n"
            case "end_string":
                return place == end
        before = place > 0 and _word(text[place - 1], is_ascii)
        after = place < end and _word(text[place], is_ascii)
        return (before != after) is (kind == "word")


def _word(char: str, is_ascii: bool) -> bool:
    return is_word(char) and (not is_ascii or char.isascii())
