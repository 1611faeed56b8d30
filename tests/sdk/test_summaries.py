"""Summaries and clusters, by the published client."""

from datetime import UTC, datetime, timedelta

import pytest
from memorysync import NotFoundError, ValidationError

from apps.outbox import handlers
from tests import once
from tests.sdk.conftest import Make, refused

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex

CHOIR = [
    "Yesterday I sang with Omar in the old mill.",
    "Yesterday I rehearsed the Requiem with Lea Marti.",
    "Yesterday the choir of 40 voices went to Rome.",
]


def test_summarize(make: Make) -> None:
    client = make()
    ids = [client.add(text, importance=0.7).id for text in CHOIR]

    summary = client.summarize(ids, lossless=True)
    again = client.summarize(ids, lossless=True)
    skip = client.summarize(ids[:1])

    assert summary.is_summary
    assert summary.text == "\n".join(CHOIR)
    assert client.get(summary.id).text == summary.text
    assert again.id == summary.id
    assert (skip.status, skip.reason) == ("skipped", "no_high_value_content")
    assert refused(NotFoundError, lambda: make(end_user_id="bob").summarize(ids)).status_code == 404
    with pytest.raises(ValidationError):
        client.summarize([])


def test_clusters(make: Make) -> None:
    client = make()
    ids = [client.add(text, importance=0.7, tags=["choir"]).id for text in CHOIR]
    while handlers.process_due_events(now=datetime.now(UTC) + timedelta(seconds=1)):
        pass

    (cluster,) = client.clusters(limit=5)["clusters"]

    assert (cluster["label"], cluster["size"], sorted(cluster["memory_ids"])) == ("tag:choir", 3, ids)
    assert client.get(cluster["summary_memory_id"]).is_summary
    assert make(end_user_id="stranger").clusters() == {"clusters": [], "total": 0}
