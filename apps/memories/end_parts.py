"""End a part of a memory: its words are removed from the text, and the original text is stored beside it.

Search and display therefore read only what still holds; only a query about another time decrypts the original.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from apps.crypto.services import SpaceCipher
from apps.memories import postings, revisions
from apps.memories.ended_parts import MemoryPart, packed, without
from apps.memories.lookup_keys import text_mac
from apps.memories.models import Memory
from apps.memories.models.memory import SAID, TEXT
from apps.memories.revisions import FieldChange
from apps.memories.sealing import (
    REVISED_COLUMNS,
    open_handles,
    open_parts,
    open_said,
    open_text,
    seal_analysis,
    seal_changed,
)
from apps.outbox.services import enqueue
from apps.projects.models import Space
from apps.projects.scope import Scope
from text.terms import terms

_COLUMNS: Final = [
    "text_ct", "analysis_ct", "text_mac", "said_ct", "said_mac", *REVISED_COLUMNS, "updated_at", "changed_txid",
]  # fmt: skip


def end_parts(
    scope: Scope, space: Space, row: Memory, parts: Iterable[MemoryPart], cipher: SpaceCipher, *, now: datetime
) -> None:
    """Remove these parts from a memory whose rest still holds, and re-index the rest.

    In the transaction that holds the space's lock; the caller saves the counts of ``space``.
    """
    _rewrite(scope, space, row, [*open_parts(row, cipher), *parts], cipher, now=now)


def restore_parts(scope: Scope, space: Space, row: Memory, *, by: int, cipher: SpaceCipher, now: datetime) -> bool:
    """Restore the parts that memory ``by`` ended; returns whether there were any.  Runs like ``end_parts``."""
    there = open_parts(row, cipher)
    left = [one for one in there if one.by != by]
    if len(left) == len(there):
        return False
    _rewrite(scope, space, row, left, cipher, now=now)
    return True


def _rewrite(
    scope: Scope, space: Space, row: Memory, parts: Sequence[MemoryPart], cipher: SpaceCipher, *, now: datetime
) -> None:
    said, before = open_said(row, cipher), open_text(row, cipher)
    text = without(said, parts)
    if row.said_ct is None:
        row.said_ct = cipher.seal(SAID, row.pk, said)
    words = terms(text.reveal())
    row.text_ct = cipher.seal(TEXT, row.pk, text)
    row.analysis_ct = seal_analysis(row.pk, text, cipher, terms=words)
    # The original text, stated again, no longer repeats this memory, except in a statement about the time before.
    voice = open_handles(row, cipher).voice
    row.text_mac = text_mac(cipher, text, voice=voice)
    row.said_mac = text_mac(cipher, said, voice=voice) if parts else None
    seal_changed(row, cipher, parts=packed(parts))
    row.updated_at, row.changed_txid = now, space.txid
    row.save(update_fields=_COLUMNS)
    space.term_total += len(words) - len(terms(before.reveal()))
    postings.remove(scope, [row.pk])
    postings.write(scope, [postings.posting_of(row, words, cipher)])
    # Its vector stays until the worker replaces it: without one, the next statement would not be compared with it.
    enqueue(scope, "embed", [row.pk], now=now)
    diff = {"text": {"old": before.reveal(), "new": text.reveal()}}
    revisions.write(scope, space, [FieldChange(memory_id=row.pk, event="ended", diff=diff)], cipher, now=now)
