"""Who calls in the machine: three tenants with the same people, projects and kinds of key."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from apps.apikeys import services
from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import DEFAULT
from apps.projects.models import Project
from apps.projects.scope import Environment
from apps.projects.services import create_project
from tests.makers import make_api_key, make_tenant

TENANTS: Final = ("acme", "globex", "initech")
PEOPLE: Final = ("alice", "bob", "carol")
PROJECTS: Final = ("default", "side")


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """A kind of key.  others: environments that it reads too; nothing is written there.  project: the one it is pinned
    to.  refusal: status and code of whatever it asks."""

    name: str
    environment: Environment = Environment.PRODUCTION
    others: tuple[Environment, ...] = ()
    permissions: frozenset[str] = frozenset(DEFAULT)
    project: str | None = None
    refusal: tuple[int, str] | None = None


ROLES: Final = (
    Role(name="production"),
    Role(name="wide", permissions=frozenset({*DEFAULT, "org:cross_project_read", "memory:delete"})),
    Role(name="staging", environment=Environment.STAGING),
    Role(name="several", environment=Environment.STAGING, others=(Environment.DEVELOPMENT,)),
    Role(name="reader", permissions=frozenset({"memory:read"})),
    Role(name="writer", permissions=frozenset({"memory:add"})),
    Role(name="auditor", permissions=frozenset({"audit:read"})),
    Role(name="pinned", project="side"),
    Role(name="pinned, wide", project="side", permissions=frozenset({*DEFAULT, "org:cross_project_read"})),
    Role(name="expired", refusal=(401, "INVALID_API_KEY")),
    Role(name="revoked", refusal=(403, "API_KEY_REVOKED")),
)


@dataclass(frozen=True, slots=True)
class Key:
    """A key of one tenant."""

    tenant: str
    role: Role

    def __repr__(self) -> str:
        return f"{self.tenant}/{self.role.name}"


KEYS: Final = tuple(Key(tenant, role) for tenant in TENANTS for role in ROLES)


@dataclass(slots=True)
class Cast:
    """The tenants of a few sequences.

    expected: how many memories and spaces earlier sequences left in each.  writes: how often anything was remembered.
    """

    opened: Mapping[str, OpenedTenant]
    projects: Mapping[tuple[str, str], Project]
    texts: Mapping[tuple[str, str], str] = field(repr=False)
    sequences: int = 0
    expected: dict[str, int] = field(default_factory=dict)
    writes: Counter[str] = field(default_factory=Counter)

    @classmethod
    def assemble(cls, number: int) -> "Cast":
        opened = {name: make_tenant(f"{name}-{number}") for name in TENANTS}
        projects = {}
        texts = {}
        now = datetime.now(UTC)
        for name, tenant in opened.items():
            projects[name, "default"] = tenant.project
            projects[name, "side"] = create_project(tenant.scope, "side", now=now)
            for role in ROLES:
                texts[name, role.name] = _issue(tenant, role, projects[name, "side"], now)
        return cls(opened, projects, texts)

    def text(self, key: Key) -> str:
        return self.texts[key.tenant, key.role.name]


def _issue(tenant: OpenedTenant, role: Role, side: Project, now: datetime) -> str:
    before = now - timedelta(days=2) if role.name == "expired" else now
    issued = make_api_key(
        tenant.scope,
        environment=role.environment,
        other_environments=role.others,
        scopes=sorted(role.permissions),
        project_id=side.pk if role.project else None,
        expires_in=timedelta(days=1),
        now=before,
    )
    if role.name == "revoked":
        services.revoke(tenant.scope, issued.key.pk, now=now)
    return issued.text
