"""What is returned beside a memory's text."""

import pytest

from tests.api.conftest import Caller

pytestmark = pytest.mark.django_db(databases="__all__")


def test_memory_tells_points_names_topics_and_size_and_leaves_the_callers_metadata_alone(alice: Caller) -> None:
    text = "It was a fine day. Omar paid 40 euros for the boat. Lea Marti flew to Rome."
    given = {"token_count": "mine", "source": 7}

    added = alice.add(text, tags=["boat"], metadata=given, ttl_minutes=90)
    read = alice("GET", f"/memory/{added['id']}").json()

    assert read["metadata"] == given
    assert read["entities"] == ["Omar", "Lea Marti", "Rome"]
    assert read["key_points"] == ["It was a fine day.", "Omar paid 40 euros for the boat.", "Lea Marti flew to Rome."]
    assert read["topics"] == ["boat"]
    assert read["platform_metadata"] == {
        "semantic_summary": "It was a fine day.",
        "semantic_processing": "rules",
        "preprocessing_timestamp": read["created_at"],
        "token_count": 20,
        "processing_time_ms": None,
        "ttl_minutes": 90,
    }


def test_topic_of_a_fact_is_what_its_key_names(alice: Caller) -> None:
    memory = alice.add("I am allergic to nuts.")

    assert (memory["extracted_key"], memory["topics"]) == ("user.allergy.nut", ["allergy", "nut"])
    assert (memory["key_points"], memory["platform_metadata"]["semantic_summary"]) == ([], None)
