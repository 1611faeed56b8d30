"""Apply relations to a ranking: add memories that no retriever found, and lower contradicted ones.

A memory scores at least what the best path to it carries, so a relation never lowers it.  Of two memories that
contradict each other, the less confident one falls, else the older; its explanation names the other.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from apps.crypto.services import SpaceCipher
from apps.edges.opened import Neighbour
from apps.edges.selectors import contradictions, neighbours
from apps.memories.analyses import fetch_analyses, open_analyses
from apps.memories.selectors import replacements_among
from apps.projects.scope import Scope, SpaceRef
from apps.recall.bridges import Bridge, cross
from apps.recall.ranking import Ranked, lift, lower
from apps.recall.results import Filters
from apps.recall.retrievers.graph import HOPS, SEEDS, Reached, follow
from apps.recall.search import conditions, moment_of
from apps.recall.shortlist import passes_metadata

LOOKED_AT: Final = 64  # best of the ranking that are checked for contradictions


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """ranked: the ranking after relations.  reached: memories whose score comes from a path.

    fingerprints: of the memories found only along relations.  contradicted: memory id to the ids of those against it.
    behind: the same, of those that may fall, and of memories that were replaced.
    """

    ranked: Sequence[Ranked]
    reached: Mapping[int, Reached] = field(default_factory=dict)
    fingerprints: Mapping[int, bytes] = field(default_factory=dict)
    contradicted: Mapping[int, Sequence[int]] = field(default_factory=dict)
    behind: Mapping[int, Sequence[int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relations:
    """The relations of one space, for one recall.  Use inside its snapshot.

    fingerprints: of the memories found so far.  wanted: ids of a sealed space that pass the filter; None for other
    spaces.  without: ids of memories that failed to decrypt.
    bridges: to memories that share an entity with the best.
    """

    scope: Scope
    space: SpaceRef
    cipher: SpaceCipher
    filters: Filters
    now: datetime
    fingerprints: dict[int, bytes]
    wanted: Collection[int] | None = None
    without: Collection[int] = ()
    bridges: Sequence[Bridge] = ()

    def relate(
        self, ranked: Sequence[Ranked], *, depth: int, weight: float = 1.0, may_fall: Collection[int] = ()
    ) -> Related:
        """depth: requested, 1 to 3.  weight: multiplies the scores that paths carry; 0 disables paths.  may_fall: ids
        of memories that fall if another contradicts them."""
        known = set(self.fingerprints)
        reached = self._reach(ranked, hops=HOPS[depth]) if weight > 0 else {}
        carried = {memory_id: min(1.0, weight * one.score) for memory_id, one in reached.items()}
        lifted = lift(ranked, carried)
        own = {one.id: one.score for one in ranked} if reached else {}
        reached = {one: path for one, path in reached.items() if carried[one] > own.get(one, 0.0)}
        against: dict[int, list[int]] = {}
        pairs = contradictions(self.scope, self.space, [one.id for one in lifted[:LOOKED_AT]])
        replaced = (
            replacements_among(self.scope.in_spaces(self.space), [one.id for one in lifted])
            if self.filters.include_superseded
            else []
        )
        for stronger, weaker in dict.fromkeys([*pairs, *replaced]):
            against.setdefault(weaker, []).append(stronger)
        falling = {*may_fall, *(older for _, older in replaced)}
        behind = {one: by for one, by in against.items() if one in falling}
        return Related(
            ranked=lower(lifted, behind),
            reached=reached,
            fingerprints={one: digest for one, digest in self.fingerprints.items() if one not in known},
            contradicted=against,
            behind=behind,
        )

    def _reach(self, ranked: Sequence[Ranked], *, hops: int) -> dict[int, Reached]:
        seeds = {one.id: one.score for one in ranked[:SEEDS] if one.score > 0}
        reached, crossed = follow(self._steps, seeds, hops=hops), cross(ranked, self.bridges)
        better = {one for one in crossed if one not in reached or crossed[one].score > reached[one].score}
        return reached | {one: crossed[one] for one in better}

    def _steps(self, node_ids: Sequence[int]) -> list[Neighbour]:
        """Steps to neighbours that pass the whole filter and decrypt; applied at every hop."""
        where, values, _ = conditions(self.filters, self.scope, self.cipher, now=self.now)
        steps = neighbours(
            self.scope,
            self.space,
            node_ids,
            where=where,
            values=values,
            replaced=moment_of(self.filters, now=self.now) is not None,
            now=self.now,
        )
        if self.wanted is not None:
            steps = [step for step in steps if step.memory_id in self.wanted]
        self._open({step.memory_id for step in steps} - set(self.fingerprints) - set(self.without))
        return [step for step in steps if step.memory_id in self.fingerprints and step.memory_id not in self.without]

    def _open(self, memory_ids: set[int]) -> None:
        """Decrypt what is compared of these.  A failure is reported, and no path leads through that memory."""
        scope, space, cipher, moment = self.scope, self.space, self.cipher, moment_of(self.filters, now=self.now)
        rows = fetch_analyses(scope, space, sorted(memory_ids), moment)
        sealed = {
            row.id: row.analysis
            for row in rows
            if passes_metadata(
                self.filters.metadata, cipher, row.id, row.metadata, row.revision,
                scope=scope, space=space, now=self.now,
            )
        }  # fmt: skip
        for memory_id, one in open_analyses(scope, space, sealed, cipher, moment, now=self.now).items():
            self.fingerprints[memory_id] = one.fingerprint
