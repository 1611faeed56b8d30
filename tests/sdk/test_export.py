"""Exporting with the published client."""

import pytest

from tests import once
from tests.sdk.conftest import Make

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex


def test_export_has_all_of_one_end_user(make: Make) -> None:
    client = make()
    lisbon = client.add("I live in Lisbon.", importance=0.7, tags=["home"], source="chat", metadata={"n": [1, "é"]})
    porto = client.add("I live in Porto.", importance=0.7)
    make(end_user_id="bob").add("Bob keeps his bicycle in the cellar.", importance=0.7)

    export = client.export_all()

    assert isinstance(export.user_id, int)
    assert export.generated_at
    old, new = export.memories
    assert (old["id"], old["text"], old["tags"], old["source"]) == (lisbon.id, "I live in Lisbon.", ["home"], "chat")
    assert (old["metadata"], old["retention_status"], old["superseded_by"]) == ({"n": [1, "é"]}, "archived", porto.id)
    assert (new["id"], new["retention_status"]) == (porto.id, "active")
    assert {"created_at", "extracted_type", "extracted_key", "edges"} <= new.keys()


def test_export_of_nobody_is_empty(make: Make) -> None:
    export = make(end_user_id="stranger").export_all()

    assert (export.user_id, export.memories) == (0, [])
