"""The primitives against answers that others published, asked through the product's own wrappers.

A few are written here.  The rest are Project Wycheproof's (C2SP, Apache-2.0, testvectors_v1), which are not part of
this repository.  They are read from the directory in WYCHEPROOF_DIR, or from ../shared/data/wycheproof beside the
repository.  Each file's vectors are counted to the last one: those that ran, by the answer they expect, and those that
ask for what the wrappers refuse to do, by the reason.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.crypto import aead, signatures

REPOSITORY = Path(__file__).parents[2]
NAMED = os.environ.get("WYCHEPROOF_DIR")
WYCHEPROOF = Path(NAMED) if NAMED else REPOSITORY.parent / "shared" / "data" / "wycheproof"

# A directory that was named and is not there fails; the default one may be missing.
wycheproof = pytest.mark.skipif(
    not NAMED and not WYCHEPROOF.is_dir(),
    reason="Wycheproof's vectors are not part of the repository: WYCHEPROOF_DIR names no directory of them, "
    f"and {WYCHEPROOF} is none",
)

# By file: how many vectors ran, by the answer they expect, and how many ask for what is not ours, by the reason.
RAN: dict[str, dict[str, int]] = {
    "aes_gcm": {"valid": 39, "invalid": 27},
    "hkdf_sha512": {"valid": 80, "invalid": 3},
    "hmac_sha256": {"valid": 66, "invalid": 108},
    "ed25519": {"valid": 88, "invalid": 63},
}
NOT_OURS: dict[str, dict[str, int]] = {
    # Each of these is given to the wrapper, which refuses it.
    "aes_gcm": {
        "a key of 128 bits: ours have 256": 108,
        "a key of 192 bits: ours have 256": 103,
        "a nonce of other than 96 bits: ours have 96": 39,
    },
    "hkdf_sha256": {"keys are derived with SHA-512 alone": 86},
}


def vectors(name: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Every vector of a file, with its group.  Fails when there are not as many as the file says."""
    content = json.loads((WYCHEPROOF / f"{name}_test.json").read_text(encoding="utf-8"))
    found = [(group, case) for group in content["testGroups"] for case in group["tests"]]
    assert len(found) == content["numberOfTests"]
    yield from found


def raw(case: dict[str, Any], *names: str) -> tuple[bytes, ...]:
    return tuple(bytes.fromhex(case[name]) for name in names)


@wycheproof
def test_aes_gcm_answers_as_wycheproof_says() -> None:
    ran: Counter[str] = Counter()
    not_ours: Counter[str] = Counter()
    for group, case in vectors("aes_gcm"):
        key, nonce, associated, text, sealed, tag = raw(case, "key", "iv", "aad", "msg", "ct", "tag")
        if reason := _refused_size(group):
            with pytest.raises(ValueError):
                aead.seal(key, nonce, text, associated)
            with pytest.raises(ValueError):
                aead.open_sealed(key, nonce, sealed + tag, associated)
            not_ours[reason] += 1
            continue
        if case["result"] == "valid":
            assert aead.seal(key, nonce, text, associated) == sealed + tag
            assert aead.open_sealed(key, nonce, sealed + tag, associated) == text
        else:
            with pytest.raises(aead.TagError):
                aead.open_sealed(key, nonce, sealed + tag, associated)
        ran[case["result"]] += 1

    assert ran == RAN["aes_gcm"]
    assert not_ours == NOT_OURS["aes_gcm"]


def _refused_size(group: dict[str, Any]) -> str:
    """Why the wrapper refuses this group's sizes; empty where it does not."""
    if group["keySize"] != 256:
        return f"a key of {group['keySize']} bits: ours have 256"
    return "" if group["ivSize"] == 96 else "a nonce of other than 96 bits: ours have 96"


@wycheproof
def test_hkdf_answers_as_wycheproof_says() -> None:
    ran: Counter[str] = Counter()
    for _, case in vectors("hkdf_sha512"):
        secret, salt, info, okm = raw(case, "ikm", "salt", "info", "okm")
        if case["result"] == "valid":
            assert aead.expand(aead.extract(salt, secret), info, case["size"]) == okm
        else:
            with pytest.raises(ValueError):
                aead.expand(aead.extract(salt, secret), info, case["size"])
        ran[case["result"]] += 1

    assert ran == RAN["hkdf_sha512"]


@wycheproof
def test_hkdf_with_sha_256_is_nowhere_in_use() -> None:
    """So its vectors have nothing to run through.  A change that adds it must run them."""
    calls = [
        line.strip()
        for path in sorted((REPOSITORY / "apps").rglob("*.py"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"HKDF(Expand)?[.(]", line)
    ]

    assert calls
    assert [call for call in calls if "_SHA512" not in call] == []
    assert sum(1 for _ in vectors("hkdf_sha256")) == sum(NOT_OURS["hkdf_sha256"].values())


@wycheproof
def test_hmac_answers_as_wycheproof_says() -> None:
    ran: Counter[str] = Counter()
    for group, case in vectors("hmac_sha256"):
        key, message, tag = raw(case, "key", "msg", "tag")
        ours = aead.Mac(key)(message)[: group["tagSize"] // 8]
        assert aead.equal(ours, tag) == (case["result"] == "valid")
        ran[case["result"]] += 1

    assert ran == RAN["hmac_sha256"]


@wycheproof
def test_ed25519_answers_as_wycheproof_says() -> None:
    ran: Counter[str] = Counter()
    for group, case in vectors("ed25519"):
        message, signature = raw(case, "msg", "sig")
        public = bytes.fromhex(group["publicKey"]["pk"])
        assert signatures.verify(public, message, signature) == (case["result"] == "valid")
        ran[case["result"]] += 1

    assert ran == RAN["ed25519"]


@wycheproof
def test_every_file_and_every_vector_is_accounted_for(capsys: pytest.CaptureFixture[str]) -> None:
    files = {path.name.removesuffix("_test.json") for path in WYCHEPROOF.glob("*.json")}
    there = {name: sum(1 for _ in vectors(name)) for name in files}
    ran = sum(sum(one.values()) for one in RAN.values())
    not_ours = Counter[str]()
    for reasons in NOT_OURS.values():
        not_ours.update(reasons)

    assert there == {
        name: sum(RAN.get(name, {}).values()) + sum(NOT_OURS.get(name, {}).values())
        for name in RAN.keys() | NOT_OURS.keys()
    }
    with capsys.disabled():
        print(f"\nWycheproof: {ran} vectors answered as published, {sum(not_ours.values())} do not apply:")  # noqa: T201
        for reason, count in sorted(not_ours.items()):
            print(f"  {count:4} {reason}")  # noqa: T201


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


@pytest.mark.parametrize(
    ("private", "public", "message", "signature"),
    [
        (
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
            "d25bf5f0595bbe24655141438e7a100b",
        ),
        (
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
            "387b2eaeb4302aeeb00d291612bb0c00",
        ),
    ],
)
def test_signatures_are_those_of_the_rfc(private: str, public: str, message: str, signature: str) -> None:
    # RFC 8032, section 7.1, tests 1 and 2.  Wycheproof has no private keys, so signing is held to these.
    seed, said = bytes.fromhex(private), bytes.fromhex(message)

    assert signatures.public_of(seed).hex() == public
    assert signatures.sign(seed, said).hex() == signature


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
