"""An embedder that is reached over a network: no transaction waits for it, and what changes meanwhile is seen."""

from collections.abc import Callable, Sequence
from datetime import timedelta

import numpy as np
import pytest
from django.db import connection
from numpy.typing import NDArray

from apps.adapters.embedders.fake import FakeEmbedder
from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.memories.indexing_mode import set_profile
from apps.projects.scope import Scope
from apps.recall import query_context
from apps.recall.services import recall
from apps.tenants.models import Profile
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")


class Distant(FakeEmbedder):
    """meanwhile: what happens while it is asked."""

    is_local = False

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        super().__init__()
        self.meanwhile = meanwhile

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        assert not connection.in_atomic_block
        self.meanwhile()
        return super().embed(texts)


@pytest.fixture
def scope(acme: OpenedTenant) -> Scope:
    return make_scope(acme)


def say(scope: Scope, text: str) -> None:
    remember(scope, [Proposal(text=Plaintext(text), importance=0.6)], now=NOW)


def texts(scope: Scope) -> list[str]:
    found = recall(scope, Plaintext("where do I live?"), now=NOW + timedelta(hours=1))
    return [hit.memory.text.reveal() for hit in found.hits]


def test_what_is_written_while_it_is_asked_is_found(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    say(scope, "I live in Lisbon.")
    embedder = Distant(lambda: say(scope, "I moved to Porto; I live in Porto now."))
    monkeypatch.setattr(query_context, "get_embedder", lambda: embedder)

    (found, *_) = texts(scope)

    assert "Porto" in found


def test_a_space_that_is_sealed_while_it_is_asked_is_read_again(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    say(scope, "I live in Lisbon.")
    asked: list[str] = []

    def seal() -> None:
        asked.append("asked")
        if len(asked) == 1:
            set_profile(scope, scope.space.id, Profile.SEALED, now=NOW)

    monkeypatch.setattr(query_context, "get_embedder", lambda: Distant(seal))

    assert texts(scope) == ["I live in Lisbon."]
    assert len(asked) == 2
