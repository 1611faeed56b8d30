"""The base of the views of mem0's clients (docs/mem0.md): errors, owners of memories, and their IDs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from apps.api.errors import NotImplementedHere, status_of
from apps.api.fields import Label, WholeInQuery
from apps.api.input_serializers import Input, Parameters
from apps.api.mem0.filters import ANY, IDS, FilterMalformed, Owners
from apps.api.mem0.ids import EVENT, Mem0Id
from apps.api.mem0.output import Mem0RefusalOutput
from apps.api.permissions import InsufficientScope
from apps.api.schema import ApiSchema
from apps.api.views import ApiView
from apps.core.errors import DomainError, NotFound
from apps.memories.owners import OwnedSpace, find_owner, list_owners
from apps.memories.selectors import MemoryNotFound
from apps.memories.spaces import SpaceOwner, find_owned
from apps.projects.scope import Scope, SpaceKind

STATUS_HERE: Final[Mapping[int, int]] = {422: 400}
NAMES_PEOPLE: Final = "exports:read"  # as other routes that name end users
# Sent by clients with every request, without a meaning here.
IGNORED: Final = ("source", "org_id", "project_id", "version", "output_format", "api_version", "async_mode")


class EventNotFound(NotFound):
    """No such event."""

    code = "EVENT_NOT_FOUND"


class OwnerMissing(FilterMalformed):
    """Name whose memories: user_id, agent_id, app_id or run_id."""

    code = "OWNER_MISSING"


class NotBuilt(NotImplementedHere):
    """This server does not support this."""


class Mem0Schema(ApiSchema):
    refused = Mem0RefusalOutput
    refusal = "Mem0Refused"
    statuses = STATUS_HERE


class Mem0Input(Input):
    """A body.  unbuilt: fields that mem0 has and this server does not: refused as such, unless null or false."""

    passed_over = IGNORED
    unbuilt: ClassVar[tuple[str, ...]] = ()

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            for name in self.unbuilt:
                if data.get(name) not in (None, False):
                    raise NotBuilt(f"{name}: this server does not support it.")
            data = {name: value for name, value in data.items() if name not in self.unbuilt}
        return super().to_internal_value(data)


class Mem0Parameters(Parameters):
    """A query string."""

    passed_over = IGNORED

    source = Label(required=False, help_text="Ignored.")  # type: ignore[assignment]  # the wire's name, not DRF's


class Mem0Page(Mem0Parameters):
    """Which page."""

    page = WholeInQuery(default=1, min_value=1, max_value=1_000)
    page_size = WholeInQuery(default=100, min_value=1, max_value=1_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerLabels:
    """Whose a memory is, as mem0 names it; None where nobody is named."""

    user_id: str | None = None
    agent_id: str | None = None
    app_id: str | None = None
    run_id: str | None = None

    @property
    def owner(self) -> SpaceOwner:
        """The owner of a new memory: the user, else the agent, else the project.  Raises OwnerMissing."""
        if self.user_id is not None:
            return SpaceOwner.end_user(self.user_id)
        if self.agent_id is not None:
            return SpaceOwner.agent(self.agent_id)
        if self.app_id is None and self.run_id is None:
            raise OwnerMissing
        return SpaceOwner.project()


class Mem0View(ApiView):
    headers_read: ClassVar = ("X-Project-ID",)
    silent_answer: ClassVar = None
    schema = Mem0Schema()

    def refusal(self, error: DomainError, *, request_id: str) -> tuple[dict[str, Any], int]:
        """``{"detail": message}``, with the code that other routes have, and a status that mem0's clients know."""
        body: dict[str, Any] = {"detail": error.message, "code": error.code, "request_id": request_id, **error.extra}
        if error.details:
            body["details"] = error.details
        status = status_of(error)
        return body, STATUS_HERE.get(status, status)

    # --- for handlers -------------------------------------------------------------------------------------------------

    def labels(self, fields: Mapping[str, Any]) -> OwnerLabels:
        """Those that a body or a query string names.  Raises EndUserMalformed."""
        return OwnerLabels(**{name: self.end_user(fields[name]) for name in IDS if fields.get(name) is not None})

    def found(self, memory_id: str, *, writes: bool = False) -> tuple[Scope, OwnedSpace, int]:
        """A scope with the one space that an ID names, whose it is, and the memory's number.  Raises MemoryNotFound."""
        named = Mem0Id.read(memory_id)
        scope = self.scope(writes=writes)
        owned = find_owner(scope, named.space_id, now=self.now()) if named else None
        if named is None or owned is None:
            raise MemoryNotFound
        return scope.in_spaces(owned.space), owned, named.number

    def event(self, event_id: str) -> Mem0Id:
        """Raises EventNotFound."""
        named = Mem0Id.read(event_id, kind=EVENT)
        if named is None:
            raise EventNotFound
        return named

    def reached(self, owners: Owners | None) -> tuple[Scope, Mapping[int, SpaceOwner]]:
        """A scope with the spaces of these owners that exist, and whose each is, by the space's id.

        Raises OwnerMissing; InsufficientScope for all of a kind without the permission to name people.
        """
        if owners is None:
            raise OwnerMissing
        scope, found = self.scope(), dict[int, OwnedSpace]()
        for names, kind in ((owners.users, SpaceKind.END_USER), (owners.agents, SpaceKind.AGENT)):
            if ANY in names:
                self.check_names_people()
                found |= {one.space.id: one for one in list_owners(scope, [kind], now=self.now())}
        wanted = [SpaceOwner.end_user(self.end_user(name)) for name in sorted(owners.users - {ANY})]
        wanted += [SpaceOwner.agent(self.end_user(name)) for name in sorted(owners.agents - {ANY})]
        wanted += [SpaceOwner.project()] if owners.shared else []
        reached = {one.space.id: (one.space, one.owner) for one in found.values()}
        reached |= {space.id: (space, owner) for owner in wanted if (space := find_owned(scope, owner))}
        spaces = [space for space, _ in reached.values()]
        return scope.in_spaces(*spaces), {space.id: owner for space, owner in reached.values()}

    def check_names_people(self) -> None:
        """Raises InsufficientScope."""
        if NAMES_PEOPLE not in self.caller.permissions:
            raise InsufficientScope(f"Insufficient scope. Missing: {NAMES_PEOPLE}")


def page_links(view: Mem0View, *, page: int, page_size: int, total: int) -> dict[str, Any]:
    """``count``, ``next`` and ``previous``: absolute addresses, or null."""

    def address(number: int) -> str:
        path = view.request.build_absolute_uri(view.request.path)
        return f"{path}?page={number}&page_size={page_size}"

    return {
        "count": total,
        "next": address(page + 1) if page * page_size < total else None,
        "previous": address(page - 1) if page > 1 else None,
    }


def paged(items: Sequence[Any], *, page: int, page_size: int) -> Sequence[Any]:
    return items[(page - 1) * page_size : page * page_size]
