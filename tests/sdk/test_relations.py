"""`create_relation` and `graph` of the published client, and what `query` makes of relations."""

import httpx
import pytest
from memorysync import NotFoundError, ValidationError

from apps.apikeys.onboarding import OpenedTenant
from apps.projects.scope import Environment
from tests import once
from tests.sdk.conftest import Make

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex

RASH = "Ana has a rash on her arm since Monday."
SOAP = "On Sunday the laundry was washed with another detergent."
ENZYME = "Subtilisin in Brillox irritates skin."
QUESTION = "What causes the rash on Ana's arm?"


def keep(client: object, *texts: str) -> list[int]:
    return [client.add(text, importance=0.7).id for text in texts]  # type: ignore[attr-defined]


def test_create_relation(make: Make) -> None:
    client = make()
    one, other = keep(client, RASH, SOAP)

    relation = client.create_relation(
        one, to_memory_id=other, relationship_type="caused_by", confidence=0.8, metadata={"by": "é"}
    )

    assert isinstance(relation.id, int)
    assert (relation.from_memory_id, relation.to_memory_id) == (one, other)
    assert (relation.relationship_type, relation.confidence) == ("caused_by", 0.8)
    assert relation.metadata == {"by": "é"}
    assert relation.created_at


def test_create_relation_again_is_the_same_with_what_was_said_last(make: Make) -> None:
    client = make()
    one, other = keep(client, RASH, SOAP)
    first = client.create_relation(one, to_memory_id=other, relationship_type="caused_by", confidence=0.2)

    again = client.create_relation(one, to_memory_id=other, relationship_type="caused_by")

    assert (again.id, again.confidence) == (first.id, 1.0)
    assert len(client.graph()["edges"]) == 1


def test_create_relation_reaches_nobody_else(make: Make, globex: OpenedTenant) -> None:
    client = make()
    (mine,) = keep(client, RASH)
    for stranger in (make(end_user_id="bob"), make(globex.keys[Environment.PRODUCTION])):
        (theirs,) = keep(stranger, SOAP)
        for caller, one, other in ((client, mine, theirs), (client, theirs, mine), (stranger, theirs, mine)):
            with pytest.raises(NotFoundError):
                caller.create_relation(one, to_memory_id=other, relationship_type="supports")


def test_create_relation_of_no_known_type_is_refused(make: Make) -> None:
    client = make()
    one, other = keep(client, RASH, SOAP)

    with pytest.raises(ValidationError, match="ontology"):
        client.create_relation(one, to_memory_id=other, relationship_type="married_to")


def test_graph(make: Make) -> None:
    client = make()
    rash, soap, enzyme = keep(client, RASH, SOAP, ENZYME)
    client.create_relation(rash, to_memory_id=soap, relationship_type="caused_by")

    everything = client.graph()
    around = client.graph(memory_id=rash, depth=1, limit=10)

    assert [node["id"] for node in everything["nodes"]] == [enzyme, soap, rash]
    assert everything["truncated"] is False
    assert {node["id"] for node in around["nodes"]} == {rash, soap}
    assert around["nodes"][0]["label"] == RASH
    (edge,) = around["edges"]
    assert (edge["from_memory_id"], edge["to_memory_id"], edge["relationship_type"]) == (rash, soap, "caused_by")
    assert client.graph(limit=1)["truncated"] is True
    with pytest.raises(NotFoundError):
        make(end_user_id="bob").graph(memory_id=rash)


def test_query_finds_at_two_hops_what_depth_one_misses(make: Make, acme: OpenedTenant, http: httpx.Client) -> None:
    client = make()
    rash, soap, enzyme = keep(client, RASH, SOAP, ENZYME)
    keep(client, *(f"Ana wrote chapter {n} on her arm rest during the train ride." for n in range(8)))
    client.create_relation(rash, to_memory_id=soap, relationship_type="caused_by")
    client.create_relation(enzyme, to_memory_id=soap, relationship_type="supports")

    shallow = client.query(QUESTION, k=5, traversal_depth=1)
    deep = client.query(QUESTION, k=5, traversal_depth=2)

    assert enzyme not in [memory.id for memory in shallow.memories]
    assert enzyme in [memory.id for memory in deep.memories]
    # The client's own class drops the explanation.
    raw = http.post(
        "/memory/query",
        json={"query": QUESTION, "k": 5},
        headers={"X-API-Key": acme.keys[Environment.PRODUCTION], "X-End-User-ID": "alice"},
    ).json()
    (found,) = (memory for memory in raw["memories"] if memory["id"] == enzyme)
    assert (found["explanation"]["matched_by"], found["explanation"]["hop"]) == ("graph", 2)
    assert [(step["from"], step["to"]) for step in found["explanation"]["path"]] == [(rash, soap), (enzyme, soap)]
