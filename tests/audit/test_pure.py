"""The bytes, the tree and the signatures by themselves: known answers, and what does not fit is refused."""

import hashlib
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from apps.audit.chain import NO_HASH, Entry, NotAnEntry, canonical, digest
from apps.audit.checkpoint_statement import Head, NotACheckpoint, Signed, prove, state
from apps.audit.origin import network_of
from apps.core import merkle
from apps.crypto import signatures

ENTRY = Entry(
    id=1, tenant_id=None, seq=1, created_at=datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), actor="a", action="b",
    target="", outcome="ok", reason="", request_id="", count=1, network="", code_version="0",
    prev_hash=NO_HASH, hash="",
)  # fmt: skip


def test_bytes_of_a_row_are_those_that_are_written_down() -> None:
    def number(value: int) -> str:
        return "00000008" + value.to_bytes(8, "big").hex()

    expected = (
        "0000000f" + b"memsync audit 1".hex() + number(1) + "ffffffff" + number(1) + number(1_000_000)
        + "00000001" + "61" + "00000001" + "62" + "00000000" + "00000002" + b"ok".hex() + "00000000" * 2 + number(1)
        + "00000000" + "00000001" + "30"
    )  # fmt: skip

    assert canonical(ENTRY).hex() == expected
    assert digest(ENTRY) == hashlib.sha256(b"\x00" + bytes.fromhex(expected) + bytes(32)).hexdigest()


@pytest.mark.parametrize("change", [
    {"seq": "x"}, {"created_at": "noon"}, {"prev_hash": "zz"}, {"actor": None}, {"count": 2**70}, {"created_at": None},
    {"created_at": "1970-01-01T00:00:00"},
])  # fmt: skip
def test_record_that_is_no_row_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(NotAnEntry):
        Entry.from_json(ENTRY.to_json() | change)


def test_row_comes_back_from_json_as_it_was() -> None:
    assert Entry.from_json(ENTRY.to_json()) == ENTRY


# RFC 6962 has no vectors of its own; these are of the reference implementation of Certificate Transparency.
LEAVES = [bytes.fromhex(leaf) for leaf in (
    "", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f",
)]  # fmt: skip
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


@pytest.mark.parametrize("size", range(9))
def test_root_is_that_of_certificate_transparency(size: int) -> None:
    assert merkle.root([merkle.leaf(one) for one in LEAVES[:size]]).hex() == ROOTS[size]


@pytest.mark.parametrize("size", [*range(1, 18), 64, 65])
def test_path_proves_its_own_leaf_at_its_own_place_and_nothing_else(size: int) -> None:
    leaves = [merkle.leaf(bytes([number])) for number in range(size)]
    root = merkle.root(leaves)
    for index in range(size):
        path = merkle.path(leaves, index)

        assert merkle.root_of_path(leaves[index], index, size, path) == root
        for wrong in (index - 1, index + 1, size, -1):
            assert merkle.root_of_path(leaves[index], wrong, size, path) != root
        assert merkle.root_of_path(merkle.leaf(b"no"), index, size, path) != root
        assert merkle.root_of_path(leaves[index], index, size, [*path, root]) != root
        assert not path or merkle.root_of_path(leaves[index], index, size, path[1:]) != root


def _signed() -> tuple[Signed, list[Head]]:
    heads = [Head(chain, chain + 1, f"{chain:064x}") for chain in range(5)]
    now = datetime(2026, 11, 21, tzinfo=UTC)
    statement = state(deployment="d", heads=heads, moved=heads[1:3], before=None, key_version=1, now=now)
    signature = signatures.sign(bytes(32), statement.signed).hex()
    return Signed(statement=statement, signature=signature, heads=tuple(heads[1:3])), heads


def test_proof_holds_for_its_head_only() -> None:
    signed, heads = _signed()
    for head in heads:
        proof = prove(signed, heads, head.chain)
        other = type(proof).from_json(proof.to_json() | {"heads": [[head.chain, head.seq + 1, head.hash]]})

        assert proof.holds
        assert not other.holds


@pytest.mark.parametrize("change", [
    {"statement": None}, {"statement": {}}, {"signature": "zz"}, {"heads": 1}, {"heads": [[1, 2]]},
    {"heads": [[-1, 2, "00"]]}, {"heads": [[1, 2, "zz"]]}, {"heads": [["x", 2, "00"]]},
])  # fmt: skip
def test_line_that_is_no_checkpoint_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(NotACheckpoint):
        Signed.from_json(_signed()[0].to_json() | change)


def test_signature_fits_one_key_and_one_message() -> None:
    public, signature = signatures.public_of(bytes(32)), signatures.sign(bytes(32), b"said")

    assert signatures.verify(public, b"said", signature)
    assert not signatures.verify(public, b"Said", signature)
    assert not signatures.verify(signatures.public_of(b"\x01" * 32), b"said", signature)
    assert not signatures.verify(public, b"said", bytes(64))
    assert not signatures.verify(public, b"said", signature[:-1])
    assert not signatures.verify(b"short", b"said", signature)


@pytest.mark.parametrize(("address", "network"), [
    ("203.0.113.77", "203.0.113.0/24"),
    ("::ffff:203.0.113.77", "203.0.113.0/24"),
    ("2001:db8:1:2:3:4:5:6", "2001:db8:1::/48"),
    ("fe80::1%eth0", ""),
    ("", ""),
    ("unix:", ""),
])  # fmt: skip
def test_of_an_address_only_the_network_is_kept(address: str, network: str) -> None:
    assert network_of(address) == network


def test_export_is_checked_where_nothing_of_memsync_is_set_up(tmp_path: Path) -> None:
    file = tmp_path / "chain.jsonl"
    file.write_text("")
    environment = {"PATH": os.environ["PATH"], "MEMSYNC_HOME": str(tmp_path / "none")}
    command = [sys.executable, "-m", "memsync.cli", "audit", "verify", "--file", str(file), "--key", "00" * 32]

    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "the file has none" in done.stderr
