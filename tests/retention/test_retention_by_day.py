"""200 days of retention, day by day, beside a naive reading of the same policies; and until when each memory says
that it is kept."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.ingest import services as ingest
from apps.ingest.candidates import Outcome, Proposal
from apps.memories.lifetimes import Lifetimes, rules_of
from apps.memories.models import Memory, MemoryTransition
from apps.memories.services import count_accesses, renew
from apps.policies.models import RetentionPolicy
from apps.policies.retention import (
    KEEP,
    LIMITS,
    AgeFrom,
    Level,
    all_policies,
    set_policy,
)
from apps.projects.scope import Scope
from apps.projects.selectors import get_project
from apps.retention.retention_sweep import sweep
from tests.makers import NOW, make_project, make_scope, make_tenant

pytestmark = pytest.mark.django_db(databases="__all__")

DAY = timedelta(days=1)
HORIZON = 200
LONGEST = 500  # days; no rule of these tests waits longer for the next step of a memory


@dataclass
class Line:
    """A memory as the naive reference sees it.  Days count from NOW."""

    project: int | None
    space: int
    type: str = "fact"
    pinned: bool = False
    status: str = "active"
    made: int = 0
    expires: int | None = None
    superseded: int | None = None
    slot: bytes | None = None
    archived: int | None = None
    deleted: int | None = None
    is_held: bool = False
    uses: Sequence[int] = ()  # days on which it is said again or recalled, if it is still in recall
    used: list[int] = field(default_factory=list)


Said = Mapping[tuple[str, int], Mapping[str, int]]


def least(said: Said, line: Line, rule: str, default: int | None) -> int | None:
    """What holds for one memory, by reading every level each time."""
    own = said.get(("tenant", 0), {}).get(rule, default)
    values = [
        own,
        said.get(("project", line.project or 0), {}).get(rule),
        said.get(("space", line.space), {}).get(rule),
    ]
    return min((value for value in values if value not in (None, KEEP)), default=None)


def age_begins(said: Said, line: Line) -> int:
    """The day that the age of one memory is counted from."""
    words = [said.get(key, {}).get("active_from") for key in
             (("tenant", 0), ("project", line.project or 0), ("space", line.space))]  # fmt: skip
    return line.made if AgeFrom.STORED in words else max([line.made, *line.used])


def step(lines: list[Line], said: Said, day: int) -> None:
    """What one sweep on this day does, one memory after the other."""
    for line in lines:
        if line.is_held or line.status == "purged":
            continue
        is_exempt = line.pinned or line.type == "constraint"
        there = line.status in ("active", "archived")
        if there and line.expires is not None and line.expires <= day:
            line.status, line.deleted = "soft_deleted", day
            continue
        active = least(said, line, "active_days", 90)
        archive = least(said, line, "archive_days", 0) or 0
        begins = age_begins(said, line)
        if line.status == "active" and not is_exempt and active is not None and begins + active <= day:
            if archive:
                line.status, line.archived = "archived", day
            else:
                line.status, line.deleted = "soft_deleted", day
    for line in lines:
        if line.is_held or line.status not in ("active", "archived"):
            continue
        is_exempt = line.pinned or line.type == "constraint"
        archive = least(said, line, "archive_days", 0) or 0
        if line.status == "archived" and line.archived is not None and line.archived + archive <= day:
            line.status, line.deleted = "soft_deleted", day
        event = least(said, line, "event_max_age_seconds", None)
        is_old_event = line.type == "event" and event is not None and line.made * 86_400 + event <= day * 86_400
        replaced = least(said, line, "superseded_max_age_seconds", None)
        is_old_value = line.superseded is not None and replaced is not None
        is_old_value = is_old_value and (line.superseded or 0) * 86_400 + (replaced or 0) <= day * 86_400
        if line.status != "soft_deleted" and not is_exempt and (is_old_event or is_old_value):
            line.status, line.deleted = "soft_deleted", day
    _count(lines, said, day)
    for line in lines:
        grace = min(7, least(said, line, "grace_days", 7) or 0)
        if line.status == "soft_deleted" and not line.is_held and (line.deleted or 0) + grace <= day:
            line.status = "purged"


def _count(lines: list[Line], said: Said, day: int) -> None:
    # By one rule at a time, as each level's is looked at alone: the strictest wins.
    levels = sorted({key for key, rules in said.items() if "superseded_max_count" in rules},
                    key=lambda key: (("tenant", "project", "space").index(key[0]), key[1]))  # fmt: skip
    for level, target in levels:
        most = said[level, target]["superseded_max_count"]
        for slot in {(line.space, line.slot) for line in lines if line.slot is not None}:
            there = [
                (line.superseded, number, line)
                for number, line in enumerate(lines)
                if (line.space, line.slot) == slot
                and line.superseded is not None
                and line.status in ("active", "archived")
            ]
            for _, _, line in sorted(there, key=lambda one: one[:2], reverse=True)[most:]:
                is_meant = level == "tenant" or target == (line.project if level == "project" else line.space)
                if is_meant and not line.pinned and not line.is_held:
                    line.status, line.deleted = "soft_deleted", day


def lay(scope: Scope, lines: Sequence[Line], *, first: int = 0) -> list[int]:
    """Rows as the lines say; their contents are not opened here."""
    rows = []
    with tenant_transaction(scope):
        for number, line in enumerate(lines, start=first):
            made = NOW + line.made * DAY
            rows.append(
                Memory(
                    space_id=line.space, project_id=line.project, environment="production",
                    public_id=f"mem_{number:032x}", created_at=made, updated_at=made, created_txid=1, changed_txid=1,
                    type=line.type, slot=line.slot, text_mac=bytes(16), key_version=1, text_ct=b"x", handles_ct=b"x",
                    pinned=line.pinned, validity="current" if line.superseded is None else "superseded",
                    superseded_at=None if line.superseded is None else NOW + line.superseded * DAY,
                    expires_at=None if line.expires is None else NOW + line.expires * DAY,
                    legal_hold=line.is_held,
                )
            )  # fmt: skip
        made_rows = Memory.objects.bulk_create(scope, rows)
    return [row.pk for row in made_rows]


def statuses(scope: Scope, ids: Sequence[int]) -> list[str]:
    with tenant_transaction(scope):
        found = dict(Memory.objects.within_tenant(scope).filter(pk__in=ids).values_list("pk", "retention_status"))
    return [found.get(one, "purged") for one in ids]


def say(scope: Scope, said: Said, *, now: datetime = NOW) -> None:
    """Whatever the levels say together: a narrower one says first what the tenant then makes stricter."""
    narrow = {key: rules for key, rules in said.items() if key[0] != "tenant" and rules}
    if narrow:
        set_policy(scope, Level.TENANT, 0, LOOSEST, loosens=True, now=now)
    for (level, target), rules in narrow.items():
        set_policy(scope, Level(level), target, rules, loosens=True, now=now)
    with tenant_transaction(scope):
        RetentionPolicy.objects.within(scope).filter(level="tenant").delete()
    if rules := said.get(("tenant", 0)):
        set_policy(scope, Level.TENANT, 0, rules, loosens=True, now=now)


LOOSEST = dict.fromkeys(LIMITS, KEEP) | {"archive_days": 36_500, "grace_days": 7, "active_from": AgeFrom.USED}


def use(scope: Scope, lines: Sequence[Line], ids: Sequence[int], day: int, *, since: int) -> None:
    """What is used after the one day and until the other, by turns recalled and said once more."""
    for line, one in zip(lines, ids, strict=True):
        for on in (on for on in line.uses if since < on <= day and line.status == "active"):
            line.used.append(on)
            at = NOW + on * DAY
            if on % 2:
                count_accesses(scope, {one: 3}, now=at)
            else:
                with tenant_transaction(scope):
                    renew(scope, [one], now=at)


def shown(scope: Scope, ids: Sequence[int]) -> list[int | None]:
    """Until which day each memory that is there says that it is kept."""
    with tenant_transaction(scope):
        lifetimes = Lifetimes(list(rules_of(all_policies(scope))))
        rows = Memory.objects.within_tenant(scope).in_bulk(ids)
    kept = [lifetimes.until(rows[one]) if one in rows else None for one in ids]
    return [None if until is None else -((NOW - until) // DAY) for until in kept]


Known = dict[str, int | None]


def next_step(line: Line, said: Said, day: int, known: Known) -> int | None:
    """The day of its next step, if it is used no more: found by waiting for it.

    known: what was found before under these policies.  Until that day it holds for a line that has not changed.
    """
    alone, status = replace(line, slot=None), line.status
    state = repr(alone)
    there = known.get(state, 0)
    if there is None or there > day:
        return there
    later = (later for later in range(day + 1, day + LONGEST) if _steps(alone, said, later) != status)
    known[state] = next(later, None)
    return known[state]


def _steps(alone: Line, said: Said, day: int) -> str:
    step([alone], said, day)
    return alone.status


def remember(scope: Scope, *texts: str, now: datetime = NOW, **fields: Any) -> list[Outcome]:
    return ingest.remember(scope, [Proposal(text=Plaintext(text), **fields) for text in texts], now=now)


# -- 200 days ----------------------------------------------------------------------------------------------------------


def test_each_row_leaves_on_its_day_and_nothing_comes_back(acme: OpenedTenant) -> None:
    alice, bob = make_scope(acme, "alice"), make_scope(acme, "bob")
    web = get_project(acme.scope, make_project(acme.scope, "web")).pk
    home, hers, his = acme.project.pk, alice.space.id, bob.space.id
    shop = get_project(acme.scope, make_project(acme.scope, "shop")).pk
    said: Said = {
        ("tenant", 0): {"event_max_age_seconds": 20 * 86_400, "superseded_max_count": 2},
        ("project", web): {"active_days": 30, "archive_days": 0, "grace_days": 2},
        ("project", shop): {"active_from": AgeFrom.STORED},
        ("space", his): {"superseded_max_age_seconds": 10 * 86_400, "active_days": 60},
    }
    say(acme.scope, said)
    slot = bytes(range(16))
    lines = [
        Line(home, hers),
        Line(home, hers, made=50),
        Line(home, hers, pinned=True),
        Line(home, hers, type="constraint"),
        Line(home, hers, pinned=True, expires=40),
        Line(home, hers, expires=10),
        Line(home, hers, type="event"),
        Line(home, hers, type="event", pinned=True),
        *(Line(home, hers, superseded=day, slot=slot) for day in (1, 2, 3, 4)),
        Line(web, hers),
        Line(web, his, made=100),
        Line(home, his),
        Line(home, his, superseded=5, slot=slot),
        Line(home, hers, is_held=True),
        Line(home, hers, expires=20, is_held=True),
        Line(home, hers, uses=(30, 89)),
        Line(home, hers, uses=(30, 121)),
        Line(web, hers, uses=(29, 58)),
        Line(shop, hers, uses=(30, 89)),
        Line(shop, his, uses=(59,)),
        Line(home, hers, type="event", uses=(19,)),
        Line(home, hers, expires=50, uses=(49,)),
        Line(home, hers, uses=range(0, 201, 80)),
    ]
    ids = lay(acme.scope, lines)
    left: dict[int, list[tuple[int, str]]] = {one: [] for one in ids}
    before = ["active"] * len(ids)
    known: Known = {}

    for day in range(HORIZON + 1):
        use(acme.scope, lines, ids, day - 1, since=day - 2)
        sweep(acme.scope, now=NOW + day * DAY)
        step(lines, said, day)
        found = statuses(acme.scope, ids)
        assert found == [line.status for line in lines], day
        steps = [
            None if line.is_held or line.status == "purged" else next_step(line, said, day, known) for line in lines
        ]
        assert shown(acme.scope, ids) == steps, day
        for one, was, here in zip(ids, before, found, strict=True):
            if was != here:
                left[one].append((day, here))
        before = found

    assert [left[one] for one in ids] == [
        [(90, "soft_deleted"), (97, "purged")],
        [(140, "soft_deleted"), (147, "purged")],
        [],
        [],
        [(40, "soft_deleted"), (47, "purged")],
        [(10, "soft_deleted"), (17, "purged")],
        [(20, "soft_deleted"), (27, "purged")],
        [],
        [(0, "soft_deleted"), (7, "purged")],
        [(0, "soft_deleted"), (7, "purged")],
        [(90, "soft_deleted"), (97, "purged")],
        [(90, "soft_deleted"), (97, "purged")],
        [(30, "soft_deleted"), (32, "purged")],
        [(130, "soft_deleted"), (132, "purged")],
        [(60, "soft_deleted"), (67, "purged")],
        [(15, "soft_deleted"), (22, "purged")],
        [],
        [],
        [(179, "soft_deleted"), (186, "purged")],
        [(120, "soft_deleted"), (127, "purged")],
        [(88, "soft_deleted"), (90, "purged")],
        [(90, "soft_deleted"), (97, "purged")],
        [(60, "soft_deleted"), (67, "purged")],
        [(20, "soft_deleted"), (27, "purged")],
        [(50, "soft_deleted"), (57, "purged")],
        [],
    ]


def test_archived_in_between_where_a_policy_archives(acme: OpenedTenant) -> None:
    alice = make_scope(acme)
    say(acme.scope, {("tenant", 0): {"active_days": 40, "archive_days": 60}})
    (one,) = lay(acme.scope, [Line(acme.project.pk, alice.space.id)])
    seen = []
    for day in (39, 40, 99, 100, 106, 107, 108):
        sweep(acme.scope, now=NOW + day * DAY)
        seen.append(statuses(acme.scope, [one])[0])

    assert seen == ["active", "archived", "archived", "soft_deleted", "soft_deleted", "purged", "purged"]
    with tenant_transaction(acme.scope):
        events = MemoryTransition.objects.within(acme.scope).filter(memory_id=one).order_by("pk")
        assert list(events.values_list("event", flat=True)) == ["archived", "soft_deleted", "purged"]


RULE = {
    "active_days": st.integers(1, 120) | st.just(KEEP),
    "active_from": st.sampled_from(AgeFrom),
    "archive_days": st.integers(0, 60),
    "grace_days": st.integers(0, 7),
    "event_max_age_seconds": st.integers(1, 100).map(lambda days: days * 86_400),
    "superseded_max_age_seconds": st.integers(1, 100).map(lambda days: days * 86_400),
    "superseded_max_count": st.integers(1, 3),
}
some_rules = st.fixed_dictionaries({}, optional=RULE)


@given(data=st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_random_policies_do_what_a_naive_reading_of_them_does(acme: OpenedTenant, data: st.DataObject) -> None:
    number = next(EXAMPLES)
    tenant = make_tenant(f"random-{number}")
    scope, spaces = tenant.scope, [make_scope(tenant, name).space.id for name in ("alice", "bob")]
    projects = [tenant.project.pk, get_project(scope, make_project(scope, "web")).pk]
    said: dict[tuple[str, int], Mapping[str, int]] = {("tenant", 0): data.draw(some_rules)}
    said |= {("project", one): data.draw(some_rules) for one in projects}
    said |= {("space", one): data.draw(some_rules) for one in spaces}
    say(scope, said)
    line = st.builds(
        Line,
        project=st.sampled_from([*projects, None]),
        space=st.sampled_from(spaces),
        type=st.sampled_from(["fact", "event", "constraint"]),
        pinned=st.booleans(),
        made=st.integers(-30, 0),
        expires=st.none() | st.integers(0, 150),
        superseded=st.none() | st.integers(-10, 0),
        slot=st.none() | st.sampled_from([b"a" * 16, b"b" * 16]),
        is_held=st.sampled_from([False, False, False, True]),
        uses=st.lists(st.integers(0, 200), max_size=6, unique=True).map(sorted),
    )
    lines = data.draw(st.lists(line, min_size=1, max_size=12))
    held: set[tuple[int, bytes]] = set()
    for one in lines:
        if one.slot is not None and one.superseded is None:  # one current row in a slot
            if (one.space, one.slot) in held:
                one.superseded = 0
            held.add((one.space, one.slot))
    ids = lay(scope, lines)
    known: Known = {}
    days = sorted(set(data.draw(st.lists(st.integers(0, 220), min_size=3, max_size=12))))

    for before, day in itertools.pairwise([-1, *days]):
        use(scope, lines, ids, day, since=before)
        sweep(scope, now=NOW + day * DAY)
        step(lines, said, day)
        assert statuses(scope, ids) == [one.status for one in lines], (day, said, lines)
        steps = [None if one.is_held or one.status == "purged" else next_step(one, said, day, known) for one in lines]
        assert shown(scope, ids) == steps, (day, said, lines)


EXAMPLES = itertools.count()
