"""Write the frozen vectors of a suite.  Only for a new suite, in files of its own: what suite 1 sealed must open for
ever, and what it keyed must be found for ever, so its answers never change.

By hand: ``python manage.py shell -c "from tests.crypto import freeze; freeze.main()"``, any settings will do.
"""

import json
import random
import uuid
from hashlib import sha256, shake_256
from pathlib import Path
from typing import Any

from apps.crypto import aead, envelope
from apps.crypto.envelope import Context
from tests.crypto.cast import cipher_of, context_in

VECTORS = Path(__file__).parent.parent / "vectors"
SPACES = 16
VERSIONS = (1, 2, 3, 255, 256, 65_535, 65_536, 2**31 - 1, 2**31, 2**32 - 1)
FIELDS = ("memory.text", "memory.summary", "memory.label", "memory.tags", "memory.metadata", "memory.handles",
          "memory.content", "memory.keywords",
          "vector.embedding", "end_user.external_id")  # fmt: skip
PARTS = ("memory.said", "memory.parts")  # sealed since a memory may hold in part: in a file of their own
FIELDS_OF_TYPES = ("memory.fields",)  # sealed since types may have fields
ANALYSIS = ("memory.analysis",)  # sealed since ranking reads an analysis in place of a text
SOURCES = ("external_object.about", "connector.settings", "connector.validators")  # sealed since sources are tracked
PLATFORM = ("category", "workspace")  # names of categories and workspaces
RECORDS = (1, 2, 255, 256, 2**31, 2**32 - 1, 2**53 + 1, 2**63 - 1)
REVISIONS = (0, 1, 2, 255, 256, 2**31 - 1)
TEXTS = (
    "",
    "a",
    "I live in Lisbon.",
    "Ich heiße Øyvind Müller-Lüdenscheidt und wohne in Århus.",
    "私は京都に住んでいます。猫が二匹います。",
    "אני גר בחיפה, ומדבר عربي قليلا.",
    "👩‍👩‍👧‍👦 e\u0301 é \u200b\ufeff zero width",
    "\x00\x80 looks like padding \x80\x00\x00",
    "x" * 63,
    "x" * 64,
    "ü" * 32,
    "line\r\nline\ttab\u2028separator",
    '{"tags":["home","work"],"n":1.5,"null":null}',
    "\U0010ffff last",
    "I am allergic to penicillin, and my sister is not. " * 9,
    "long " * 205,
)
PADDING_KEY, PADDING_CONTEXT = bytes(range(64)), Context(
    "memsync", uuid.UUID(int=1), "production", uuid.UUID(int=2), "memory.text", 3, 4
)  # fmt: skip


def spaces() -> list[dict[str, Any]]:
    """Sixteen spaces from root key and salt on, with four sealed texts, tokens, macs, ids and vectors each."""
    rng = random.Random("memsync suite 1, spaces")
    return [_space(number, rng) for number in range(SPACES)]


def parts() -> list[dict[str, Any]]:
    """One space more, for the fields that came later."""
    return [_space(3, random.Random("memsync suite 1, parts"), PARTS)]


def analysis() -> list[dict[str, Any]]:
    return [_space(4, random.Random("memsync suite 1, analysis"), ANALYSIS)]


def fields_of_types() -> list[dict[str, Any]]:
    return [_space(5, random.Random("memsync suite 1, fields of types"), FIELDS_OF_TYPES)]


def sources() -> list[dict[str, Any]]:
    return [_space(5, random.Random("memsync suite 1, sources"), SOURCES)]


def platform() -> list[dict[str, Any]]:
    return [_space(6, random.Random("memsync suite 1, platform"), PLATFORM)]


def _space(number: int, rng: random.Random, fields: tuple[str, ...] = FIELDS) -> dict[str, Any]:
    case: dict[str, Any] = {
        "where": {
            "deployment": ("memsync", "eu-1", "größe", "a|b")[number % 4],
            "tenant": str(uuid.UUID(bytes=rng.randbytes(16))),
            "environment": list(envelope.ENVIRONMENTS)[number // 4],
            "space": str(uuid.UUID(bytes=rng.randbytes(16))),
        },
        "root": rng.randbytes(32).hex(),
        "identity": rng.randbytes(32).hex(),
        "salt": rng.randbytes(32).hex(),
        "key_version": VERSIONS[number % len(VERSIONS)],
    }
    cipher = cipher_of(case)
    case["envelopes"] = [_envelope(case, number * 4 + at, rng, fields) for at in range(4)]
    words = (TEXTS[number].split() or [""])[:3]
    case["tokens"] = [
        {"purpose": purpose, "field": field, "word": word, "token": token}
        for word in words
        for purpose, field, token in (
            ("term", "term", cipher.term_tokens([word])[0]),
            ("tag", "tag", cipher.tag_token(word)),
            ("tag", "filter.kind", cipher.filter_token("kind", word)),
            ("id", "actor", cipher.actor_token(word)),
            ("id", "session", cipher.session_token(word)),
        )
    ]
    case["macs"] = [
        {"parts": parts, "mac": cipher.identity_mac(*parts).hex()}
        for parts in (["slot", "claim", "user.diet", ""], ["text", TEXTS[number]], ["client_ref", "a", "b"], ["empty"])
    ]
    content = json.dumps([TEXTS[number]], ensure_ascii=True)
    case["public_ids"] = [
        {"parts": parts, "public_id": cipher.public_id(*parts)}
        for parts in (["fact", "user.diet", content], ["event", "", "[]"], ["preference", TEXTS[number], '{"a":1}'])
    ]
    case["vectors"] = [_vector(cipher, size, rng) for size in (8, 24)] + (
        [_vector(cipher, 384, rng)] if number % 4 == 0 else []
    )
    return case


def _envelope(case: dict[str, Any], number: int, rng: random.Random, fields: tuple[str, ...]) -> dict[str, Any]:
    one: dict[str, Any] = {
        "field": fields[number % len(fields)],
        "record_id": RECORDS[(number * 3 + number // 8) % len(RECORDS)],
        "revision": REVISIONS[number % len(REVISIONS)],
        "message_salt": rng.randbytes(24).hex(),
        "text": TEXTS[(number * 5) % len(TEXTS)],
    }
    cipher = cipher_of(case)
    sealed = envelope._seal(
        cipher._keys.box._keys,
        context_in(case["where"], one).to_bytes(),
        one["text"].encode(),
        case["key_version"],
        bytes.fromhex(one["message_salt"]),
    )
    return {**one, "blob": sealed.hex()}


def _vector(cipher: Any, size: int, rng: random.Random) -> dict[str, list[float]]:
    import numpy as np

    # Halves and quarters: every language reads them back as they are.
    plain = [rng.randrange(-64, 65) / 64 for _ in range(size)]
    rotated = cipher.protect_vectors(np.array([plain], dtype=np.float32))[0]
    return {"plain": plain, "rotated": [round(float(value), 5) for value in rotated]}


def padding_sizes() -> list[int]:
    """On each side of every padding step up to 64 KiB, and of the first and last step of each octave above."""
    steps = {envelope.padded_size(size) for size in range(65_536)}
    for exponent in range(16, 22):
        first = 2**exponent
        step = envelope.padded_size(first) - first
        steps |= {first, first + step, 2 * first - step}
    return sorted({0, *(size for step in steps for size in (step - 1, step)), envelope.MAX_PLAINTEXT_BYTES - 1})


def padding_text(size: int) -> bytes:
    return shake_256(size.to_bytes(8, "big")).digest(size)


def padding() -> list[list[int | str]]:
    """[size, sealed size, SHA-256 of the sealed text]: the text is SHAKE-256 of its size, the salt the size."""
    keys, context, found = aead.Mac(PADDING_KEY, "sha512"), PADDING_CONTEXT.to_bytes(), []
    for size in padding_sizes():
        blob = envelope._seal(keys, context, padding_text(size), 7, size.to_bytes(24, "big"))
        found.append([size, len(blob), sha256(blob).hexdigest()])
    return found


def write(name: str, rows: list[Any]) -> None:
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    (VECTORS / name).write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def main() -> None:
    write("space_suite1.json", spaces())
    write("padding_suite1.json", padding())
    write("parts_suite1.json", parts())
    write("analysis_suite1.json", analysis())
    write("fields_suite1.json", fields_of_types())
    write("sources_suite1.json", sources())
    write("platform_suite1.json", platform())
