"""Recall ranks by the stored analyses of texts, and by the texts themselves where there is none."""

from collections.abc import Callable
from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.crypto.services import open_space
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.memories import analyses
from apps.memories.indexing_mode import set_profile
from apps.memories.models import Memory
from apps.memories.models.memory import ANALYSIS
from apps.memories.sealing import open_analysis, open_text
from apps.memories.services import request_refresh
from apps.outbox.tasks import drain
from apps.projects.scope import Scope
from apps.recall.results import Hit
from apps.recall.services import recall
from apps.tenants.models import Profile
from tests.makers import NOW, make_scope
from text.analysis import VERSION, TextAnalysis

pytestmark = [
    pytest.mark.django_db(transaction=True, databases="__all__"),
    pytest.mark.usefixtures("no_answer_is_kept"),
]

TEXTS = (
    "When did you buy the two hives, Nora?", "I bought them in May 2019, from Mr Okafor.", "The bees swarmed twice.",
    "the BEES  swarmed twice", "My brother paints barns.", "I live in Lisbon and work as a nurse.", "I moved to Porto.",
)  # fmt: skip
QUESTIONS = ("When did Nora buy the hives?", "How often did the bees swarm?", "Where do I live now?", "Who paints?")
# What becomes of an analysis: it is not there, and is one of another version.
LOST: dict[str, Callable[[Memory, Any], bytes | None]] = {
    "missing": lambda row, cipher: None,
    "outdated": lambda row, cipher: cipher.seal(ANALYSIS, row.pk, bytes([VERSION + 1]) + b"\0" * 40),
}


@pytest.fixture(params=[Profile.SEARCHABLE, Profile.SEALED], ids=["searchable", "sealed"])
def scope(acme: OpenedTenant, request: pytest.FixtureRequest) -> Scope:
    scope = make_scope(acme)
    for number, text in enumerate(TEXTS):
        proposal = Proposal(text=Plaintext(text), importance=0.6, session_id="s", deduplicate=number != 3)
        remember(scope, [proposal], now=NOW)
    if request.param is Profile.SEALED:
        set_profile(scope, scope.space.id, Profile.SEALED, now=NOW)
        scope = make_scope(acme)
    return scope


def answers(scope: Scope) -> list[list[tuple[int, float]]]:
    def scored(hits: list[Hit]) -> list[tuple[int, float]]:
        return [(hit.memory.id, hit.score) for hit in hits]

    return [scored(list(recall(scope, Plaintext(one), limit=20, now=NOW).hits)) for one in QUESTIONS]


def lose(scope: Scope, how: str) -> None:
    with tenant_transaction(scope):
        cipher = open_space(scope.tenant, scope.space)
        for row in Memory.objects.within(scope):
            Memory.objects.within(scope).filter(pk=row.pk).update(analysis_ct=LOST[how](row, cipher))


def stored(scope: Scope) -> dict[int, tuple[TextAnalysis | None, TextAnalysis]]:
    """Memory id to the analysis that is stored, and that of its text."""
    with tenant_transaction(scope):
        cipher = open_space(scope.tenant, scope.space)
        return {
            row.pk: (open_analysis(row.pk, row.analysis_ct, cipher), TextAnalysis.of(open_text(row, cipher).reveal()))
            for row in Memory.objects.within(scope)
        }


def test_ranking_opens_no_text_that_has_an_analysis(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[int] = []
    usual = analyses.open_text_then
    monkeypatch.setattr(analyses, "open_text_then", lambda *of: opened.append(of[1]) or usual(*of))

    assert all(answers(scope))

    assert not opened


@pytest.mark.parametrize("how", LOST)
def test_without_analyses_the_same_memories_score_the_same(scope: Scope, how: str) -> None:
    with_them = answers(scope)

    lose(scope, how)

    assert answers(scope) == with_them


@pytest.mark.parametrize("how", LOST)
def test_embedding_again_restores_analyses(scope: Scope, how: str) -> None:
    lose(scope, how)

    request_refresh(scope, now=NOW)
    drain()

    assert all(one == other for one, other in stored(scope).values())


def test_an_analysis_is_of_what_still_holds(acme: OpenedTenant) -> None:
    scope = make_scope(acme)
    for text in ("I live in Lisbon and I work as a nurse.", "I work as a teacher now."):
        remember(scope, [Proposal(text=Plaintext(text), importance=0.6)], now=NOW)

    found = stored(scope)

    assert all(one == other for one, other in found.values())
    assert not any(b"nurs" in one.joined for one, _ in found.values() if one is not None)


def test_a_text_too_long_for_an_analysis_is_found_by_its_words(
    acme: OpenedTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.memories.sealing.MAX_ANALYSIS_BYTES", 10)
    scope = make_scope(acme)
    remember(scope, [Proposal(text=Plaintext("The bees swarmed twice."), importance=0.6)], now=NOW)

    ((analysis, _),) = stored(scope).values()

    assert analysis is None
    assert recall(scope, Plaintext("Did the bees swarm?"), now=NOW).hits
