"""Who recalled, in which space and how often: one row a flush, with no word of what was asked or found."""

from dataclasses import replace

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.audit.models import AuditEvent
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.projects.scope import Environment, Principal, Scope
from apps.recall import read_log
from apps.recall.services import recall
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(databases="__all__")

SAID = "The parcel went to the harbour office in Samarkand."


def rows(scope: Scope) -> list[tuple[str, str, str, int]]:
    with tenant_transaction(scope):
        found = AuditEvent.objects.filter(tenant_id=scope.tenant_id, action="memory.recall").order_by("id")
        return [(row.actor, row.target, row.reason, row.count) for row in found]


def test_recalls_of_one_credential_in_one_space_are_one_row(acme: OpenedTenant, globex: OpenedTenant) -> None:
    alice, bob = make_scope(acme), make_scope(acme, "bob")
    other_key = replace(alice, principal=Principal(kind="api_key", id=77))
    theirs = make_scope(globex)
    remember(alice, [Proposal(text=Plaintext(SAID), importance=0.9)], now=NOW)

    for scope in (alice, alice, alice, bob, other_key, theirs):
        recall(scope, Plaintext("Where did the parcel go?"), now=NOW)
    read_log.flush()
    read_log.flush()

    me = alice.principal.label
    assert rows(alice) == [
        (me, f"space:{alice.space.id}", "hits=3", 3),
        (me, f"space:{bob.space.id}", "hits=0", 1),
        ("api_key:77", f"space:{alice.space.id}", "hits=1", 1),
    ]
    assert rows(theirs) == [(theirs.principal.label, f"space:{theirs.space.id}", "hits=0", 1)]


def test_reads_of_several_environments_are_marked(acme: OpenedTenant) -> None:
    here, there = make_scope(acme), make_scope(acme, environment=Environment.STAGING)
    for scope in (here, there):
        remember(scope, [Proposal(text=Plaintext(SAID), importance=0.9)], now=NOW)
    both = replace(here, also_reads=(Environment.STAGING,)).in_spaces(here.space, there.space)

    for scope in (both, here):
        recall(scope, Plaintext("Where did the parcel go?"), now=NOW)
    read_log.flush()

    me, spaces = here.principal.label, f"space:{here.space.id},space:{there.space.id}"
    assert rows(here) == [
        (me, spaces, "hits=2 in=production,staging", 1),
        (me, f"space:{here.space.id}", "hits=1", 1),
    ]


def test_recall_that_reaches_nobody_is_recorded_too(acme: OpenedTenant) -> None:
    stranger = replace(make_scope(acme), spaces=())

    recall(stranger, Plaintext("Who?"), now=NOW)
    read_log.flush()

    assert rows(stranger) == [(stranger.principal.label, "", "hits=0", 1)]


def test_many_spaces_are_counted_and_not_named(acme: OpenedTenant) -> None:
    scope = make_scope(acme)
    spaces = [make_scope(acme, f"user {number}").space for number in range(5)]

    read_log.record_recall(scope.in_spaces(*spaces), [])
    read_log.flush()

    assert rows(scope) == [(scope.principal.label, "5 spaces", "hits=0", 1)]


def test_trail_holds_no_word_of_the_question_or_the_answer(acme: OpenedTenant) -> None:
    scope = make_scope(acme)
    remember(scope, [Proposal(text=Plaintext(SAID), importance=0.9)], now=NOW)

    recall(scope, Plaintext("Samarkand harbour"), now=NOW)
    read_log.flush()

    with tenant_transaction(scope):
        every = str(list(AuditEvent.objects.filter(tenant_id=scope.tenant_id).values()))
    assert not {"Samarkand", "harbour", "parcel"} & set(every.replace("'", " ").split())
