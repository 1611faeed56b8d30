"""The primitives against answers that others published.

A few are written here.  The rest are Project Wycheproof's (C2SP, Apache-2.0, testvectors_v1), which are not part of
this repository: put aes_gcm_test.json, hkdf_sha512_test.json and hmac_sha256_test.json in tests/vectors/wycheproof/, or
name their directory in WYCHEPROOF_DIR, and they run too.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.crypto import aead

WYCHEPROOF = Path(os.environ.get("WYCHEPROOF_DIR") or Path(__file__).parent.parent / "vectors" / "wycheproof")

wycheproof = pytest.mark.skipif(not WYCHEPROOF.is_dir(), reason="WYCHEPROOF_DIR does not name the vectors' directory")


def cases(name: str, **wanted: int) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Groups with these sizes, and their cases."""
    content = json.loads((WYCHEPROOF / f"{name}_test.json").read_text(encoding="utf-8"))
    for group in content["testGroups"]:
        if all(group[size] == bits for size, bits in wanted.items()):
            for case in group["tests"]:
                yield group, case


def raw(case: dict[str, Any], *names: str) -> tuple[bytes, ...]:
    return tuple(bytes.fromhex(case[name]) for name in names)


@wycheproof
def test_aes_gcm_answers_as_wycheproof_says() -> None:
    ran: Counter[str] = Counter()
    for _, case in cases("aes_gcm", keySize=256, ivSize=96, tagSize=128):
        key, nonce, associated, text, sealed, tag = raw(case, "key", "iv", "aad", "msg", "ct", "tag")
        if case["result"] == "valid":
            assert aead.seal(key, nonce, text, associated) == sealed + tag
            assert aead.open_sealed(key, nonce, sealed + tag, associated) == text
        else:
            with pytest.raises(aead.TagError):
                aead.open_sealed(key, nonce, sealed + tag, associated)
        ran[case["result"]] += 1

    assert ran == {"valid": 39, "invalid": 27}


@wycheproof
def test_other_key_and_nonce_sizes_of_gcm_are_refused() -> None:
    ran = 0
    for group, case in cases("aes_gcm"):
        if (group["keySize"], group["ivSize"]) == (256, 96):
            continue
        key, nonce, associated, text = raw(case, "key", "iv", "aad", "msg")
        with pytest.raises(ValueError):
            aead.seal(key, nonce, text, associated)
        ran += 1

    assert ran == 250


@wycheproof
def test_hkdf_answers_as_wycheproof_says() -> None:
    ran: Counter[str] = Counter()
    for _, case in cases("hkdf_sha512"):
        secret, salt, info, okm = raw(case, "ikm", "salt", "info", "okm")
        if case["result"] == "valid":
            assert aead.expand(aead.extract(salt, secret), info, case["size"]) == okm
        else:
            with pytest.raises(ValueError):
                aead.expand(aead.extract(salt, secret), info, case["size"])
        ran[case["result"]] += 1

    assert ran == {"valid": 80, "invalid": 3}


@wycheproof
def test_hmac_answers_as_wycheproof_says() -> None:
    ran: Counter[str] = Counter()
    for group, case in cases("hmac_sha256"):
        key, message, tag = raw(case, "key", "msg", "tag")
        ours = aead.Mac(key)(message)[: group["tagSize"] // 8]
        assert aead.equal(ours, tag) == (case["result"] == "valid")
        ran[case["result"]] += 1

    assert ran == {"valid": 66, "invalid": 108}


def test_gcm_answers_as_its_authors_say() -> None:
    # McGrew and Viega, "The Galois/Counter Mode of Operation", appendix B, test case 16.
    key = bytes.fromhex("feffe9928665731c6d6a8f9467308308" * 2)
    nonce = bytes.fromhex("cafebabefacedbaddecaf888")
    associated = bytes.fromhex("feedfacedeadbeeffeedfacedeadbeefabaddad2")
    text = bytes.fromhex(
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
        "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"
    )
    sealed = bytes.fromhex(
        "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
        "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f66276fc6ece0f4e1768cddf8853bb2d551b"
    )

    assert aead.seal(key, nonce, text, associated) == sealed
    assert aead.open_sealed(key, nonce, sealed, associated) == text


@pytest.mark.parametrize(
    ("digest", "start"),
    [("sha256", "5bdcc146bf60754e6a042426089575c7"), ("sha512", "164b7a7bfcf819e2e395fbe73b56e0a3")],
)
def test_hmac_answers_as_rfc_4231_says(digest: Any, start: str) -> None:
    # Section 4.3, test case 2.
    assert aead.Mac(b"Jefe", digest)(b"what do ya want for nothing?")[:16].hex() == start


def test_hkdf_extract_is_hmac_under_the_salt() -> None:
    # RFC 5869, sections 2.2 and 2.3.
    prk = aead.extract(b"salt", b"secret")

    assert prk == aead.Mac(b"salt", "sha512")(b"secret")
    assert aead.expand(prk, b"info", 64) == aead.Mac(prk, "sha512")(b"info\x01")


def test_keystream_is_aes_of_a_counter_from_zero() -> None:
    # FIPS 197's cipher on the all-zero block under the all-zero key, as in NIST's AESAVS, appendix C.
    stream = aead.keystream(bytes(32), 40)

    assert stream[:16].hex() == "dc95c078a2408989ad48a21492842087"
    assert aead.keystream(bytes(32), 16) == stream[:16]
    with pytest.raises(ValueError):
        aead.keystream(bytes(16), 16)


def test_a_mac_may_be_used_again() -> None:
    mac = aead.Mac(b"key")

    assert [mac(b"a"), mac(b"b"), mac(b"a")] == [aead.Mac(b"key")(message) for message in (b"a", b"b", b"a")]
