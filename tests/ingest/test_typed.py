"""Typed memories: the service behind every door where a program states type, key and content itself."""

from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.core.slices import SliceOutcome
from apps.ingest.sessions import end_session, memories_of_session
from apps.ingest.typed import ForbiddenContent, TypedOutcome, write_owned, write_typed
from apps.key_management import rotation
from apps.memories.editing import Edit, edit
from apps.memories.embedding import embed_memories
from apps.memories.indexing_mode import set_profile
from apps.memories.models import Memory, MemoryPosting, MemoryVector
from apps.memories.spaces import SpaceOwner, reread_space
from apps.memories.type_fields import BadFieldValues
from apps.memories.typed import TypedMemory, canonical_json
from apps.memories.typed_selectors import describe_typed
from apps.projects.scope import Scope
from apps.recall.typed import TypedQuery, recall_typed
from apps.tenants.models import Profile
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(databases="__all__")


def stated(summary: str, content: Any, **more: Any) -> TypedMemory:
    if "keywords" in more:
        more["keywords"] = Plaintext(more["keywords"])
    given = {"type": "fact", "summary": Plaintext(summary), "content": Plaintext(canonical_json(content))}
    return TypedMemory(**(given | more))


def diet(said: str, **more: Any) -> TypedMemory:
    return stated(f"{said} since 2026", {"diet": said}, topic_key="user.diet", **more)


def unit(dimensions: int, *, seed: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    vector = np.random.default_rng(seed).normal(size=dimensions).astype(np.float32)
    return vector / np.linalg.norm(vector)


@pytest.fixture
def scope(acme: OpenedTenant) -> Scope:
    return make_scope(acme)


@pytest.fixture
def sealed(scope: Scope) -> Scope:
    set_profile(scope, scope.space.id, Profile.SEALED, now=NOW)
    return reread_space(scope)


def row_of(scope: Scope, memory_id: int) -> Memory:
    with tenant_transaction(scope):
        return Memory.objects.within(scope).get(pk=memory_id)


def write(scope: Scope, *memories: TypedMemory, now: Any = NOW) -> TypedOutcome:
    return write_typed(scope, "alice", memories, now=now)


def statuses(outcome: TypedOutcome) -> list[str]:
    return [one.status for one in outcome.results]


def test_one_batch_is_one_transaction_with_a_number(scope: Scope) -> None:
    first = write(scope, diet("vegan"), stated("deployed v2", {"version": "v2"}, type="event"))
    again = write(scope, diet("vegan"))

    assert statuses(first) == ["created", "created"]
    assert statuses(again) == ["duplicate"]
    assert again.txid == first.txid
    assert again.results[0].public_id == first.results[0].public_id
    assert len(first.results[0].public_id) == 36


def test_a_newer_value_replaces_the_older_and_an_old_one_comes_back(scope: Scope) -> None:
    a, b = write(scope, diet("vegetarian")).results + write(scope, diet("vegan")).results
    back = write(scope, diet("vegetarian")).results[0]

    assert (b.status, list(b.superseded)) == ("created", [a.public_id])
    assert (back.status, back.public_id, list(back.superseded)) == ("revived", a.public_id, [b.public_id])
    assert row_of(scope, a.memory_id).validity == "current"
    assert row_of(scope, b.memory_id).superseded_by_id == a.memory_id


def test_several_of_one_topic_in_a_batch_replace_each_other(scope: Scope) -> None:
    held = write(scope, diet("none")).results[0]
    outcome = write(scope, diet("vegetarian"), diet("vegan"), diet("vegetarian"))

    ids = [one.public_id for one in outcome.results]
    assert statuses(outcome) == ["created", "created", "duplicate"]
    assert [list(one.superseded) for one in outcome.results] == [[held.public_id], [ids[0]], []]


def test_facts_and_instructions_of_one_key_are_apart(scope: Scope) -> None:
    outcome = write(scope, diet("vegan"), diet("vegan", type="instruction"))

    assert statuses(outcome) == ["created", "created"]
    assert not any(one.superseded for one in outcome.results)


def test_source_keywords_and_vector_are_not_part_of_the_id(scope: Scope) -> None:
    write(scope, diet("vegan", source="claude-code"))
    again = write(scope, diet("vegan", source="cursor", keywords="food", vector=unit(8, seed=1)))

    assert statuses(again) == ["duplicate"]
    assert describe_typed(scope, again.results[0].public_id, now=NOW).memory.source == "claude-code"


def test_summary_keywords_and_content_are_encrypted_and_read_back(scope: Scope) -> None:
    made = write(scope, diet("vegan", keywords="food preference", session_id="s-1")).results[0]

    row = row_of(scope, made.memory_id)
    for blob in (row.text_ct, row.summary_ct, row.content_ct, row.keywords_ct):
        assert blob
        assert b"vegan" not in bytes(blob)
        assert b"food" not in bytes(blob)
    opened = describe_typed(scope, made.public_id, now=NOW).memory
    assert opened.content == Plaintext('{"diet":"vegan"}')
    assert (opened.keywords, opened.session, opened.key) == (Plaintext("food preference"), "s-1", "user.diet")


def test_a_task_ends_after_its_time_and_is_created_again(scope: Scope) -> None:
    task = stated("follow up on refund #88", {}, type="task")
    made = write(scope, task)
    later = write(scope, task, now=NOW + timedelta(days=1))
    at_once = write(scope, stated("never", {"n": 1}, type="task", ttl=timedelta(0))).results[0]

    assert row_of(scope, made.results[0].memory_id).retention_status == "soft_deleted"
    assert statuses(later) == ["created"]
    assert row_of(scope, at_once.memory_id).expires_at == NOW


def test_a_callers_vector_is_kept_and_ours_is_not_made(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    class Unused:
        id = "unused"

        def embed(self, texts: Any) -> Any:
            raise AssertionError("not to be embedded")

    made = write(
        scope,
        diet("vegan", vector=unit(384, seed=1)),
        stated("todo", {}, type="task"),
        diet("vegan", type="instruction", vector=unit(8, seed=2)),
    ).results

    with tenant_transaction(scope):
        assert embed_memories(scope, [one.memory_id for one in made], Unused(), now=NOW) == 0
        vectors = {one.memory_id: one for one in MemoryVector.objects.within(scope)}
    assert [vectors[made[at].memory_id].embedder for at in (0, 2)] == ["caller-384", "caller-8"]
    assert made[1].memory_id not in vectors
    assert vectors[made[0].memory_id].signs is not None
    assert vectors[made[2].memory_id].signs is None


def test_a_secret_refuses_the_whole_batch(scope: Scope) -> None:
    secret = stated("key", {"token": "sk-live-9aF3kLmN8pQrStUvWxYz12345678"})

    with pytest.raises(ForbiddenContent) as refused:
        write_owned(scope, SpaceOwner.end_user("alice"), [diet("vegan"), secret], is_batch=True, now=NOW)

    assert "memories.1" in str(refused.value)
    with tenant_transaction(scope):
        assert not Memory.objects.within_tenant(scope).exists()


def rotate(scope: Scope, *, is_compromise: bool) -> None:
    one = rotation.rotate(scope, reason="test", is_compromise=is_compromise, now=NOW)
    assert rotation.work(one.pk, seconds=60, workers=1, clock=lambda: NOW) == SliceOutcome.OVER


def found(scope: Scope, **asked: Any) -> list[tuple[str, list[str]]]:
    if isinstance(asked.get("query"), str):
        asked["query"] = Plaintext(asked["query"])
    hits = recall_typed(scope, TypedQuery(**asked), now=NOW).hits
    return [((hit.memory.summary or hit.memory.text).reveal(), list(hit.channels)) for hit in hits]


@pytest.fixture
def kept(scope: Scope) -> Scope:
    write(
        scope,
        diet("vegetarian"),
        diet("vegan", keywords="food preference", vector=unit(16, seed=1), source="cursor"),
        stated(
            "ordered the tasting menu",
            {"dish": "tofu"},
            type="event",
            keywords="food",
            vector=unit(16, seed=2),
            session_id="s-1",
        ),
        stated("book a table for food", {"n": 1}, type="task"),
    )
    return scope


def test_three_channels_are_fused_by_rank(kept: Scope) -> None:
    (hit, *_) = recall_typed(
        kept, TypedQuery(query=Plaintext("preference"), topic_key="user.diet", vector=unit(16, seed=1)), now=NOW
    ).hits

    assert hit.channels == ["topic", "keyword", "vector"]
    assert hit.score == pytest.approx(2 / 61 + 1 / 61 + 1 / 61)


def test_filters_count_in_each_channel(kept: Scope) -> None:
    assert [name for name, _ in found(kept, query="food", types=["task"])] == ["book a table for food"]
    assert [name for name, _ in found(kept, query="food", source="cursor", vector=unit(16, seed=2))] == [
        "vegan since 2026"
    ]
    assert [name for name, _ in found(kept, query="food", session_id="s-1")] == ["ordered the tasting menu"]
    assert found(kept, query="food", types=[]) == []
    assert found(kept, topic_key="user.nothing") == []


def test_what_was_replaced_is_found_on_request(kept: Scope) -> None:
    assert found(kept, topic_key="user.diet") == [("vegan since 2026", ["topic"])]
    both = found(kept, topic_key="user.diet", include_superseded=True)
    assert sorted(name for name, _ in both) == ["vegan since 2026", "vegetarian since 2026"]


def test_a_vector_of_another_length_finds_nothing_and_fails_nothing(kept: Scope) -> None:
    assert found(kept, vector=unit(12, seed=1)) == []
    assert found(kept, query="tasting", vector=unit(12, seed=1)) == [("ordered the tasting menu", ["keyword"])]


def test_a_rare_type_is_not_crowded_out(scope: Scope) -> None:
    write(
        scope,
        *(stated(f"loud event {n}", {"n": n}, type="event") for n in range(60)),
        stated("loud task", {}, type="task"),
    )

    assert [name for name, _ in found(scope, query="loud", types=["task"], limit=8)] == ["loud task"]


def test_a_sealed_space_answers_the_same(sealed: Scope) -> None:
    write(sealed, diet("vegetarian"), diet("vegan", keywords="food preference", vector=unit(16, seed=1)))
    write(sealed, stated("ordered food", {"dish": "tofu"}, type="event", session_id="s-1", vector=unit(384, seed=1)))

    assert found(sealed, topic_key="user.diet") == [("vegan since 2026", ["topic"])]
    assert found(sealed, query="food", session_id="s-1", vector=unit(16, seed=1)) == [("ordered food", ["keyword"])]
    assert found(sealed, vector=unit(384, seed=1)) == [("ordered food", ["vector"])]


def test_ids_are_the_same_under_a_new_data_key_and_made_anew_under_a_new_identity(scope: Scope) -> None:
    first = write(scope, diet("vegan", vector=unit(8, seed=1))).results[0]
    rotate(scope, is_compromise=False)
    assert write(scope, diet("vegan")).results[0].public_id == first.public_id

    rotate(scope, is_compromise=True)

    again = write(reread_space(scope), diet("vegan")).results[0]
    assert (again.status, again.memory_id) == ("duplicate", first.memory_id)
    assert again.public_id != first.public_id


def test_labels_of_a_typed_memory_change_and_its_content_does_not(scope: Scope) -> None:
    made = write(scope, stated("shopping", ["milk", "tea"], type="event", keywords="list")).results[0]

    edit(scope, Edit(memory_id=made.memory_id, tags=["shop"]), now=NOW)
    rotate(scope, is_compromise=False)

    opened = describe_typed(scope, made.public_id, now=NOW).memory
    assert (list(opened.tags), opened.content, dict(opened.fields)) == (["shop"], Plaintext('["milk","tea"]'), {})
    with pytest.raises(BadFieldValues):
        edit(scope, Edit(memory_id=made.memory_id, fields={"dose": 1}), now=NOW)


def test_the_session_of_a_task_ends_with_it(scope: Scope) -> None:
    write(
        scope,
        stated("call back", {}, type="task", session_id="s-1"),
        stated("write", {"to": "Ann"}, type="task", session_id="s-2"),
        stated("met Ann", {}, type="event", session_id="s-1"),
    )

    assert memories_of_session(scope, "s-1", now=NOW) == sorted(memories_of_session(scope, "s-1", now=NOW))
    assert len(memories_of_session(scope, "s-1", now=NOW)) == 2
    assert end_session(scope, "s-1", now=NOW) == 1
    assert end_session(scope, "s-1", now=NOW) == 0
    assert len(memories_of_session(scope, "s-1", now=NOW)) == 1
    assert len(memories_of_session(scope, "s-2", now=NOW)) == 1


def test_words_of_the_index_are_those_of_summary_and_keywords(kept: Scope) -> None:
    with tenant_transaction(kept):
        row = Memory.objects.within(kept).get(source="cursor")
        assert MemoryPosting.objects.filter(tenant_id=kept.tenant_id, memory_id=row.pk).count() == 5
