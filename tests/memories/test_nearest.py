"""The nearest by meaning: found by signs, which say little where everything is about equally far."""

from itertools import islice

import numpy as np
import pytest
from numpy.typing import NDArray

from apps.adapters.instances import get_embedder
from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.crypto.services import open_space
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.memories import nearest
from apps.projects.scope import Scope
from benchmarks.latency import sentences
from benchmarks.scale import OFF_TOPIC
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(databases="__all__")

SAID = list(islice(sentences(), 80))
WANTED = 3


@pytest.fixture
def scope(acme: OpenedTenant) -> Scope:
    found = make_scope(acme)
    said = [Proposal(text=Plaintext(text), importance=0.6, deduplicate=False) for text in SAID]
    for at in range(0, len(said), 40):
        remember(found, said[at : at + 40], now=NOW)
    return found


def missed(scope: Scope, *, sure: int) -> int:
    """How many of the nearest are not found, over questions to which everything here is about equally far."""
    embedder, count = get_embedder(), 0
    with tenant_transaction(scope):
        cipher = open_space(scope.tenant, scope.space)
        for question in OFF_TOPIC:
            (vector,) = embedder.embed([question])
            found = nearest.nearest(
                scope, scope.space, vector, cipher, limit=WANTED, now=NOW, among=len(SAID), sure=sure
            )
            exact = nearest.nearest(scope, scope.space, vector, cipher, limit=len(SAID), now=NOW)[:WANTED]
            count += len({one for one, _ in exact} - {one for one, _ in found})
    return count


@pytest.mark.parametrize("roots", [8, 0], ids=["known by their signs", "looked for once more"])
def test_whatever_may_be_among_the_nearest_is_opened(scope: Scope, roots: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "_SPARE", 0)
    monkeypatch.setattr(nearest, "_ROOTS", roots)

    assert missed(scope, sure=0) > 0
    assert missed(scope, sure=WANTED) == 0


@pytest.mark.parametrize(("roots", "most"), [(1, 20), (4, 36)], ids=["in a small space", "in a large one"])
def test_no_more_are_opened_than_one_question_may_cost(
    scope: Scope, roots: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nearest, "_SPARE", 0)
    monkeypatch.setattr(nearest, "_MOST", 20)
    monkeypatch.setattr(nearest, "_MOST_ROOTS", roots)
    (vector,) = get_embedder().embed([OFF_TOPIC[0]])
    opened: dict[int, NDArray[np.float32]] = {}

    with tenant_transaction(scope):
        cipher = open_space(scope.tenant, scope.space)
        nearest.nearest(
            scope, scope.space, vector, cipher, limit=WANTED, now=NOW, among=len(SAID), sure=WANTED, opened=opened
        )

    assert len(opened) == most


def test_what_is_plainly_near_needs_no_second_look(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "_SPARE", 7)
    (vector,) = get_embedder().embed([SAID[3]])
    opened: dict[int, NDArray[np.float32]] = {}

    with tenant_transaction(scope):
        cipher = open_space(scope.tenant, scope.space)
        found = nearest.nearest(
            scope, scope.space, vector, cipher, limit=1, now=NOW, among=len(SAID), sure=1, opened=opened
        )

    assert found[0][1] > 0.99
    assert len(opened) == 8
