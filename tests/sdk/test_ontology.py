"""`get_ontology` and `update_ontology` of the published client."""

import pytest
from memorysync import AuthError, ValidationError

from apps.apikeys.onboarding import OpenedTenant
from tests import once
from tests.makers import make_api_key
from tests.sdk.conftest import Make

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex


def test_get_ontology_needs_no_end_user(make: Make) -> None:
    ontology = make(end_user_id=None).get_ontology()

    assert {"similar", "contradiction", "extends"} <= set(ontology.relation_types)
    assert {"fact", "event", "preference", "temporal"} <= set(ontology.content_types)
    assert ontology.relation_types == ontology.builtin_relation_types
    assert (ontology.custom_content_types, ontology.custom_relation_types) == ([], [])
    assert ontology.max_custom_types == 32


def test_update_ontology_replaces_one_vocabulary_and_leaves_the_other(make: Make, acme: OpenedTenant) -> None:
    client = make(make_api_key(acme.scope, scopes=["*"]).text)
    client.update_ontology(content_types=["recipe"], relation_types=["treats"])

    ontology = client.update_ontology(relation_types=["cures"])

    assert (ontology.custom_content_types, ontology.custom_relation_types) == (["recipe"], ["cures"])
    assert "cures" in ontology.relation_types
    assert client.get_ontology() == ontology
    one, other = (client.add(text, importance=0.7).id for text in ("Zinc eases the rash.", "Ana has a rash."))
    relation = client.create_relation(one, to_memory_id=other, relationship_type="cures")
    assert relation.relationship_type == "cures"
    assert client.update_ontology(content_types=[]).custom_content_types == []


def test_update_ontology_refuses_bad_names_and_keys_without_the_scope(make: Make, acme: OpenedTenant) -> None:
    with pytest.raises(AuthError, match="ontology:write"):
        make().update_ontology(content_types=["recipe"])
    with pytest.raises(ValidationError):
        make(make_api_key(acme.scope, scopes=["*"]).text).update_ontology(content_types=["Not A Name"])
