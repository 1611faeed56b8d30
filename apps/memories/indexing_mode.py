"""Whether a space stores a search index: removing the index (a sealed space) and rebuilding it.

A searchable space stores keyed words and signs of rotated vectors beside its ciphertexts, and the database searches
them.  A sealed space stores neither, nor tokens of tags, sessions and speakers: recall decrypts all of it in process,
so it must be small.  The old index data of a sealed space remains in dead rows until they are vacuumed, and in backups
until they expire.
"""

from datetime import datetime
from typing import Final

import orjson

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Conflict
from apps.core.queries import execute
from apps.core.scoping import tenant_transaction
from apps.crypto.services import SpaceCipher, open_space
from apps.memories import claims, postings
from apps.memories.models import Memory, MemoryVector
from apps.memories.models.memory import TAGS
from apps.memories.nearest import stored_signs
from apps.memories.sealing import Readable, blind, open_embedding, open_handles, open_text
from apps.projects.models import Space
from apps.projects.scope import Scope
from apps.projects.selectors import SpaceNotFound, branches_of
from apps.tenants.models import Profile
from text.terms import terms

CAPACITY: Final = 2_000  # memories; decrypting that many takes a few tenths of a second


class SpaceFull(Conflict):
    """A sealed space holds at most 2,000 memories, because recall decrypts all of them."""

    code = "SPACE_FULL"


def check_room(scope: Scope, space: Space, adding: int) -> None:
    """Raises SpaceFull if a sealed space cannot take ``adding`` more memories.  Under the space's lock."""
    if space.profile == Profile.SEALED and _count(scope, space) + adding > CAPACITY:
        raise SpaceFull


def set_profile(scope: Scope, space_id: int, profile: Profile, *, now: datetime) -> int:
    """Seal a space and its branches, or make them searchable again, in one transaction; returns its number of memories.

    Writers wait.  Raises SpaceNotFound, SpaceFull.
    """
    with tenant_transaction(scope):
        # Lock keys first, then the space, as every writer does.
        space = Space.objects.within(scope).filter(pk=space_id).first()
        if space is None:
            raise SpaceNotFound
        open_space(scope.tenant, space.ref, writing=True)
        for one in (space, *branches_of(scope, [space.uid])):
            _change(scope, one.pk, profile, now=now)
        return _count(scope, space)


def _change(scope: Scope, space_id: int, profile: Profile, *, now: datetime) -> None:
    space = Space.objects.within(scope).select_for_update().get(pk=space_id)
    if space.profile == profile:
        return
    space.profile = profile
    check_room(scope, space, 0)
    space.save(update_fields=["profile"])
    if profile == Profile.SEALED:
        _strip(scope, space)
    else:
        _rebuild(scope, space, open_space(scope.tenant, space.ref))
    record(
        scope,
        actor=scope.principal.label,
        action=AuditAction.SPACE_SEAL if profile == Profile.SEALED else AuditAction.SPACE_UNSEAL,
        target=f"space:{space.pk}",
        count=_count(scope, space),
        now=now,
    )


def _count(scope: Scope, space: Space) -> int:
    return Memory.objects.within_tenant(scope).filter(space_id=space.pk, retention_status="active").count()


# SQL registered by other apps to delete data that shows which memories are alike.  Values: tenant and space.
STRIPPED: Final[list[str]] = []


def _strip(scope: Scope, space: Space) -> None:
    for statement in (
        "delete from memories_posting where tenant_id = %s and space_id = %s",
        "update memories_memoryvector set signs = null where tenant_id = %s and space_id = %s",
        "update memories_memory set tag_tokens = '{}', session_token = null, actor_token = null "
        "where tenant_id = %s and space_id = %s",
        "update memories_memoryclaim set subject_mac = null, predicate_mac = null "
        "where tenant_id = %s and space_id = %s",
        *STRIPPED,
    ):
        execute(statement, [scope.tenant_id, space.pk])


def _rebuild(scope: Scope, space: Space, cipher: SpaceCipher) -> None:
    """Rebuild the tokens and sign bits of every memory, and the hashes of claims, from the ciphertexts."""
    claims.blind(scope, space.ref, cipher, cipher)
    rows = list(Memory.objects.within_tenant(scope).filter(space_id=space.pk).order_by("pk"))
    for row in rows:
        tags = cipher.open_bytes(TAGS, row.pk, bytes(row.tags_ct), revision=row.revision) if row.tags_ct else b"[]"
        text, handles = open_text(row, cipher), open_handles(row, cipher)
        blind(row, Readable(text=text, tags=orjson.loads(tags), handles=handles), cipher)
        postings.write(scope, [postings.posting_of(row, terms(text.reveal()), cipher)])
    mine = Memory.objects.within_tenant(scope)
    mine.bulk_update(rows, ["tag_tokens", "session_token", "actor_token"], batch_size=200)
    vectors = list(MemoryVector.objects.within(scope).filter(space_id=space.pk).order_by("pk"))
    for vector in vectors:
        vector.signs = stored_signs(open_embedding(vector.memory_id, bytes(vector.embedding_ct), cipher), cipher)
    MemoryVector.objects.within(scope).bulk_update(vectors, ["signs"], batch_size=200)
