"""Ending a part of what a memory says: the words are taken out of its text, which is kept beside as it was said.

So whatever reads the text of a memory, to find it or to show it, reads what holds; only a question about another time
opens what was said.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from apps.crypto.services import SpaceCipher
from apps.memories import postings, revisions
from apps.memories.ended_parts import MemoryPart, packed, without
from apps.memories.lookup_keys import text_mac
from apps.memories.models import Memory, MemoryVector
from apps.memories.models.memory import SAID, TEXT
from apps.memories.revisions import FieldChange
from apps.memories.sealing import open_handles, open_parts, open_said, open_text, seal_changed
from apps.outbox.services import enqueue
from apps.projects.models import Space
from apps.projects.scope import Scope
from text.terms import terms

_COLUMNS: Final = [
    "text_ct", "text_mac", "said_ct", "said_mac", "parts_ct", "tags_ct", "metadata_ct", "tag_tokens", "revision",
    "updated_at", "changed_txid",
]  # fmt: skip


def end_parts(
    scope: Scope, space: Space, row: Memory, parts: Iterable[MemoryPart], cipher: SpaceCipher, *, now: datetime
) -> None:
    """Take these words out of a memory that goes on holding otherwise, and re-index what is left.

    In the transaction that holds the space's lock; ``space`` has its counts written by the caller.
    """
    _rewrite(scope, space, row, [*open_parts(row, cipher), *parts], cipher, now=now)


def restore_parts(scope: Scope, space: Space, row: Memory, *, by: int, cipher: SpaceCipher, now: datetime) -> bool:
    """Let what that memory ended hold again; whether there was anything.  As ``end_parts``."""
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
    row.text_ct = cipher.seal(TEXT, row.pk, text)
    # Said again as it was, it is not this memory that says it, unless of the time before.
    voice = open_handles(row, cipher).voice
    row.text_mac = text_mac(cipher, text, voice=voice)
    row.said_mac = text_mac(cipher, said, voice=voice) if parts else None
    seal_changed(row, cipher, parts=packed(parts))
    row.updated_at, row.changed_txid = now, space.txid
    row.save(update_fields=_COLUMNS)
    words = terms(text.reveal())
    space.term_total += len(words) - len(terms(before.reveal()))
    postings.remove(scope, [row.pk])
    postings.write(scope, [postings.posting_of(row, words, cipher)])
    MemoryVector.objects.within(scope).filter(memory_id=row.pk).delete()
    enqueue(scope, "embed", [row.pk], now=now)
    diff = {"text": {"old": before.reveal(), "new": text.reveal()}}
    revisions.write(scope, space, [FieldChange(memory_id=row.pk, event="ended", diff=diff)], cipher, now=now)
