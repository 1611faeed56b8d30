"""Finds, creates and locks spaces: of end users, and those that many share, of an agent or of a project."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self

from django.db.models import F

from apps.core.clock import database_time
from apps.core.errors import Invalid, NotFound
from apps.core.prepared_sql import Columns
from apps.core.queries import execute, fetch_one
from apps.core.scoping import tenant_transaction
from apps.core.sequences import reserve_ids
from apps.crypto.services import DecryptError, SpaceCipher, SpaceShredded, open_space, open_tenant
from apps.memories.integrity import END_USER, note
from apps.projects.models import Space
from apps.projects.scope import Scope, SpaceKind, SpaceRef
from apps.tenants.models import EXTERNAL_ID, EndUser, Tenant

_SPACE: Final = Columns(Space, "space")
_PERSON: Final = Columns(EndUser, "person", only=("id", *EndUser.bound_fields, "row_mac"))
_BY_ID: Final = f"select {_SPACE.sql} from projects_space space where space.tenant_id = %s and space.id = %s"  # noqa: S608
_HELD: Final = f"{_BY_ID} and space.owner_id = %s for no key update"
_OF_END_USER: Final = (
    f"select {_SPACE.sql}, {_PERSON.sql} from tenants_enduser person "  # noqa: S608  (names of our own columns)
    "join projects_space space on space.tenant_id = %s and space.environment = %s and space.kind = %s "
    "and space.owner_id = person.id and space.branch = %s where person.tenant_id = %s and person.external_mac = %s"
)
_HELD_OF_END_USER: Final = f"{_OF_END_USER} for no key update of space"
# Control characters, which the API refuses in names.
_SEPARATOR: Final = "\x1f"
_OF_AGENT: Final = "\x1e"


class NamespaceIsTenant(Invalid):
    """This is the tenant's own name, so no namespace: its end users have no policy and no tokens in common."""

    code = "NAMESPACE_IS_TENANT"


class ProjectMissing(Invalid):
    """Name one project: a memory of a project is not of several."""

    code = "PROJECT_MISSING"


class BranchNotFound(NotFound):
    """No such branch of this end user."""

    code = "BRANCH_NOT_FOUND"


def name_in_namespace(scope: Scope, namespace: str, user_id: str) -> str:
    """The external id of an end user named by two strings, neither with control characters in it.

    The tenant's own name is no namespace: it means the tenant's plain end users.  Any other string is a namespace
    inside the scope's tenant, even if another tenant has that name; its end users are distinct from the plain ones.
    """
    return user_id if namespace == scope.tenant.name else f"{namespace}{_SEPARATOR}{user_id}"


def find_namespace(scope: Scope, namespace: str) -> int | None:
    """The id of the namespace's row, None if it has none yet.  Raises NamespaceIsTenant, DecryptError.

    The row is the one that an end user with an empty name would have: no request names one.
    """
    if namespace == scope.tenant.name:
        raise NamespaceIsTenant
    return find_person(scope, name_in_namespace(scope, namespace, ""))


def get_or_create_namespace(scope: Scope, namespace: str, *, now: datetime) -> int:
    """As ``find_namespace``; creates the row."""
    if namespace == scope.tenant.name:
        raise NamespaceIsTenant
    return get_or_create_person(scope, name_in_namespace(scope, namespace, ""), now=now)


def find_person(scope: Scope, external_id: str) -> int | None:
    """The id of the end user's row, whether or not they have a space.  Raises DecryptError."""
    with tenant_transaction(scope):
        mac = open_tenant(scope.tenant).end_user_mac(external_id)
        person = EndUser.objects.within(scope).filter(external_mac=mac).first()
        if person is None:
            return None
        _check_owner(scope, person)
        return person.id


def find_person_name(scope: Scope, person_id: int) -> str | None:
    """The tenant's own name of the end user with this row; None if there is no such row.  Raises DecryptError."""
    with tenant_transaction(scope):
        person = EndUser.objects.within(scope).filter(pk=person_id).first()
        if person is None:
            return None
        _check_owner(scope, person)
        cipher = open_tenant(scope.tenant)
        return cipher.open(EXTERNAL_ID, person.pk, bytes(person.external_ct)).reveal()


def get_or_create_person(scope: Scope, external_id: str, *, now: datetime) -> int:
    """As ``find_person``; creates the row, but no space."""
    with tenant_transaction(scope):
        return _person(scope, external_id, open_tenant(scope.tenant, writing=True), now=now).id


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceOwner:
    """Whose a space is: an end user or an agent, by the tenant's own name; or the scope's one project, without a name.

    A space of an agent or of a project is shared: whatever is in it belongs to no end user.
    branch: the name of one of the end user's branches; empty for the space itself.
    """

    kind: SpaceKind
    name: str = ""
    branch: str = ""

    @classmethod
    def end_user(cls, external_id: str, *, branch: str = "") -> Self:
        return cls(kind=SpaceKind.END_USER, name=external_id, branch=branch)

    @classmethod
    def agent(cls, name: str) -> Self:
        return cls(kind=SpaceKind.AGENT, name=name)

    @classmethod
    def project(cls) -> Self:
        return cls(kind=SpaceKind.PROJECT)

    @property
    def external_id(self) -> str:
        """Of its row of end users: no agent has the row of the end user with its name."""
        return f"{_OF_AGENT}{self.name}" if self.kind == SpaceKind.AGENT else self.name


def shown_name(external_id: str) -> str:
    """The tenant's own name of an end user or agent, as it was given."""
    return external_id.removeprefix(_OF_AGENT)


def split_name(external_id: str) -> tuple[str | None, str]:
    """The namespace, None of a plain end user, and the name in it: the reverse of ``name_in_namespace``."""
    namespace, separator, name = external_id.partition(_SEPARATOR)
    return (namespace, name) if separator else (None, external_id)


def find_end_user(scope: Scope, external_id: str) -> SpaceRef | None:
    """The space of this end user in the scope's environment, or None if nothing was ever written there.

    Raises DecryptError if the rows fail the check that they belong to this end user.
    """
    return find_owned(scope, SpaceOwner.end_user(external_id))


def find_owned(scope: Scope, owner: SpaceOwner) -> SpaceRef | None:
    """As ``find_end_user``, of any owner.  A scope without one project reaches no project's space."""
    with tenant_transaction(scope):
        return space_of(scope, owner, open_tenant(scope.tenant))


def space_of(scope: Scope, owner: SpaceOwner, cipher: SpaceCipher) -> SpaceRef | None:
    """As ``find_owned``, inside the tenant's transaction.  cipher: the tenant's."""
    space = row_of(scope, owner, cipher)
    return space.ref if space else None


def row_of(scope: Scope, owner: SpaceOwner, cipher: SpaceCipher) -> Space | None:
    """As ``space_of``, with the space's counts."""
    if owner.kind == SpaceKind.PROJECT:
        return _of_project(scope)
    return _of_end_user(scope, owner, cipher, _OF_END_USER)


def hold_space_of(scope: Scope, owner: SpaceOwner, cipher: SpaceCipher) -> Space | None:
    """As ``space_of`` and ``hold_space`` in one statement.  cipher: the tenant's, opened for writing."""
    if owner.kind == SpaceKind.PROJECT:
        space = _of_project(scope)
        return hold_space(scope.in_spaces(space.ref)) if space else None
    return _of_end_user(scope, owner, cipher, _HELD_OF_END_USER)


def _of_end_user(scope: Scope, owner: SpaceOwner, cipher: SpaceCipher, sql: str) -> Space | None:
    mac = cipher.end_user_mac(owner.external_id)
    found = fetch_one(
        sql,
        [scope.tenant_id, scope.environment.value, owner.kind.value, owner.branch, scope.tenant_id, mac],
        prepared=True,
    )
    if found is None:
        return None
    space, person = _SPACE.row(found[: _SPACE.count]), _PERSON.row(found[_SPACE.count :])
    _check_owner(scope, person, space)
    return space


def _of_project(scope: Scope) -> Space | None:
    """Raises DecryptError if the row fails the check that it belongs to the project."""
    if scope.project_id is None:
        return None
    mine = Space.objects.within(scope).filter(environment=scope.environment, kind=SpaceKind.PROJECT)
    space = mine.filter(owner_id=scope.project_id, branch="").first()
    if space is not None and not space.is_bound():
        raise DecryptError("row_mac")
    return space


def _check_owner(scope: Scope, person: EndUser, space: Space | None = None) -> None:
    """Check that the space belongs to the end user, and that the end user's row is theirs.

    An attacker who can write to the database may have swapped rows.  Raises DecryptError, and quarantines the end user.
    """
    if person.is_bound() and (space is None or space.is_bound()):
        return
    broken = DecryptError("row_mac")
    note(scope, broken, person.pk, space_id=None, table=END_USER, now=database_time())
    raise broken


def space_now(scope: Scope, space_id: int) -> Space:
    """The space as the current transaction sees it.  Raises Space.DoesNotExist."""
    found = fetch_one(_BY_ID, [scope.tenant_id, space_id], prepared=True)
    if found is None:
        raise Space.DoesNotExist
    return _SPACE.row(found)


def hold_space(scope: Scope) -> Space:
    """Lock the scope's one space and return its current row; no one else changes it until the transaction ends.

    Inside the tenant's transaction.  Raises SpaceShredded if it was taken from its owner.
    """
    # Not FOR UPDATE: that would also block writers of rows that refer to the space, such as the outbox's worker, which
    # holds locks on memories.
    found = fetch_one(_HELD, [scope.tenant_id, scope.space.id, scope.space.owner_id], prepared=True)
    if found is None:
        raise SpaceShredded
    return _SPACE.row(found)


def write_counts(scope: Scope, space: Space) -> None:
    """Save the space's counts.  For the holder of its lock."""
    execute(
        "update projects_space set txid = %s, doc_count = %s, term_total = %s where tenant_id = %s and id = %s",
        [space.txid, space.doc_count, space.term_total, scope.tenant_id, space.pk],
        prepared=True,
    )


def list_spaces(scope: Scope) -> list[Space]:
    """Every space of the tenant, oldest first."""
    with tenant_transaction(scope):
        return list(Space.objects.within(scope).order_by("pk"))


def reread_space(scope: Scope) -> Scope:
    """The scope with the current row of its one space: the profile or the identity key may have changed.

    Raises SpaceShredded if it was taken from its owner.
    """
    mine = scope.space
    with tenant_transaction(scope):
        space = Space.objects.within(scope).filter(pk=mine.id, owner_id=mine.owner_id).first()
    if space is None:
        raise SpaceShredded
    return scope.in_spaces(space.ref)


def lock_space(scope: Scope) -> tuple[Space, SpaceCipher]:
    """Lock the scope's one space; returns its current row and its cipher.

    No one else changes it until the transaction ends.  Inside the tenant's transaction, before any memory is locked.
    Raises SpaceShredded if it was taken from its owner.
    """
    mine = scope.space
    # Lock keys first, then the space, then memories by id, as every writer does.
    open_space(scope.tenant, mine, writing=True)
    space = hold_space(scope)
    return space, open_space(scope.tenant, space.ref)


def touch(scope: Scope, *space_ids: int) -> None:
    """Increment the change number of these spaces, so that cached responses are not used again.

    For the holder of their locks, if what it writes changes no memory.
    """
    Space.objects.within(scope).filter(pk__in=space_ids).update(txid=F("txid") + 1)


def get_or_create_end_user(scope: Scope, external_id: str, *, now: datetime) -> SpaceRef:
    """The space of this end user, created on first use.  Two concurrent first uses get the same space.

    Raises DecryptError as ``find_end_user``.
    """
    return get_or_create_owned(scope, SpaceOwner.end_user(external_id), now=now)


def get_or_create_owned(scope: Scope, owner: SpaceOwner, *, now: datetime) -> SpaceRef:
    """As ``get_or_create_end_user``, of any owner.  A branch is never made here.

    Raises ProjectMissing for a project's space without one project; BranchNotFound.
    """
    if (found := find_owned(scope, owner)) and not found.has_ended(now):
        return found
    if owner.branch:
        raise BranchNotFound
    if owner.kind == SpaceKind.PROJECT:
        if scope.project_id is None:
            raise ProjectMissing
        with tenant_transaction(scope):
            _make_space(scope, owner.kind, scope.project_id, open_tenant(scope.tenant, writing=True), now=now)
            if made := _of_project(scope):
                return made.ref
            raise SpaceShredded
    external_id = owner.external_id
    with tenant_transaction(scope):
        cipher = open_tenant(scope.tenant, writing=True)
        namespace, mark, _ = external_id.partition(_SEPARATOR)
        namespace_id = _person(scope, namespace + mark, cipher, now=now).id if mark else None
        person = _person(scope, external_id, cipher, now=now)
        _make_space(scope, owner.kind, person.id, cipher, namespace_id=namespace_id, now=now)
        mine = Space.objects.within(scope).filter(environment=scope.environment)
        space = mine.get(kind=owner.kind, owner_id=person.id, branch="")
        _check_owner(scope, person, space)
        return space.ref


def _person(scope: Scope, external_id: str, cipher: SpaceCipher, *, now: datetime) -> EndUser:
    """The row with this name, created if need be, and locked.  Inside the tenant's transaction."""
    mac = cipher.end_user_mac(external_id)
    # Locked, so that the person is not erased while their space is made: a shredding also removes the owner.
    people = EndUser.objects.within(scope).filter(external_mac=mac).select_for_update(no_key=True)
    # Repeated if another request's row was inserted first and erased before it could be read.
    while (person := people.first()) is None:
        # Reserved first: the ciphertext of the external id is bound to this id.
        (person_id,) = reserve_ids(1, sequence="tenants_enduser_id_seq")
        sealed = cipher.seal(EXTERNAL_ID, person_id, external_id.encode())
        met = EndUser(
            id=person_id,
            tenant_id=scope.tenant_id,
            external_mac=mac,
            external_ct=sealed,
            key_version=cipher.key_version,
            created_at=now,
        )
        met.bind()
        EndUser.objects.bulk_create(scope, [met], ignore_conflicts=True)
    _check_owner(scope, person)
    return person


def _make_space(
    scope: Scope,
    kind: SpaceKind,
    owner_id: int,
    cipher: SpaceCipher,
    *,
    namespace_id: int | None = None,
    now: datetime,
) -> None:
    """Insert the space, unless it is there.  Inside the tenant's transaction.  cipher: the tenant's."""
    made = Space(
        tenant_id=scope.tenant_id,
        environment=scope.environment,
        kind=kind,
        owner_id=owner_id,
        namespace_id=namespace_id,
        identity_version=cipher.identity_version,
        profile=Tenant.objects.values_list("new_spaces", flat=True).get(pk=scope.tenant_id),
        created_at=now,
    )
    made.bind()
    Space.objects.bulk_create(scope, [made], ignore_conflicts=True)
