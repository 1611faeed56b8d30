"""No more than a few documents are read at once, for any caller, and the places for it cannot be lost."""

import fcntl
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from apps.adapters.documents import places, reading
from apps.adapters.documents.places import DocumentsBusy, place
from apps.adapters.documents.reading import read_document
from tests.adapters.sample_files import FACT


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two places of their own for each test, and little patience."""
    settings.DOCUMENT_PLACES = tmp_path / "places"
    settings.DOCUMENT_READERS = 2
    monkeypatch.setattr(places, "WAIT_SECONDS", 0.1)
    return tmp_path / "places"


def is_free(folder: Path, number: int) -> bool:
    with (folder / str(number)).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@pytest.fixture
def elsewhere(folder: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Both places are taken, each by a process that has nothing to do with this one any more."""
    readers = []
    for _ in range(2):
        with place() as held:
            readers.append(subprocess.Popen(["sleep", "600"], pass_fds=[held]))
    yield readers
    for reader in readers:
        reader.kill()
        reader.wait()


def test_two_are_read_at_once_where_nobody_says_otherwise() -> None:
    asked = subprocess.run(
        [sys.executable, "-c", "from django.conf import settings; print(settings.DOCUMENT_READERS)"],
        env={name: value for name, value in os.environ.items() if name != "DOCUMENT_READERS"},
        capture_output=True,
        check=True,
        text=True,
    )

    assert asked.stdout == "2\n"


def test_document_is_not_read_while_all_places_are_taken(elsewhere: list[subprocess.Popen[bytes]]) -> None:
    with pytest.raises(DocumentsBusy) as busy:
        read_document("a.txt", FACT.encode())

    assert busy.value.retry_after > 0


def test_place_is_the_reader_s_until_it_ends_however_it_ends(
    elsewhere: list[subprocess.Popen[bytes]], folder: Path
) -> None:
    assert not is_free(folder, 0)

    elsewhere[0].kill()
    elsewhere[0].wait()

    assert is_free(folder, 0)
    assert not is_free(folder, 1)
    assert FACT in read_document("a.txt", FACT.encode()).pieces


def test_process_that_reads_holds_the_place_itself(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that it is not free while a process reads whose web process was killed."""
    (tmp_path / "open_files.py").write_text(
        "import json, os\n"
        "files = [os.path.realpath(f'/proc/self/fd/{number}') for number in range(3, 40)]\n"
        "print(json.dumps({'kind': 'text', 'pieces': files}))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(reading, "CHILD", "open_files")

    held = read_document("a.txt", FACT.encode()).pieces

    assert str(folder / "0") in held


def test_place_is_given_back(folder: Path) -> None:
    for _ in range(5):
        read_document("a.txt", FACT.encode())

    assert is_free(folder, 0)
    assert is_free(folder, 1)


def test_waiting_holds_few_threads_of_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those beyond them are refused immediately, and not when another has finished."""
    monkeypatch.setattr(places, "_threads", threading.BoundedSemaphore(1))
    monkeypatch.setattr(places, "WAIT_SECONDS", 600)
    with place(), pytest.raises(DocumentsBusy):
        read_document("a.txt", FACT.encode())


def test_thread_that_is_refused_is_free_again(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(places, "_threads", threading.BoundedSemaphore(1))
    folder.mkdir()
    with ExitStack() as taken:
        for number in range(2):
            file = taken.enter_context((folder / str(number)).open("a"))
            fcntl.flock(file, fcntl.LOCK_EX)
        for _ in range(2):
            with pytest.raises(DocumentsBusy):
                read_document("a.txt", FACT.encode())

    assert FACT in read_document("a.txt", FACT.encode()).pieces


def test_places_are_nobody_else_s_to_take(folder: Path) -> None:
    with place():
        modes = [path.stat().st_mode & 0o077 for path in (folder, folder / "0")]

    assert modes == [0, 0]
    assert not os.listdir(folder)[2:]
