"""The write path, on one screen.

Before the lock: extract and gate candidates, find entities, compute keyed handles and vectors, and detect changes of
existing memories.  Under the space's lock, in one transaction: deduplicate, supersede, queue for review, relate, write.
Only ``index`` writes; it calls ``encrypt``, because a ciphertext is bound to the row's id.  The lock prevents two
workers from deduplicating against the same state (docs/adr/0003).
"""

from collections.abc import Sequence

from apps.core.scoping import tenant_transaction
from apps.ingest.candidates import MemoryCandidate, Proposal
from apps.ingest.pipeline_context import PipelineContext
from apps.ingest.snapshot import SpaceSnapshot
from apps.ingest.steps.apply_changes import apply_changes, close_what_says_nothing
from apps.ingest.steps.classify import classify
from apps.ingest.steps.connect import connect
from apps.ingest.steps.dedupe import dedupe, replay_client_ref
from apps.ingest.steps.detect_changes import detect_changes
from apps.ingest.steps.embed import embed
from apps.ingest.steps.entities import extract_entities
from apps.ingest.steps.extract import extract
from apps.ingest.steps.index import index
from apps.ingest.steps.lookup_keys import add_lookup_keys
from apps.ingest.steps.review_gate import Queue
from apps.ingest.steps.supersede import close, supersede


def run(proposals: Sequence[Proposal], tools: PipelineContext) -> list[list[MemoryCandidate]]:
    """Return each proposal's candidates, all decided.  Everything is written in one transaction."""
    batch = [extract(proposal, now=tools.now) for proposal in proposals]
    candidates = [candidate for one in batch for candidate in one]
    classify(candidates, tools.types)
    extract_entities(candidates, tools)
    add_lookup_keys(candidates, tools)
    embed(candidates, tools)
    detect_changes(candidates, tools)
    with tenant_transaction(tools.scope, is_planned=True):
        snapshot = SpaceSnapshot.locked(candidates, tools)
        queue = Queue(snapshot)
        for one in batch:
            # In sequence, so that a candidate sees what earlier ones of the batch stored.
            if replay_client_ref(one, snapshot):
                continue
            for candidate in one:
                dedupe(candidate, snapshot)
                supersede(candidate, snapshot)
                queue.take(candidate)
                close(candidate, snapshot)
                apply_changes(candidate, snapshot)
            snapshot.give_receipt(one)
        close_what_says_nothing(candidates, snapshot)
        index(batch, connect(batch, snapshot), snapshot, tools)
    return batch
