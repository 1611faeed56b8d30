"""A tenant's keys turn, and entities are found by their names and say what they said."""

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.entities.opened import Described
from apps.entities.selectors import get_entity, list_entities
from apps.ingest import services
from apps.ingest.candidates import Proposal
from apps.key_management import rotation
from apps.memories.spaces import reread_space
from apps.projects.scope import Scope
from tests.key_management.test_key_rotation import finish
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(databases="__all__")


def say(scope: Scope, *texts: str) -> None:
    services.remember(scope, [Proposal(text=Plaintext(text)) for text in texts], now=NOW)


def dana(scope: Scope) -> Described:
    (found,) = list_entities(scope, q="dana weber", limit=2, now=NOW).entities
    return get_entity(scope, found.id, limit=9, now=NOW)


@pytest.mark.parametrize("is_compromise", [False, True])
def test_entities_are_found_by_their_names_and_say_the_same(acme: OpenedTenant, is_compromise: bool) -> None:
    scope = make_scope(acme)
    say(scope, "My manager is Dana Weber.", "Dana lives in Leeds.")
    before = dana(scope)

    finish(rotation.rotate(scope, reason="test", is_compromise=is_compromise, now=NOW))

    scope = reread_space(scope)
    assert dana(scope) == before
    assert [one.type for one in before.relations] == ["located_at", "reports_to"]
    say(scope, "Dana Weber manages the harbour project.")
    assert dana(scope).entity.mention_count == before.entity.mention_count + 1
