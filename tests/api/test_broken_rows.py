"""A row that does not open, seen from outside: the same answer whatever was done to it, so that no caller learns which
guess came nearer by writing to the database and asking the API.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import pytest

from apps.api.views import ApiView
from apps.apikeys.onboarding import OpenedTenant
from apps.core.scoping import tenant_transaction
from apps.crypto import aead
from apps.crypto.services import SpaceCipher, open_space
from tests.api.conftest import Caller
from tests.crypto.broken import changed, listed, read, superuser, told
from tests.makers import make_scope

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")


def _authentic(cipher: SpaceCipher, memory_id: int, padded: bytes) -> bytes:
    """What only a holder of the keys can make: a genuine seal around bytes that were never padded."""
    box = cipher._keys.box
    header, salt = b"\x01\x01" + cipher.key_version.to_bytes(4, "big"), bytes(24)
    associated = header + box._context("memory.text", memory_id, 0)
    okm = box._keys(b"mem/1/msg" + salt + sha256(associated).digest() + b"\x01")
    return header + salt + okm[32:] + aead.seal(okm[:32], bytes(12), padded, associated)


Spoil = Callable[[bytes, SpaceCipher, int], tuple[str, Any]]
# By the reason that the audit is given.
SPOILED: dict[str, Spoil] = {
    "truncated": lambda blob, cipher, at: ("text_ct", blob[:40]),
    "unknown_suite": lambda blob, cipher, at: ("text_ct", b"\x01\x02" + blob[2:]),
    "key_version": lambda blob, cipher, at: ("text_ct", blob[:2] + (9).to_bytes(4, "big") + blob[6:]),
    "commitment": lambda blob, cipher, at: ("text_ct", blob[:40] + bytes([blob[40] ^ 1]) + blob[41:]),
    "tag": lambda blob, cipher, at: ("text_ct", blob[:-1] + bytes([blob[-1] ^ 1])),
    "padding": lambda blob, cipher, at: ("text_ct", _authentic(cipher, at, bytes(len(blob) - 78))),
    "encoding": lambda blob, cipher, at: ("text_ct", cipher.seal("memory.text", at, b"\xff\xfe")),
    "context": lambda blob, cipher, at: ("revision", -1),
}


@pytest.fixture
def spoil(acme: OpenedTenant, alice: Caller, superuser_url: str) -> Iterator[Callable[[str], Any]]:
    scope = make_scope(acme, "alice")
    memory_id = alice.add("The red bicycle stands in the yard.", metadata={"kind": "thing"})["id"]
    alice.add("The blue kettle stands in the kitchen.")
    with tenant_transaction(scope):
        cipher = open_space(scope.tenant, scope.space)
    with superuser(superuser_url) as cursor:

        def spoiled(reason: str) -> Any:
            column, value = SPOILED[reason](read(cursor, memory_id, "text_ct"), cipher, memory_id)
            return changed(cursor, memory_id, column, value)

        spoiled.memory_id, spoiled.scope = memory_id, scope  # type: ignore[attr-defined]
        yield spoiled


# New in each answer, whatever it answers.
NEW = {"X-Request-ID", "X-Trace-ID", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Content-Length"}


def shape(response: Any, *without: str) -> tuple[int, dict[str, str], Any]:
    """The whole answer but for what is new in each."""
    headers = {name: value for name, value in response.headers.items() if name not in NEW}
    body = {name: value for name, value in response.json().items() if name not in {"request_id", *without}}
    return response.status_code, headers, body


def test_reading_one_is_refused_alike_for_every_reason(spoil: Any, alice: Caller) -> None:
    answers, sizes = [], set()
    for reason in SPOILED:
        with spoil(reason):
            response = alice("GET", f"/memory/{spoil.memory_id}")
            answers.append(shape(response))
            sizes.add(len(response.content))

    assert len(sizes) == 1
    assert [answer for answer in answers if answer != answers[0]] == []
    status, _, body = answers[0]
    assert status == 503
    assert body["error"] == {"code": "UNAVAILABLE", "message": "This record cannot be opened."}
    assert alice("GET", f"/memory/{spoil.memory_id}").status_code == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/memory/query", {"query": "what stands in the yard?"}),
        ("/memory/query", {"query": "what stands in the yard?", "profile": "memorysync"}),
        ("/memory/retrieve", {"query": "what stands in the yard?"}),
    ],
)
def test_recall_answers_alike_for_every_reason(
    spoil: Any, alice: Caller, path: str, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = datetime.now(UTC)
    monkeypatch.setattr(ApiView, "now", lambda self: moment)  # scores of some profiles fade by the second
    answers = []
    for reason in SPOILED:
        with spoil(reason):
            # Length aside, in which the digits of the latency are counted.
            answers.append(shape(alice("POST", path, body), "query_id", "latency_ms"))

    assert {status for status, _, _ in answers} == {200}
    assert [answer for answer in answers if answer != answers[0]] == []
    assert "bicycle" not in repr(answers)


def test_every_reason_is_kept_for_the_operator_and_told_to_nobody_else(
    spoil: Any, alice: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    for reason in SPOILED:
        with spoil(reason), caplog.at_level("DEBUG"):
            alice("GET", f"/memory/{spoil.memory_id}")

            assert [(record, code) for _, record, code, _ in listed(spoil.scope)] == [(spoil.memory_id, reason)]

    assert [target for target, _ in told(spoil.scope)][:1] == [f"memory:{spoil.memory_id}"]
    logged = "".join(record.getMessage() + str(record.__dict__.get("reason", "")) for record in caplog.records)
    assert "bicycle" not in logged
