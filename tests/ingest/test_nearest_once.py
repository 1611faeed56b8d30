"""The nearest memories are searched before the lock, and under it only if the space has changed since."""

from dataclasses import replace
from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.ingest import neighbours
from apps.ingest.candidates import Proposal
from apps.ingest.pipeline_context import PipelineContext
from apps.ingest.services import remember_for
from apps.memories.nearest import nearest
from apps.projects.scope import Scope
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(databases="__all__")


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Filled with each search under the lock."""
    made: list[object] = []

    def noting(*arguments: Any, **options: Any) -> Any:
        made.append(arguments)
        return nearest(*arguments, **options)

    monkeypatch.setattr(neighbours, "nearest", noting)
    return made


@pytest.fixture
def scope(acme: OpenedTenant) -> Scope:
    scope = make_scope(acme)
    add(scope, "My desk is made of oak and stands by the window.")
    return scope


def add(scope: Scope, text: str) -> bool:
    _, (outcome,) = remember_for(scope, "alice", [Proposal(text=Plaintext(text), importance=0.6)], now=NOW)
    return outcome.is_stored


def test_nothing_is_searched_again_while_nothing_changed(scope: Scope, searches: list[object]) -> None:
    assert add(scope, "The ferry to Arran leaves at ten past six.")
    assert not add(scope, "At ten past six the ferry leaves to Arran.")
    assert searches == []


def test_what_changed_meanwhile_is_met(scope: Scope, searches: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    begin = PipelineContext.for_owner
    monkeypatch.setattr(
        PipelineContext, "for_owner", lambda *given, **options: _before_a_change(begin(*given, **options))
    )

    assert add(scope, "The ferry to Arran leaves at ten past six.")

    assert searches


def _before_a_change(tools: PipelineContext) -> PipelineContext:
    return replace(tools, as_of=(tools.as_of or 0) - 1)
