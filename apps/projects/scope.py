"""Scope: tenant, environment, caller and permissions of a call.  The first argument of every service."""

import uuid
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Final, Self


class Environment(StrEnum):
    """Set by the API key; never taken from a request's body.  A key of several names one of them in a header."""

    DEVELOPMENT = "development"
    STAGING = "staging"
    PRODUCTION = "production"


class SpaceKind(StrEnum):
    END_USER = "end_user"
    PROJECT = "project"
    AGENT = "agent"
    PROFILE = "profile"
    ORG = "org"


# Spaces of these kinds belong to a row of end users (``EndUser``), which holds the tenant's own name of the owner.
NAMED_KINDS: Final = (SpaceKind.END_USER, SpaceKind.AGENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantRef:
    id: int
    uid: uuid.UUID
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceRef:
    """One vector namespace, one set of derived keys.

    owner_id: id of the end user or agent (a row of ``EndUser``), or of the project.  identity_version: version of the
    key that its handles are made with.
    branch: the name of a temporary copy of the owner's space; empty for the space itself.  origin_uid, expires_at: the
    space that it was copied from, and its end.
    """

    id: int
    uid: uuid.UUID
    environment: Environment
    kind: SpaceKind
    owner_id: int
    identity_version: int = 1
    is_sealed: bool = False
    branch: str = ""
    origin_uid: uuid.UUID | None = None
    expires_at: datetime | None = None

    @property
    def identity_uid(self) -> uuid.UUID:
        """Uid of the space whose identity key its keyed hashes are made with."""
        return self.origin_uid or self.uid

    def has_ended(self, now: datetime) -> bool:
        """Whether it is a branch whose time is over."""
        return self.expires_at is not None and self.expires_at <= now


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """The caller: an API key, an account or the system itself.  ``id`` is that row's id; 0 for the system."""

    kind: str
    id: int

    @property
    def label(self) -> str:
        return f"{self.kind}:{self.id}"


SYSTEM = Principal(kind="system", id=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Limits of a call: which tenant, environment, project and spaces it reaches, for whom, with which permissions.

    environment: of every query and every write.  also_reads: other environments that the spaces of a read may be of;
    a service that accepts such a scope reads each of its ``parts``.
    project_id: rows of that project and rows without a project are in reach; ``None``: rows of any project.  wall: the
    project that the caller is pinned to.  It also limits objects that are otherwise visible from every project of the
    tenant, such as jobs; ``None``: no such limit.
    """

    tenant: TenantRef
    environment: Environment
    principal: Principal
    project_id: int | None = None
    wall: int | None = None
    permissions: frozenset[str] = field(default_factory=frozenset)
    also_reads: tuple[Environment, ...] = ()
    spaces: tuple[SpaceRef, ...] = ()

    @property
    def tenant_id(self) -> int:
        return self.tenant.id

    @property
    def environments(self) -> tuple[Environment, ...]:
        """Those of a read: its own first."""
        return (self.environment, *self.also_reads)

    def in_spaces(self, *spaces: SpaceRef) -> Self:
        """A copy of the scope with exactly these spaces.  Raises ValueError for a space of another environment."""
        for space in spaces:
            if space.environment not in self.environments:
                raise ValueError("a scope reaches only spaces of its own environments")
        return replace(self, spaces=spaces)

    def parts(self) -> list[Self]:
        """A scope for each space, of its environment alone: no query is about more than one environment."""
        return [replace(self, environment=space.environment, also_reads=(), spaces=(space,)) for space in self.spaces]

    @property
    def space(self) -> SpaceRef:
        """The one space of a scope that writes.  Raises ValueError if there is none, or more than one."""
        (space,) = self.spaces
        return space
