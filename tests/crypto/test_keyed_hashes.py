"""Keyed hashes: equal where they must be, unrelated where they must be, and frozen."""

import hmac
from collections.abc import Sequence
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.crypto import aead
from apps.crypto.keyed_hashes import identity_bytes, mac16, public_id, token, tokens

KEY = bytes(range(32))
OTHER_KEY = bytes(range(1, 33))
LOW, HIGH = -(2**63), 2**63 - 1


@given(st.text(max_size=40))
def test_token_is_the_documented_hash(term: str) -> None:
    expected = hmac.digest(KEY, b"term\x1f" + term.encode(), "sha256")[:8]

    assert token(KEY, "term", term) == int.from_bytes(expected, "big", signed=True)


def test_known_tokens_never_change() -> None:
    assert tokens(KEY, "term", ["coffee", "größe", ""]) == [
        -5800702159273328224,
        -6811679627672994046,
        1771742266136514239,
    ]
    assert mac16(KEY, "slot", "user.diet", b"\x00").hex() == "8dbfd5b7b8a75a457bbe6b44625a837a"
    assert public_id(KEY, "fact", "user.diet", '{"diet":"vegan"}') == "mem_c2c469425f1fa4a55e9e617078a552e0"


def test_tokens_fill_the_signed_range() -> None:
    numbers = tokens(KEY, "term", map(str, range(2000)))

    assert all(LOW <= number <= HIGH for number in numbers)
    assert min(numbers) < LOW * 0.99
    assert max(numbers) > HIGH * 0.99
    assert len(set(numbers)) == 2000


def test_tokens_keep_order_and_repeats() -> None:
    assert tokens(KEY, "term", ["b", "a", "b"]) == [token(KEY, "term", term) for term in ("b", "a", "b")]
    assert tokens(KEY, "term", []) == []


def test_a_prepared_key_gives_the_same() -> None:
    prepared = aead.Mac(KEY)

    assert tokens(prepared, "term", ["a"]) == tokens(KEY, "term", ["a"])
    assert mac16(prepared, "slot", "a") == mac16(KEY, "slot", "a")
    assert public_id(prepared, "fact", "a", "1") == public_id(KEY, "fact", "a", "1")


def test_tokens_differ_by_key_and_by_field() -> None:
    words = [f"word{number}" for number in range(500)]

    here, elsewhere, tags = tokens(KEY, "term", words), tokens(OTHER_KEY, "term", words), tokens(KEY, "tag", words)

    assert not set(here) & set(elsewhere)
    assert not set(here) & set(tags)


def test_a_field_cannot_reach_into_another() -> None:
    with pytest.raises(ValueError):
        token(KEY, "term\x1f", "a")


@given(st.lists(st.text(max_size=4), max_size=4), st.lists(st.text(max_size=4), max_size=4))
def test_mac_stands_for_exactly_its_parts(one: Sequence[str], other: Sequence[str]) -> None:
    assert (mac16(KEY, "slot", *one) == mac16(KEY, "slot", *other)) == (one == other)


def test_mac_differs_by_key_and_kind() -> None:
    assert (
        len({mac16(KEY, "slot", "a"), mac16(OTHER_KEY, "slot", "a"), mac16(KEY, "slota"), mac16(KEY, "", "slot", "a")})
        == 4
    )
    assert len(mac16(KEY, "slot")) == 16


@pytest.mark.parametrize(
    ("content", "published"),
    [
        ('{"diet":"vegetarian"}', "mem_6b71bce8b8f80e570dc5c4b37b5dd782"),
        ('{"diet":"vegan"}', "mem_9ba542e1e57fea3f1d1f1a052ebef27f"),
    ],
)
def test_identity_covers_the_published_bytes(content: str, published: str) -> None:
    # The published ids are the plain hash of these bytes; ours are keyed, so that an id confirms no guess.
    raw = identity_bytes("fact", "user.diet", content)

    assert "mem_" + sha256(raw).hexdigest()[:32] == published
    assert public_id(KEY, "fact", "user.diet", content) != published
    assert public_id(KEY, "fact", "user.diet", content) == "mem_" + hmac.digest(KEY, raw, "sha256")[:16].hex()


def test_public_id_differs_by_each_part_and_by_key() -> None:
    ids = {
        public_id(KEY, "fact", "a", "1"),
        public_id(KEY, "event", "a", "1"),
        public_id(KEY, "fact", "b", "1"),
        public_id(KEY, "fact", "a", "2"),
        public_id(KEY, "fact", "", "1"),
        public_id(KEY, "fact", "a\x00", "1"),
        public_id(OTHER_KEY, "fact", "a", "1"),
    }

    assert len(ids) == 7
    with pytest.raises(ValueError):
        public_id(KEY, "fact\x00a", "", "1")
    with pytest.raises(ValueError):
        public_id(KEY, "fact", "", "a\x001")
