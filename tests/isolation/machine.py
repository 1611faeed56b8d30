"""A state machine that calls every route of the API as everybody, with ids drawn from all tenants.

Each rule says which routes it covers.  A route that no rule covers fails ``test_every_route_has_a_rule``: write a rule
for it here, beside what the model says must come of it.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from typing import Any, ClassVar, Final

from django.http import HttpResponse
from django.test import Client
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from apps.api.views import ApiView
from apps.core.scoping import tenant_transaction
from apps.memories.models import Memory
from apps.memories.services import expire
from apps.memories.spaces import find_end_user
from apps.outbox import handlers
from apps.projects.models import Space
from apps.projects.scope import Environment
from apps.recall import read_log
from tests.isolation.cast import KEYS, PEOPLE, PROJECTS, TENANTS, Cast, Key
from tests.isolation.reference import CHATTER, HOMES, THINGS, Fate, Item, Model, Place, Row

SEQUENCES_PER_CAST: Final = 40
ABSENT_IDS: Final = (0, 2**53 - 1, 2**63 - 1, 2**63, 10**30)
FOREIGN: Final = "foreign"
ABSENT_PROJECT: Final = "proj_0000000000000000"

_BY_NAME: Final = {repr(key): key for key in KEYS}
SEEDS: Final = tuple(
    (_BY_NAME[name], person)
    for name, person in (
        ("acme/production", "alice"),
        ("acme/production", "bob"),
        ("acme/staging", "alice"),
        ("acme/pinned", "alice"),
        ("globex/production", "alice"),
    )
)

# -- what is drawn -----------------------------------------------------------------------------------------------------

# Most keys are good and most projects one's own, or most requests would be refused and there would be little to find.
keys = st.sampled_from([key for key in KEYS for _ in range(1 if key.role.refusal else 4)])
people = st.sampled_from(PEOPLE)
projects = st.sampled_from((None, None, None, None, *PROJECTS, *PROJECTS, FOREIGN, ABSENT_PROJECT))
numbers = st.integers(0, 1_000)
tags = st.sampled_from(((), ("shared",), ("shared", "rare"), ("rare",)))
sessions = st.sampled_from((None, "one", "two"))
sources = st.sampled_from(("", "mail", "chat"))
references = st.sampled_from((None, None, None, "order-1", "order-2"))
things = st.builds(
    Item,
    text=st.sampled_from(THINGS),
    tags=tags,
    session=sessions,
    source=sources,
    reference=references,
    ttl_minutes=st.sampled_from((None, None, 45)),
    deduplicate=st.booleans(),
)
others = st.builds(Item, text=st.sampled_from((*HOMES, *CHATTER)), reference=references, deduplicate=st.booleans())
items = st.one_of(things, things, others)
questions = st.sampled_from((*THINGS, *HOMES, "where do I live, and who moved the choir?", "nothing of the kind"))
profiles = st.sampled_from((None, "memorysync", "rrf", "typed", "salience"))


@dataclass(frozen=True, slots=True)
class Filter:
    """What a query may be narrowed to."""

    tag: str | None = None
    session: str | None = None
    source: str | None = None

    def lets_through(self, row: Row) -> bool:
        return (
            (self.tag is None or self.tag in row.item.tags)
            and (self.session is None or self.session == row.item.session)
            and (self.source is None or self.source == row.item.source)
        )

    def body(self) -> dict[str, Any]:
        asked = {"tags": [self.tag] if self.tag else None, "session_id": self.session, "source": self.source}
        return {name: value for name, value in asked.items() if value is not None}


filters = st.one_of(
    st.just(Filter()),
    st.builds(
        Filter,
        tag=st.sampled_from((None, "shared", "rare")),
        session=sessions,
        source=st.sampled_from((None, "mail", "chat")),
    ),
)

# -- which rule covers which route -------------------------------------------------------------------------------------

Route = tuple[str, str]
COVERED: dict[Route, str] = {}
# Of requests that failed for no reason that a caller may know, for who reads the report of a run.
FAILURES: list[str] = []


def covers(*routes: Route) -> Callable[[Any], Any]:
    """The rule below calls these routes, each a path as in urls.py and a method."""

    def note(function: Any) -> Any:
        COVERED.update(dict.fromkeys(routes, function.__name__))
        return function

    return note


@dataclass(slots=True)
class Tally:
    """What a run did.  foreign_ids: reads of a memory that exists and is not the caller's."""

    sequences: int = 0
    steps: int = 0
    requests: int = 0
    foreign_ids: int = 0
    rows: int = 0


@dataclass(frozen=True, slots=True)
class Caller:
    """A key, for one end user, perhaps in a project named by the request."""

    key: Key
    person: str
    project: str | None = None

    @property
    def place(self) -> Place:
        return Place(self.key.tenant, self.key.role.environment, self.person)

    @property
    def written_project(self) -> str:
        return self.project or self.key.role.project or "default"


class IsolationMachine(RuleBasedStateMachine):
    """One sequence: people of its own in tenants that it shares with the sequences before it."""

    tally: ClassVar[Tally] = Tally()
    cast: ClassVar[Cast | None] = None
    casts: ClassVar[int] = 0
    client: ClassVar[Client] = Client(raise_request_exception=True)

    @initialize()
    def begin(self) -> None:
        if IsolationMachine.cast is None or IsolationMachine.cast.sequences >= SEQUENCES_PER_CAST:
            IsolationMachine.casts += 1
            IsolationMachine.cast = Cast.assemble(IsolationMachine.casts)
        IsolationMachine.cast.sequences += 1
        self.members = IsolationMachine.cast
        self.number = self.members.sequences
        self.model = Model()
        self.now = datetime.now(UTC)
        self.answers: dict[tuple[Any, ...], bytes] = {}
        self.refusals: dict[tuple[str, int, str], tuple[bytes, dict[str, str]]] = {}
        self.trail: list[str] = []
        for key, person in SEEDS:  # so that there is something of everybody's from the first step on
            self.add(key=key, person=person, project=None, item=Item(text=THINGS[0], tags=("shared",)))

    # -- rules: one or more routes each --------------------------------------------------------------------------------

    @covers(("/memory/add", "POST"))
    @rule(key=keys, person=people, project=projects, item=items)
    def add(self, key: Key, person: str, project: str | None, item: Item) -> None:
        caller = Caller(key, person, project)
        body = _body_of(item) | {"deduplicate": item.deduplicate}
        response = self.ask(caller, "POST", "/memory/add", body)
        if self.is_refused(response, caller, "/memory/add", "memory:add"):
            return
        place, project = caller.place, caller.written_project
        self.members.writes[key.tenant] += 1
        self.model.begin(place, project, [item], self.now)
        fate, ids = self.model.fate(place, project, item, self.now)
        said = response.json()
        assert response.status_code == (201 if fate in (Fate.STORED, Fate.REVIVED) else 200), said
        self.acknowledge(place, project, item, fate, ids, said["memory_ids"])
        if response.status_code == 201:
            self.compare(said, self.model.rows[said["memory_ids"][0]])

    @covers(("/memory/bulk-add", "POST"))
    @rule(
        key=keys,
        project=projects,
        batch=st.lists(st.tuples(people, items), min_size=1, max_size=4),
        deduplicate=st.booleans(),
        with_bad_one=st.booleans(),
    )
    def bulk_add(
        self, key: Key, project: str | None, batch: list[tuple[str, Item]], deduplicate: bool, with_bad_one: bool
    ) -> None:
        caller = Caller(key, PEOPLE[0], project)
        sent = [_body_of(item) | {"end_user_id": self.name(person)} for person, item in batch]
        sent += [{"text": THINGS[0], "importance": 7}] if with_bad_one else []
        response = self.ask(caller, "POST", "/memory/bulk-add", {"items": sent, "deduplicate": deduplicate})
        if self.is_refused(response, caller, "/memory/bulk-add", "memory:add"):
            return
        said = response.json()
        assert response.status_code == 207
        assert [one["status"] for one in said["results"][len(batch) :]] == ["rejected"] * with_bad_one
        grouped: dict[str, list[tuple[Item, list[int]]]] = {}
        for (person, item), result in zip(batch, said["results"], strict=False):
            wanted = Item(**{name: getattr(item, name) for name in item.__slots__} | {"deduplicate": deduplicate})
            grouped.setdefault(person, []).append((wanted, result["memory_ids"]))
        for person, mine in grouped.items():
            place, project = Caller(key, person, project).place, caller.written_project
            self.members.writes[key.tenant] += 1
            self.model.begin(place, project, [item for item, _ in mine], self.now)
            for item, acknowledged in mine:
                fate, ids = self.model.fate(place, project, item, self.now)
                self.acknowledge(place, project, item, fate, ids, acknowledged)

    @covers(("/memory/query", "POST"), ("/memory/retrieve", "POST"))
    @rule(
        key=keys,
        person=people,
        project=projects,
        across=st.booleans(),
        question=questions,
        profile=profiles,
        narrowed=filters,
        route=st.sampled_from(("/memory/query", "/memory/retrieve")),
    )
    def query(
        self,
        key: Key,
        person: str,
        project: str | None,
        across: bool,
        question: str,
        profile: str | None,
        narrowed: Filter,
        route: str,
    ) -> None:
        caller = Caller(key, person, project)
        body = {"query": question, "k": 50, "profile": profile, "filters": narrowed.body()}
        sent = {name: value for name, value in body.items() if value is not None}
        response = self.ask(caller, "POST", route, sent, across=across)
        if self.is_refused(response, caller, route, "memory:read", across=across):
            return
        place, reach = caller.place, self.reach(caller, across)
        there = {row.id: row for row in self.model.live(place, reach, self.now) if narrowed.lets_through(row)}
        said = response.json()
        found = [memory["id"] for memory in said["memories"]]
        assert set(found) <= there.keys(), "an answer holds what is not this caller's to read"
        # What says the same words is shown once, and all of a small space is shown.
        texts = [there[row_id].item.text for row_id in found]
        assert len(texts) == len(set(texts))
        assert set(texts) == {row.item.text for row in there.values()}, "an acknowledged memory is missing"
        for memory in said["memories"]:
            self.compare(memory, there[memory["id"]])
            there[memory["id"]].accesses += 1
        # What others do changes no answer, in no digit of any score.
        asked = (place, reach, self.model.changes.get(place, 0), self.now, question, profile, narrowed)
        seen = _without(response.content, said, "query_id", "latency_ms")
        assert self.answers.setdefault(asked, seen) == seen, "the same question had another answer"

    @covers(("/memory/<int:memory_id>", "GET"), ("/v1/memory/status/<int:memory_id>", "GET"))
    @rule(
        key=keys,
        person=people,
        project=projects,
        across=st.booleans(),
        number=numbers,
        route=st.sampled_from(("/memory/{}", "/memory/{}", "/v1/memory/status/{}")),
    )
    def read(self, key: Key, person: str, project: str | None, across: bool, number: int, route: str) -> None:
        caller, memory_id = Caller(key, person, project), self.any_id(number)
        response = self.ask(caller, "GET", route.format(memory_id), across=across)
        if self.is_refused(response, caller, route, "memory:read", across=across):
            return
        row = self.model.readable(memory_id, caller.place, self.reach(caller, across), self.now)
        if row is None:
            self.tally.foreign_ids += memory_id in self.model.rows
            self.check_refusal(response, route, 404, "MEMORY_NOT_FOUND")
        elif "status" in route:
            assert (response.status_code, response.json()["memory_id"]) == (200, row.id)
        else:
            assert response.status_code == 200
            self.compare(response.json(), row)

    @covers(("/memory/refresh", "POST"))
    @rule(key=keys, person=people, project=projects, across=st.booleans())
    def refresh(self, key: Key, person: str, project: str | None, across: bool) -> None:
        caller = Caller(key, person, project)
        response = self.ask(caller, "POST", "/memory/refresh", across=across)
        if self.is_refused(response, caller, "/memory/refresh", "memory:update"):
            return
        # Across projects one reads, and nothing else: the header is passed over.
        counted = len(self.model.live(caller.place, caller.written_project, self.now))
        assert (response.status_code, response.json()["memories"]) == (202, counted)

    @covers(("/memory/forget", "DELETE"))
    @rule(key=keys, person=people, number=numbers)
    def forget(self, key: Key, person: str, number: int) -> None:
        response = self.ask(Caller(key, person), "DELETE", "/memory/forget", {"memory_ids": [self.any_id(number)]})
        status, code = key.role.refusal or (403, "STEP_UP_REQUIRED")
        self.check_refusal(response, "/memory/forget", status, code)

    @covers(("/v1/audit/events", "GET"))
    @rule(key=keys, project=projects)
    def read_audit(self, key: Key, project: str | None) -> None:
        caller = Caller(key, PEOPLE[0], project)
        response = self.ask(caller, "GET", "/v1/audit/events?action=memory.add&limit=200")
        if self.is_refused(response, caller, "/v1/audit/events", "audit:read"):
            return
        events = response.json()["events"]
        assert {event["tenant_id"] for event in events} <= {self.members.opened[key.tenant].tenant.pk}
        assert len(events) == min(200, self.members.writes[key.tenant])

    @covers(("/health", "GET"), ("/openapi.json", "GET"), ("/docs", "GET"))
    @rule(key=keys, route=st.sampled_from(("/health", "/docs", "/openapi.json")))
    def read_what_is_open(self, key: Key, route: str) -> None:
        if route == "/openapi.json" and self.number > 1:
            return  # large, and the same for as long as the process runs
        response = self.ask(Caller(key, PEOPLE[0]), "GET", route)
        assert response.status_code == 200
        assert not any(text.encode() in response.content for text in (*THINGS, *HOMES))

    # -- rules: what happens without a request -------------------------------------------------------------------------

    @rule(minutes=st.sampled_from((10, 50)))
    def time_passes(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)

    @rule(tenant=st.sampled_from(TENANTS))
    def sweep(self, tenant: str) -> None:
        self.expire(tenant)

    def expire(self, tenant: str) -> None:
        due = [
            row
            for row in self.model.rows.values()
            if row.place.tenant == tenant and not row.exists(self.now) and not row.is_swept
        ]
        assert expire(self.members.opened[tenant].scope, now=self.now) == len(due)
        for row in due:
            row.is_swept = True

    @rule()
    def worker_works(self) -> None:
        while handlers.process_due_events(now=self.now):
            pass

    @invariant()
    def count_steps(self) -> None:
        self.tally.steps += 1

    # -- asking, and comparing with the model --------------------------------------------------------------------------

    def ask(self, caller: Caller, method: str, path: str, body: Any = None, *, across: bool = False) -> HttpResponse:
        headers = {
            "X-API-Key": self.members.text(caller.key),
            "X-End-User-ID": self.name(caller.person),
            # A number of our own, so that two refusals can be compared byte for byte.
            "X-Request-ID": "isolation",
        }
        if caller.project is not None:
            headers["X-Project-ID"] = self.project_id(caller)
        if across:
            headers["X-Allow-Cross-Project"] = "true"
        data = b"" if body is None else json.dumps(body).encode()
        IsolationMachine.tally.requests += 1
        ApiView.now = lambda view: self.now  # type: ignore[method-assign]  # restored by the code that runs the machine
        content_type = "application/json" if data else ""
        # Refused keys are counted by address; each request comes from one of its own.
        address = str(IPv4Address(IsolationMachine.tally.requests))
        self.trail.append(f"{caller} {method} {path} {data.decode()}")
        response = self.client.generic(
            method, path, data, content_type=content_type, headers=headers, REMOTE_ADDR=address
        )
        assert response.status_code < 500, response.content
        return response

    def is_refused(
        self, response: HttpResponse, caller: Caller, route: str, permission: str, *, across: bool = False
    ) -> bool:
        """Whether the key, its permissions or the project refuse it; that answer is then the right one."""
        role = caller.key.role
        refusal = role.refusal
        if refusal is None and permission not in role.permissions:
            refusal = (403, "INSUFFICIENT_SCOPE")
        may_leave = permission.endswith(":read") and "org:cross_project_read" in role.permissions
        if refusal is None and caller.project is not None and role.project not in (None, caller.project):
            refusal = None if may_leave else (403, "PROJECT_BEYOND_KEY")
        if refusal is None and caller.project in (FOREIGN, ABSENT_PROJECT):
            refusal = (404, "PROJECT_NOT_FOUND")
        if refusal is None and across and caller.project is None and "org:cross_project_read" not in role.permissions:
            refusal = (403, "INSUFFICIENT_SCOPE")
        if refusal is None:
            return False
        self.check_refusal(response, f"{route} {across and permission in role.permissions}", *refusal)
        return True

    def check_refusal(self, response: HttpResponse, route: str, status: int, code: str) -> None:
        """The right one; and for any caller, and whatever exists, byte for byte the same, headers too."""
        assert response.status_code == status, response.content
        assert response.json()["error"]["code"] == code
        seen = (response.content, dict(response.headers))
        assert self.refusals.setdefault((route, status, code), seen) == seen, "two refusals can be told apart"

    def acknowledge(
        self, place: Place, project: str, item: Item, fate: Fate, ids: Sequence[int], acknowledged: list[int]
    ) -> None:
        if fate is Fate.STORED:
            assert len(acknowledged) == 1
            assert acknowledged[0] not in self.model.rows, "an id was given twice"
        else:
            assert acknowledged == list(ids)
        self.model.apply(place, project, item, fate, acknowledged, self.now)

    def compare(self, said: Mapping[str, Any], row: Row) -> None:
        assert said["id"] == row.id
        assert said["text"] == row.item.text
        assert said["environment"] == row.place.environment
        assert said["validity"] == ("current" if row.is_current else "superseded")

    def reach(self, caller: Caller, across: bool) -> str | None:
        return None if across and caller.project is None else caller.written_project

    def any_id(self, number: int) -> int:
        """An id that some user has, no matter which, or that no user has."""
        there = [*self.model.rows] if number % 5 and self.model.rows else ABSENT_IDS
        return there[number // 5 % len(there)]

    def name(self, person: str) -> str:
        return f"{person}-{self.number}"

    def project_id(self, caller: Caller) -> str:
        if caller.project == ABSENT_PROJECT:
            return ABSENT_PROJECT
        if caller.project == FOREIGN:
            other = TENANTS[(TENANTS.index(caller.key.tenant) + 1) % len(TENANTS)]
            return self.members.projects[other, "side"].public_id
        return self.members.projects[caller.key.tenant, caller.project or ""].public_id

    # -- at the end: the tables hold what was acknowledged, and nothing else -------------------------------------------

    def teardown(self) -> None:
        if not hasattr(self, "model"):
            return
        error = sys.exc_info()[1]
        if error is not None:
            IsolationMachine.cast = None  # what it left behind cannot be counted on
            if isinstance(error, Exception):  # not Hypothesis, which gives sequences up that grow too long
                print("\n".join(self.trail[-20:]), *FAILURES[-3:], sep="\n", flush=True)  # noqa: T201
            return
        try:
            read_log.flush()
            self.now += timedelta(days=1)
            for tenant in TENANTS:
                self.expire(tenant)
            for place in self.model.met:
                self.check_space(place)
            self.check_counts()
        except BaseException:
            IsolationMachine.cast = None
            raise
        self.tally.sequences += 1
        self.tally.rows += len(self.model.rows)
        if self.tally.sequences % 100 == 0:
            print(self.tally, flush=True)  # noqa: T201  (a large run takes long)

    def check_space(self, place: Place) -> None:
        scope = self.members.opened[place.tenant].scope
        names = {project.pk: name for (_, name), project in self.members.projects.items()}
        with tenant_transaction(scope):
            reference = find_end_user(
                replace(scope, environment=Environment(place.environment)), self.name(place.person)
            )
            assert reference is not None
            rows = list(Memory.objects.within_tenant(scope).filter(space_id=reference.id))
        mine = {row.id: row for row in self.model.rows.values() if row.place == place}
        assert {row.pk for row in rows} == mine.keys()
        for row in rows:
            expected = mine[row.pk]
            assert names[row.project_id] == expected.project
            assert row.environment == place.environment
            assert (row.validity == "current") == expected.is_current
            assert (row.retention_status == "soft_deleted") == expected.is_swept
            assert row.access_count == expected.accesses

    def check_counts(self) -> None:
        for name, opened in self.members.opened.items():
            places = {place for place in self.model.met if place.tenant == name}
            rows = sum(row.place in places for row in self.model.rows.values())
            self.members.expected[name] = self.members.expected.get(name, 0) + rows
            self.members.expected[f"{name} spaces"] = self.members.expected.get(f"{name} spaces", 0) + len(places)
            with tenant_transaction(opened.scope):
                assert Memory.objects.within_tenant(opened.scope).count() == self.members.expected[name]
                assert Space.objects.within(opened.scope).count() == self.members.expected[f"{name} spaces"]


def _body_of(item: Item) -> dict[str, Any]:
    body = {
        "text": item.text,
        "tags": list(item.tags) or None,
        "session_id": item.session,
        "source": item.source or None,
        "client_ref": item.reference,
        "ttl_minutes": item.ttl_minutes,
        # From one half on a text is kept whole, as it was said; chatter is left to the gate.
        "importance": 0.6 if item.is_kept else None,
    }
    return {name: value for name, value in body.items() if value is not None}


def _without(content: bytes, said: Mapping[str, Any], *names: str) -> bytes:
    for name in names:
        content = content.replace(f'"{name}":{json.dumps(said[name])}'.encode(), b"")
    return content


def routes(patterns: Any, prefix: str = "/") -> Iterator[Route]:
    """Every route and method of the API."""
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if route == "/admin/" or not (hasattr(pattern, "url_patterns") or hasattr(pattern.callback, "cls")):
            continue  # for people; these have their own tests
        if hasattr(pattern, "url_patterns"):
            yield from routes(pattern.url_patterns, route)
        else:
            for method in pattern.callback.cls.permissions:
                yield route, method
