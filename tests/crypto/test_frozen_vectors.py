"""What suite 1 sealed and keyed once, it seals and keys for ever; a second program, that shares no code, agrees.

The files are in tests/vectors; ``freeze.py`` wrote them.
"""

import ast
import json
import uuid
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.exceptions import InvalidTag

from apps.core.plaintext import Plaintext
from apps.crypto import aead, envelope
from apps.memories import sealing
from tests.crypto import freeze, independent_fingerprints, independent_verifier
from tests.crypto.cast import cipher_of, context_in

HERE = Path(__file__).parent
VECTORS = HERE.parent / "vectors"
# Changing a file changes what must open for ever: there is no good reason to.
DIGESTS = {
    "envelope_suite1.json": "aacd9ccbaa77468c8a2d86f99c1112c4",
    "space_suite1.json": "a3ee04af16e1fffcb9b42bac2d80ca51",
    "padding_suite1.json": "64aea09d6f28d7272ac9ac47a8280a49",
    "parts_suite1.json": "873f89d8f29e9ba4dcf6376f7c365e7b",
    "analysis_suite1.json": "4a57a850013423a1f86ce17b0f4f4db6",
    "fields_suite1.json": "f3963ad2c3206ebc250e4bed8a4ce0e3",
    "sources_suite1.json": "1e3f328241f914f431e89a5068192e95",
    "platform_suite1.json": "c3466a811e244637caf164bd3ed36c90",
}


def load(name: str) -> list[Any]:
    content: list[Any] = json.loads((VECTORS / name).read_text(encoding="utf-8"))
    return content


LATER = (
    "parts_suite1.json", "analysis_suite1.json", "fields_suite1.json", "sources_suite1.json", "platform_suite1.json",
)  # fmt: skip
SPACES = [*load("space_suite1.json"), *(space for name in LATER for space in load(name))]
KEYED = load("envelope_suite1.json")
NAMES = [f"{number}-{case['where']['environment'] or 'tenant'}" for number, case in enumerate(SPACES)]
each_space = pytest.mark.parametrize("case", SPACES, ids=NAMES)


def keys_of(case: dict[str, Any]) -> dict[str, bytes]:
    root, identity, salt = (bytes.fromhex(case[name]) for name in ("root", "identity", "salt"))
    derived = {name: independent_verifier.key_of(name, root, salt, case["where"]) for name in ("term", "tag", "vector")}
    derived["content"] = independent_verifier.key_of("content", root, salt, case["where"], 64)
    derived["id"] = independent_verifier.key_of("id", identity, salt, case["where"])
    return derived


# -- the files -------------------------------------------------------------------------------------------------------


def test_the_files_are_as_they_were_frozen() -> None:
    assert {name: sha256((VECTORS / name).read_bytes()).hexdigest()[:32] for name in DIGESTS} == DIGESTS
    assert {path.name for path in VECTORS.glob("*.json")} == set(DIGESTS)


def test_the_envelopes_cover_every_part_that_is_bound_and_every_kind_of_text() -> None:
    sealed = [one for case in SPACES for one in case["envelopes"]]
    names = {value for name, value in vars(sealing).items() if name.isupper() and isinstance(value, str)}

    assert len(sealed) == 84
    assert len(KEYED) == 64
    assert {case["where"]["environment"] for case in SPACES} == set(envelope.ENVIRONMENTS)
    assert {case["where"]["deployment"] for case in SPACES} == {"memsync", "eu-1", "größe", "a|b"}
    assert {case["key_version"] for case in SPACES} >= {1, 2, 255, 256, 2**31, 2**32 - 1}
    assert names
    assert {one["field"] for one in sealed} >= names
    assert {one["record_id"] for one in sealed} >= {1, 255, 256, 2**32 - 1, 2**63 - 1}
    assert {one["revision"] for one in sealed} >= {0, 1, 255, 256, 2**31 - 1}
    texts = {one["text"] for one in sealed}
    assert "" in texts
    assert {len(text.encode()) for text in texts} >= {0, 1, 63, 64}
    assert max(len(text.encode()) for text in texts) > 1000
    assert any(ord(character) > 0xFFFF for text in texts for character in text)
    assert len({one["message_salt"] for one in sealed}) == 84


# -- from root key and salt to the text, and back --------------------------------------------------------------------


@each_space
def test_the_product_seals_and_opens_them(case: dict[str, Any]) -> None:
    cipher = cipher_of(case)
    for one in case["envelopes"]:
        blob, salt = bytes.fromhex(one["blob"]), bytes.fromhex(one["message_salt"])
        keys = cipher._keys.box._keys
        context = context_in(case["where"], one).to_bytes()

        assert envelope._seal(keys, context, one["text"].encode(), case["key_version"], salt) == blob
        opened = cipher.open(one["field"], one["record_id"], blob, revision=one["revision"])
        assert opened == Plaintext(one["text"])


@each_space
def test_the_second_program_seals_and_opens_them(case: dict[str, Any]) -> None:
    key = keys_of(case)["content"]
    for one in case["envelopes"]:
        context = independent_verifier.context_of(case["where"], one["field"], one["record_id"], one["revision"])
        blob, salt = bytes.fromhex(one["blob"]), bytes.fromhex(one["message_salt"])

        assert independent_verifier.open_sealed(key, context, blob) == one["text"].encode()
        assert independent_verifier.seal(key, context, one["text"].encode(), case["key_version"], salt) == blob


@each_space
def test_what_the_one_seals_today_the_other_opens(case: dict[str, Any]) -> None:
    cipher, key = cipher_of(case), keys_of(case)["content"]
    for number, one in enumerate(case["envelopes"]):
        field, record_id, revision = one["field"], one["record_id"], one["revision"]
        context = independent_verifier.context_of(case["where"], field, record_id, revision)
        text = f"Said just now, number {number}: {one['text']}"

        ours = cipher.seal(field, record_id, Plaintext(text), revision=revision)
        theirs = independent_verifier.seal(key, context, text.encode(), case["key_version"], bytes([number]) * 24)

        assert independent_verifier.open_sealed(key, context, ours) == text.encode()
        assert cipher.open(field, record_id, theirs, revision=revision).reveal() == text


def test_the_second_program_opens_what_was_frozen_under_a_content_key() -> None:
    for case in KEYED:
        text = independent_verifier.open_frozen(case, bytes.fromhex(case["key"]))

        assert text.hex() == case["text"]


def test_the_second_program_refuses_what_was_changed() -> None:
    """One that opened everything would prove nothing."""
    case = KEYED[3]
    blob, refused = bytes.fromhex(case["blob"]), 0
    for bit in range(len(blob) * 8):
        changed = bytearray(blob)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises((ValueError, InvalidTag)):
            independent_verifier.open_frozen({**case, "blob": changed.hex()}, bytes.fromhex(case["key"]))
        refused += 1
    assert refused == len(blob) * 8


@pytest.mark.parametrize("name", ["independent_verifier.py", "independent_fingerprints.py"])
def test_the_second_program_is_short_and_shares_no_code(name: str) -> None:
    source = (HERE / name).read_text(encoding="utf-8")
    tree = ast.parse(source)
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}

    assert {module.split(".")[0] for module in imported} <= {"hmac", "json", "hashlib", "pathlib", "typing", "uuid",
                                                             "cryptography"}  # fmt: skip
    assert {module for module in imported if module.startswith("cryptography")} <= {
        "cryptography.hazmat.primitives.ciphers",
        "cryptography.hazmat.primitives.ciphers.aead",
    }
    assert len([line for line in source.splitlines() if line.strip()]) < 80


# -- tokens, macs, ids and vectors -----------------------------------------------------------------------------------


@each_space
def test_tokens_macs_and_ids_are_as_frozen_by_both_programs(case: dict[str, Any]) -> None:
    cipher, keys = cipher_of(case), keys_of(case)
    ours = {
        "term": lambda word: cipher.term_tokens([word])[0],
        "tag": cipher.tag_token,
        "filter.kind": lambda word: cipher.filter_token("kind", word),
        "actor": cipher.actor_token,
        "session": cipher.session_token,
    }

    for one in case["tokens"]:
        second = independent_fingerprints.token(keys[one["purpose"]], one["field"], one["word"])
        assert one["token"] == second == ours[one["field"]](one["word"])
    for one in case["macs"]:
        second = independent_fingerprints.mac(keys["id"], *(part.encode() for part in one["parts"]))
        assert one["mac"] == second == cipher.identity_mac(*one["parts"]).hex()
    for one in case["public_ids"]:
        second = independent_fingerprints.public_id(keys["id"], *one["parts"])
        assert one["public_id"] == second == cipher.public_id(*one["parts"])


@each_space
def test_vectors_are_rotated_as_frozen_by_both_programs(case: dict[str, Any]) -> None:
    cipher, key = cipher_of(case), keys_of(case)["vector"]
    for one in case["vectors"]:
        ours = cipher.protect_vectors(np.array([one["plain"]], dtype=np.float32))[0]

        assert np.abs(ours - one["rotated"]).max() < 2e-5
        assert np.abs(np.array(independent_fingerprints.rotate(key, one["plain"])) - one["rotated"]).max() < 2e-5


def test_what_is_keyed_in_one_space_is_nowhere_else() -> None:
    tokens = [{cipher_of(case).term_tokens(["coffee"])[0], cipher_of(case).tag_token("coffee")} for case in SPACES]
    ids = {cipher_of(case).public_id("fact", "user.diet", '["vegan"]') for case in SPACES}

    assert len(set.union(*tokens)) == 2 * len(SPACES)
    assert len(ids) == len(SPACES)


# -- sizes -----------------------------------------------------------------------------------------------------------


def test_every_padding_step_is_frozen_on_both_of_its_sides() -> None:
    sizes = [size for size, _, _ in load("padding_suite1.json")]
    steps = [size for size in range(65_536) if envelope.padded_size(size) != envelope.padded_size(size + 1)]

    assert set(sizes) >= {side for size in steps for side in (size, size + 1)}
    assert sizes[0] == 0
    assert sizes[-1] == envelope.MAX_PLAINTEXT_BYTES - 1
    assert len(steps) == 120


def test_every_padding_step_is_as_frozen_by_both_programs() -> None:
    """[size, sealed size, SHA-256 of the sealed text], as ``freeze.padding`` says."""
    key, context = freeze.PADDING_KEY, freeze.PADDING_CONTEXT
    where = {"deployment": context.deployment, "tenant": str(context.tenant), "environment": context.environment,
             "space": str(context.space)}  # fmt: skip
    second_context = independent_verifier.context_of(where, context.field, context.record_id, context.revision)
    frozen = load("padding_suite1.json")

    for size, sealed_size, digest in frozen:
        text, salt = freeze.padding_text(size), size.to_bytes(24, "big")
        blob = envelope._seal(aead.Mac(key, "sha512"), context.to_bytes(), text, 7, salt)
        assert (len(blob), sha256(blob).hexdigest()) == (sealed_size, digest), size
        assert independent_verifier.seal(key, second_context, text, 7, salt) == blob
        assert independent_verifier.open_sealed(key, second_context, blob) == text
        assert envelope.open_sealed(key, context, blob) == text
    for (smaller, _, _), (larger, sealed_size, _) in pairwise(frozen):
        assert envelope.padded_size(smaller) <= envelope.padded_size(larger) == sealed_size - envelope.OVERHEAD_BYTES


def test_context_bytes_are_the_same_in_both_programs() -> None:
    for case in KEYED:
        where = case["context"]
        given = {**where, "tenant": uuid.UUID(where["tenant"]), "space": uuid.UUID(where["space"])}
        second = independent_verifier.context_of(where, where["field"], where["record_id"], where["revision"])

        assert envelope.Context(**given).to_bytes() == second
