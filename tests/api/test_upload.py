"""POST /memory/upload: files become memories, or are refused and leave nothing behind."""

import json
from typing import Any

import pytest
from django.http import HttpResponse

from apps.adapters.documents import places
from apps.apikeys.onboarding import OpenedTenant
from apps.ingest import documents
from apps.ingest.models import Candidate
from apps.memories.models import Memory
from apps.tenants.models import EndUser
from tests.adapters import sample_files as files
from tests.adapters.sample_files import FACT
from tests.api.conftest import Caller
from tests.forms import form

pytestmark = pytest.mark.django_db(databases="__all__")


def upload(caller: Caller, content: bytes | None, name: str = "notes.txt", **fields: str) -> Any:
    body, content_type = form(content, name, **fields)
    return caller("POST", "/memory/upload", body, Content_Type=content_type)


def code(response: HttpResponse) -> str:
    return str(json.loads(response.content)["error"]["code"])


def test_file_becomes_memories_that_are_found(alice: Caller) -> None:
    response = upload(alice, files.pdf(FACT), "house.pdf", source="files", metadata='{"folder": "house"}')

    body = response.json()
    assert response.status_code == 201
    assert FACT in body["text"]
    assert (body["source"], body["metadata"]) == ("files", {"folder": "house", "filename": "house.pdf"})
    assert body["memory_ids"] == [body["id"]]
    found = alice("POST", "/memory/query", {"query": "Where is the boiler room key?"}).json()["memories"]
    assert found[0]["id"] == body["id"]


def test_every_passage_is_a_memory_and_the_first_is_answered(alice: Caller) -> None:
    paragraphs = [f"Chapter {n} tells of the year {1900 + n}. " * 20 for n in range(5)]

    body = upload(alice, "\n\n".join(paragraphs).encode()).json()

    assert len(body["memory_ids"]) == 5
    assert body["id"] == body["memory_ids"][0]
    assert "Chapter 0" in body["text"]


@pytest.mark.parametrize("name", ["Müller 報告.txt", "naïve à la carte.txt", "отчёт.txt"])
def test_name_of_a_file_is_stored_as_it_was_sent(name: str, alice: Caller) -> None:
    body = upload(alice, FACT.encode(), name).json()

    assert body["metadata"]["filename"] == name


def test_file_says_nothing_about_its_owner(alice: Caller) -> None:
    alice.add("I live in Lisbon.")

    upload(alice, b"I live in Oslo.")

    found = alice("POST", "/memory/query", {"query": "Where do I live?"}).json()["memories"]
    assert {one["text"]: one["validity"] for one in found} == {"I live in Lisbon.": "current",
                                                              "I live in Oslo.": "current"}  # fmt: skip


@pytest.mark.parametrize("content", [b"", b" \n\n ", files.docx("")], ids=["empty", "blank", "no text"])
def test_file_without_text_is_skipped(content: bytes, alice: Caller) -> None:
    response = upload(alice, content, "empty.txt")

    assert response.status_code == 200
    assert (response.json()["status"], response.json()["reason"]) == ("skipped", "no_extractable_text")


def test_trivial_file_and_the_same_file_again_are_skipped(alice: Caller) -> None:
    assert upload(alice, b"ok").json()["reason"] == "no_high_value_content"

    stored = upload(alice, FACT.encode()).json()
    again = upload(alice, FACT.encode()).json()

    assert (again["status"], again["reason"]) == ("skipped", "discarded_redundant")
    assert again["memory_ids"] == stored["memory_ids"]


def test_form_names_the_end_user_before_the_header(alice: Caller) -> None:
    memory = upload(alice, FACT.encode(), end_user_id="bob").json()

    assert alice("GET", f"/memory/{memory['id']}").status_code == 404
    assert alice.as_user("bob")("GET", f"/memory/{memory['id']}").status_code == 200


@pytest.mark.parametrize(
    ("content", "name", "status", "expected"),
    [
        (bytes.fromhex("89504e470d0a1a0a") + bytes(100), "a.png", 415, "UNSUPPORTED_MEDIA_TYPE"),
        (b"no pdf", "a.pdf", 422, "DOCUMENT_BROKEN"),
        (files.pdf(FACT, password="secret"), "a.pdf", 422, "DOCUMENT_ENCRYPTED"),
        (files.with_member(files.docx(FACT), "word/x.bin", bytes(50_000_000)), "a.docx", 422, "DOCUMENT_REFUSED"),
        (b"x " * 600_000, "a.txt", 413, "PAYLOAD_TOO_LARGE"),
    ],
    ids=["unsupported", "broken", "encrypted", "bomb", "long"],
)
def test_refused_file_leaves_nothing(
    content: bytes, name: str, status: int, expected: str, acme: OpenedTenant, alice: Caller
) -> None:
    response = upload(alice, content, name)

    assert (response.status_code, code(response)) == (status, expected)
    for model in (Memory, EndUser, Candidate):
        assert not model.objects.within(acme.scope).exists()


def test_file_larger_than_the_limit_is_refused_before_it_is_read(
    alice: Caller, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MAX_UPLOAD_BYTES = 1_000
    monkeypatch.setattr(documents, "read_document", None)

    for size in (1_001, 2_000_000):
        response = upload(alice, b"x" * size)
        assert (response.status_code, code(response)) == (413, "PAYLOAD_TOO_LARGE")


@pytest.mark.parametrize(
    ("body", "content_type", "status", "expected"),
    [
        (b"{}", "application/json", 415, "UNSUPPORTED_MEDIA_TYPE"),
        (b"", "multipart/form-data; boundary=x", 422, "VALIDATION_ERROR"),
        (b"nonsense", "multipart/form-data; boundary=x", 400, "BODY_CUT"),
        (b"nonsense", "multipart/form-data", 400, "INVALID_FORM"),
        (form(FACT.encode(), "a.txt")[0][:-40], form(b"x")[1], 400, "BODY_CUT"),
        (form(FACT.encode(), "a.txt")[0][:-3], form(b"x")[1], 400, "BODY_CUT"),
        (*form(FACT.encode(), "a.txt", metadata="[1]"), 422, "VALIDATION_ERROR"),
        (*form(FACT.encode(), "a.txt", metadata="{broken"), 422, "VALIDATION_ERROR"),
        (*form(FACT.encode(), "a.txt", metadata=json.dumps({"x": "y" * 70_000})), 413, "PAYLOAD_TOO_LARGE"),
        (*form(FACT.encode(), "a.txt", source="x" * 65), 422, "VALIDATION_ERROR"),
        (*form(None, end_user_id="bob"), 400, "INVALID_FORM"),
    ],
)
def test_bad_form_is_refused(body: bytes, content_type: str, status: int, expected: str, alice: Caller) -> None:
    response = alice("POST", "/memory/upload", body, Content_Type=content_type)

    assert (response.status_code, code(response)) == (status, expected)


def test_two_files_or_one_under_another_name_are_refused(alice: Caller) -> None:
    body, content_type = form(FACT.encode())
    twice = body.replace(b"--memsync-test-boundary--", b"") + body
    renamed = body.replace(b'name="file"', b'name="document"')

    for sent in (twice, renamed):
        response = alice("POST", "/memory/upload", sent, Content_Type=content_type)
        assert (response.status_code, code(response)) == (400, "INVALID_FORM")


def test_upload_needs_an_end_user(alice: Caller) -> None:
    assert code(upload(alice.as_user(None), FACT.encode())) == "MISSING_END_USER_ID"


def test_who_comes_while_all_places_are_taken_is_told_when_to_come_again(
    acme: OpenedTenant, alice: Caller, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    monkeypatch.setattr(places, "WAIT_SECONDS", 0.0)
    settings.DOCUMENT_READERS = 1
    with places.place():
        response = upload(alice, FACT.encode())

    assert (response.status_code, response["Retry-After"]) == (503, "5")
    assert (code(response), response.json()["retry_after"]) == ("BUSY", 5)
    assert not Memory.objects.within(acme.scope).exists()
