"""Every order in which keys can turn, be used and be interrupted: a small model, walked through exhaustively.

A state is what the two databases hold and what each actor has read so far.  A move is one commit, or one reading, of
one actor.  The actors are two operators that run the steps of ``apps.crypto.lifecycle`` against each other, each of
which may die before any move and start over; a writer; a reader with a snapshot; and a worker that reseals rows.
From every state that can be reached, these must hold:

    a row is committed under the version that is active at that moment
    every version that main calls live can be loaded from the keyring
    no key is destroyed while a row is under it
    who reads a row can load its key
    the end can still be reached: all rows under the newest version, the one before destroyed

The model is as small as it can be and still fail: each guard is taken out in turn, and the walk finds what goes wrong.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import pytest

OLD, NEW = 1, 2
LOADABLE: Final = ("pending", "active", "read_only")
ALL: Final = frozenset(
    {
        "flip waits for writers",
        "writer reads under the lock",
        "begin before flip",
        "retire asks for rows",
        "retire in main first",
        "retire waits for readers",
        "destroy asks for the state",
        "epoch rises",
    }
)


@dataclass(frozen=True)
class State:
    """keyring: the state of each version.  rows: how many are under each version.

    writer: what it read and still holds, as (version, holds the lock); None between transactions.
    reader: (the versions of the rows in its snapshot, the epoch it read); None between transactions.
    held: what the one process has loaded, as (epoch, versions).
    operators: for each, what its last reading told it to do next; "" to look first.
    """

    keyring: tuple[str, str] = ("active", "none")
    active: int = OLD
    live: frozenset[int] = frozenset({OLD})
    epoch: int = 1
    rows: tuple[int, int] = (2, 0)
    writer: tuple[int, bool] | None = None
    written: int = 0
    reader: tuple[frozenset[int], frozenset[int], int] | None = None
    held: tuple[int, frozenset[int]] = (1, frozenset({OLD}))
    operators: tuple[str, str] = ("", "")

    def key(self, version: int) -> str:
        return self.keyring[version - 1]

    def with_key(self, version: int, state: str) -> "State":
        keys = list(self.keyring)
        keys[version - 1] = state
        return replace(self, keyring=(keys[0], keys[1]))

    def is_over(self) -> bool:
        return self.rows[0] == 0 and self.active == NEW and self.keyring == ("destroyed", "active")


class Broken(Exception):
    """A promise does not hold; the message says which."""


def next_step(state: State, guards: frozenset[str]) -> str:
    """What the operator does, from what the databases say: it remembers nothing."""
    if state.key(NEW) == "none" and "begin before flip" in guards:
        return "begin"
    if state.key(NEW) == "pending":
        return "promote"
    if state.active == OLD:
        return "flip"
    if "retire in main first" in guards:
        if OLD in state.live:
            return "withdraw"
        if state.key(OLD) == "read_only":
            return "retire"
    elif state.key(OLD) == "read_only":
        return "retire"
    elif OLD in state.live:
        return "withdraw"
    return ""


def act(state: State, step: str, guards: frozenset[str]) -> State | None:
    """The databases after one step of an operator; None while it has to wait or is refused.

    The step may have been chosen long ago: each looks again at what it changes, as the SQL does.
    """
    epoch = state.epoch + 1 if "epoch rises" in guards else state.epoch
    is_locked = state.writer is not None and state.writer[1] and "flip waits for writers" in guards
    if step == "begin":
        return state.with_key(NEW, "pending") if state.key(NEW) == "none" else state
    if step == "promote":
        if state.key(NEW) != "pending":
            return state
        return state.with_key(OLD, "read_only").with_key(NEW, "active")
    if step == "flip":
        if is_locked:
            return None
        if NEW in state.live:
            return state
        return replace(state, active=NEW, live=state.live | {NEW}, epoch=epoch)
    if step == "withdraw":
        if is_locked or (state.reader is not None and "retire waits for readers" in guards):
            return None
        if state.rows[0] and "retire asks for rows" in guards:
            return None
        return replace(state, live=state.live - {OLD}, epoch=epoch)
    if step == "retire":
        return state.with_key(OLD, "retired") if state.key(OLD) == "read_only" else state
    if "destroy asks for the state" in guards and state.key(OLD) != "retired":
        return None
    return state.with_key(OLD, "destroyed")


def moves(state: State, guards: frozenset[str]) -> Iterator[State]:
    yield from operator_moves(state, guards)
    yield from writer_moves(state, guards)
    yield from reader_moves(state, guards)
    yield from worker_moves(state)


def operator_moves(state: State, guards: frozenset[str]) -> Iterator[State]:
    for number, planned in enumerate(state.operators):
        others = list(state.operators)
        if planned:
            others[number] = ""
            yield replace(state, operators=(others[0], others[1]))  # it dies, or is refused, and starts over
            done = act(state, planned, guards)
            if done is not None:
                yield replace(done, operators=(others[0], others[1]))
        else:
            # A person may ask for the key to be destroyed at any time.
            for step in {next_step(state, guards), "destroy"} - {""}:
                others[number] = step
                yield replace(state, operators=(others[0], others[1]))


def writer_moves(state: State, guards: frozenset[str]) -> Iterator[State]:
    """It reads the state and takes the lock, in one; then it commits, or dies.  It writes at most twice."""
    if state.writer is None:
        if state.written < 2:
            yield replace(loaded(state), writer=(state.active, "writer reads under the lock" in guards))
        return
    version, _ = state.writer
    yield replace(state, writer=None)
    if version != state.active:
        raise Broken("a row was written under a version that is not active")
    if version not in state.held[1]:
        raise Broken("a writer could not load the active key")
    rows = (state.rows[0] + (version == OLD), state.rows[1] + (version == NEW))
    yield replace(state, writer=None, rows=rows, written=state.written + 1)


def reader_moves(state: State, guards: frozenset[str]) -> Iterator[State]:
    """It takes a snapshot of state and rows; later it opens each row with what its process holds or loads then."""
    if state.reader is None:
        seen = frozenset(version for version in (OLD, NEW) if state.rows[version - 1])
        yield replace(state, reader=(seen, state.live, state.epoch))
        return
    seen, live, epoch = state.reader
    after = loaded(state, epoch=epoch)
    if not seen <= live:
        raise Broken("a row is under a version that is not live")
    if not live <= after.held[1]:
        raise Broken("a reader could not load a live key")
    yield replace(after, reader=None)


def loaded(state: State, *, epoch: int | None = None) -> State:
    """The process drops what it holds when the epoch differs, and loads what the keyring gives then."""
    wanted = state.epoch if epoch is None else epoch
    if state.held[0] == wanted:
        return state
    return replace(state, held=(wanted, frozenset(v for v in (OLD, NEW) if state.key(v) in LOADABLE)))


def worker_moves(state: State) -> Iterator[State]:
    """Row by row, in one commit each, holding the state's lock as a writer does: so under the active version."""
    if state.active == NEW and state.rows[0] and OLD in state.live:
        yield replace(state, rows=(state.rows[0] - 1, state.rows[1] + 1))


def check(state: State) -> None:
    for version in state.live:
        if state.key(version) not in LOADABLE:
            raise Broken("main calls a version live that cannot be loaded")
    if state.key(OLD) == "destroyed" and state.rows[0]:
        raise Broken("a key was destroyed with rows under it")


def walk(guards: frozenset[str] = ALL) -> dict[State, list[State]]:
    """Every state that can be reached, and where each leads.  Raises Broken."""
    found: dict[State, list[State]] = {}
    waiting = [State()]
    while waiting:
        state = waiting.pop()
        if state in found:
            continue
        check(state)
        found[state] = list(moves(state, guards))
        waiting += found[state]
    return found


def can_end(found: dict[State, list[State]]) -> set[State]:
    """The states from which an end is reached: backwards from the ends."""
    before: dict[State, list[State]] = {}
    for state, following in found.items():
        for one in following:
            before.setdefault(one, []).append(state)
    waiting, ending = [state for state in found if state.is_over()], set()
    while waiting:
        state = waiting.pop()
        if state not in ending:
            ending.add(state)
            waiting += before.get(state, [])
    return ending


def test_in_every_order_of_steps_and_crashes_the_promises_hold_and_the_end_is_reached() -> None:
    found = walk()

    assert len(found) > 5_000
    assert can_end(found) == set(found)


@pytest.mark.parametrize(
    ("guard", "message"),
    [
        ("begin before flip", "cannot be loaded"),
        ("flip waits for writers", "not active"),
        ("writer reads under the lock", "not active"),
        ("retire asks for rows", "not live"),
        ("retire in main first", "cannot be loaded"),
        ("retire waits for readers", "not load a live key"),
        ("destroy asks for the state", "cannot be loaded|destroyed with rows"),
        ("epoch rises", "not load"),
    ],
)
def test_without_one_of_the_guards_the_walk_finds_what_goes_wrong(guard: str, message: str) -> None:
    with pytest.raises(Broken, match=message):
        walk(ALL - {guard})
