"""Changing sealed bytes in every way that comes to mind, and seeing each change refused with the one error.

By hand, and each night: ``python -m tests.crypto.tampering 1000000``.
"""

import random
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from apps.crypto.envelope import Box, Context, DecryptError

KEY: Final = bytes(range(64))
KEY_VERSION: Final = 7
MESSAGE: Final = "This record cannot be opened."


def box_of(context: Context) -> Box:
    return Box(
        KEY,
        key_version=KEY_VERSION,
        deployment=context.deployment,
        tenant=context.tenant,
        environment=context.environment,
        space=context.space,
    )


@dataclass(frozen=True)
class Sealed:
    context: Context
    text: bytes
    blob: bytes


def _sealed(text: bytes, field: str, record_id: int, revision: int, space: int, environment: str) -> Sealed:
    context = Context(
        "memsync", uuid.UUID(int=0xA1 << 64 | 1), environment, uuid.UUID(int=space), field, record_id, revision
    )
    return Sealed(context, text, box_of(context).seal(field, record_id, text, revision=revision))


ENVELOPES: Final = (
    _sealed(b"", "memory.text", 1, 0, 1, "production"),
    _sealed(b"The user is allergic to penicillin.", "memory.text", 2, 0, 1, "production"),
    _sealed("Ich wohne in Århus. 👩‍👩‍👧".encode(), "memory.summary", 2, 0, 1, "production"),
    _sealed(b'{"n":1,"tags":["home"]}', "memory.metadata", 2, 3, 1, "production"),
    _sealed(b"long " * 160, "memory.text", 2**63 - 1, 2**31 - 1, 2, "staging"),
    _sealed(b"\x80\x00\x00", "end_user.external_id", 4, 0, 2, ""),
)
# One owner each: the box is prepared once, as it is in the product.
BOXES: Final = tuple(box_of(one.context) for one in ENVELOPES)


def refusal(envelope: int, blob: bytes, context: Context | None = None) -> str:
    """Why the changed bytes, or the changed place, are refused.  Fails if they open, and if any other error comes."""
    original = ENVELOPES[envelope].context
    place, box = context or original, BOXES[envelope]
    if context is not None and _owner(context) != _owner(original):
        box = box_of(context)
    try:
        box.open(place.field, place.record_id, blob, revision=place.revision)
    except DecryptError as error:
        if type(error) is not DecryptError or str(error) != MESSAGE or error.message != MESSAGE or error.details:
            raise AssertionError("refusals differ") from error
        return error.reason
    raise AssertionError(f"changed bytes opened: envelope {envelope}, {blob.hex()}, {place}")


def _owner(context: Context) -> tuple[object, ...]:
    return context.deployment, context.tenant, context.environment, context.space


# -- one change ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """kind: one of KINDS.  at, until: places in the blob, as fractions.  data: bytes to write.  other: an envelope."""

    kind: str
    at: float
    until: float
    data: bytes
    other: int

    @classmethod
    def of(cls, dice: bytes) -> "Change":
        """The change that CHANGE_BYTES bytes stand for: any bytes will do, so a loop or hypothesis may choose them."""
        at, until = (int.from_bytes(dice[start : start + 3], "big") / 2**24 for start in (1, 4))
        return cls(
            kind=tuple(KINDS)[dice[0] % len(KINDS)],
            at=at,
            until=until,
            data=dice[8 : 9 + dice[7] % 4],
            other=dice[12] % len(ENVELOPES),
        )


def _span(change: Change, blob: bytes) -> tuple[int, int]:
    start, end = sorted((int(change.at * len(blob)), int(change.until * len(blob))))
    return start, min(end, start + 64)


def _flip(blob: bytes, change: Change) -> bytes:
    changed = bytearray(blob)
    for number, byte in enumerate(change.data):
        bit = (int(change.at * len(blob) * 8) + number * byte) % (len(blob) * 8)
        changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def _write(blob: bytes, change: Change) -> bytes:
    start = int(change.at * len(blob))
    return blob[:start] + change.data + blob[start + len(change.data) :]


def _swap(blob: bytes, change: Change) -> bytes:
    start, end = _span(change, blob)
    middle = (start + end) // 2
    return blob[:start] + blob[middle:end] + blob[start:middle] + blob[end:]


def _splice(blob: bytes, change: Change) -> bytes:
    start, end = _span(change, blob)
    return blob[:start] + ENVELOPES[change.other].blob[start:end] + blob[end:]


def _part_of_another(blob: bytes, change: Change) -> bytes:
    """Header, salt, commitment, ciphertext or tag of another envelope in its place."""
    start, end = ((0, 6), (6, 30), (30, 62), (62, -16), (-16, None))[int(change.at * 5)]
    return blob[:start] + ENVELOPES[change.other].blob[start:end] + (blob[end:] if end is not None else b"")


KINDS: Final[dict[str, Callable[[bytes, Change], bytes]]] = {
    "flip": _flip,
    "write": _write,
    "insert": lambda blob, one: blob[: int(one.at * len(blob))] + one.data + blob[int(one.at * len(blob)) :],
    "cut": lambda blob, one: blob[: _span(one, blob)[0]] + blob[_span(one, blob)[1] :],
    "zero": lambda blob, one: blob[: _span(one, blob)[0]] + bytes(len(one.data)) + blob[_span(one, blob)[1] :],
    "repeat": lambda blob, one: blob[: _span(one, blob)[1]] + blob[_span(one, blob)[0] :],
    "truncate": lambda blob, one: blob[: int(one.at * len(blob))],
    "behead": lambda blob, one: blob[int(one.at * len(blob)) :],
    "append": lambda blob, one: blob + one.data,
    "prepend": lambda blob, one: one.data + blob,
    "swap": _swap,
    "splice": _splice,
    "part": _part_of_another,
    "version": lambda blob, one: blob[:2] + (one.data * 4)[:4] + blob[6:],
    "suite": lambda blob, one: (one.data * 2)[:2] + blob[2:],
    "whole": lambda blob, one: ENVELOPES[one.other].blob,
}


CHANGE_BYTES: Final = 13


def changed(envelope: int, dice: bytes) -> bytes:
    """The envelope after one change for every CHANGE_BYTES of ``dice``."""
    blob = ENVELOPES[envelope].blob
    for at in range(0, len(dice), CHANGE_BYTES):
        if blob:
            change = Change.of(dice[at : at + CHANGE_BYTES])
            blob = KINDS[change.kind](blob, change)
    return blob


# -- other places ----------------------------------------------------------------------------------------------------


def other_places(context: Context) -> list[Context]:
    """The context with one bit of one part flipped, for every bit of every part that is bound."""
    places = [replace(context, tenant=uuid.UUID(int=context.tenant.int ^ 1 << bit)) for bit in range(128)]
    places += [replace(context, space=uuid.UUID(int=context.space.int ^ 1 << bit)) for bit in range(128)]
    # Bit 64 and the sign as well: numbers that no eight bytes hold.
    places += [replace(context, record_id=context.record_id ^ 1 << bit) for bit in range(65)]
    places += [replace(context, revision=context.revision ^ 1 << bit) for bit in range(65)]
    places += [replace(context, record_id=-context.record_id), replace(context, revision=-1)]
    places += [
        replace(context, environment=name)
        for name in ("", "development", "staging", "production")
        if name != context.environment
    ]
    places += [replace(context, deployment=text) for text in _flipped(context.deployment)]
    places += [replace(context, field=text) for text in _flipped(context.field)]
    # The border between two parts moved.
    places += [
        replace(context, deployment=context.deployment[:-1]),
        replace(context, deployment=context.deployment + "\x00"),
        replace(context, field=context.field[:-1]),
        replace(context, field=context.field + "\x00"),
    ]
    return places


def _flipped(text: str) -> list[str]:
    return [
        text[:at] + chr(ord(character) ^ 1 << bit) + text[at + 1 :]
        for at, character in enumerate(text)
        for bit in range(7)
    ]


# -- many changes ----------------------------------------------------------------------------------------------------


def attack(count: int, *, seed: int) -> Counter[str]:
    """Try ``count`` random changes; how often each reason was given.  Fails at the first that opens."""
    rng = random.Random(seed)
    places = [other_places(one.context) for one in ENVELOPES]
    reasons: Counter[str] = Counter()
    while reasons.total() < count:
        envelope = rng.randrange(len(ENVELOPES))
        if rng.random() < 0.1:
            reasons[refusal(envelope, ENVELOPES[envelope].blob, rng.choice(places[envelope]))] += 1
            continue
        blob = changed(envelope, rng.randbytes(CHANGE_BYTES * rng.choice((1, 1, 1, 2, 3))))
        if blob != ENVELOPES[envelope].blob:
            reasons[refusal(envelope, blob)] += 1
    return reasons


def main() -> None:
    count = int(sys.argv[1])
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")  # noqa: T201
    started = time.monotonic()
    reasons = attack(count, seed=seed)
    print(f"{reasons.total()} changes, 0 accepted, in {time.monotonic() - started:.0f} s: {dict(reasons)}")  # noqa: T201


if __name__ == "__main__":
    main()
