"""Take external objects: their passages become memories, and a later version changes only what it says differently.

unseen     every passage is stored, as an upload stores it
the same   only noted as seen
changed    new passages are stored; a memory that the object alone stated, and no longer does, is superseded as of
           now.  Nothing is deleted, so a key that may add may also do this
gone       as an object that says nothing any more
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from apps.adapters.documents.readers.text import paragraphs
from apps.adapters.documents.reading import read_document
from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.plaintext import Plaintext
from apps.core.queries import execute
from apps.core.retries import retried
from apps.core.scoping import tenant_transaction
from apps.core.sequences import reserve_ids
from apps.crypto.services import SpaceCipher, SpaceShredded, open_space
from apps.ingest.candidates import STORED, DecisionMade, Proposal
from apps.ingest.conversation_sync import in_space
from apps.ingest.documents import passages
from apps.ingest.services import remember
from apps.ingest.source_links import retire
from apps.memories.models import Memory
from apps.memories.repetitions import set_repetitions
from apps.memories.spaces import SpaceOwner, find_end_user, lock_space
from apps.memories.validity_changes import end_withdrawn
from apps.projects.scope import Scope
from apps.sources.models import ExternalObject, ObjectMemory
from apps.sources.sealing import (
    ObjectName,
    OpenedObject,
    digest_of,
    object_mac,
    open_object,
    seal_about,
    version_mac,
)
from apps.sources.selectors import ObjectNotFound, find_object, memories_of, objects_of, stated_by_objects
from text.extraction.reasons import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenObject:
    """An object as it is now.  filename: of a file, which distinguishes kinds of text; empty: the content is text.

    version: the name that its source gives this content, such as an ETag; empty: it gives none.
    """

    name: ObjectName
    content: bytes
    title: str = ""
    filename: str = ""
    tags: tuple[str, ...] = ()
    version: str = ""

    def pieces(self) -> Sequence[str]:
        """Its paragraphs, rows or pages.  Raises the refusals of ``apps.adapters.documents``."""
        if self.filename:
            return read_document(self.filename, self.content).pieces
        return [piece for piece in paragraphs(self.content.decode()) if piece.strip()]


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenObject:
    """status: created, unchanged, refreshed or gone.  memory_ids: of the memories that it states now, ascending.

    kept: how many of them it stated before.  added: how many are new.  ended: ids of those that were superseded.
    decisions: one for each new passage, at least.
    """

    object: OpenedObject
    status: str
    memory_ids: Sequence[int] = ()
    kept: int = 0
    added: int = 0
    ended: Sequence[int] = ()
    decisions: Sequence[DecisionMade] = field(default=(), repr=False)


def take_object(
    scope: Scope, end_user: str, given: GivenObject, *, embeds_later: bool = False, now: datetime
) -> TakenObject:
    """Take an object of this end user, who is created if unknown, in one transaction.  Taking it again changes nothing.

    A passage that is unchanged is not read again, so that a memory of it which was forgotten or changed stays so; of
    what was erased since the object was first seen, nothing is stored.  embeds_later: as for ``remember``.
    Raises the refusals of ``apps.adapters.documents`` before anything is written.  Call outside of any transaction.
    """
    space = find_end_user(scope, end_user)
    if space is not None and (same := _seen_again(scope.in_spaces(space), given, now=now)):
        return same
    pieces = given.pieces()  # before the space is locked, because it may take a while

    def take(mine: Scope) -> TakenObject:
        return _take(mine, given, pieces, embeds_later=embeds_later, now=now)

    return in_space(scope, SpaceOwner.end_user(end_user), take, now=now)


def take_in_space(scope: Scope, given: GivenObject, *, embeds_later: bool = False, now: datetime) -> TakenObject:
    """As ``take_object``, in the scope's one space.  Raises SpaceShredded."""
    if same := _seen_again(scope, given, now=now):
        return same
    pieces = given.pieces()

    @retried
    def take() -> TakenObject:
        with tenant_transaction(scope):
            return _take(scope, given, pieces, embeds_later=embeds_later, now=now)

    return take()


def status_of(scope: Scope, given: GivenObject) -> str:
    """What ``take_object`` would answer: created, unchanged or refreshed.  scope: one space.  Writes nothing."""
    cipher = open_space(scope.tenant, scope.space)
    with tenant_transaction(scope):
        row = find_object(scope, cipher, given.name)
    if row is None:
        return "created"
    return "unchanged" if row.gone_at is None and bytes(row.digest) == _digest(cipher, given) else "refreshed"


def has_version(scope: Scope, name: ObjectName, version: str, *, seen_at: datetime | None = None) -> bool:
    """Whether this version of the object was taken last; an empty one never was.  scope: one space.

    seen_at: note that it is still there, if it is that version.
    """
    if not version:
        return False
    cipher = open_space(scope.tenant, scope.space)
    with tenant_transaction(scope):
        row = find_object(scope, cipher, name)
        if row is None or row.gone_at is not None or bytes(row.version_mac) != version_mac(cipher, version):
            return False
        if seen_at is not None:
            row.seen_at = seen_at
            row.save(update_fields=["seen_at"])
        return True


def see_object(scope: Scope, name: ObjectName, *, now: datetime) -> None:
    """Note that an object is still there, though it cannot be read."""
    cipher = open_space(scope.tenant, scope.space)
    with tenant_transaction(scope):
        row = find_object(scope, cipher, name)
        if row is not None:
            row.seen_at = now
            row.save(update_fields=["seen_at"])


def end_object(scope: Scope, object_id: int, *, now: datetime) -> TakenObject:
    """Note that an object is gone, and end the memories that it alone stated.  Raises ObjectNotFound."""
    with tenant_transaction(scope):
        _, cipher = lock_space(scope)
        row = _locked(scope, object_id)
        links = _links_of(scope, row)
        ended = _withdraw(scope, list(links.values()), now=now)
        row.gone_at = row.gone_at or now
        row.save(update_fields=["gone_at"])
        return TakenObject(object=open_object(row, cipher), status="gone", ended=ended)


def delete_object(scope: Scope, object_id: int, *, now: datetime) -> list[int]:
    """Delete an object, and soft-delete the memories that it alone stated; returns their ids.  Raises ObjectNotFound.

    For callers who may delete memories.
    """
    if not scope.spaces or not 0 < object_id < 2**63:
        raise ObjectNotFound
    try:
        with tenant_transaction(scope):
            lock_space(scope)
            row = _locked(scope, object_id)
            alone = _let_go(scope, list(_links_of(scope, row).values()), now=now)
            # Not through Django, which would delete by id alone
            execute("delete from sources_externalobject where tenant_id = %s and id = %s", [scope.tenant_id, row.pk])
            _record(scope, AuditAction.OBJECT_DELETE, object_id, now=now)
            return retire(scope, {memory.pk for memory in alone}, now=now)
    except SpaceShredded:
        raise ObjectNotFound from None


def _seen_again(scope: Scope, given: GivenObject, *, now: datetime) -> TakenObject | None:
    """The object if it is unchanged, noted as seen; None if it is to be read."""
    cipher = open_space(scope.tenant, scope.space)
    with tenant_transaction(scope):
        row = find_object(scope, cipher, given.name)
        if row is None or row.gone_at is not None or bytes(row.digest) != _digest(cipher, given):
            return None
        row.seen_at, row.version_mac = max(row.seen_at, now), version_mac(cipher, given.version)
        row.save(update_fields=["seen_at", "version_mac"])
        stated = memories_of(scope, row.pk)
        return TakenObject(object=open_object(row, cipher), status="unchanged", memory_ids=stated, kept=len(stated))


def _take(scope: Scope, given: GivenObject, pieces: Sequence[str], *, embeds_later: bool, now: datetime) -> TakenObject:
    _, cipher = lock_space(scope)
    if same := _seen_again(scope, given, now=now):  # another request took this version meanwhile
        return same
    row, is_new = _versioned(scope, given, cipher, now=now)
    links = _links_of(scope, row)
    known = {bytes(mac) for link in links.values() for mac in link.passage_macs}

    def mac_of(passage: str) -> bytes:
        return cipher.identity_mac("external_object.passage", passage)

    said = {mac_of(one): one for one in passages(pieces, is_known=lambda one: mac_of(one) in known)}
    # First, so that no new passage is taken for a repetition of what ends.
    ended = _withdraw(scope, [link for link in links.values() if _is_outdated(link, said.keys())], now=now)
    fresh = {mac: passage for mac, passage in said.items() if mac not in known}
    # What was erased after the object was first seen is not stored again.
    proposals = [_proposal(given, passage, asked_at=None if is_new else row.created_at) for passage in fresh.values()]
    outcomes = remember(scope, proposals, embeds_later=embeds_later, now=now) if proposals else []
    decisions = [made for outcome in outcomes for made in outcome.decisions]
    for mac, outcome in zip(fresh, outcomes, strict=True):
        for made in outcome.decisions:
            if made.memory_id is not None:
                _link(scope, row, links, made, mac, now=now)
    for link in links.values():
        link.passage_macs = [mac for mac in map(bytes, link.passage_macs) if mac in said]
        link.save(force_insert=link.pk is None, force_update=link.pk is not None)
    # Of an object whose digests were removed, what no passage matched.
    ended += _withdraw(scope, [link for link in links.values() if not link.passage_macs], now=now)
    added = {made.memory_id for made in decisions if made.decision in STORED}
    stated = memories_of(scope, row.pk)
    _record(scope, AuditAction.OBJECT_PUT, row.pk, now=now)
    return TakenObject(
        object=open_object(row, cipher),
        status="created" if is_new else "refreshed",
        memory_ids=stated,
        kept=len(set(stated) - added),
        added=len(added),
        ended=ended,
        decisions=decisions,
    )


def _versioned(scope: Scope, given: GivenObject, cipher: SpaceCipher, *, now: datetime) -> tuple[ExternalObject, bool]:
    """The object's row, saved as of this version; and whether it is new."""
    row = find_object(scope, cipher, given.name)
    is_new = row is None
    if row is None:
        (object_id,) = reserve_ids(1, sequence="sources_externalobject_id_seq")
        row = ExternalObject(
            id=object_id,
            tenant_id=scope.tenant_id,
            space_id=scope.space.id,
            project_id=scope.project_id,
            connector_id=given.name.connector_id,
            kind=given.name.kind,
            object_mac=object_mac(cipher, given.name, project_id=scope.project_id),
            created_at=now,
        )
    else:
        row.revision += 1
    row.digest, row.size, row.gone_at = _digest(cipher, given), len(given.content), None
    row.version_mac = version_mac(cipher, given.version)
    row.seen_at = row.changed_at = now
    seal_about(row, given.name.external_id, given.title, cipher)
    row.save(force_insert=is_new, force_update=not is_new)
    return row, is_new


def _digest(cipher: SpaceCipher, given: GivenObject) -> bytes:
    return digest_of(cipher, given.title, given.tags, given.content)


def _proposal(given: GivenObject, passage: str, *, asked_at: datetime | None) -> Proposal:
    """As of an uploaded file: stored whole, as a reference."""
    return Proposal(
        text=Plaintext(passage),
        source=given.name.kind,
        source_kind="document",
        tags=given.tags,
        importance=0.5,
        role="tool",
        metadata={"filename": given.filename} if given.name.kind == "file" else {},
        asked_at=asked_at,
    )


# --- links to memories ------------------------------------------------------------------------------------------------


def _links_of(scope: Scope, row: ExternalObject) -> dict[int, ObjectMemory]:
    """The object's links by memory, withdrawn ones included."""
    links = ObjectMemory.objects.within(scope).filter(space_id=scope.space.id, object_id=row.pk)
    return {link.memory_id: link for link in links.order_by("pk")}


def _link(
    scope: Scope, row: ExternalObject, links: dict[int, ObjectMemory], made: DecisionMade, mac: bytes, *, now: datetime
) -> None:
    """Note that a passage states the memory that it made, or that it matched."""
    assert made.memory_id is not None  # noqa: S101  (the caller looked)
    link = links.get(made.memory_id) or ObjectMemory(
        tenant_id=scope.tenant_id,
        space_id=row.space_id,
        object_id=row.pk,
        memory_id=made.memory_id,
        passage_macs=[],
        repetitions=0,
        created_at=now,
    )
    link.passage_macs = [*link.passage_macs, mac]
    link.repetitions += _is_counted(made)
    link.withdrawn_at = None
    links[made.memory_id] = link


def _is_counted(made: DecisionMade) -> bool:
    """Whether the memory's ``repetition_count`` counts this statement."""
    return made.decision in STORED or made.reason in (Reason.SAME_TEXT, Reason.SAME_VALUE)


def _is_outdated(link: ObjectMemory, said: Collection[bytes]) -> bool:
    """Whether the passages that stated the memory are known, and gone."""
    return bool(link.passage_macs) and not any(bytes(mac) in said for mac in link.passage_macs)


def _withdraw(scope: Scope, links: Sequence[ObjectMemory], *, now: datetime) -> list[int]:
    """End the memories that only these links' object stated; returns their ids, ascending."""
    if not links:
        return []
    space, _ = lock_space(scope)  # again: what was stored since has changed its counts
    alone = _let_go(scope, links, now=now)
    end_withdrawn(scope, space, alone, now=now)
    return [memory.pk for memory in alone]


def _let_go(scope: Scope, links: Sequence[ObjectMemory], *, now: datetime) -> list[Memory]:
    """Withdraw these links of one object; returns the memories that nothing else states, locked, by id.

    A memory is stated by something else if another object is linked to it, or if it was repeated more often than this
    object stated it.  A pinned one is stated by the person who pinned it.
    """
    times = {link.memory_id: link.repetitions for link in links if link.withdrawn_at is None}
    for link in links:
        if link.withdrawn_at is None:
            link.passage_macs, link.repetitions, link.withdrawn_at = [], 0, now
            link.save(update_fields=["passage_macs", "repetitions", "withdrawn_at"])
    others = stated_by_objects(scope, times)
    held = Memory.objects.within(scope).existing(now).exclude(validity="superseded").filter(pk__in=times)
    alone = []
    for memory in held.order_by("pk").select_for_update(no_key=True):
        left = memory.repetition_count - times[memory.pk]
        if memory.pk in others or memory.pinned or left > 0:
            set_repetitions(memory, left)
        else:
            alone.append(memory)
    return alone


def _locked(scope: Scope, object_id: int) -> ExternalObject:
    """The object, in the transaction that holds the space's lock.  Raises ObjectNotFound."""
    row = objects_of(scope).filter(pk=object_id).first()
    if row is None:
        raise ObjectNotFound
    return row


def _record(scope: Scope, action: AuditAction, object_id: int, *, now: datetime) -> None:
    record(scope, actor=scope.principal.label, action=action, target=f"external_object:{object_id}", now=now)
