"""Verification of the audit log: recomputes every hash and compares every chain with signed checkpoints.

No database access: the caller supplies rows, heads and checkpoints from the database or a file.  Kinds of findings:

edit         a row does not match its hash, or the next row stores another hash
gap          a row is missing in the middle
reorder      a row is in another row's place
truncation   the end is missing: a checkpoint, or the head of the chain, has more rows
fork         the chain is consistent, but differs from a checkpoint
unchained    a row was inserted without the database's chaining
head         the stored head of the chain is behind its last row
checkpoint   a checkpoint is not valid, and is not used for comparison
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Final

from apps.audit.chain import NO_HASH, Entry
from apps.audit.checkpoint_statement import Head, Signed

MOST_BAD: Final = 1_000  # bad rows per chain kept in memory, to detect rows that were swapped


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationFinding:
    """One finding.

    chain: the tenant id, 0 for rows without a tenant, None for a checkpoint.  seq: number of the first bad row or of
    the checkpoint.  row_id: None if there is no row.
    """

    kind: str
    chain: int | None
    seq: int
    row_id: int | None = None
    detail: str


@dataclass(slots=True, kw_only=True)
class VerificationReport:
    """Result of a verification.  covered: by chain, the last row that a checkpoint confirms."""

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
    """Return the checkpoints that this deployment signed, ordered by number, and findings about all others."""
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
    """Verify the chains.

    entries: ordered by chain and seq.  heads: the stored heads; None if unknown.  known: heads in valid checkpoints.
    after: if the entries are the end of one chain, the row before the first entry.
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
    """Return why a checkpoint is invalid; None if it is valid."""
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
    """Reads one chain and stores the first finding."""

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
        """Return the first bad row.  Call it after the whole chain: a swap is visible only with its second row."""
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
    """Yield findings between valid checkpoints: one is missing, or two contradict each other."""
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
