"""/v1/entities: who memories are about, by whatever name, and how they stand to each other."""

from datetime import UTC, datetime
from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.core.scoping import tenant_transaction
from apps.crypto.services import open_space
from apps.entities.mentions import entities_named_in, memories_mentioning
from apps.entities.models import Entity, EntityAlias, EntityClaim, EntityMention
from apps.memories.indexing_mode import set_profile
from apps.memories.models import Memory
from apps.projects.scope import Scope
from apps.recall.results import Filters
from apps.recall.search import conditions
from apps.tenants.models import Profile
from tests import once
from tests.api.conftest import Caller
from tests.makers import NOW, make_project, make_scope

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex


def say(caller: Caller, text: str, **fields: Any) -> Any:
    response = caller("POST", "/memory/add", {"text": text} | fields)
    assert response.status_code == 201, response.content
    return response.json()


def listed(caller: Caller, query: str = "") -> list[dict[str, Any]]:
    response = caller("GET", f"/v1/entities{query}")
    assert response.status_code == 200, response.content
    found: list[dict[str, Any]] = response.json()["entities"]
    return found


def named_in(scope: Scope, text: str, *, now: datetime) -> list[int]:
    with tenant_transaction(scope):
        return entities_named_in(scope, scope.space, open_space(scope.tenant, scope.space), text, now=now)


def mentioning(scope: Scope, entity_ids: list[int], *, limit: int, now: datetime) -> list[int]:
    """The memories that recall finds by these entities."""
    with tenant_transaction(scope):
        where, values, _ = conditions(Filters(), scope, open_space(scope.tenant, scope.space), now=now)
        found = memories_mentioning(scope, scope.space, entity_ids, where=where, values=values, limit=limit, now=now)
    return [memory_id for memory_id, _ in found]


def named(caller: Caller, name: str) -> Any:
    """The one entity of this name, whole."""
    (one,) = listed(caller, f"?q={name}")
    return caller("GET", f"/v1/entities/{one['id']}").json()


def stands(entity: dict[str, Any]) -> set[tuple[str, str, str]]:
    return {(one["direction"], one["type"], one["entity"]["name"]) for one in entity["relations"]}


def test_three_ways_to_speak_of_somebody_are_one_entity(alice: Caller) -> None:
    say(alice, "My manager is Priya Sharma.")
    say(alice, "Priya leads the payments project.")
    say(alice, "P. Sharma has approved my leave in June.")

    priya = named(alice, "priya")
    assert (priya["name"], priya["type"], priya["mention_count"]) == ("Priya Sharma", "person", 3)
    assert sorted(priya["aliases"]) == ["P. Sharma", "Priya", "my manager"]
    assert stands(priya) == {("incoming", "reports_to", "user"), ("outgoing", "manages", "payments project")}
    assert priya["memories"][0]["text"] == "P. Sharma has approved my leave in June."


def test_a_role_names_the_person_who_has_it(alice: Caller) -> None:
    say(alice, "My manager is Dana.")
    say(alice, "My manager approved my leave in June.")
    say(alice, "My manager is Olga now.")
    say(alice, "My manager moved our meeting to Friday.")

    assert [one["text"] for one in named(alice, "dana")["memories"]] == [
        "My manager approved my leave in June.",
        "My manager is Dana.",
    ]
    assert named(alice, "my manager")["name"] == "Olga"
    assert stands(named(alice, "Dana")) == set(), "what she was is over"
    assert stands(named(alice, "Olga")) == {("incoming", "reports_to", "user")}


def test_a_role_that_changes_hands_within_one_request_is_the_last_ones(alice: Caller) -> None:
    items = [{"text": text, "importance": 0.6} for text in ("My manager is Dana.", "My manager is Olga now.")]
    items.append({"text": "My sister Ana works at Bosch.", "importance": 0.6})
    items.append({"text": "My sister Mia works at Siemens.", "importance": 0.6})

    response = alice("POST", "/memory/bulk-add", {"items": items})

    assert (response.status_code, response.json()["created"]) == (207, 4)
    assert named(alice, "my manager")["name"] == "Olga"
    assert [one["text"] for one in named(alice, "dana")["memories"]] == ["My manager is Dana."]


def test_a_name_joins_who_was_known_by_a_role_alone(alice: Caller) -> None:
    say(alice, "My sister lives in Leeds.")
    say(alice, "My sister Ana is a nurse.")

    ana = named(alice, "ana")
    assert (ana["name"], ana["aliases"], ana["attributes"]) == ("Ana", ["my sister"], {"has_role": ["nurse"]})
    assert stands(ana) == {("incoming", "related_to", "user"), ("outgoing", "located_at", "Leeds")}


def test_a_pronoun_is_whoever_was_spoken_of_last(alice: Caller) -> None:
    say(alice, "Tom is a carpenter. Olga runs the bakery project. She lives in Leeds.")

    assert ("outgoing", "located_at", "Leeds") in stands(named(alice, "olga"))
    assert stands(named(alice, "tom")) == set()


def test_a_pronoun_reaches_back_within_its_session(alice: Caller) -> None:
    say(alice, "Olga is a surgeon in our hospital.", session_id="one")
    say(alice, "She lives in Leeds.", session_id="one")
    say(alice, "She reports to Petra.", session_id="two")

    assert stands(named(alice, "olga")) == {("outgoing", "located_at", "Leeds")}
    assert stands(named(alice, "petra")) == set()


def test_who_works_for_a_person_reports_to_them(alice: Caller) -> None:
    """Also where only later it is said that it is one."""
    say(alice, "Sarah works for Zoltara.")
    assert stands(named(alice, "sarah")) == {("outgoing", "works_at", "Zoltara")}

    say(alice, "Zoltara is a surgeon.")
    assert stands(named(alice, "sarah")) == {("outgoing", "reports_to", "Zoltara")}


def test_two_of_one_name_are_told_apart_or_flagged(alice: Caller) -> None:
    say(alice, "Anna Weber is a nurse.")
    say(alice, "Anna Lind is a pilot.")
    assert len(listed(alice, "?q=anna")) == 2

    say(alice, "Anna lives in Leeds.")
    (flagged,) = listed(alice, "?needs_review=true")
    assert flagged["name"] == "Anna Lind"


def test_what_is_spelled_alike_is_one(alice: Caller) -> None:
    say(alice, "I work with Bartholomew Featherstonehaugh.")
    say(alice, "Featherstonehaugh Bartholomew is a lawyer.")

    assert named(alice, "bartholomew featherstonehaugh")["attributes"] == {"has_role": ["lawyer"]}


def test_what_is_spelled_somewhat_alike_is_for_a_person_to_look_at(alice: Caller) -> None:
    say(alice, "We use Kettering Analytics at work.")
    say(alice, "We use Kettering Analytic Cloud at home.")

    assert [one["name"] for one in listed(alice, "?needs_review=true")] == ["Kettering Analytic Cloud"]


def test_a_relation_that_is_over_is_none(alice: Caller) -> None:
    say(alice, "I work at Volkswagen.")
    assert stands(named(alice, "volkswagen")) == {("incoming", "works_at", "user")}

    say(alice, "I work at Bosch now.")
    assert stands(named(alice, "volkswagen")) == set()
    assert stands(named(alice, "bosch")) == {("incoming", "works_at", "user")}


def test_what_an_assistant_says_makes_nobody_known(alice: Caller) -> None:
    say(alice, "My colleague Olga is a chemist.")
    alice.add("Petra manages Olga and the lab project.", metadata={"role": "assistant"})

    assert listed(alice, "?q=petra") == []
    olga = named(alice, "olga")
    assert (olga["mention_count"], stands(olga)) == (2, {("incoming", "works_with", "user")})


@pytest.mark.parametrize("speaker", ["🦜\u202e", "…", "1."])
def test_who_speaks_under_no_name_says_nothing_of_themselves(alice: Caller, speaker: str) -> None:
    turn = {"tenant_id": "acme", "user_id": "alice", "text": "I work with Priya at Google.", "speaker": speaker}
    said = alice("POST", "/v1/memory/add_turn", turn)

    assert said.status_code == 201, said.content
    assert {one["name"] for one in listed(alice)} >= {"Priya"}


def test_stated_facts_are_between_entities(alice: Caller) -> None:
    for subject, predicate, object_ in (
        ("Sarah", "reports-to", "Priya"),
        ("Priya", "has_role", "engineering manager"),
        ("user", "works_with", "Sarah"),
    ):
        body = {"subject": subject, "predicate": predicate, "object": object_}
        assert alice("POST", "/v1/facts", body).status_code == 201

    assert stands(named(alice, "sarah")) == {("outgoing", "reports_to", "Priya"), ("incoming", "works_with", "user")}
    assert named(alice, "priya")["attributes"] == {"has_role": ["engineering manager"]}


def test_a_relation_of_the_tenants_own_is_one(alice: Caller, call_with: Any, acme: OpenedTenant) -> None:
    body = {"subject": "Sarah", "predicate": "mentors", "object": "Tom"}
    assert alice("POST", "/v1/facts", body).status_code == 201
    assert named(alice, "sarah")["attributes"] == {"mentors": ["Tom"]}
    assert listed(alice, "?q=tom") == []


def test_somebody_elses_entities_are_none(alice: Caller) -> None:
    say(alice, "My manager is Dana.")
    (dana,) = listed(alice, "?q=dana")
    bob = alice.as_user("bob")

    assert listed(bob) == []
    assert bob("GET", f"/v1/entities/{dana['id']}").status_code == 404
    assert bob("POST", f"/v1/entities/{dana['id']}/merge", {"with_entity_id": dana["id"]}).status_code == 404


def test_a_name_in_a_question_leads_to_what_mentions_it(alice: Caller, acme: OpenedTenant) -> None:
    said = [say(alice, text)["id"] for text in ("My manager is Dana.", "Tom is a chemist.", "Dana lives in Leeds.")]
    scope = make_scope(acme)

    found = mentioning(scope, named_in(scope, "Where does Dana live?", now=NOW), limit=10, now=NOW)

    assert found == [said[2], said[0]]


# -- merging -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def two(alice: Caller) -> list[int]:
    """Kai, and Mr Zhou, who may be the same person."""
    say(alice, "My colleague Kai is a chemist.")
    say(alice, "Mr Zhou lives in Leeds.")
    return [listed(alice, f"?q={name}")[0]["id"] for name in ("kai", "zhou")]


def test_merged_entities_are_one_under_the_older_id(alice: Caller, two: list[int]) -> None:
    kai, zhou = two
    merged = alice("POST", f"/v1/entities/{zhou}/merge", {"with_entity_id": kai})

    assert merged.status_code == 200, merged.content
    one = merged.json()
    assert (one["id"], one["mention_count"]) == (kai, 2)
    assert stands(one) == {("incoming", "works_with", "user"), ("outgoing", "located_at", "Leeds")}
    assert alice("GET", f"/v1/entities/{zhou}").json()["id"] == kai
    assert [listed(alice, f"?q={name}")[0]["id"] for name in ("kai", "mr zhou")] == [kai, kai]

    say(alice, "Zhou is a surgeon.")
    assert named(alice, "kai")["mention_count"] == 3


def test_a_merge_is_taken_back(alice: Caller, two: list[int]) -> None:
    kai, zhou = two
    before = [alice("GET", f"/v1/entities/{one}").json() for one in two]
    alice("POST", f"/v1/entities/{kai}/merge", {"with_entity_id": zhou})

    assert alice("POST", f"/v1/entities/{zhou}/unmerge").json() == before[1]
    assert [alice("GET", f"/v1/entities/{one}").json() for one in two] == before
    again = alice("POST", f"/v1/entities/{zhou}/unmerge")
    assert (again.status_code, again.json()["error"]["code"]) == (409, "NOT_MERGED")


def test_an_entity_is_not_merged_with_itself_or_with_none(alice: Caller, two: list[int]) -> None:
    kai, zhou = two
    same = alice("POST", f"/v1/entities/{kai}/merge", {"with_entity_id": kai})
    none = alice("POST", f"/v1/entities/{kai}/merge", {"with_entity_id": zhou + 1_000})

    assert (same.status_code, same.json()["error"]["code"]) == (422, "SAME_ENTITY")
    assert (none.status_code, none.json()["error"]["code"]) == (404, "ENTITY_NOT_FOUND")


# -- leaving -----------------------------------------------------------------------------------------------------------


def test_an_entity_goes_with_its_last_memory_and_a_name_with_the_last_that_says_it(
    acme: OpenedTenant, alice: Caller
) -> None:
    first, second = say(alice, "My manager is Dana Weber."), say(alice, "Dana lives in Leeds.")
    scope = make_scope(acme)

    def erase(memory_id: int) -> None:
        with tenant_transaction(scope):
            Memory.objects.within_tenant(scope).filter(pk=memory_id).delete()

    erase(first["id"])
    dana = named(alice, "dana")
    assert (dana["name"], dana["aliases"], stands(dana)) == ("Dana", [], {("outgoing", "located_at", "Leeds")})
    assert listed(alice, "?q=dana weber") == listed(alice, "?q=my manager") == []

    erase(second["id"])
    with tenant_transaction(scope):
        left = [model.objects.within(scope).count() for model in (Entity, EntityAlias, EntityMention, EntityClaim)]
    assert left == [0, 0, 0, 0]


def test_a_sealed_space_keeps_no_entities(acme: OpenedTenant, alice: Caller) -> None:
    say(alice, "My manager is Dana.")
    scope = make_scope(acme)
    set_profile(scope, scope.space.id, Profile.SEALED, now=NOW)

    assert listed(alice) == []
    say(alice, "My sister Ana lives in Leeds.")
    with tenant_transaction(scope):
        assert Entity.objects.within(scope).count() == EntityAlias.objects.within(scope).count() == 0


def test_pages_follow_on_each_other(alice: Caller) -> None:
    for name in ("Tom", "Olga", "Petra"):
        say(alice, f"My colleague {name} is a chemist.")

    found, query = [], "?limit=2"
    while query:
        page = alice("GET", f"/v1/entities{query}").json()
        found += [one["name"] for one in page["entities"]]
        query = f"?limit=2&cursor={page['next_cursor']}" if page["next_cursor"] else ""
    assert found == ["Petra", "Olga", "user", "Tom"]


@pytest.mark.parametrize("query", ["?type=dragon", "?limit=0", "?cursor=x", "?needs_review=yes", "?q="])
def test_what_is_asked_wrongly_is_refused(alice: Caller, query: str) -> None:
    assert alice("GET", f"/v1/entities{query}").status_code == 422


# -- for recall --------------------------------------------------------------------------------------------------------


def test_memories_are_found_by_the_entities_that_a_question_names(
    acme: OpenedTenant, globex: OpenedTenant, alice: Caller
) -> None:
    texts = ("My manager is Dana Weber.", "Dana lives in Leeds.", "My colleague Olga works with Dana.", "I like tea.")
    first, second, third, _ = (say(alice, text)["id"] for text in texts)
    scope, now = make_scope(acme), datetime.now(UTC)

    ids = named_in(scope, "Where do Dana and OLGA live, says my manager?", now=now)

    assert {one["name"] for one in listed(alice) if one["id"] in ids} == {"Dana Weber", "Olga"}
    assert mentioning(scope, ids, limit=9, now=now) == [third, second, first]
    assert mentioning(scope, ids, limit=1, now=now) == [third]
    assert named_in(scope, "Where does nobody live?", now=now) == []
    for stranger in (make_scope(acme, "bob"), make_scope(globex)):
        assert named_in(stranger, "Where does Dana live?", now=now) == []
        assert mentioning(stranger, ids, limit=9, now=now) == []


def test_memories_that_recall_may_not_return_are_not_found(acme: OpenedTenant, alice: Caller) -> None:
    old, new = say(alice, "I work at Volkswagen.")["id"], say(alice, "I work at Bosch now.")["id"]
    scope, now = make_scope(acme), datetime.now(UTC)

    ids = named_in(scope, "Volkswagen or Bosch?", now=now)

    assert len(ids) == 2
    assert mentioning(scope, ids, limit=9, now=now) == [new]
    assert old not in mentioning(scope, ids, limit=9, now=now)


def test_another_project_knows_nobody_of_this_one(acme: OpenedTenant, alice: Caller) -> None:
    other = alice.with_headers(X_Project_ID=make_project(acme.scope, "Other"))
    say(other, "My manager is Dana.")

    assert [one["name"] for one in listed(other)] == ["user", "Dana"]
    assert listed(alice) == listed(alice, "?q=dana") == []
