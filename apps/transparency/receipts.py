"""Erasure receipts: byte format, receipt file, and verification of a receipt file.

A receipt states what was erased, when, and who authorised it.  It is signed, and it is an entry of a log (RFC 6962)
signed by the same key, so it cannot be changed, backdated or withdrawn.  The target is hidden behind a commitment,
which the receipt file opens for its holder.

::

    canonical  = RFC 8785
    sig        = Ed25519 over "memsync receipt 1\\n" || canonical(receipt without sig)
    entry      = canonical(receipt)
    commitment = SHA-256(nonce (32 bytes) || canonical(target))
    key_id     = the first 8 bytes of SHA-256(public key), in hex

The file is JSON: ``{"format", "receipt", "log": {"index", "path", "checkpoint"}, "disclosure": {"nonce", "target"},
"growth": {"since", "path"}}``; the last two are optional.  This module uses neither settings nor a database.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Any, Final, NoReturn

import rfc8785

from apps.core import merkle
from apps.crypto import signatures
from apps.transparency.signed_notes import NotACheckpointNote, Note, key_hash

MAGIC: Final = b"memsync receipt 1\n"
FORMAT: Final = "memsync receipt 1"
KEYS_FORMAT: Final = "memsync receipt keys 1"
NO_HASH: Final = "0" * 64
LARGEST: Final = 4 * 1024 * 1024  # bytes of a file

_FIELDS: Final[Mapping[str, tuple[type, ...]]] = {
    "v": (int,), "receipt": (str,), "erasure": (str,), "phase": (str,), "log_index": (int,), "deployment": (str,),
    "tenant": (str,), "environment": (str,), "target": (dict,), "counts": (dict,), "phases": (dict,),
    "authorised": (dict,), "probe": (dict, type(None)), "first": (str, type(None)), "prev": (str,), "key_id": (str,),
    "issued_at": (str,), "sig": (str,),
}  # fmt: skip


class ReceiptVerdict(IntEnum):
    """Result of verifying a file; the number is the exit code of ``memsync receipt verify``."""

    GENUINE = 0
    MALFORMED = 10
    BAD_SIGNATURE = 11
    UNKNOWN_KEY = 12
    EXPIRED_KEY = 13
    NOT_IN_LOG = 14
    LOG_REWRITTEN = 15
    WRONG_TARGET = 16


class Refuted(Exception):
    """A file is not a genuine receipt; ``why`` gives the reason."""

    def __init__(self, verdict: ReceiptVerdict, why: str) -> None:
        super().__init__(why)
        self.verdict, self.why = verdict, why


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicKey:
    """A public key and its validity.  not_after: None for the key in use."""

    public: bytes
    not_before: datetime
    not_after: datetime | None = None

    @property
    def key_id(self) -> str:
        return key_id_of(self.public)

    def to_json(self) -> dict[str, Any]:
        return {
            "key_id": self.key_id,
            "algorithm": "Ed25519",
            "public_key": self.public.hex(),
            "not_before": self.not_before.isoformat(),
            "not_after": self.not_after.isoformat() if self.not_after else None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySet:
    """The public keys of one deployment, to verify its receipts."""

    deployment: str
    keys: tuple[PublicKey, ...]

    @property
    def origin(self) -> str:
        return origin_of(self.deployment)

    def to_json(self) -> dict[str, Any]:
        return {"format": KEYS_FORMAT, "deployment": self.deployment, "keys": [key.to_json() for key in self.keys]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Genuine:
    """Content of a verified file.  target: None if the file does not open the commitment.

    checkpoint: the log's checkpoint; keep it to verify later files against it.
    """

    receipt: Mapping[str, Any]
    target: Mapping[str, Any] | None
    checkpoint: str


def canonical(value: Any) -> bytes:
    return rfc8785.dumps(value)


def commitment(nonce: bytes, target: Mapping[str, Any]) -> str:
    return hashlib.sha256(nonce + canonical(target)).hexdigest()


def key_id_of(public: bytes) -> str:
    return hashlib.sha256(public).digest()[:8].hex()


def origin_of(deployment: str) -> str:
    """Return the name of a deployment's receipt log."""
    return f"memsync.receipts/{deployment}"


def signed_bytes(receipt: Mapping[str, Any]) -> bytes:
    return MAGIC + canonical({name: value for name, value in receipt.items() if name != "sig"})


def name_of(target: Mapping[str, Any]) -> str:
    """Return the target in the form of ``--target``: ``memories:41,42``, ``space:0b5c…``, ``tenant:…``."""
    kind = str(target.get("kind"))
    if "memory_ids" in target:
        return f"{kind}:{','.join(str(one) for one in target['memory_ids'])}"
    return f"{kind}:{target.get(kind, '')}"


# -- reading ----------------------------------------------------------------------------------------------------------


def read_keys(raw: bytes) -> KeySet:
    """Parse a file of public keys.  Raises Refuted (MALFORMED)."""
    record = _parsed(raw)
    try:
        if record["format"] != KEYS_FORMAT or set(record) != {"format", "deployment", "keys"}:
            raise ValueError
        return KeySet(deployment=str(record["deployment"]), keys=tuple(_read_key(one) for one in record["keys"]))
    except (KeyError, TypeError, ValueError) as error:
        raise Refuted(ReceiptVerdict.MALFORMED, "these are no public keys of receipts") from error


def verify(raw: bytes, keys: KeySet, *, target: str | None = None, older: str | None = None) -> Genuine:
    """Verify a receipt file and return its content.  Raises Refuted.

    raw: the file.  target: the expected target, in the form of ``name_of``.  older: an earlier checkpoint, which the
    log must continue.
    """
    file = _read_file(raw)
    receipt = file["receipt"]
    _check_signature(receipt, keys)
    opened = _check_target(receipt, file.get("disclosure"), target)
    note = _check_log(receipt, file["log"], keys)
    if older is not None:
        _check_growth(note, older, file.get("growth"), keys)
    return Genuine(receipt=receipt, target=opened, checkpoint=note.text)


def _check_signature(receipt: Mapping[str, Any], keys: KeySet) -> None:
    key = next((one for one in keys.keys if one.key_id == receipt["key_id"]), None)
    if key is None or receipt["deployment"] != keys.deployment:
        raise Refuted(ReceiptVerdict.UNKNOWN_KEY, "it is signed with a key that is not among these")
    if not signatures.verify(key.public, signed_bytes(receipt), _hex(receipt["sig"], 64)):
        raise Refuted(ReceiptVerdict.BAD_SIGNATURE, "the signature does not fit: the receipt was changed, or is forged")
    issued = _time(receipt["issued_at"])
    if issued < key.not_before or (key.not_after is not None and issued > key.not_after):
        raise Refuted(ReceiptVerdict.EXPIRED_KEY, "it says that it was issued when its key was not in use")


def _check_target(
    receipt: Mapping[str, Any], disclosure: Mapping[str, Any] | None, wanted: str | None
) -> Mapping[str, Any] | None:
    if disclosure is None:
        if wanted is not None:
            raise Refuted(ReceiptVerdict.WRONG_TARGET, "the file does not say what the receipt is about")
        return None
    target = disclosure["target"]
    if commitment(_hex(disclosure["nonce"], 32), target) != receipt["target"].get("commitment"):
        raise Refuted(ReceiptVerdict.WRONG_TARGET, "the receipt is about something else than the file says")
    if wanted is not None and name_of(target) != wanted:
        raise Refuted(ReceiptVerdict.WRONG_TARGET, "the receipt is about something else")
    return dict(target)


def _check_log(receipt: Mapping[str, Any], log: Mapping[str, Any], keys: KeySet) -> Note:
    note = _read_note(log["checkpoint"], keys)
    siblings = [_hex(one, 32) for one in log["path"]]
    entry = merkle.leaf(canonical(receipt))
    if log["index"] != receipt["log_index"]:
        raise Refuted(ReceiptVerdict.NOT_IN_LOG, "it stands elsewhere in the log than it says")
    if merkle.root_of_path(entry, log["index"], note.size, siblings) != note.root:
        raise Refuted(ReceiptVerdict.NOT_IN_LOG, "the log that the checkpoint signs does not hold it")
    return note


def _check_growth(note: Note, older: str, growth: Mapping[str, Any] | None, keys: KeySet) -> None:
    before = _read_note(older, keys)
    if before.size == note.size:
        if before.root != note.root:
            raise Refuted(ReceiptVerdict.LOG_REWRITTEN, "the log is another than the one that the checkpoint signs")
        return
    if before.size > note.size:
        raise Refuted(ReceiptVerdict.LOG_REWRITTEN, "the log is shorter than it was at the checkpoint")
    if growth is None or growth["since"] != before.size:
        raise Refuted(
            ReceiptVerdict.LOG_REWRITTEN,
            f"the file does not show that the log only grew: fetch it with --since {before.size}",
        )
    proof = [_hex(one, 32) for one in growth["path"]]
    if not merkle.has_grown(before.size, before.root, note.size, note.root, proof):
        raise Refuted(ReceiptVerdict.LOG_REWRITTEN, "the log does not continue the one that the checkpoint signs")


def _read_note(text: str, keys: KeySet) -> Note:
    try:
        note = Note.read(text)
    except NotACheckpointNote as error:
        raise Refuted(ReceiptVerdict.MALFORMED, "the checkpoint is none") from error
    if note.origin != keys.origin:
        raise Refuted(ReceiptVerdict.NOT_IN_LOG, "the checkpoint is of another log")
    signer = next((one for one in keys.keys if key_hash(keys.origin, one.public) == note.key_hash), None)
    if signer is None:
        raise Refuted(ReceiptVerdict.UNKNOWN_KEY, "the checkpoint is signed with a key that is not among these")
    if not signatures.verify(signer.public, note.signed, note.signature):
        raise Refuted(ReceiptVerdict.BAD_SIGNATURE, "the signature of the checkpoint does not fit")
    return note


def _read_key(record: Mapping[str, Any]) -> PublicKey:
    if set(record) != {"key_id", "algorithm", "public_key", "not_before", "not_after"}:
        raise ValueError
    after = record["not_after"]
    key = PublicKey(
        public=_hex(record["public_key"], 32),
        not_before=_time(record["not_before"]),
        not_after=_time(after) if after is not None else None,
    )
    if record["algorithm"] != "Ed25519" or record["key_id"] != key.key_id:
        raise ValueError
    return key


def _read_file(raw: bytes) -> dict[str, Any]:
    """Parse the file and check its fields and their types.  Raises Refuted (MALFORMED)."""
    record = _parsed(raw)
    if record.get("format") != FORMAT or not {"format", "receipt", "log"} <= set(record):
        _refuse()
    if not set(record) <= {"format", "receipt", "log", "disclosure", "growth"}:
        _refuse()
    receipt = _of(record["receipt"], _FIELDS)
    if receipt["v"] != 1 or set(receipt["target"]) != {"kind", "commitment"}:
        _refuse()
    _of(record["log"], {"index": (int,), "path": (list,), "checkpoint": (str,)})
    if "disclosure" in record:
        _of(record["disclosure"], {"nonce": (str,), "target": (dict,)})
    if "growth" in record:
        _of(record["growth"], {"since": (int,), "path": (list,)})
    return record


def _of(record: object, fields: Mapping[str, tuple[type, ...]]) -> dict[str, Any]:
    if not isinstance(record, dict) or set(record) != set(fields):
        _refuse()
    if any(type(record[name]) not in kinds for name, kinds in fields.items()):
        _refuse()
    return record


def _parsed(raw: bytes) -> dict[str, Any]:
    if len(raw) > LARGEST:
        _refuse()
    try:
        record = json.loads(raw, object_pairs_hook=_once, parse_float=_no_number, parse_constant=_no_number)
        canonical(record)
    except (ValueError, RecursionError, rfc8785.CanonicalizationError):
        _refuse()
    if not isinstance(record, dict):
        _refuse()
    return record


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    # Reject duplicate names: some JSON readers use the first value, others the last.
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError
    return dict(pairs)


def _no_number(text: str) -> NoReturn:
    raise ValueError(text)  # receipts contain only integers


def _hex(text: object, length: int) -> bytes:
    """Decode exactly ``length`` bytes of lower-case hex.  Raises Refuted for anything else."""
    try:
        raw = bytes.fromhex(text) if isinstance(text, str) else b""
    except ValueError:
        raw = b""
    if len(raw) != length or raw.hex() != text:
        _refuse()
    return raw


def _time(text: object) -> datetime:
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        _refuse()
    if moment.tzinfo is None:
        _refuse()
    return moment


def _refuse() -> NoReturn:
    raise Refuted(ReceiptVerdict.MALFORMED, "this is no receipt, or it was changed so that it cannot be read")
