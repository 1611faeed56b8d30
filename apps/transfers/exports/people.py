"""Export of everything stored about one end user, in every environment: one line per row of any table.

Each table is declared here as a section; apps above this one add theirs (``add``).  A test compares the sections with
the database catalogue, so that a new table of a space is either exported or exempted with a reason.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

import orjson
from django.db import models

from apps.audit.unbound import only_bound
from apps.core.fields import EncryptedField, encrypted_fields
from apps.core.scoping import ScopedQuerySet
from apps.crypto.encrypted_tables import open_field, report_broken
from apps.crypto.services import DecryptError, SpaceCipher, SpaceShredded, open_space
from apps.edges.models import MemoryEdge
from apps.entities.models import Entity, EntityAlias, EntityClaim, EntityMention
from apps.history import state_sealing, turns
from apps.history.models import HistoryTurn, StateItem
from apps.ingest.models import Candidate, DerivedFact, IngestReceipt, ReviewItem
from apps.memories.lifetimes import Lifetimes, lifetimes_of
from apps.memories.models import (
    Memory,
    MemoryCheckpoint,
    MemoryClaim,
    MemoryFeedback,
    MemoryPeriod,
    MemoryTransition,
    SummarySource,
)
from apps.memories.sealing import open_memory
from apps.memories.spaces import split_name
from apps.projects.models import Space
from apps.projects.scope import Scope, SpaceKind
from apps.recall.models import RecallTrace
from apps.sources.models import ExternalObject, ObjectMemory
from apps.sources.sealing import OBJECT
from apps.summaries.models import Cluster, ClusterMember
from apps.transfers.exports import formats
from apps.transfers.exports.reading import ExportPart, names_of, some_ids
from apps.transfers.models.exports import ExportJob


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Rows of one table.

    kind: their name in the file.  plain: columns exported as they are.  left_out: encrypted columns that are not
    exported; the others are exported as the model declares them.  table: the name under which rows that cannot be
    decrypted are listed.
    """

    kind: str
    model: type[models.Model]
    plain: Sequence[str]
    left_out: Sequence[str] = ()
    table: str = ""

    @property
    def encrypted(self) -> dict[str, EncryptedField]:
        return {name: one for name, one in encrypted_fields(self.model).items() if name not in self.left_out}

    @property
    def large(self) -> Collection[str]:
        """Columns that may be large."""
        return self.encrypted.keys()

    def rows(self, scope: Scope, space: Space) -> ScopedQuerySet[Any]:
        everything: ScopedQuerySet[Any] = ScopedQuerySet(self.model).within(scope)
        return everything.filter(space_id=space.pk)

    def tell(
        self, row: Any, cipher: SpaceCipher, space: Space, end_user: str | None, lifetimes: Lifetimes
    ) -> dict[str, Any]:
        """The row as exported.  Raises DecryptError."""
        said = {"id": row.pk} | {name: getattr(row, name) for name in self.plain}
        return said | {field.label: _content(field, row, cipher) for field in self.encrypted.values()}


def _content(field: EncryptedField, row: Any, cipher: SpaceCipher) -> Any:
    """The decrypted value.  Raises DecryptError."""
    raw = open_field(field, row, cipher)
    if raw is None:
        return None
    return orjson.loads(raw) if field.is_json else raw.decode()


class _Person(Section):
    """The end user's space in one environment, or a branch of it."""

    def rows(self, scope: Scope, space: Space) -> ScopedQuerySet[Any]:
        mine: ScopedQuerySet[Any] = Space.objects.within(scope).filter(pk=space.pk)
        return mine

    def tell(
        self, row: Any, cipher: SpaceCipher, space: Space, end_user: str | None, lifetimes: Lifetimes
    ) -> dict[str, Any]:
        namespace, name = split_name(end_user) if end_user else (None, None)
        said = {"user_id": row.owner_id, "end_user_id": name, "created_at": row.created_at}
        said |= {"namespace": namespace} if namespace else {}
        return said | ({"expires_at": row.expires_at} if row.branch else {})


class _Memories(Section):
    """Memories in any state: deleted ones are exported until they are purged."""

    @property
    def large(self) -> Collection[str]:
        return ("text_ct", "metadata_ct", "content_ct", "fields_ct")

    def rows(self, scope: Scope, space: Space) -> ScopedQuerySet[Any]:
        mine: ScopedQuerySet[Any] = Memory.objects.within_tenant(scope).filter(space_id=space.pk).to_open()
        return mine

    def tell(
        self, row: Any, cipher: SpaceCipher, space: Space, end_user: str | None, lifetimes: Lifetimes
    ) -> dict[str, Any]:
        memory = open_memory(row, cipher, space.ref, lifetimes)
        more = {
            "said": memory.said.reveal(),
            "ended": [asdict(part) for part in memory.ended],
            "session_id": memory.session,
            "speaker": memory.speaker,
            "access_count": row.access_count,
            "last_accessed_at": row.last_accessed_at,
            "last_used_at": row.last_used_at,
            "deleted_at": row.deleted_at,
            "superseded_at": row.superseded_at,
        }
        return formats.row_of(memory, end_user) | more


_SECTIONS: Final[list[Section]] = [
    _Person(kind="person", model=Space, plain=()),
    _Memories(kind="memory", model=Memory, plain=(), table="memory"),
    Section(
        kind="revision",
        model=MemoryTransition,
        plain=("memory_id", "event", "actor", "other_id", "changed_fields", "created_at"),
        table="transition",
    ),
    Section(kind="checkpoint", model=MemoryCheckpoint, plain=("name", "txid", "created_by", "created_at")),
    Section(
        kind="period",
        model=MemoryPeriod,
        plain=("memory_id", "valid_from", "valid_to", "known_from", "known_to", "created_at"),
    ),
    Section(
        kind="claim",
        model=MemoryClaim,
        plain=("memory_id", "validity", "valid_from", "valid_to", "superseded_by_id", "created_at"),
        table="claim",
    ),
    Section(
        kind="feedback",
        model=MemoryFeedback,
        plain=("memory_id", "signal", "created_at"),
        table="feedback",
    ),
    Section(kind="summary_source", model=SummarySource, plain=("summary_id", "source_id", "created_at")),
    Section(
        kind="relation",
        model=MemoryEdge,
        plain=("from_memory_id", "to_memory_id", "type", "confidence", "is_automatic", "resolved_at", "winner_id",
               "created_at"),
        table="edge",
    ),
    Section(
        kind="entity", model=Entity, plain=("type", "is_user", "needs_review", "merged_into_id", "created_at")
    ),
    Section(
        kind="entity_name",
        model=EntityAlias,
        plain=("entity_id", "is_role", "created_at"),
        table="entity_alias",
    ),
    Section(
        kind="mention",
        model=EntityMention,
        plain=("memory_id", "entity_id", "alias_id", "how", "is_unsure", "created_at"),
    ),
    Section(
        kind="entity_claim",
        model=EntityClaim,
        plain=("memory_id", "subject_id", "object_id", "created_at"),
        table="entity_claim",
    ),
    Section(
        kind="topic",
        model=Cluster,
        plain=("type", "summary_id", "created_at"),
        table="cluster",
    ),
    Section(kind="topic_member", model=ClusterMember, plain=("cluster_id", "memory_id", "created_at")),
    Section(
        kind="turn",
        model=HistoryTurn,
        plain=("seq", "is_withheld", "created_at"),
        table=turns.TURN,
    ),
    Section(
        kind="state",
        model=StateItem,
        plain=("updated_at", "expires_at", "created_at"),
        left_out=("embedding_ct",),
        table=state_sealing.STATE,
    ),
    Section(kind="derived", model=DerivedFact, plain=("source_id", "memory_id", "is_origin", "created_at")),
    Section(
        kind="object",
        model=ExternalObject,
        plain=("kind", "connector_id", "size", "revision", "seen_at", "changed_at", "gone_at", "created_at"),
        table=OBJECT,
    ),
    Section(
        kind="object_memory",
        model=ObjectMemory,
        plain=("object_id", "memory_id", "withdrawn_at", "created_at"),
    ),
    Section(
        kind="candidate",
        model=ReviewItem,
        plain=("state", "reason", "type", "confidence", "extractor", "source_id", "expires_at", "decided_at",
               "decided_by", "outcome", "memory_id", "created_at"),
        table="candidate",
    ),
    Section(
        kind="decision",
        model=Candidate,
        plain=("decision", "reason", "type", "memory_id", "extractor", "created_at"),
    ),
    Section(
        kind="reference",
        model=IngestReceipt,
        plain=("memory_ids", "created_at"),
        table="receipt",
    ),
    Section(
        kind="recall",
        model=RecallTrace,
        plain=("profile", "created_at"),
        table="recall_trace",
    ),
]  # fmt: skip


def add(section: Section) -> None:
    """Add a section; called by an app that stores data about end users, from its ``ready``."""
    _SECTIONS.append(section)


def sections() -> Sequence[Section]:
    return tuple(_SECTIONS)


def spaces_of(scope: Scope, end_user_id: int) -> list[Space]:
    """The end user's spaces and their branches in creation order.  Inside the tenant's transaction.

    Without rows whose MAC does not bind them to this end user.
    """
    mine = Space.objects.within(scope).filter(kind=SpaceKind.END_USER, owner_id=end_user_id)
    return only_bound(mine.order_by("pk"), scope)


def count(scope: Scope, spaces: Sequence[Space]) -> int:
    """Number of rows in these spaces.  Inside the tenant's transaction."""
    return sum(section.rows(scope, space).count() for section, space in _places(spaces))


def next_of_person(scope: Scope, job: ExportJob, cipher: SpaceCipher, *, now: datetime) -> ExportPart:
    """The next rows of the end user.  cipher: the tenant's.  Inside the tenant's transaction."""
    places = list(_places(spaces_of(scope, job.end_user_id or 0)))
    if job.section >= len(places):
        return ExportPart(
            lines=(), memory_ids=(), space_ids=(), space=None, scanned=0, unreadable=0, after_id=job.after_id,
            section=job.section, is_last=True,
        )  # fmt: skip
    section, space = places[job.section]
    rows = section.rows(scope, space)
    ids = some_ids(rows.filter(pk__gt=job.after_id), section.large)
    lines: list[bytes] = []
    memory_ids: set[int] = set()
    found = list(rows.filter(pk__in=ids).order_by("pk"))
    unreadable = 0
    own = _cipher(scope, space)
    end_user, lifetimes = names_of(scope, [space], cipher).get(space.owner_id), lifetimes_of(scope, [space.pk])
    for row in found if own else ():
        try:
            said = section.tell(row, own, space, end_user, lifetimes) if own else {}
        except DecryptError as error:
            report_broken(scope, error, row.pk, space_id=space.pk, table=section.table, now=now)
            unreadable += 1
            continue
        of_branch = {"branch": space.branch} if space.branch else {}
        lines.append(formats.jsonl({"kind": section.kind, "environment": space.environment} | of_branch | said))
        memory_ids |= _memories(row)
    return ExportPart(
        lines=lines,
        memory_ids=sorted(memory_ids),
        space_ids=[space.pk],
        space=space.ref,
        scanned=len(found),
        unreadable=unreadable,
        after_id=ids[-1] if ids else 0,
        section=job.section if ids else job.section + 1,
    )


def _places(spaces: Sequence[Space]) -> Iterator[tuple[Section, Space]]:
    """New spaces come last, so that the number of a place does not change."""
    for space in spaces:
        for section in _SECTIONS:
            yield section, space


def _cipher(scope: Scope, space: Space) -> SpaceCipher | None:
    try:
        return open_space(scope.tenant, space.ref)
    except SpaceShredded:
        return None


def _memories(row: Any) -> set[int]:
    """Ids of the memories that a row refers to."""
    if isinstance(row, Memory):
        return {row.pk}
    names = ("memory_id", "from_memory_id", "to_memory_id", "other_id", "summary_id", "source_id")
    told = {getattr(row, name, None) for name in names} | set(getattr(row, "memory_ids", ()))
    return {memory_id for memory_id in told if memory_id is not None}
