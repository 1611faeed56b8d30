"""The owners of spaces by their names: the other way round from ``apps.memories.spaces``.

Of spaces with a name that a request can give: not of profiles of a namespace, and not of branches.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Exists, OuterRef

from apps.core.scoping import ScopedQuerySet, tenant_transaction
from apps.crypto.services import DecryptError, SpaceCipher, open_tenant
from apps.memories import integrity
from apps.memories.integrity import END_USER
from apps.memories.models import Memory
from apps.memories.spaces import SpaceOwner, shown_name
from apps.projects.models import Space
from apps.projects.scope import NAMED_KINDS, Scope, SpaceKind, SpaceRef
from apps.tenants.models import EXTERNAL_ID, EndUser

MOST: Final = 1_000  # owners in one answer: the newest


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedSpace:
    """A space and whose it is.  created_at: of the space."""

    space: SpaceRef
    owner: SpaceOwner
    created_at: datetime


def find_owner(scope: Scope, space_id: int, *, now: datetime) -> OwnedSpace | None:
    """The space with this id in the scope's tenant, environment and, of a project's, project; None if there is none."""
    with tenant_transaction(scope):
        space = _spaces(scope).filter(pk=space_id).first() if 0 < space_id < 2**63 else None
        if space is None:
            return None
        if space.kind == SpaceKind.PROJECT:
            is_mine = space.owner_id == scope.project_id and space.is_bound()
            return _of(space, SpaceOwner.project()) if is_mine else None
        return next(iter(_named(scope, [space], open_tenant(scope.tenant), now=now)), None)


def list_owners(scope: Scope, kinds: Collection[SpaceKind] = NAMED_KINDS, *, now: datetime) -> list[OwnedSpace]:
    """The newest MOST end users and agents that have memories in the scope's environment and project, newest first.

    Names that fail decryption are left out.
    """
    with tenant_transaction(scope):
        live = Memory.objects.within_tenant(scope).live(now).in_project(scope).filter(space_id=OuterRef("pk"))
        spaces = list(_spaces(scope).filter(Exists(live), kind__in=kinds).order_by("-pk")[:MOST])
        return _named(scope, spaces, open_tenant(scope.tenant), now=now)


def _spaces(scope: Scope) -> ScopedQuerySet[Space]:
    plain = Space.objects.within(scope).filter(environment=scope.environment, branch="", namespace_id=None)
    return plain.filter(kind__in=(*NAMED_KINDS, SpaceKind.PROJECT))


def _named(scope: Scope, spaces: Sequence[Space], cipher: SpaceCipher, *, now: datetime) -> list[OwnedSpace]:
    people = {row.pk: row for row in EndUser.objects.within(scope).filter(pk__in=[one.owner_id for one in spaces])}
    found = []
    for space in spaces:
        person = people.get(space.owner_id)
        if person is None:
            continue
        try:
            if not (person.is_bound() and space.is_bound()):
                raise DecryptError("row_mac")
            name = shown_name(cipher.open(EXTERNAL_ID, person.pk, bytes(person.external_ct)).reveal())
        except DecryptError as error:
            integrity.note(scope, error, person.pk, space_id=None, table=END_USER, now=now)
            continue
        is_agent = space.kind == SpaceKind.AGENT
        found.append(_of(space, SpaceOwner.agent(name) if is_agent else SpaceOwner.end_user(name)))
    return found


def _of(space: Space, owner: SpaceOwner) -> OwnedSpace:
    return OwnedSpace(space=space.ref, owner=owner, created_at=space.created_at)
