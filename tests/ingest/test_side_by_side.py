"""Statements of the same form, compared by the models that ship: most hold side by side, some replace each other."""

from datetime import timedelta
from typing import Any

import pytest

from apps.adapters.instances import get_embedder
from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.crypto.services import open_space
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.memories.embedding import embed_memories
from apps.memories.models import Memory
from apps.memories.sealing import open_text
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(databases="__all__")


@pytest.fixture(autouse=True)
def _models(settings: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The models that ship, in place of the predictable ones; built once."""
    options = {"cache_dir": str(tmp_path_factory.getbasetemp() / "models")}
    settings.CLASSIFIER = {"BACKEND": "apps.adapters.classifiers.local.LocalClassifier", "OPTIONS": options}
    settings.EMBEDDER = {"BACKEND": "apps.adapters.embedders.local.FineTunedEmbedder", "OPTIONS": options}


def current_after(acme: OpenedTenant, texts: list[str]) -> list[str]:
    """The texts that still hold, each said a day after the other."""
    scope = make_scope(acme, texts[0])
    for day, text in enumerate(texts):
        outcomes = remember(scope, [Proposal(text=Plaintext(text))], now=NOW + timedelta(days=day))
        embed_memories(scope, outcomes[0].memory_ids, get_embedder(), now=NOW + timedelta(days=day))
    with tenant_transaction(scope):
        cipher = open_space(scope.tenant, scope.space)
        rows = Memory.objects.within(scope).filter(validity="current").order_by("pk")
        return [open_text(row, cipher).reveal() for row in rows]


@pytest.mark.parametrize(
    "texts",
    [
        ["I love hiking.", "I love swimming.", "I love chess."],
        ["I like coffee.", "I like jazz.", "I like football."],
        ["I speak French.", "I speak German."],
        ["I play tennis.", "I play the piano."],
        ["I use Python at work.", "I use Docker at work."],
        ["My favourite tea is oolong.", "My favourite cake is tiramisu."],
        ["I like Beethoven a lot.", "I like Mozart a lot.", "I like Bach a lot."],
        ["I have a meeting with Anna on Monday.", "I have a meeting with Bert on Tuesday."],
        ["My friend Anna lives in Berlin.", "My friend Bert lives in Hamburg."],
        ["My friend Anna works at Acme.", "My friend Bert works at Globex."],
        ["My dog Rex is 3 years old.", "My dog Bella is 5 years old."],
        ["Marta leads the billing team.", "Otto leads the mobile team."],
        ["Invoice 1001 is due on March 4.", "Invoice 1002 is due on March 5.", "Invoice 1003 is due on March 6."],
        ["My outbound flight is LH123 on May 3.", "My return flight is LH456 on May 9."],
    ],
    ids=lambda texts: texts[0],
)
def test_what_differs_in_its_object_alone_ends_nothing(acme: OpenedTenant, texts: list[str]) -> None:
    assert current_after(acme, texts) == texts


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("I live in Oslo.", "I live in Rome."),
        ("I work at Acme.", "I work at Globex."),
        ("I drive a Volvo.", "I drive a Skoda now."),
        ("My favourite tea is oolong.", "My favourite tea is genmaicha."),
        ("The rent is 900 euros.", "The rent is 960 euros."),
        ("I love hiking.", "I don't like hiking any more."),
        ("I'm learning Finnish.", "I'm learning Czech instead."),
        ("I use Python at work.", "We switched from Python to Go at work."),
    ],
)
def test_of_what_holds_once_at_a_time_the_later_stays(acme: OpenedTenant, earlier: str, later: str) -> None:
    assert current_after(acme, [earlier, later]) == [later]
