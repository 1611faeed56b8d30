"""Reflections: old summaries of sessions in one memory for each space and run."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.history.turns import NewTurn
from apps.ingest.conversation_sync import append_history, delete_history
from apps.ingest.session_summaries import summarize_session
from apps.memories.models import Memory, SummarySource
from apps.memories.opened import OpenedMemory
from apps.memories.selectors import list_memories
from apps.projects.scope import Scope
from apps.summaries import tasks
from apps.summaries.reflections import reflect
from apps.summaries.services import tend_summaries
from apps.tenants.services import set_policy
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(databases="__all__")

LATER = NOW + timedelta(days=8)


def talk(scope: Scope, session_id: str, *texts: str, end_user: str = "alice", extract: bool = False) -> None:
    said = [NewTurn(role="user", content=Plaintext(text)) for text in texts]
    append_history(scope, end_user, session_id, said, source="api", metadata={}, extract=extract, now=NOW)
    assert summarize_session(scope, session_id, with_turns=True, force=True, now=NOW).memory_id


def reflections(scope: Scope) -> list[OpenedMemory]:
    return [one for one in list_memories(scope, limit=None, now=LATER).memories if one.type == "reflection"]


def plain(scope: Scope) -> Scope:
    return replace(scope, spaces=())


@pytest.fixture
def scope(acme: OpenedTenant) -> Scope:
    set_policy(acme.tenant, session_summaries="on", actor="command:0", now=NOW)
    return make_scope(acme)


def test_five_old_summaries_are_digested_once(scope: Scope, acme: OpenedTenant) -> None:
    for day, who in enumerate(("Omar", "Lea", "Ines", "Tom", "Nora")):
        talk(scope, f"s{day}", f"On day {day} I met {who}.")
    bob = make_scope(acme, "bob")
    talk(bob, "s0", "On day 9 I met Kim.", end_user="bob")
    assert reflect(plain(scope), now=NOW + timedelta(days=7)) == 0

    assert reflect(plain(scope), now=LATER) == 1

    (made,) = reflections(scope)
    assert made.is_summary
    assert made.text.reveal().splitlines()[::4] == ["user: On day 0 I met Omar.", "user: On day 4 I met Nora."]
    with tenant_transaction(scope):
        assert SummarySource.objects.within(scope).filter(summary_id=made.id).count() == 5
    assert reflections(bob) == []
    assert reflect(plain(scope), now=LATER) == 0


def test_three_on_a_topic_are_enough_and_the_others_wait(scope: Scope) -> None:
    for day, text in enumerate(("We rowed to Kotka.", "The ferry to Kotka was late.", "We fished near Kotka.")):
        talk(scope, f"s{day}", text)
    talk(scope, "s9", "The cello of Nora is 90 years old.")

    assert reflect(plain(scope), now=LATER) == 1

    assert "cello" not in reflections(scope)[0].text.reveal()


def test_three_on_three_topics_are_too_few(scope: Scope) -> None:
    for day, text in enumerate(("We rowed to Kotka.", "The ferry to Lisbon was late.", "We fished near Porto.")):
        talk(scope, f"s{day}", text)

    assert reflect(plain(scope), now=LATER) == 0


def test_a_reflection_goes_with_what_it_is_made_of(scope: Scope) -> None:
    for day, who in enumerate(("Omar", "Lea", "Ines", "Tom", "Nora")):
        talk(scope, f"s{day}", f"On day {day} I met {who}.")
    reflect(plain(scope), now=LATER)
    (made,) = reflections(scope)

    delete_history(scope, session_id="s0", turn_ids=(), source=None, with_facts=False, now=LATER)

    assert reflections(scope) == []
    with tenant_transaction(scope):
        tend_summaries(plain(scope), [made.id], now=LATER)
    assert reflect(plain(scope), now=LATER) == 0  # four summaries are left


def test_memories_that_the_summaries_quote_are_sources_too(scope: Scope) -> None:
    for day, who in enumerate(("Omar", "Lea", "Ines", "Tom")):
        talk(scope, f"s{day}", f"On day {day} I met {who}.")
    talk(scope, "s9", "I live in Lisbon.", extract=True)
    reflect(plain(scope), now=LATER)
    (made,) = reflections(scope)
    with tenant_transaction(scope):
        (home,) = Memory.objects.within(scope).filter(is_summary=False)
        assert SummarySource.objects.within(scope).filter(summary_id=made.id, source_id=home.pk).exists()

        Memory.objects.within(scope).filter(pk=home.pk).update(retention_status="soft_deleted")

    assert reflections(scope) == []


def test_none_are_made_without_the_policy_or_the_setting(
    scope: Scope, acme: OpenedTenant, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for day, who in enumerate(("Omar", "Lea", "Ines", "Tom", "Nora")):
        talk(scope, f"s{day}", f"On day {day} I met {who}.")
    monkeypatch.setattr("django.utils.timezone.now", lambda: LATER)
    settings.REFLECTIONS = False
    tasks.reflect_on_sessions()
    assert reflections(scope) == []
    settings.REFLECTIONS = True
    set_policy(acme.tenant, session_summaries="off", actor="command:0", now=NOW)
    tasks.reflect_on_sessions()
    assert reflections(scope) == []

    set_policy(acme.tenant, session_summaries="on", actor="command:0", now=NOW)
    tasks.reflect_on_sessions()

    assert len(reflections(scope)) == 1
