"""Nothing that was changed opens, and every refusal is the same: no other error, no reason, no other text."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.core.plaintext import Plaintext
from apps.crypto import keyring
from apps.crypto.envelope import DecryptError
from tests.crypto import tampering
from tests.crypto.cast import cipher_of
from tests.crypto.tampering import BOXES, CHANGE_BYTES, ENVELOPES, changed, other_places, refusal
from tests.crypto.test_frozen_vectors import SPACES

each_envelope = pytest.mark.parametrize("envelope", range(len(ENVELOPES)))


@each_envelope
def test_unchanged_it_opens(envelope: int) -> None:
    one = ENVELOPES[envelope]

    opened = BOXES[envelope].open(one.context.field, one.context.record_id, one.blob, revision=one.context.revision)

    assert opened == one.text


@each_envelope
def test_every_flipped_bit_of_the_envelope_is_refused(envelope: int) -> None:
    blob = ENVELOPES[envelope].blob
    for bit in range(len(blob) * 8):
        flipped = bytearray(blob)
        flipped[bit // 8] ^= 1 << bit % 8

        assert refusal(envelope, bytes(flipped))


@each_envelope
def test_every_flipped_bit_of_every_bound_part_is_refused(envelope: int) -> None:
    places = other_places(ENVELOPES[envelope].context)
    assert len(places) > 500

    for place in places:
        if place != ENVELOPES[envelope].context:
            assert refusal(envelope, ENVELOPES[envelope].blob, place) in {"commitment", "context"}


@each_envelope
def test_every_truncation_from_either_end_is_refused(envelope: int) -> None:
    blob = ENVELOPES[envelope].blob
    for size in range(len(blob)):
        assert refusal(envelope, blob[:size])
        assert refusal(envelope, blob[len(blob) - size :])


@each_envelope
def test_every_missing_doubled_or_inserted_byte_is_refused(envelope: int) -> None:
    blob = ENVELOPES[envelope].blob
    for at in range(len(blob)):
        assert refusal(envelope, blob[:at] + blob[at + 1 :])
        assert refusal(envelope, blob[: at + 1] + blob[at:])
        assert refusal(envelope, blob[:at] + b"\x00" + blob[at:])


@each_envelope
@pytest.mark.parametrize("byte", [b"\x00", b"\x01", b"\x80", b"\xff"])
def test_every_extension_is_refused(envelope: int, byte: bytes) -> None:
    blob = ENVELOPES[envelope].blob
    for size in range(1, 130):
        assert refusal(envelope, blob + byte * size)
        assert refusal(envelope, byte * size + blob)
        # Where the tag would look for zeros: between the ciphertext and the tag.
        assert refusal(envelope, blob[:-16] + byte * size + blob[-16:])


@each_envelope
def test_no_envelope_opens_in_the_place_of_another(envelope: int) -> None:
    for other, one in enumerate(ENVELOPES):
        if other != envelope:
            assert refusal(envelope, one.blob) == "commitment"


MUTATIONS = 20  # in one example


def test_twenty_thousand_changes_of_every_kind_are_refused() -> None:
    tried = 0

    @settings(max_examples=1_200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(
        st.integers(0, len(ENVELOPES) - 1),
        st.integers(1, 3),
        st.binary(min_size=3 * MUTATIONS * CHANGE_BYTES, max_size=3 * MUTATIONS * CHANGE_BYTES),
    )
    def attack(envelope: int, changes: int, dice: bytes) -> None:
        nonlocal tried
        size = changes * CHANGE_BYTES
        blobs = {changed(envelope, dice[number * size : (number + 1) * size]) for number in range(MUTATIONS)}
        for blob in blobs - {ENVELOPES[envelope].blob}:
            assert refusal(envelope, blob)
            tried += 1

    attack()

    assert tried >= 20_000


def test_the_nightly_attack_tries_what_it_says_and_is_refused_for_every_reason() -> None:
    reasons = tampering.attack(20_000, seed=1)

    assert reasons.total() == 20_000
    assert set(reasons) == {"truncated", "unknown_suite", "commitment", "tag", "context"}


def test_an_attack_that_succeeds_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.crypto.aead.equal", lambda left, right: True)
    with pytest.raises(AssertionError):
        # Without the commitment AES-GCM still refuses all but a changed commitment.
        tampering.attack(20_000, seed=1)


# -- at the door that the rest of the product uses -------------------------------------------------------------------


def test_the_space_s_cipher_refuses_with_the_same_error_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    case = SPACES[4]
    cipher = cipher_of(case)
    monkeypatch.setattr(keyring, "versions", lambda tenant, **_: cipher._versions)
    one = case["envelopes"][2]
    blob = bytes.fromhex(one["blob"])
    assert cipher.open(one["field"], one["record_id"], blob, revision=one["revision"]) == Plaintext(one["text"])
    refused = set()

    for bit in range(len(blob) * 8):
        flipped = bytearray(blob)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(DecryptError) as caught:
            cipher.open(one["field"], one["record_id"], bytes(flipped), revision=one["revision"])
        refused.add((type(caught.value), str(caught.value), caught.value.message, caught.value.code))
    for size in range(len(blob)):
        with pytest.raises(DecryptError):
            cipher.open(one["field"], one["record_id"], blob[:size], revision=one["revision"])

    assert len(refused) == 1


def test_bytes_that_are_no_text_are_refused_without_quoting_them() -> None:
    cipher = cipher_of(SPACES[4])
    blob = cipher.seal("memory.text", 1, b"\xff\xfe secret")

    with pytest.raises(DecryptError) as caught:
        cipher.open("memory.text", 1, blob)

    assert caught.value.reason == "encoding"
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert "secret" not in repr(caught.value)
