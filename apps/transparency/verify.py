"""Is the trail whole?  Every hash is computed again, and every chain is held against signed checkpoints.

Pure: rows, heads and checkpoints are handed in, from the database or from a file.  The findings are

edit         a row does not have its hash, or the row after it holds another
gap          a row is missing in the middle
reorder      a row stands where another should
truncation   the end is missing: a checkpoint, or the head of the chain, has seen more
fork         the chain is whole in itself and is not the one that a checkpoint has seen
unchained    a row was put in past the database's own chaining
head         the stored head of the chain is behind its last row
checkpoint   a checkpoint is not to be believed, and nothing is held against it
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Final

from apps.audit.chain import NO_HASH, Entry
from apps.audit.checkpoint_statement import Head, Signed

MOST_BAD: Final = 1_000  # rows of a chain kept to find out which of them changed places


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationFinding:
    """chain: the tenant, 0 for rows of none, None for a checkpoint.  seq: of the first bad row; of a checkpoint its
    number.  row_id: where there is a row."""

    kind: str
    chain: int | None
    seq: int
    row_id: int | None = None
    detail: str


@dataclass(slots=True, kw_only=True)
class VerificationReport:
    """covered: of each chain the last row that a checkpoint confirms."""

    rows: int = 0
    chains: int = 0
    findings: list[VerificationFinding] = field(default_factory=list)
    covered: dict[int, int] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        return not self.findings


def trusted(
    checkpoints: Iterable[Signed], *, deployment: str, is_signed: Callable[[Signed], bool]
) -> tuple[list[Signed], list[VerificationFinding]]:
    """Those that this deployment signed, by number, and what is wrong with the others."""
    good: dict[str, Signed] = {}
    findings = []
    for one in checkpoints:
        if wrong := wrong_with(one, deployment=deployment, is_signed=is_signed):
            findings.append(VerificationFinding(kind="checkpoint", chain=None, seq=one.statement.number, detail=wrong))
        else:
            good[one.statement.hash] = one
    ordered = sorted(good.values(), key=lambda one: one.statement.number)
    return ordered, findings + list(_breaks(ordered))


def verify(
    entries: Iterable[Entry],
    *,
    heads: Mapping[int, Head] | None = None,
    known: Iterable[Head] = (),
    after: Head | None = None,
) -> VerificationReport:
    """entries: by chain and seq.  heads: as stored, where they are.  known: heads that believed checkpoints list.

    after: of one chain the row before the first that is handed in, where that is not the first of all.
    """
    report = VerificationReport()
    seen: dict[int, list[Head]] = defaultdict(list)
    for head in known:
        seen[head.chain].append(head)
    missing = seen.keys() | (heads or {}).keys()
    for chain, rows in groupby(entries, key=lambda entry: entry.chain):
        missing -= {chain}
        walk = _Walk(chain, seen.get(chain, ()), after=after)
        _verify_chain(walk, rows, (heads or {}).get(chain), report, has_heads=heads is not None)
    for chain in sorted(missing):
        walk = _Walk(chain, seen.get(chain, ()), after=after)
        _verify_chain(walk, (), (heads or {}).get(chain), report, has_heads=heads is not None)
    return report


def wrong_with(one: Signed, *, deployment: str, is_signed: Callable[[Signed], bool]) -> str | None:
    """Why a checkpoint is not to be believed; None for one that is."""
    if one.statement.deployment != deployment:
        return "it is of another deployment"
    if not is_signed(one):
        return "the signature is not that of this deployment's key"
    if not one.lists_what_it_says:
        return "the heads beside it are not those it was made over"
    return None


def _verify_chain(
    walk: "_Walk", rows: Iterable[Entry], head: Head | None, report: VerificationReport, *, has_heads: bool
) -> None:
    for entry in rows:
        walk.step(entry)
    report.chains += 1
    report.rows += walk.rows
    findings = [found for found in (walk.first_bad(), walk.fork, walk.truncation()) if found]
    if has_heads and not findings and (found := _held_against_head(walk, head)):
        findings.append(found)
    report.findings += findings
    if walk.covered:
        report.covered[walk.chain] = walk.covered


class _Walk:
    """Goes along one chain and remembers the first thing that is wrong."""

    def __init__(self, chain: int, known: Sequence[Head], *, after: Head | None = None) -> None:
        self.chain, self.rows, self.covered = chain, 0, 0
        begins_at = after if after and after.chain == chain else Head(chain, 0, NO_HASH)
        self.last_seq, self.last_hash = begins_at.seq, begins_at.hash
        self.fork: VerificationFinding | None = None
        self._known: dict[int, set[str]] = defaultdict(set)
        for head in known:
            self._known[head.seq].add(head.hash)
        self._last_known = max(self._known, default=0)
        self._before: Entry | None = None
        self._first: VerificationFinding | None = None
        self._bad: list[Entry] = []

    def step(self, entry: Entry) -> None:
        self.rows += 1
        if entry.seq is None:
            self._note("unchained", 0, entry, "a row that has no number")
            return
        is_whole = entry.is_whole
        if not is_whole and len(self._bad) < MOST_BAD:
            self._bad.append(entry)
        if entry.seq > self.last_seq + 1:
            self._note("gap", self.last_seq + 1, None, f"row {self.last_seq + 1} is missing")
        elif entry.seq <= self.last_seq:
            self._note("reorder", entry.seq, entry, f"row {entry.seq} comes after row {self.last_seq}")
        elif not is_whole:
            self._note("edit", entry.seq, entry, "the row is not the one that was hashed")
        elif entry.prev_hash != self.last_hash:
            changed = self._before or entry
            self._note("edit", changed.seq or 0, changed, "the row after it holds another hash")
        self._hold_against_checkpoints(entry)
        self.last_seq, self.last_hash, self._before = entry.seq, entry.hash, entry

    def first_bad(self) -> VerificationFinding | None:
        """The first bad row; called once the whole chain has been seen, since what changed places takes two."""
        first = self._first
        if first is None or first.kind != "edit" or not self._bad or self._bad[0].id != first.row_id:
            return first
        moved, *others = self._bad
        for other in others:
            if moved.would_belong_at(other):
                detail = f"the row belongs where row {other.seq} is"
                return VerificationFinding(
                    kind="reorder", chain=self.chain, seq=first.seq, row_id=first.row_id, detail=detail
                )
        return first

    def truncation(self) -> VerificationFinding | None:
        if self._last_known <= self.last_seq:
            return None
        return self.truncated(f"a checkpoint has seen {self._last_known} rows")

    def truncated(self, why: str) -> VerificationFinding:
        return VerificationFinding(
            kind="truncation", chain=self.chain, seq=self.last_seq + 1, detail=f"the end is missing: {why}"
        )

    def _hold_against_checkpoints(self, entry: Entry) -> None:
        confirmed = self._known.get(entry.seq or 0)
        if not confirmed:
            return
        if confirmed == {entry.hash}:
            if self._first is None and self.fork is None:
                self.covered = entry.seq or 0
        elif self.fork is None:
            self.fork = VerificationFinding(
                kind="fork",
                chain=self.chain,
                seq=entry.seq or 0,
                row_id=entry.id,
                detail="a checkpoint has seen another row here",
            )

    def _note(self, kind: str, seq: int, entry: Entry | None, detail: str) -> None:
        if self._first is None:
            self._first = VerificationFinding(
                kind=kind, chain=self.chain, seq=seq, row_id=entry.id if entry else None, detail=detail
            )


def _held_against_head(walk: _Walk, head: Head | None) -> VerificationFinding | None:
    stored = head or Head(walk.chain, 0, NO_HASH)
    if stored.seq > walk.last_seq:
        return walk.truncated(f"the chain had {stored.seq} rows")
    if (stored.seq, stored.hash) != (walk.last_seq, walk.last_hash):
        return VerificationFinding(
            kind="head", chain=walk.chain, seq=walk.last_seq, detail="the chain's head is not its last row"
        )
    return None


def _breaks(ordered: Sequence[Signed]) -> Iterator[VerificationFinding]:
    """Between believed checkpoints: one is missing, or two say different things."""
    for before, after in pairwise(ordered):
        number = after.statement.number
        if number == before.statement.number:
            yield VerificationFinding(
                kind="checkpoint", chain=None, seq=number, detail="there are two that say different things"
            )
        elif number > before.statement.number + 1:
            missing = before.statement.number + 1
            yield VerificationFinding(
                kind="checkpoint", chain=None, seq=missing, detail="it is missing, and a later one is there"
            )
        elif after.statement.previous != before.statement.hash:
            yield VerificationFinding(
                kind="checkpoint", chain=None, seq=number, detail="it does not follow the one before it"
            )
