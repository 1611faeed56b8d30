"""Until when a memory is kept, as the published client hands it on."""

from datetime import datetime, timedelta

import pytest

from tests import once
from tests.sdk.conftest import Make

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex


def test_records_say_until_when_they_are_kept(make: Make) -> None:
    client = make()
    added = client.add("I live in Lisbon.", importance=0.7)

    (exported,) = client.export_all().memories
    (listed,) = client.list_memories(tenant_id="acme", user_id="alice")["memories"]
    (found,) = client.search_routed("Where do I live?")["memories"]
    recalled = client.recall(tenant_id="acme", user_id="alice", prompt="Where do I live?")["memories"]

    until = datetime.fromisoformat(added.created_at) + timedelta(days=90)
    shown = [one["retention_expires_at"] for one in (exported, listed, found, *recalled)]
    assert {datetime.fromisoformat(one) for one in shown} == {until}
    assert added.created_at == exported["created_at"]
