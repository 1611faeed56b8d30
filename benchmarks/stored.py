"""The rows that the service stores for a space, as an attacker with the database would see them."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.crypto.envelope import OVERHEAD_BYTES, padded_size
from apps.crypto.services import open_space
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.memories.indexing_mode import set_profile
from apps.memories.spaces import get_or_create_end_user, reread_space
from apps.projects.scope import Scope
from apps.tenants.models import Profile
from benchmarks.recall import Haystack, embed_the_rest
from text.terms import indexed, rounded_length, terms

TEXTS = 100
Posting = tuple[int, int, int]  # token, term frequency, length of the text


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """tokens, vectors: number of searchable rows.  as_expected: rows and sizes are as the attacks assume."""

    profile: str
    memories: int
    tokens: int
    vectors: int
    as_expected: bool


def look(haystack: Haystack, scope: Scope, *, now: datetime) -> list[Look]:
    """Store the first texts of the haystack in a space of each profile, and read the rows.  scope: without spaces."""
    texts = list(dict.fromkeys(item["text"] for item in haystack.items))[:TEXTS]
    return [_look(haystack.name, texts, profile, scope, now=now) for profile in Profile]


def _look(name: str, texts: list[str], profile: Profile, scope: Scope, *, now: datetime) -> Look:
    space = get_or_create_end_user(scope, f"leakage/stored/{name}/{profile}/{now.timestamp()}", now=now)
    if profile != Profile.SEARCHABLE:
        set_profile(scope, space.id, profile, now=now)
    inside = reread_space(scope.in_spaces(space))
    proposals = [Proposal(text=Plaintext(text), importance=0.6, deduplicate=False) for text in texts]
    outcomes = remember(inside, proposals, now=now)
    embed_the_rest(inside, [memory_id for outcome in outcomes for memory_id in outcome.memory_ids], now=now)
    postings, vectors, sizes = _rows(inside)
    return Look(
        profile=profile,
        memories=len(sizes),
        tokens=len(postings),
        vectors=vectors,
        as_expected=sorted(sizes) == sorted(OVERHEAD_BYTES + padded_size(len(text.encode())) for text in texts)
        and Counter(postings) == (_expected(texts, inside) if profile == Profile.SEARCHABLE else Counter()),
    )


def _rows(scope: Scope) -> tuple[list[Posting], int, list[int]]:
    space = [scope.tenant_id, scope.space.id]
    with tenant_transaction(scope), connection.cursor() as cursor:
        cursor.execute("select token, tf, length from memories_posting where tenant_id = %s and space_id = %s", space)
        postings = cursor.fetchall()
        cursor.execute(
            "select count(signs) from memories_memoryvector where tenant_id = %s and space_id = %s",
            space,
        )
        ((vectors,),) = cursor.fetchall()
        cursor.execute(
            "select octet_length(text_ct) from memories_memory where tenant_id = %s and space_id = %s", space
        )
        return postings, vectors, [size for (size,) in cursor.fetchall()]


def _expected(texts: list[str], scope: Scope) -> Counter[Posting]:
    cipher = open_space(scope.tenant, scope.space)
    expected: Counter[Posting] = Counter()
    for text in texts:
        words = terms(text)
        counts = indexed(words)
        tokens = cipher.term_tokens(counts)
        expected.update(
            (token, tf, rounded_length(len(words))) for token, tf in zip(tokens, counts.values(), strict=True)
        )
    return expected
