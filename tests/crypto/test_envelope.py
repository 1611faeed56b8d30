"""The envelope against its threat list: whatever is changed, moved or cut is refused, and suite 1 never changes."""

import dataclasses
import json
import random
import uuid
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from hypothesis import given
from hypothesis import strategies as st

from apps.crypto import aead, envelope
from apps.crypto.envelope import Box, Context, DecryptError, PlaintextTooLarge

VECTORS = Path(__file__).parent.parent / "vectors" / "envelope_suite1.json"

KEY = bytes(range(64))
CONTEXT = Context(
    deployment="test",
    tenant=uuid.UUID(int=1),
    environment="production",
    space=uuid.UUID(int=2),
    field="memory.text",
    record_id=3,
    revision=4,
)
TEXT = b"The user is allergic to penicillin."
BLOB = envelope.seal(KEY, CONTEXT, TEXT, key_version=7)
BOX = Box(
    KEY,
    key_version=7,
    deployment=CONTEXT.deployment,
    tenant=CONTEXT.tenant,
    environment=CONTEXT.environment,
    space=CONTEXT.space,
)

OTHER_CONTEXTS: dict[str, Any] = {
    "deployment": "tesu",
    "tenant": CONTEXT.space,
    "environment": "staging",
    "space": CONTEXT.tenant,
    "field": "memory.summary",
    "record_id": 4,
    "revision": 5,
}


def refusal(key: bytes, context: Context, blob: bytes) -> str:
    """The audit's reason for refusing; fails if the blob opens."""
    with pytest.raises(DecryptError) as caught:
        envelope.open_sealed(key, context, blob)
    return caught.value.reason


# --- what opens -----------------------------------------------------------------------------------------------------


@given(st.binary(max_size=3000), st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1), st.integers(1, 2**32 - 1))
def test_what_was_sealed_opens(text: bytes, record_id: int, revision: int, key_version: int) -> None:
    context = dataclasses.replace(CONTEXT, record_id=record_id, revision=revision)

    blob = envelope.seal(KEY, context, text, key_version=key_version)

    assert envelope.open_sealed(KEY, context, blob) == text
    assert envelope.key_version_of(blob) == key_version


@pytest.mark.parametrize("text", [b"", b"\x00", b"\x80", b"\x80\x00\x00", b"a" * 63, b"a" * 64, b"a" * 512])
def test_text_that_looks_like_padding_comes_back_whole(text: bytes) -> None:
    blob = envelope.seal(KEY, CONTEXT, text, key_version=1)

    assert envelope.open_sealed(KEY, CONTEXT, blob) == text


def test_box_and_functions_open_each_others_blobs() -> None:
    sealed_by_box = BOX.seal(CONTEXT.field, CONTEXT.record_id, TEXT, revision=CONTEXT.revision)

    assert envelope.open_sealed(KEY, CONTEXT, sealed_by_box) == TEXT
    assert BOX.open(CONTEXT.field, CONTEXT.record_id, BLOB, revision=CONTEXT.revision) == TEXT


def test_sealing_twice_gives_unrelated_blobs() -> None:
    again = envelope.seal(KEY, CONTEXT, TEXT, key_version=7)

    assert again[6:30] != BLOB[6:30]
    assert again[30:62] != BLOB[30:62]
    assert again[62:] != BLOB[62:]


# --- what is refused ------------------------------------------------------------------------------------------------


def test_every_flipped_bit_is_refused() -> None:
    for position in range(len(BLOB) * 8):
        changed = bytearray(BLOB)
        changed[position // 8] ^= 1 << position % 8

        assert refusal(KEY, CONTEXT, bytes(changed))


def test_every_truncation_is_refused() -> None:
    for size in range(len(BLOB)):
        assert refusal(KEY, CONTEXT, BLOB[:size])
        assert refusal(KEY, CONTEXT, BLOB[len(BLOB) - size :])


def test_appended_bytes_are_refused() -> None:
    assert refusal(KEY, CONTEXT, BLOB + b"\x00") == "tag"


def test_every_flipped_bit_of_the_context_is_refused() -> None:
    context = CONTEXT.to_bytes()
    keys = aead.Mac(KEY, "sha512")
    for position in range(len(context) * 8):
        changed = bytearray(context)
        changed[position // 8] ^= 1 << position % 8

        with pytest.raises(DecryptError):
            envelope._open(keys, bytes(changed), BLOB)


@pytest.mark.parametrize("part", [part.name for part in dataclasses.fields(Context)])
def test_another_context_is_refused(part: str) -> None:
    elsewhere = dataclasses.replace(CONTEXT, **{part: OTHER_CONTEXTS[part]})

    assert refusal(KEY, elsewhere, BLOB) == "commitment"


def test_no_record_opens_in_the_place_of_another() -> None:
    places = [
        Context("test", uuid.UUID(int=tenant), environment, uuid.UUID(int=space), field, record_id)
        for tenant in (1, 2)
        for environment in ("", "development", "staging", "production")
        for space in (3, 4)
        for field in ("memory.text", "memory.summary")
        for record_id in (5, 6)
    ]
    blobs = [envelope.seal(KEY, place, TEXT, key_version=1) for place in places]

    opened = [
        (here, there)
        for here, place in enumerate(places)
        for there, blob in enumerate(blobs)
        if here != there and _opens(place, blob)
    ]

    assert opened == []
    assert all(_opens(place, blob) for place, blob in zip(places, blobs, strict=True))


def _opens(context: Context, blob: bytes) -> bool:
    try:
        return envelope.open_sealed(KEY, context, blob) == TEXT
    except DecryptError:
        return False


@pytest.mark.parametrize("part", ["record_id", "revision"])
@pytest.mark.parametrize("number", [-1, -(2**63), 2**64])
def test_a_row_with_an_impossible_number_is_refused_and_breaks_nothing(part: str, number: int) -> None:
    elsewhere = dataclasses.replace(CONTEXT, **{part: number})

    assert refusal(KEY, elsewhere, BLOB) == "context"
    with pytest.raises(DecryptError):
        BOX.open(elsewhere.field, elsewhere.record_id, BLOB, revision=elsewhere.revision)


def test_another_key_is_refused() -> None:
    assert refusal(KEY[::-1], CONTEXT, BLOB) == "commitment"


def test_a_changed_key_version_is_refused_under_either_key() -> None:
    relabelled = BLOB[:2] + (8).to_bytes(4, "big") + BLOB[6:]

    assert envelope.key_version_of(relabelled) == 8
    assert refusal(KEY, CONTEXT, relabelled) == "commitment"
    assert refusal(KEY[::-1], CONTEXT, relabelled) == "commitment"


def test_parts_of_two_blobs_do_not_combine() -> None:
    other = envelope.seal(KEY, CONTEXT, TEXT, key_version=7)

    assert refusal(KEY, CONTEXT, BLOB[:30] + other[30:]) == "commitment"
    assert refusal(KEY, CONTEXT, BLOB[:30] + other[30:62] + BLOB[62:]) == "commitment"
    assert refusal(KEY, CONTEXT, BLOB[:62] + other[62:]) == "tag"
    assert refusal(KEY, CONTEXT, BLOB[:-16] + other[-16:]) == "tag"


def test_commitment_to_one_key_over_a_ciphertext_of_another_opens_under_neither() -> None:
    other_key = KEY[::-1]
    info = b"mem/1/msg" + BLOB[6:30] + sha256(BLOB[:6] + CONTEXT.to_bytes()).digest()
    spliced = BLOB[:30] + aead.expand(other_key, info, 64)[32:] + BLOB[62:]

    assert refusal(KEY, CONTEXT, spliced) == "commitment"
    assert refusal(other_key, CONTEXT, spliced) == "tag"


def test_authentic_bytes_without_padding_are_refused() -> None:
    header = BLOB[:6]
    associated = header + CONTEXT.to_bytes()
    okm = aead.expand(KEY, b"mem/1/msg" + bytes(24) + sha256(associated).digest(), 64)
    unpadded = header + bytes(24) + okm[32:] + aead.seal(okm[:32], bytes(12), bytes(64), associated)

    assert refusal(KEY, CONTEXT, unpadded) == "padding"


@pytest.mark.parametrize("blob", [b"", b"\x01\x01", bytes(200), b"\x01\x02" + bytes(200), b"\x02\x01" + bytes(200)])
def test_version_of_foreign_bytes_is_refused(blob: bytes) -> None:
    with pytest.raises(DecryptError):
        envelope.key_version_of(blob)


def test_all_refusals_look_alike() -> None:
    refused = []
    for blob in (BLOB[:10], BLOB[:-1], BLOB[:40] + b"\x00" + BLOB[41:], b"\x09" + BLOB[1:]):
        with pytest.raises(DecryptError) as caught:
            envelope.open_sealed(KEY, CONTEXT, blob)
        refused.append(caught.value)

    assert len({(str(error), repr(error), error.message, error.code) for error in refused}) == 1
    assert {error.reason for error in refused} == {"truncated", "tag", "commitment", "unknown_suite"}


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError):
        envelope.seal(KEY[:32], CONTEXT, TEXT, key_version=1)
    with pytest.raises(KeyError):
        envelope.seal(KEY, dataclasses.replace(CONTEXT, environment="prod"), TEXT, key_version=1)


# --- sizes ----------------------------------------------------------------------------------------------------------


def test_overhead_is_78_bytes_over_the_padded_size() -> None:
    for size in (0, 1, 63, 64, 200, 511, 512, 5000):
        blob = envelope.seal(KEY, CONTEXT, b"x" * size, key_version=1)

        assert len(blob) == envelope.padded_size(size) + envelope.OVERHEAD_BYTES


def test_padding_hides_the_length() -> None:
    sizes = [envelope.padded_size(size) for size in range(100_000)]

    assert sizes == sorted(sizes)
    assert {size for size in sizes if size <= 512} == {64 * steps for steps in range(1, 9)}
    assert all(size < padded for size, padded in enumerate(sizes))
    assert all(padded - size - 1 <= 0.12 * (size + 1) for size, padded in enumerate(sizes) if size >= 512)
    # PADME leaves log log bits: all lengths from 512 bytes to 100 kB fall into these few.
    assert len({size for size in sizes if size > 512}) < 160


def test_too_large_a_text_is_refused_before_it_is_sealed() -> None:
    largest = bytes(envelope.MAX_PLAINTEXT_BYTES)

    assert envelope.open_sealed(KEY, CONTEXT, envelope.seal(KEY, CONTEXT, largest, key_version=1)) == largest
    with pytest.raises(PlaintextTooLarge):
        envelope.seal(KEY, CONTEXT, largest + b"x", key_version=1)


# --- the context's bytes --------------------------------------------------------------------------------------------


def test_context_bytes_are_these() -> None:
    assert CONTEXT.to_bytes() == (
        b"\x00\x05mem/1"
        b"\x00\x04test"
        b"\x00\x10" + uuid.UUID(int=1).bytes + b"\x00\x01\x03"
        b"\x00\x10" + uuid.UUID(int=2).bytes + b"\x00\x0bmemory.text"
        b"\x00\x08" + (3).to_bytes(8, "big") + b"\x00\x08" + (4).to_bytes(8, "big")
    )


@given(st.tuples(st.text(max_size=8), st.text(max_size=8)), st.tuples(st.text(max_size=8), st.text(max_size=8)))
def test_no_two_contexts_share_their_bytes(one: tuple[str, str], other: tuple[str, str]) -> None:
    first, second = (dataclasses.replace(CONTEXT, deployment=d, field=f) for d, f in (one, other))

    assert (first.to_bytes() == second.to_bytes()) == (one == other)


# --- frozen answers -------------------------------------------------------------------------------------------------


def reference_seal(key: bytes, context: bytes, text: bytes, key_version: int, salt: bytes) -> bytes:
    """Suite 1 written a second time from its description, without the product's code."""
    size = len(text) + 1
    if size <= 512:
        padded_size = -(-size // 64) * 64
    else:
        exponent = len(bin(size)) - 3
        step = 2 ** (exponent - len(bin(exponent)) + 2)
        padded_size = -(-size // step) * step
    padded = text + b"\x80" + bytes(padded_size - size)
    header = b"\x01\x01" + key_version.to_bytes(4, "big")
    digest = sha256(header + context).digest()
    okm = HKDFExpand(hashes.SHA512(), 64, b"mem/1/msg" + salt + digest).derive(key)
    return header + salt + okm[32:] + AESGCM(okm[:32]).encrypt(bytes(12), padded, header + context)


def generate_vectors() -> None:
    """Rewrite tests/vectors/envelope_suite1.json.  Only for a new suite, in a file of its own: data sealed by
    suite 1 must open for ever, so these answers never change.

    Run by hand: ``python -c "import tests.crypto.test_envelope as t; t.generate_vectors()"``.
    """
    rng = random.Random("memsync suite 1")
    sizes = [0, 1, 62, 63, 64, 65, 127, 128, 447, 448, 510, 511, 512, 513, 543, 544, 1000, 1023, 1024, 1100]
    cases = []
    for number in range(64):
        # Every size once, then small ones, so that the file stays small.
        text = rng.randbytes(sizes[number] if number < len(sizes) else rng.randrange(120))
        context = {
            "deployment": rng.choice(["memsync", "eu-1", "größe"]),
            "tenant": str(uuid.UUID(bytes=rng.randbytes(16))),
            "environment": rng.choice(list(envelope.ENVIRONMENTS)),
            "space": str(uuid.UUID(bytes=rng.randbytes(16))),
            "field": rng.choice(["memory.text", "memory.summary", "memory.metadata", "entity.name"]),
            "record_id": rng.choice([1, rng.randrange(2**63), 2**63 - 1]),
            "revision": rng.choice([0, 0, 1, rng.randrange(2**31)]),
        }
        key, salt, key_version = rng.randbytes(64), rng.randbytes(24), rng.choice([1, 2, rng.randrange(2**32)])
        blob = envelope._seal(aead.Mac(key, "sha512"), _context(context).to_bytes(), text, key_version, salt)
        cases.append(
            {
                "key": key.hex(),
                "context": context,
                "key_version": key_version,
                "salt": salt.hex(),
                "text": text.hex(),
                "blob": blob.hex(),
            }
        )
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    VECTORS.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def _context(raw: dict[str, Any]) -> Context:
    return Context(**{**raw, "tenant": uuid.UUID(raw["tenant"]), "space": uuid.UUID(raw["space"])})


CASES: list[dict[str, Any]] = json.loads(VECTORS.read_text(encoding="utf-8")) if VECTORS.exists() else []


def test_known_answers_are_all_here() -> None:
    assert len(CASES) == 64
    assert sha256(VECTORS.read_bytes()).hexdigest()[:32] == "aacd9ccbaa77468c8a2d86f99c1112c4"


def test_known_answers_are_given() -> None:
    for case in CASES:
        key, salt, text = (bytes.fromhex(case[name]) for name in ("key", "salt", "text"))
        context = _context(case["context"])

        sealed = envelope._seal(aead.Mac(key, "sha512"), context.to_bytes(), text, case["key_version"], salt)

        assert sealed.hex() == case["blob"]
        assert reference_seal(key, context.to_bytes(), text, case["key_version"], salt).hex() == case["blob"]
        assert envelope.open_sealed(key, context, sealed) == text
