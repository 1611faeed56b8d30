"""What is said again or recalled is kept for longer; who may keep it longer still, and for good."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.audit.models import AuditEvent
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.memories.models import Memory
from apps.memories.selectors import get_memory
from apps.memories.services import count_accesses
from apps.memories.soft_delete import PastRetention, restore
from apps.policies.retention import (
    KEEP,
    AgeFrom,
    Level,
    StricterAbove,
    in_force,
    set_policy,
)
from apps.projects.scope import Scope
from apps.recall import read_log
from apps.recall.results import Filters
from apps.recall.services import recall
from apps.retention import previewing
from apps.retention.memory_selection import MemorySelection, soft_delete_selection
from apps.retention.retention_sweep import sweep
from apps.summaries.services import summarize, tend_summaries
from tests.makers import NOW, make_scope
from tests.retention.test_retention_by_day import DAY, remember, statuses

pytestmark = pytest.mark.django_db(databases="__all__")


def kept_until(scope: Scope, memory_id: int, *, now: datetime) -> datetime | None:
    return get_memory(scope, memory_id, now=now).kept_until


def test_what_is_said_again_in_the_same_or_nearly_the_same_words_is_kept_for_longer(acme: OpenedTenant) -> None:
    scope = make_scope(acme)
    (first,) = remember(scope, "The bus to the airport leaves at ten past six.", importance=0.6)[0].memory_ids
    assert kept_until(scope, first, now=NOW) == NOW + 90 * DAY

    remember(scope, "The bus to the airport leaves at ten past six.", importance=0.6, now=NOW + 40 * DAY)
    assert kept_until(scope, first, now=NOW + 40 * DAY) == NOW + 130 * DAY

    (again,) = remember(scope, "To the airport the bus leaves at ten past six!", importance=0.6, now=NOW + 80 * DAY)
    assert again.decisions[0].reason == "near_duplicate"
    assert kept_until(scope, first, now=NOW + 80 * DAY) == NOW + 170 * DAY
    sweep(acme.scope, now=NOW + 169 * DAY)
    assert statuses(scope, [first]) == ["active"]


def test_what_a_question_brings_back_is_kept_for_longer_at_most_once_an_hour(acme: OpenedTenant) -> None:
    scope = make_scope(acme)
    (one,) = remember(scope, "The bus to the airport leaves at ten past six.", importance=0.6)[0].memory_ids
    asked = NOW + 50 * DAY
    for at in (asked, asked + timedelta(minutes=59), asked + timedelta(minutes=60)):
        count_accesses(scope, {one: 1}, now=at)

    with tenant_transaction(scope):
        row = Memory.objects.within(scope).get(pk=one)
    assert (row.access_count, row.last_used_at) == (3, asked + timedelta(minutes=60))
    assert kept_until(scope, one, now=asked) == asked + 90 * DAY + timedelta(hours=1)


def test_a_recall_renews_and_a_look_by_id_does_not(acme: OpenedTenant) -> None:
    scope = make_scope(acme)
    (one,) = remember(scope, "The bus to the airport leaves at ten past six.", importance=0.6)[0].memory_ids

    get_memory(scope, one, now=NOW)
    read_log.flush()
    assert kept_until(scope, one, now=NOW) == NOW + 90 * DAY
    before = datetime.now(UTC)
    assert recall(scope, Plaintext("When does the bus leave?"), now=NOW).hits
    read_log.flush()

    until = kept_until(scope, one, now=NOW)
    assert until is not None
    assert until >= before + 90 * DAY


def test_a_question_about_another_time_renews_what_held_then(acme: OpenedTenant) -> None:
    scope = make_scope(acme)
    (lisbon,) = remember(scope, "I live in Lisbon.")[0].memory_ids
    (porto,) = remember(scope, "I live in Porto.", now=NOW + 10 * DAY)[0].memory_ids

    then = Filters(as_of=NOW + 5 * DAY)
    found = recall(scope, Plaintext("Where do I live?"), filters=then, now=NOW + 20 * DAY).hits
    read_log.flush()

    assert [hit.memory.id for hit in found] == [lisbon]
    with tenant_transaction(scope):
        used = dict(Memory.objects.within(scope).values_list("pk", "last_used_at"))
    assert used[lisbon] is not None
    assert used[porto] is None


def test_what_is_brought_back_counts_from_then_unless_its_time_is_over_all_the_same(acme: OpenedTenant) -> None:
    scope = make_scope(acme)
    (one,) = remember(scope, "The bus to the airport leaves at ten past six.", importance=0.6)[0].memory_ids
    sweep(acme.scope, now=NOW + 90 * DAY)
    restore(scope, one, now=NOW + 91 * DAY)
    sweep(acme.scope, now=NOW + 92 * DAY)
    assert kept_until(scope, one, now=NOW + 92 * DAY) == NOW + 181 * DAY

    set_policy(acme.scope, Level.TENANT, 0, {"active_from": AgeFrom.STORED}, now=NOW)
    sweep(acme.scope, now=NOW + 92 * DAY)
    with pytest.raises(PastRetention):
        restore(scope, one, now=NOW + 92 * DAY)
    assert statuses(scope, [one]) == ["soft_deleted"]


def test_kept_for_good_is_kept_for_good(acme: OpenedTenant, settings: Any) -> None:
    scope, bob = make_scope(acme), make_scope(acme, "bob")
    (hers,) = remember(scope, "The bus to the airport leaves at ten past six.", importance=0.6)[0].memory_ids
    (his,) = remember(bob, "The bus to the airport leaves at ten past six.", importance=0.6)[0].memory_ids
    set_policy(acme.scope, Level.TENANT, 0, {"active_days": KEEP}, loosens=True, now=NOW)
    set_policy(acme.scope, Level.SPACE, bob.space.id, {"active_days": 30}, now=NOW)

    assert kept_until(scope, hers, now=NOW) is None
    assert kept_until(bob, his, now=NOW) == NOW + 30 * DAY
    found = previewing.preview(acme.scope, until=NOW + 36_000 * DAY, now=NOW)
    assert [(one.rule, one.level, one.ids) for one in found] == [("active_days", "space", [his])]
    sweep(acme.scope, now=NOW + 36_000 * DAY)
    assert statuses(scope, [hers, his]) == ["active", "soft_deleted"]

    settings.RETENTION_DAYS = 0
    assert in_force(acme.scope, project_id=None)["active_days"].word == "keep"


def test_a_summary_made_anew_is_as_fresh_as_that(acme: OpenedTenant) -> None:
    scope = make_scope(acme)
    texts = [f"Maria Lopez visited {city} by train." for city in ("Lisbon", "Porto", "Braga", "Faro")]
    ids = [remember(scope, text, importance=0.6, tags=("travel",))[0].memory_ids[0] for text in texts]
    made = summarize(scope, ids, lossless=False, now=NOW).memory_id
    assert made is not None
    soft_delete_selection(scope, MemorySelection(memory_ids=(ids[0],)), now=NOW + 50 * DAY)
    with tenant_transaction(acme.scope):
        tend_summaries(acme.scope, [made], now=NOW + 50 * DAY)

    assert kept_until(scope, made, now=NOW + 50 * DAY) == NOW + 140 * DAY
    set_policy(acme.scope, Level.TENANT, 0, {"active_from": AgeFrom.STORED}, now=NOW)
    assert kept_until(scope, made, now=NOW + 50 * DAY) == NOW + 90 * DAY


def test_who_may_loosen_says_so_and_the_trail_says_which_rule_went_which_way(acme: OpenedTenant) -> None:
    scope, space = acme.scope, make_scope(acme).space.id
    set_policy(
        scope, Level.TENANT, 0, {"active_days": KEEP, "active_from": AgeFrom.STORED, "grace_days": 3}, loosens=True,
        now=NOW,
    )  # fmt: skip
    set_policy(scope, Level.SPACE, space, {"active_days": 30}, now=NOW)
    set_policy(scope, Level.SPACE, space, {"active_days": 400}, loosens=True, now=NOW)
    set_policy(scope, Level.TENANT, 0, {"active_days": 200}, now=NOW)
    with pytest.raises(StricterAbove) as refused:
        set_policy(scope, Level.SPACE, space, {"active_days": KEEP, "active_from": AgeFrom.USED}, loosens=True, now=NOW)

    assert refused.value.details == [
        {"field": "active_days", "holds": 200, "level": "tenant"},
        {"field": "active_from", "holds": "stored", "level": "tenant"},
    ]
    with tenant_transaction(scope):
        rows = AuditEvent.objects.filter(action__startswith="retention.").order_by("id")
        assert list(rows.values_list("action", "target", "reason")) == [
            ("retention.loosen", f"tenant:{scope.tenant_id}", "active_days=keep, was 90"),
            ("retention.tighten", f"tenant:{scope.tenant_id}", "active_from=stored, was used"),
            ("retention.tighten", f"tenant:{scope.tenant_id}", "grace_days=3, was 7"),
            ("retention.tighten", f"space:{space}", "active_days=30, was keep"),
            ("retention.loosen", f"space:{space}", "active_days=400, was 30"),
            ("retention.tighten", f"tenant:{scope.tenant_id}", "active_days=200, was keep"),
        ]
