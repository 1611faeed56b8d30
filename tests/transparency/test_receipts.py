"""A receipt's file says what was signed, or is refuted: whatever is changed, swapped, cut off or rebuilt."""

import copy
import json
import os
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from apps.core import merkle
from apps.crypto import signatures
from apps.transparency.receipts import (
    FORMAT,
    NO_HASH,
    KeySet,
    PublicKey,
    ReceiptVerdict,
    Refuted,
    canonical,
    commitment,
    key_id_of,
    origin_of,
    read_keys,
    signed_bytes,
    verify,
)
from apps.transparency.signed_notes import Note, sign_note

MUTATIONS = int(os.environ.get("RECEIPT_MUTATIONS", "10000"))
WHEN = datetime(2026, 11, 22, 9, tzinfo=UTC)
OURS, THEIRS = b"\x01" * 32, b"\x02" * 32


@dataclass(frozen=True)
class Log:
    """A log of receipts, made without the service: entry ``n`` is about memory ``n``."""

    key: bytes = OURS
    signer: bytes = OURS
    deployment: str = "here"
    issued_at: datetime = WHEN
    length: int = 7

    @property
    def public(self) -> bytes:
        return signatures.public_of(self.key)

    def nonce(self, index: int) -> bytes:
        return bytes([index]) * 32

    def target(self, index: int) -> dict[str, Any]:
        return {"kind": "memories", "tenant": "t", "memory_ids": [index]}

    def receipts(self) -> list[dict[str, Any]]:
        made: list[dict[str, Any]] = []
        for index in range(self.length):
            said: dict[str, Any] = {
                "v": 1, "receipt": f"rcp_{index}", "erasure": f"ers_{index}", "phase": "deleted", "log_index": index,
                "deployment": self.deployment, "tenant": "ab", "environment": "production",
                "target": {"kind": "memories", "commitment": commitment(self.nonce(index), self.target(index))},
                "counts": {"memories": 1, "terms": 5}, "phases": {"deleted": {"at": "t", "db_lsn": "0/1"}},
                "authorised": {"principal": "cd", "method": "session+webauthn", "step_up_age_s": 41},
                "probe": {"by_id": "404", "recall_hits": 0, "asked": 1}, "first": None,
                "prev": self.leaf(made[-1]) if made else NO_HASH, "key_id": key_id_of(self.public),
                "issued_at": self.issued_at.isoformat(),
            }  # fmt: skip
            said["sig"] = signatures.sign(self.signer, signed_bytes(said)).hex()
            made.append(said)
        return made

    def leaf(self, receipt: dict[str, Any]) -> str:
        return merkle.leaf(canonical(receipt)).hex()

    def checkpoint(self, size: int) -> str:
        leaves = [bytes.fromhex(self.leaf(one)) for one in self.receipts()[:size]]
        sign = partial(signatures.sign, self.key)
        return sign_note(origin_of(self.deployment), size, merkle.root(leaves), public=self.public, sign=sign).text

    def file(self, index: int, *, since: int = 3) -> dict[str, Any]:
        made = self.receipts()
        leaves = [bytes.fromhex(self.leaf(one)) for one in made]
        return {
            "format": FORMAT,
            "receipt": made[index],
            "log": {
                "index": index,
                "path": [one.hex() for one in merkle.path(leaves, index)],
                "checkpoint": self.checkpoint(self.length),
            },
            "disclosure": {"nonce": self.nonce(index).hex(), "target": self.target(index)},
            "growth": {"since": since, "path": [one.hex() for one in merkle.growth(leaves, since)]},
        }


HERE = Log()
OTHER_DEPLOYMENT, FORGED = Log(deployment="there"), Log(key=THEIRS, signer=THEIRS)
KEYS = KeySet(deployment="here", keys=(PublicKey(public=HERE.public, not_before=WHEN - timedelta(days=1)),))
KEPT = HERE.checkpoint(3)


def raw(file: dict[str, Any]) -> bytes:
    return json.dumps(file).encode()


def verdict(
    file: bytes, *, keys: KeySet = KEYS, target: str | None = "memories:4", older: str | None = KEPT
) -> ReceiptVerdict:
    try:
        verify(file, keys, target=target, older=older)
    except Refuted as refuted:
        return refuted.verdict
    return ReceiptVerdict.GENUINE


# -- genuine ----------------------------------------------------------------------------------------------------------


def test_a_receipt_is_genuine_whatever_its_place_in_the_log() -> None:
    for length in range(1, 9):
        log = Log(length=length)
        for index in range(length):
            for since in range(1, length + 1):
                file = raw(log.file(index, since=since))
                found = verdict(file, target=f"memories:{index}", older=log.checkpoint(since))
                assert found == ReceiptVerdict.GENUINE, (length, index, since)


def test_without_what_it_is_about_it_is_genuine_and_tells_nobody() -> None:
    file = HERE.file(4)
    del file["disclosure"], file["growth"]

    genuine = verify(raw(file), KEYS)

    assert genuine.target is None
    assert "memory_ids" not in json.dumps(file)
    assert verdict(raw(file), older=None) == ReceiptVerdict.WRONG_TARGET


def test_keys_come_back_as_they_were_written() -> None:
    assert read_keys(json.dumps(KEYS.to_json()).encode()) == KEYS
    for change in ("format", "keys", "deployment"):
        broken = KEYS.to_json()
        del broken[change]
        with pytest.raises(Refuted):
            read_keys(json.dumps(broken).encode())


# -- refuted, and why -------------------------------------------------------------------------------------------------


def changed(path: str, value: Any) -> bytes:
    file = HERE.file(4)
    *way, last = path.split(".")
    place = file
    for step in way:
        place = place[step]
    place[last] = value
    return raw(file)


REFUTED: list[tuple[str, bytes, ReceiptVerdict]] = [
    ("no JSON", b"{", ReceiptVerdict.MALFORMED),
    ("a list", b"[]", ReceiptVerdict.MALFORMED),
    ("another format", changed("format", "memsync receipt 2"), ReceiptVerdict.MALFORMED),
    ("a field too many", changed("receipt.note", ""), ReceiptVerdict.MALFORMED),
    ("an upper-case digit", raw(HERE.file(4)).replace(b'"nonce": "04', b'"nonce": "0A'), ReceiptVerdict.MALFORMED),
    ("a count", changed("receipt.counts", {"memories": 2, "terms": 5}), ReceiptVerdict.BAD_SIGNATURE),
    ("its time", changed("receipt.issued_at", (WHEN - timedelta(hours=1)).isoformat()), ReceiptVerdict.BAD_SIGNATURE),
    ("whose word", changed("receipt.authorised", {"principal": "cd", "method": "x"}), ReceiptVerdict.BAD_SIGNATURE),
    ("another's target", changed("disclosure", HERE.file(5)["disclosure"]), ReceiptVerdict.WRONG_TARGET),
    ("another receipt", changed("receipt", HERE.file(5)["receipt"]), ReceiptVerdict.WRONG_TARGET),
    ("another place", changed("log.index", 5), ReceiptVerdict.NOT_IN_LOG),
    ("another's path", changed("log.path", HERE.file(5)["log"]["path"]), ReceiptVerdict.NOT_IN_LOG),
    ("no path", changed("log.path", []), ReceiptVerdict.NOT_IN_LOG),
    ("a log that ends before it", changed("log.checkpoint", HERE.checkpoint(4)), ReceiptVerdict.NOT_IN_LOG),
    ("another's log", changed("log", OTHER_DEPLOYMENT.file(4)["log"]), ReceiptVerdict.NOT_IN_LOG),
    ("another's key in the log", changed("log", FORGED.file(4)["log"]), ReceiptVerdict.UNKNOWN_KEY),
    ("forged whole", raw(FORGED.file(4)), ReceiptVerdict.UNKNOWN_KEY),
    ("in our log, and not signed by us", raw(Log(signer=THEIRS, length=7).file(4)), ReceiptVerdict.BAD_SIGNATURE),
    ("another deployment's", raw(OTHER_DEPLOYMENT.file(4)), ReceiptVerdict.UNKNOWN_KEY),
    ("a checkpoint of whatever", changed("log.checkpoint", KEPT.replace("3", "7", 1)), ReceiptVerdict.BAD_SIGNATURE),
    ("no proof of growth", changed("growth", {"since": 3, "path": []}), ReceiptVerdict.LOG_REWRITTEN),
    ("growth since when", changed("growth", HERE.file(4, since=2)["growth"]), ReceiptVerdict.LOG_REWRITTEN),
]


@pytest.mark.parametrize(("file", "why"), [case[1:] for case in REFUTED], ids=[case[0] for case in REFUTED])
def test_what_was_changed_is_refuted_and_why(file: bytes, why: ReceiptVerdict) -> None:
    assert verdict(file) == why


def test_a_log_that_was_built_anew_does_not_continue_the_one_that_was_kept() -> None:
    rebuilt = Log(issued_at=WHEN + timedelta(minutes=1))

    assert verdict(raw(rebuilt.file(4)), older=KEPT) == ReceiptVerdict.LOG_REWRITTEN
    assert verdict(raw(rebuilt.file(4)), older=HERE.checkpoint(7)) == ReceiptVerdict.LOG_REWRITTEN
    assert verdict(raw(Log(length=6).file(4)), older=HERE.checkpoint(7)) == ReceiptVerdict.LOG_REWRITTEN
    assert verdict(raw(rebuilt.file(4)), older=rebuilt.checkpoint(3)) == ReceiptVerdict.GENUINE


def test_a_key_that_is_out_of_use_signs_nothing_new_and_nothing_from_before() -> None:
    (key,) = KEYS.keys
    ended = replace(KEYS, keys=(replace(key, not_after=WHEN - timedelta(seconds=1)),))
    begun = replace(KEYS, keys=(replace(key, not_before=WHEN + timedelta(seconds=1)),))
    turned = replace(KEYS, keys=(replace(key, not_after=WHEN + timedelta(days=1)),))

    assert verdict(raw(HERE.file(4)), keys=ended) == ReceiptVerdict.EXPIRED_KEY
    assert verdict(raw(HERE.file(4)), keys=begun) == ReceiptVerdict.EXPIRED_KEY
    assert verdict(raw(HERE.file(4)), keys=turned) == ReceiptVerdict.GENUINE


def test_a_name_that_is_there_twice_is_refused() -> None:
    twice = raw(HERE.file(4)).replace(b'"v": 1', b'"v": 1, "v": 1', 1)

    assert verdict(twice) == ReceiptVerdict.MALFORMED
    assert verdict(raw(HERE.file(4)).replace(b'"v": 1', b'"v": 1.0', 1)) == ReceiptVerdict.MALFORMED


# -- whatever is changed ----------------------------------------------------------------------------------------------

FILES = [HERE.file(index) for index in range(HERE.length)]
TEXT = raw(FILES[4])


def flipped(chance: random.Random) -> bytes:
    at = chance.randrange(len(TEXT))
    return TEXT[:at] + bytes([TEXT[at] ^ (1 << chance.randrange(8))]) + TEXT[at + 1 :]


def cut(chance: random.Random) -> bytes:
    start = chance.randrange(len(TEXT))
    return TEXT[:start] + TEXT[start + chance.randrange(1, 64) :]


def truncated(chance: random.Random) -> bytes:
    return TEXT[: chance.randrange(len(TEXT))]


def put_in(chance: random.Random) -> bytes:
    at = chance.randrange(len(TEXT))
    return TEXT[:at] + bytes(chance.choices(b'0123456789abcdef"{}[],: ', k=chance.randrange(1, 4))) + TEXT[at:]


def places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for name, one in items for place in [(*way, name), *places(one, (*way, name))]]


def replayed(chance: random.Random) -> bytes:
    """Some part of it from another receipt."""
    file, other = copy.deepcopy(FILES[4]), chance.choice([one for one in FILES if one is not FILES[4]])
    way = chance.choice([place for place in places(file) if len(place) <= 3])
    here, there = file, other
    try:
        for step in way[:-1]:
            here, there = here[step], there[step]
        here[way[-1]] = there[way[-1]]
    except (IndexError, KeyError):
        pass
    return raw(file)


def reordered(chance: random.Random) -> bytes:
    file = copy.deepcopy(FILES[4])
    for path in (file["log"]["path"], file["growth"]["path"]):
        chance.shuffle(path)
    return raw(file)


def taken_out(chance: random.Random) -> bytes:
    file = copy.deepcopy(FILES[4])
    *way, last = chance.choice(places(file))
    place: Any = file
    for step in way:
        place = place[step]
    del place[last]
    return raw(file)


def resigned(chance: random.Random) -> bytes:
    """Changed, and signed with another's key, in their name or in ours."""
    file = copy.deepcopy(FILES[4])
    file["receipt"]["counts"]["memories"] = chance.randrange(10**6)
    if chance.random() < 0.5:
        file["receipt"]["key_id"] = key_id_of(FORGED.public)
    file["receipt"]["sig"] = signatures.sign(THEIRS, signed_bytes(file["receipt"])).hex()
    return raw(file)


WAYS: list[Callable[[random.Random], bytes]] = [
    flipped, cut, truncated, put_in, replayed, reordered, taken_out, resigned,
]  # fmt: skip


def says_the_same(file: bytes) -> bool:
    try:
        return bool(json.loads(file) == FILES[4]) and b'"' in file
    except ValueError:
        return False


def test_thousands_of_changes_are_all_found() -> None:
    assert verdict(TEXT) == ReceiptVerdict.GENUINE
    chance, tried, accepted = random.Random(20261122), 0, []
    while tried < MUTATIONS:
        file = chance.choice(WAYS)(chance)
        if says_the_same(file):
            continue
        tried += 1
        if verdict(file) == ReceiptVerdict.GENUINE:
            accepted.append(file)

    assert accepted == []


@pytest.mark.parametrize("guard", ["_check_signature", "_check_target", "_check_log", "_check_growth"])
def test_each_look_is_needed(guard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any one of them some change is taken for genuine."""
    monkeypatch.setattr(f"apps.transparency.receipts.{guard}", lambda *_: Note.read(HERE.checkpoint(7)))

    # The log that was not signed by us is not the one that was kept.
    found = [verdict(file) for _, file, _ in REFUTED] + [verdict(file, older=None) for _, file, _ in REFUTED]

    assert ReceiptVerdict.GENUINE in found
