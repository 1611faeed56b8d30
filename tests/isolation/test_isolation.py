"""Two tenants, two end users each, two environments each: with any wall taken away, what is left still holds.

The walls: the scope in every query, row-level security, keyed tokens and rotated vectors, and the seal.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import permutations, product
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
import psycopg
import pytest
from django.db import Error, connection, connections

from apps.adapters.embedders.fake import FailingEmbedder
from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.crypto.services import DecryptError, KeysUnavailable
from apps.ingest import pipeline_context, services
from apps.ingest.candidates import Outcome, Proposal
from apps.memories import embedding, models
from apps.memories.selectors import MemoryNotFound, get_memory
from apps.outbox import handlers, leases
from apps.projects.scope import Environment, Scope
from apps.recall import read_log
from apps.recall.profiles import PROFILES
from apps.recall.results import Filters
from apps.recall.services import recall
from tests.architecture import walls
from tests.makers import NOW, make_scope

pytestmark = [
    pytest.mark.django_db(transaction=True, databases="__all__"),
    pytest.mark.usefixtures("no_answer_is_kept"),  # rows are spoiled and mended behind the product's back
]

SAME = "Coffee is served at nine in the winter garden."
QUESTION = "whose red bicycle stands in the yard, and when is coffee served?"


@dataclass
class Life:
    """One end user of one tenant in one environment, and the ids of what they said."""

    name: str
    scope: Scope
    said: dict[str, int]


def remember(scope: Scope, text: str, **fields: Any) -> Outcome:
    (outcome,) = services.remember(scope, [Proposal(text=Plaintext(text), importance=0.6, **fields)], now=NOW)
    return outcome


def lead(scope: Scope, name: str) -> Life:
    texts = {
        f"The red bicycle of {name} stands in the yard.": {"tags": (f"tag {name}",), "metadata": {"of": name}},
        f"I live in {name}ville.": {"tags": ("home",), "metadata": {"kind": "place"}},
        SAME: {},
    }
    return Life(name, scope, {text: remember(scope, text, **fields).memory_ids[0] for text, fields in texts.items()})


@pytest.fixture
def lives(acme: OpenedTenant, globex: OpenedTenant) -> Iterator[list[Life]]:
    people = product((acme, globex), ("alice", "bob"), (Environment.PRODUCTION, Environment.STAGING))
    yield [
        lead(
            make_scope(tenant, user, environment=environment),
            f"{tenant.tenant.name}{user}{environment}".capitalize(),
        )
        for tenant, user, environment in people
    ]
    read_log.flush()


def texts(scope: Scope, query: str = QUESTION, **options: Any) -> list[str]:
    return [hit.memory.text.reveal() for hit in recall(scope, Plaintext(query), limit=50, now=NOW, **options).hits]


# -- walls, and how each is taken away ---------------------------------------------------------------------------------


@contextmanager
def no_scope(monkeypatch: pytest.MonkeyPatch, superuser_url: str) -> Iterator[None]:
    """Every queryset of memories begins with all of them."""
    with monkeypatch.context() as removed:
        removed.setattr(models.MemoryQuerySet, "within", lambda self, scope: self.all())
        yield


_FILTER = re.compile(r"(?:\"?\b\w+\"?\.)?\"?\b(?:tenant_id|space_id|owner_id|environment)\"? = %s")


@contextmanager
def no_filters(monkeypatch: pytest.MonkeyPatch, superuser_url: str) -> Iterator[None]:
    """No statement that reads memories, tokens or vectors asks for a tenant, space or environment."""
    changed = []

    def run(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if re.search(r"^\s*(select|with)\b", sql, re.IGNORECASE) and "from memories_" in sql.replace('"', "").lower():
            open_sql = _FILTER.sub("%s::text is not null", sql)
            changed.append(open_sql != sql)
            sql = open_sql
        return execute(sql, params, many, context)

    with connection.execute_wrapper(run):
        yield
    assert changed, "nothing was read"


@contextmanager
def no_row_security(monkeypatch: pytest.MonkeyPatch, superuser_url: str) -> Iterator[None]:
    """The application is the superuser, whom row-level security does not hold."""
    parts = urlsplit(superuser_url)
    settings = connections["default"].settings_dict
    usual = {name: settings[name] for name in ("USER", "PASSWORD")}
    connections["default"].close()
    settings.update(USER=parts.username, PASSWORD=unquote(parts.password or ""))
    try:
        yield
    finally:
        connections["default"].close()
        settings.update(usual)


Removal = Callable[[pytest.MonkeyPatch, str], Any]
REMOVALS: dict[str, tuple[Removal, ...]] = {
    "none": (),
    "scope": (no_scope,),
    "filters": (no_filters,),
    "row security": (no_row_security,),
    "scope and filters": (no_scope, no_filters),
    "scope and row security": (no_scope, no_row_security),
    "filters and row security": (no_row_security, no_filters),
    "all three": (no_row_security, no_scope, no_filters),
}


@pytest.fixture(params=REMOVALS)
def without(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, superuser_url: str) -> Any:
    @contextmanager
    def removed() -> Iterator[None]:
        with ExitStack() as stack:
            for wall in REMOVALS[request.param]:
                stack.enter_context(wall(monkeypatch, superuser_url))
            yield

    return removed


def test_nobody_reads_or_changes_what_is_another_s_whatever_wall_is_gone(lives: list[Life], without: Any) -> None:
    assert_nobody_recalls_what_another_said(lives, without)
    assert_nobody_opens_another_s_memory_by_its_id(lives, without)
    assert_adding_what_another_has_is_no_duplicate_and_changes_nothing_of_theirs(lives, without)


def assert_nobody_recalls_what_another_said(lives: list[Life], without: Any) -> None:
    with without():
        for life in lives:
            for profile in PROFILES:
                assert set(texts(life.scope, profile=profile)) == life.said.keys(), (life.name, profile)
            tag = Filters(tags=(f"tag {life.name}",))
            assert texts(life.scope, filters=tag) == [f"The red bicycle of {life.name} stands in the yard."]
        mine = lives[0]
        for theirs in lives[1:]:
            assert set(texts(mine.scope, f"red bicycle {theirs.name} {theirs.name}ville yard")) <= mine.said.keys()
            assert texts(mine.scope, filters=Filters(tags=(f"tag {theirs.name}",))) == []


def assert_nobody_opens_another_s_memory_by_its_id(lives: list[Life], without: Any) -> None:
    with without():
        for mine, theirs in product(lives, lives):
            for said, memory_id in theirs.said.items():
                if mine is theirs:
                    assert get_memory(mine.scope, memory_id, now=NOW).text.reveal() == said
                else:
                    with pytest.raises((MemoryNotFound, DecryptError)):
                        get_memory(mine.scope, memory_id, now=NOW)


def assert_adding_what_another_has_is_no_duplicate_and_changes_nothing_of_theirs(
    lives: list[Life], without: Any
) -> None:
    mine, *others = lives
    before = [_row(life.scope, memory_id) for life in others for memory_id in life.said.values()]

    with without():
        for life in others:
            outcome = remember(mine.scope, f"The red bicycle of {life.name} stands in the yard.")
            assert outcome.counts == {"created": 1}

    assert [_row(life.scope, memory_id) for life in others for memory_id in life.said.values()] == before


def _row(scope: Scope, memory_id: int) -> Any:
    with tenant_transaction(scope):
        return models.Memory.objects.within(scope).values("validity", "repetition_count", "revision").get(pk=memory_id)


# -- each wall by itself -----------------------------------------------------------------------------------------------


def counts(cursor: Any, where: str, *values: object) -> dict[str, int]:
    """Rows seen in each table with a tenant."""
    seen = {}
    for table in sorted(walls.tenant_tables(cursor) - walls.OPEN_TABLES.keys()):
        cursor.execute(f"select count(*) from {table} where {where}", values)  # noqa: S608
        seen[table] = cursor.fetchone()[0]
    return seen


def test_row_security_shows_one_tenant_and_without_one_nothing(
    lives: list[Life], acme: OpenedTenant, superuser_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connection.cursor() as cursor:
        without_tenant = counts(cursor, "tenant_id is not null")
    with tenant_transaction(acme.scope), connection.cursor() as cursor:
        own = counts(cursor, "tenant_id = %s", acme.scope.tenant_id)
        foreign = counts(cursor, "tenant_id is distinct from %s", acme.scope.tenant_id)
    with no_row_security(monkeypatch, superuser_url), connection.cursor() as cursor:
        there = counts(cursor, "tenant_id <> %s", acme.scope.tenant_id)

    assert set(without_tenant.values()) == {0}
    assert set(foreign.values()) == {0}
    # What is hidden is there: every table that has rows of the one has as many of the other.
    assert own == there
    assert own["memories_memory"] == 12
    assert {"memories_posting", "memories_memoryvector", "audit_auditevent"} <= {name for name in own if own[name]}


STATEMENTS = {  # of acme's, and whether they are refused
    "update memories_memory set importance = 0 where tenant_id = {globex}": False,
    "delete from memories_memory where tenant_id = {globex}": False,
    "update memories_memory set tenant_id = {globex} where tenant_id = {acme}": True,
    "insert into memories_posting values ({globex}, 1, 1, 1, 1, 1)": True,
    "select audit_record({globex}, now(), '', '', '', '', '', '', 1, '', '')": True,
}


def test_row_security_takes_no_row_of_another_tenant(
    lives: list[Life], acme: OpenedTenant, globex: OpenedTenant
) -> None:
    def run(statement: str) -> int:
        sql = statement.format(acme=acme.scope.tenant_id, globex=globex.scope.tenant_id)
        with tenant_transaction(acme.scope), connection.cursor() as cursor:
            cursor.execute(sql)
            return int(cursor.rowcount)

    for statement, is_refused in STATEMENTS.items():
        if is_refused:
            with pytest.raises(Error, match="row-level security"):
                run(statement)
        else:
            assert run(statement) == 0, statement
        assert all(_row(life.scope, memory_id) for life in lives for memory_id in life.said.values()), statement


def test_the_same_words_have_other_tokens_and_another_vector_in_every_space(
    lives: list[Life], superuser_url: str
) -> None:
    with superuser(superuser_url) as cursor:
        tokens, vectors = [], []
        for life in lives:
            memory_id = life.said[SAME]
            cursor.execute("select token from memories_posting where memory_id = %s", [memory_id])
            tokens.append({token for (token,) in cursor.fetchall()})
            cursor.execute("select signs::text from memories_memoryvector where memory_id = %s", [memory_id])
            vectors.append([1 if bit == "1" else -1 for bit in cursor.fetchone()[0]])
        cursor.execute("select count(distinct text_mac) from memories_memory where id = any(%s)",
                       [[life.said[SAME] for life in lives]])  # fmt: skip
        (digests,) = cursor.fetchone()

    assert all(len(one) == len(tokens[0]) > 2 for one in tokens)
    assert len(set.union(*tokens)) == sum(len(one) for one in tokens)
    assert digests == len(lives)
    similar = np.array(vectors) @ np.array(vectors).T / len(vectors[0]) - np.eye(len(lives))
    assert np.abs(similar).max() < 0.35


# -- ciphertexts in other places ---------------------------------------------------------------------------------------


@contextmanager
def superuser(superuser_url: str) -> Iterator[Any]:
    name = connections["default"].settings_dict["NAME"]
    url = f"{superuser_url.rsplit('/', 1)[0]}/{name}"
    with psycopg.connect(url, autocommit=True) as one, one.cursor() as cursor:
        yield cursor


SEALED = ("text_ct", "label_ct", "tags_ct", "metadata_ct")


def move(cursor: Any, source: int, column: str, target: int, to: str | None = None) -> None:
    cursor.execute(
        f"update memories_memory set {to or column} = (select {column} from memories_memory where id = %s) "  # noqa: S608
        "where id = %s",
        [source, target],
    )
    assert cursor.rowcount == 1


@contextmanager
def restored(cursor: Any, memory_id: int) -> Iterator[None]:
    """Afterwards the sealed columns are as they were."""
    columns = ", ".join([*SEALED, "summary_ct", "revision"])
    cursor.execute(f"select {columns} from memories_memory where id = %s", [memory_id])  # noqa: S608
    before = cursor.fetchone()
    yield
    cursor.execute(f"update memories_memory set ({columns}) = ({', '.join(['%s'] * len(before))}) where id = %s",  # noqa: S608
                   [*before, memory_id])  # fmt: skip


def assert_left_out(life: Life, spoiled: str) -> None:
    """The spoiled memory is in no answer, everything else is, and no caller learns why."""
    for profile in PROFILES:
        assert set(texts(life.scope, profile=profile)) == life.said.keys() - {spoiled}
    with pytest.raises(DecryptError) as refusal:
        get_memory(life.scope, life.said[spoiled], now=NOW)
    assert refusal.value.message == "This record cannot be opened."


def test_no_ciphertext_opens_in_another_place(lives: list[Life], superuser_url: str) -> None:
    for column in SEALED:
        assert_opens_in_its_own_place_alone(lives, column, superuser_url)


def assert_opens_in_its_own_place_alone(lives: list[Life], column: str, superuser_url: str) -> None:
    """From another row, end user, environment and tenant; and back where it belongs it opens again."""
    mine, others = lives[0], lives[1:]
    spoiled = next(text for text in mine.said if ("live" in text) == (column == "label_ct"))
    rows = [life.said[next(text for text in life.said if ("live" in text) == (column == "label_ct"))]
            for life in others]  # fmt: skip
    if column != "label_ct":
        rows += [memory_id for text, memory_id in mine.said.items() if "live" in text]
    with superuser(superuser_url) as cursor:
        cursor.execute(f"select {column} from memories_memory where id = %s", [mine.said[spoiled]])  # noqa: S608
        (own,) = cursor.fetchone()
        for source in rows:
            move(cursor, source, column, mine.said[spoiled])
            assert_left_out(mine, spoiled)
        cursor.execute(f"update memories_memory set {column} = %s where id = %s", [own, mine.said[spoiled]])  # noqa: S608

    assert set(texts(mine.scope)) == mine.said.keys(), column


def test_no_ciphertext_opens_as_another_field(lives: list[Life], superuser_url: str) -> None:
    mine = lives[0]
    spoiled = next(text for text in mine.said if "live" in text)
    with superuser(superuser_url) as cursor:
        for source, target in permutations(SEALED, 2):
            with restored(cursor, mine.said[spoiled]):
                move(cursor, mine.said[spoiled], source, mine.said[spoiled], to=target)
                assert_left_out(mine, spoiled)

    assert set(texts(mine.scope)) == mine.said.keys()


CHANGES = (
    "text_ct = set_bit(text_ct, 8 * (length(text_ct) - 1), 1 - get_bit(text_ct, 8 * (length(text_ct) - 1)))",
    "text_ct = set_bit(text_ct, 300, 1 - get_bit(text_ct, 300))",
    "text_ct = set_byte(text_ct, 5, 2)",  # another key version
    "text_ct = set_byte(text_ct, 1, 2)",  # another suite
    "text_ct = substr(text_ct, 1, length(text_ct) - 1)",
    "text_ct = substr(text_ct, 1, 40)",
    "text_ct = ''",
    "text_ct = 'The red bicycle of nobody.'",
    "metadata_ct = text_ct",
    "metadata_ct = 'x', revision = 1",
    "revision = revision + 1",
    "summary_ct = text_ct",
)


def test_no_changed_ciphertext_opens(lives: list[Life], superuser_url: str) -> None:
    mine = lives[0]
    spoiled = next(text for text in mine.said if "bicycle" in text)
    with superuser(superuser_url) as cursor:
        for change in CHANGES:
            with restored(cursor, mine.said[spoiled]):
                cursor.execute(f"update memories_memory set {change} where id = %s", [mine.said[spoiled]])  # noqa: S608
                assert_left_out(mine, spoiled)

    assert set(texts(mine.scope)) == mine.said.keys()


def test_a_row_moved_whole_into_another_space_stays_shut(lives: list[Life], superuser_url: str) -> None:
    """With its tokens and vector: what an attacker with the database's owner at hand would try."""
    mine, theirs = lives[0], lives[2]
    assert mine.scope.tenant_id == theirs.scope.tenant_id
    memory_id = theirs.said[SAME]
    with superuser(superuser_url) as cursor:
        for table in ("memories_memory", "memories_memoryvector", "memories_posting"):
            column = "id" if table == "memories_memory" else "memory_id"
            cursor.execute(f"update {table} set space_id = %s where {column} = %s",  # noqa: S608
                           [mine.scope.space.id, memory_id])  # fmt: skip

    assert set(texts(mine.scope)) == mine.said.keys()
    assert set(texts(theirs.scope)) == theirs.said.keys() - {SAME}
    with pytest.raises(DecryptError):
        get_memory(mine.scope, memory_id, now=NOW)


# -- a spoiled row does not spoil what is beside it --------------------------------------------------------------------


def spoil(memory_id: int, superuser_url: str) -> None:
    with superuser(superuser_url) as cursor:
        cursor.execute("update memories_memory set text_ct = text_ct || 'x' where id = %s", [memory_id])


def test_a_spoiled_turn_leaves_the_turn_after_it_readable(acme: OpenedTenant, superuser_url: str) -> None:
    scope = make_scope(acme)
    first = remember(scope, "The ferry to Naxos leaves at dawn.", session_id="s")
    remember(scope, "Breakfast on board is included.", session_id="s")
    spoil(first.memory_ids[0], superuser_url)

    assert texts(scope, "breakfast on the ferry") == ["Breakfast on board is included."]
    read_log.flush()


def test_an_add_beside_a_spoiled_row_is_stored(acme: OpenedTenant, superuser_url: str) -> None:
    scope = make_scope(acme)
    for text in ("I live in Lisbon.", "The ferry to Naxos leaves at dawn."):
        spoil(remember(scope, text).memory_ids[0], superuser_url)

    again = remember(scope, "I live in Lisbon now, near the river.")
    near = remember(scope, "The ferry to Naxos leaves, leaves at dawn.")

    assert again.is_stored
    assert near.is_stored


def test_a_spoiled_row_does_not_hold_up_the_work_behind_it(
    acme: OpenedTenant, superuser_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = make_scope(acme)
    with monkeypatch.context() as down:
        down.setattr(pipeline_context, "get_embedder", FailingEmbedder)
        down.setattr(services, "notify", lambda task: None)
        first, second = (remember(scope, f"The ferry to {place} leaves at dawn.") for place in ("Naxos", "Paros"))
    spoil(first.memory_ids[0], superuser_url)

    assert handlers.process_due_events(now=NOW) == 2

    assert handlers.process_due_events(now=NOW) == 0
    assert get_memory(scope, second.memory_ids[0], now=NOW).is_embedded


def test_one_tenant_s_trouble_does_not_hold_up_another_s_work(
    acme: OpenedTenant, globex: OpenedTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as down:
        down.setattr(pipeline_context, "get_embedder", FailingEmbedder)
        down.setattr(services, "notify", lambda task: None)
        theirs, mine = (
            [remember(make_scope(tenant), f"The ferry to {place} leaves.") for place in ("Naxos", "Paros")]
            for tenant in (globex, acme)
        )
    with monkeypatch.context() as broken:
        usual = embedding.open_space

        def refuse(tenant: Any, space: Any, **options: Any) -> Any:
            if tenant.id == globex.scope.tenant_id:
                raise KeysUnavailable
            return usual(tenant, space, **options)

        broken.setattr(embedding, "open_space", refuse)
        assert handlers.process_due_events(now=NOW) == 4

        assert all(get_memory(make_scope(acme), one.memory_ids[0], now=NOW).is_embedded for one in mine)
        assert handlers.process_due_events(now=NOW) == 0
    assert handlers.process_due_events(now=NOW + leases.LAST_RETRY) == 2
    assert all(get_memory(make_scope(globex), one.memory_ids[0], now=NOW).is_embedded for one in theirs)
