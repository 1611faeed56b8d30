"""A process that holds keys: no core file, no process reads its memory, and its last words quote nothing."""

import json
import subprocess
import sys

import pytest

SAID = "my diary"
QUIET = """
import logging, sys
from memsync.log_format import JsonFormatter
handler = logging.StreamHandler(sys.stderr)
handler.setFormatter(JsonFormatter())
logging.getLogger().addHandler(handler)
from memsync.hardening import serve_quietly
serve_quietly()
said = "my diary"
"""


def last_words(program: str) -> str:
    return subprocess.run([sys.executable, "-c", QUIET + program], capture_output=True, text=True, check=False).stderr


@pytest.mark.parametrize(
    "program",
    [
        "raise ValueError(said)",
        "import threading; t = threading.Thread(target=int, args=(said,)); t.start(); t.join()",
        "class Dying:\n def __del__(self): raise ValueError(said)\nDying()",
        "import warnings; warnings.warn(said)",
        "logging.getLogger('x').warning('%d words', said)",
        "logging.getLogger('x').warning('heard ' + said)",
    ],
    ids=["exception", "thread", "destructor", "warning", "bad arguments", "filled-in message"],
)
def test_last_words_quote_nothing(program: str) -> None:
    words = last_words(program)

    assert SAID not in words
    assert json.loads(words.splitlines()[-1])["level"] in {"critical", "warning"}


def test_without_the_guard_they_would() -> None:
    program = 'said = "my diary"\nraise ValueError(said)'

    assert SAID in subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False).stderr


@pytest.mark.skipif(sys.platform != "linux", reason="prctl is Linux's")
def test_no_core_file_and_nobody_reads_its_memory_even_after_a_fork() -> None:
    program = """
import ctypes, os, resource
if os.fork() == 0:
    print(resource.getrlimit(resource.RLIMIT_CORE), ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), file=sys.stderr)
else:
    os.wait()
"""
    assert last_words(program).strip() == "(0, 0) 0"
