"""Every kind of file that is read, and what a file may not do to its reader."""

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from apps.adapters.documents import limits, reading
from apps.adapters.documents.reading import read_document
from apps.adapters.documents.refusals import (
    DocumentBroken,
    DocumentEncrypted,
    DocumentHostile,
    DocumentTooLarge,
    DocumentTooSlow,
    DocumentUnsupported,
)
from apps.core.errors import DomainError
from apps.ingest.documents import PASSAGE, passages
from tests.adapters import sample_files as files
from tests.adapters.sample_files import FACT

ROWS = [["name", "city", "pets"], ["Ana", "Porto", 2], ["Bo", None, 0]]


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.pdf", files.pdf(FACT), "pdf"),
        ("a.docx", files.docx(FACT), "docx"),
        ("a.pptx", files.pptx(FACT), "pptx"),
        ("a.xlsx", files.xlsx([["fact"], [FACT]]), "xlsx"),
        ("a.csv", f"fact,number\n{FACT},1\n".encode(), "csv"),
        ("a.txt", FACT.encode(), "text"),
        ("a.md", f"# Title\n\n{FACT}".encode(), "text"),
        ("a.py", f'"""{FACT}"""\n'.encode(), "text"),
        ("a.html", f"<p>{FACT}</p>".encode(), "html"),
        ("noname", f"<!doctype html><p>{FACT}".encode(), "html"),
        ("noname", FACT.encode(), "text"),
        ("a.txt", FACT.encode("utf-16"), "text"),
        # The content decides, whatever the name says.
        ("a.txt", files.pdf(FACT), "pdf"),
        ("a.pdf", files.docx(FACT), "docx"),
    ],
)
def test_text_is_found_in_every_kind_of_file(name: str, content: bytes, kind: str) -> None:
    document = read_document(name, content)

    assert document.kind == kind
    assert FACT in " ".join(document.pieces)


def test_tables_are_lines_that_name_their_columns() -> None:
    for name, content in (
        ("a.xlsx", files.xlsx(ROWS)),
        ("a.csv", b"name;city;pets\nAna;Porto;2\nBo;;0\n"),
        ("a.tsv", b"name\tcity\tpets\nAna\tPorto\t2\nBo\t\t0\n"),
    ):
        pieces = read_document(name, content).pieces
        assert list(pieces) == ["name | city | pets", "name: Ana; city: Porto; pets: 2", "name: Bo; pets: 0"], name


def test_tables_of_a_document_and_notes_of_a_slide_are_read() -> None:
    assert "Ana | Porto" in read_document("a.docx", files.docx("x", table=[["Ana", "Porto"]])).pieces
    assert FACT in read_document("a.pptx", files.pptx("slide", notes=FACT)).pieces


def test_scripts_styles_and_addresses_of_a_page_are_no_text() -> None:
    page = (
        b"<html><head><title>T</title><style>p{}</style></head><body><script>alert('no')</script>"
        b"<img src='http://127.0.0.1:9/x.png'><p>One</p><p>Two <b>bold</b></p><svg><text>no</text></svg></body></html>"
    )

    text = "\n".join(read_document("a.html", page).pieces)

    assert "One" in text
    assert "Two bold" in text
    assert "no" not in text
    assert "127.0.0.1" not in text


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.pdf", files.pdf("")), ("a.docx", files.docx("", " ")), ("a.xlsx", files.xlsx([[None, ""]])), ("a.txt", b"")],
)
def test_file_without_text_has_no_pieces(name: str, content: bytes) -> None:
    assert list(read_document(name, content).pieces) == []


# -- refused ---------------------------------------------------------------------------------------------------------

PNG = bytes.fromhex("89504e470d0a1a0a") + bytes(100)
BILLION = (
    b'<?xml version="1.0"?><!DOCTYPE w [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">'
    b'<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]><w:document xmlns:w="x">&c;</w:document>'
)
EXTERNAL = b'<?xml version="1.0"?><!DOCTYPE w SYSTEM "file:///etc/passwd"><w:document xmlns:w="x"/>'
IN_OTHER_ENCODINGS = [
    *(EXTERNAL.decode().encode(encoding) for encoding in ("utf-32", "utf-32-le", "utf-32-be", "cp037")),
    EXTERNAL.decode().replace("?>", ' encoding="UTF-7"?>').encode(),
    EXTERNAL.decode().replace("?>", " encoding = 'utf-32'?>").encode(),
    EXTERNAL.decode().replace("?>", " " * 2_000 + 'encoding="cp037"?>').encode(),
    # Without a document type: what is read as another encoding may be anything.
    b'<?xml version="1.0" encoding="cp037"?><w:document xmlns:w="x"/>',
]


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.png", PNG, DocumentUnsupported),
        ("a.txt", PNG, DocumentUnsupported),
        ("a.zip", files.archive({"a.txt": b"hello"}), DocumentUnsupported),
        ("a.doc", bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600), DocumentUnsupported),
        (
            "a.docx",
            bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600) + "EncryptedPackage".encode("utf-16-le"),
            DocumentEncrypted,
        ),
        ("a.pdf", files.pdf(FACT, password="secret"), DocumentEncrypted),
        ("a.pdf", FACT.encode(), DocumentBroken),
        ("a.docx", b"PK\x03\x04 and no more", DocumentBroken),
        ("a.docx", files.docx(FACT)[:-200], DocumentBroken),
        ("a.pdf", b"%PDF-1.7 and no more", DocumentBroken),
        ("a.docx", files.with_member(files.docx(FACT), "word/document.xml", b"<w:doc"), DocumentBroken),
        ("a.docx", files.with_member(files.docx(FACT), "word/document.xml", BILLION), DocumentHostile),
        ("a.xlsx", files.with_member(files.xlsx(ROWS), "xl/sharedStrings.xml", BILLION), DocumentHostile),
        ("a.docx", files.with_member(files.docx(FACT), "word/document.xml", EXTERNAL), DocumentHostile),
        ("a.docx", files.with_member(files.docx(FACT), "word/document.xml", EXTERNAL.decode().encode("utf-16")),
         DocumentHostile),
        *(
            ("a.docx", files.with_member(files.docx(FACT), "word/document.xml", content), DocumentHostile)
            for content in IN_OTHER_ENCODINGS
        ),
        ("a.docx", files.with_member(files.docx(FACT), "word/other", b" " * 300_000 + EXTERNAL[21:]), DocumentHostile),
        ("a.docx", files.with_member(files.docx(FACT), "word/media/bomb.bin", bytes(50_000_000)), DocumentHostile),
        ("a.xlsx", files.with_member(files.xlsx(ROWS), "xl/many.xml", b" " * 3_000_000), DocumentHostile),
        ("a.zip", files.archive({f"{n}.txt": b"" for n in range(limits.MAX_MEMBERS + 1)}), DocumentHostile),
        ("a.txt", b"x " * (limits.MAX_CHARACTERS // 2 + 1), DocumentTooLarge),
        ("a.csv", b"1,2,3,4,5,6,7,8,9,0\n" * (limits.MAX_CELLS // 10 + 1), DocumentTooLarge),
        ("a.html", b"<p>x</p>" * (limits.MAX_HTML_BYTES // 8 + 1), DocumentTooLarge),
    ],
)  # fmt: skip
def test_file_is_refused(name: str, content: bytes, kind: type[DomainError]) -> None:
    started = time.monotonic()

    with pytest.raises(DomainError) as refused:
        read_document(name, content)

    assert type(refused.value) is kind
    assert time.monotonic() - started < limits.WALL_SECONDS


@pytest.mark.parametrize("cut", [0.1, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("make", [files.pdf, files.docx, files.pptx], ids=["pdf", "docx", "pptx"])
def test_file_that_is_cut_is_refused_as_broken(make: Callable[[str], bytes], cut: float) -> None:
    content = make(FACT)

    with pytest.raises(DocumentBroken):
        read_document("a.bin", content[: int(len(content) * cut)])


def test_macros_and_embedded_archives_are_not_looked_at() -> None:
    inner = files.archive({"inner.txt": bytes(1_000_000)})
    content = files.with_member(files.docx(FACT), "word/vbaProject.bin", b"Sub AutoOpen()")
    content = files.with_member(content, "word/embeddings/inner.zip", inner)

    assert list(read_document("a.docm", content).pieces) == [FACT]


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.html", b"<div>" * 400_000 + FACT.encode(), DocumentTooSlow),
        ("a.html", b"<p " + b"".join(b"a%d " % number for number in range(400_000)) + b">", DocumentTooSlow),
        ("a.docx", files.wide_cell(40_000_000), DocumentTooLarge),
    ],
    ids=["elements in elements", "attributes", "a wide cell"],
)
def test_file_that_costs_much_is_refused_for_little(name: str, content: bytes, kind: type[DomainError]) -> None:
    before = processor_seconds()

    with pytest.raises(DomainError) as refused:
        read_document(name, content)

    assert type(refused.value) is kind
    assert processor_seconds() - before < 7


def processor_seconds() -> float:
    """Of the processes that this one has started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_file_that_takes_too_much_memory_is_not_called_broken() -> None:
    with pytest.raises(DocumentTooSlow):
        read_document("a.html", b"<p>" * 1_000_000)


def test_process_that_reads_has_little_of_everything() -> None:
    code = (
        "import os, resource as r; from apps.adapters.documents.child import confine; confine();"
        "print(os.nice(0), *(r.getrlimit(k)[1] for k in (r.RLIMIT_CPU, r.RLIMIT_AS, r.RLIMIT_FSIZE, r.RLIMIT_CORE)))"
    )

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout

    niceness, *least = (int(one) for one in said.split())
    assert niceness >= limits.NICENESS
    assert least == [5, 512 * 1024 * 1024, 0, 0]  # in numbers, as docs/security.md has them


def test_file_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "WALL_SECONDS", 0.01)

    with pytest.raises(DocumentTooSlow):
        read_document("a.pdf", files.pdf(FACT))


def test_reader_that_dies_is_a_refusal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(reading, "CHILD", "antigravity_is_no_such_module")

    with pytest.raises(DocumentTooSlow):
        read_document("a.txt", FACT.encode())


# -- passages --------------------------------------------------------------------------------------------------------


def test_passages_hold_everything_and_none_is_too_long() -> None:
    pieces = ["short", *(f"Sentence number {n} says something of its own. " * 40 for n in range(5)), "x" * 5_000]

    made = list(passages(pieces))

    assert max(map(len, made)) <= PASSAGE + 1
    assert "".join("".join(made).split()) == "".join("".join(pieces).split())


def test_short_pieces_share_a_passage() -> None:
    assert list(passages(["one", "two", "three"])) == ["one\ntwo\nthree"]
