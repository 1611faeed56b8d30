"""What is known as a whole, by the published client."""

import pytest
from memorysync import ValidationError

from tests import once
from tests.sdk.conftest import Make, refused

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex


def test_knowledge_stats(make: Make) -> None:
    client = make()
    client.add("We decided to plant three apple trees.", importance=0.7, source="notes")

    stats = client.knowledge_stats()

    assert (stats["total"], stats["by_type"], stats["by_source"]) == (1, {"decision": 1}, {"notes": 1})
    assert stats["embedded_share"] == 1.0
    assert make(end_user_id="stranger").knowledge_stats()["total"] == 0


def test_intelligence(make: Make) -> None:
    client = make()
    client.add("Yesterday I sang with Omar in the old mill.", importance=0.7, tags=["choir"])
    client.add("Yesterday I rehearsed with Omar and Lea Marti.", importance=0.7, tags=["choir"])

    report = client.intelligence(limit=3, scope="user")

    assert [theme["label"] for theme in report["themes"]] == ["choir"]
    assert report["entities"][0]["label"] == "Omar"
    assert set(report["horizons"]) == {"recent", "lifetime"}
    assert make(end_user_id="stranger").intelligence()["sampled"] == 0
    assert refused(ValidationError, lambda: client.intelligence(scope="tenant")).status_code == 422
