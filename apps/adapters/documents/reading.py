"""Read an untrusted file in a separate process."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from apps.adapters.documents.limits import WALL_SECONDS
from apps.adapters.documents.places import place
from apps.adapters.documents.refusals import KINDS, DocumentTooSlow

CHILD: Final = "apps.adapters.documents.child"
_SUFFIX: Final = re.compile(r"\.[a-z0-9]{1,8}$")


@dataclass(frozen=True, slots=True)
class Document:
    """kind: pdf, docx, pptx, xlsx, csv, html or text.  pieces: paragraphs, rows or pages in reading order, none blank;
    together at most MAX_CHARACTERS."""

    kind: str
    pieces: Sequence[str]


def read_document(name: str, content: bytes) -> Document:
    """Return the text of a file.  name: distinguishes kinds of text; the content decides everything else.

    A separate process reads it, with limits on time and memory, no secrets and no network; nothing is written to disk.
    Raises the errors in ``refusals``, and DocumentsBusy when the limit of concurrent reads is reached.
    """
    suffix = _SUFFIX.search(name.strip().lower())
    # Only the suffix: process arguments are visible to anyone who may list processes.
    command = [sys.executable, "-P", "-m", CHILD, suffix[0] if suffix else ""]
    # Not our own environment, which contains database addresses and passwords.
    environment = {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    with (
        place() as held,
        subprocess.Popen(  # noqa: S603  (our own module)
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            pass_fds=[held],
        ) as child,
    ):
        try:
            said, _ = child.communicate(content, timeout=WALL_SECONDS)
        except subprocess.TimeoutExpired:
            raise DocumentTooSlow from None
        finally:
            child.kill()
    if child.returncode != 0:
        raise DocumentTooSlow
    answer = json.loads(said)
    if refused := answer.get("refused"):
        raise KINDS[refused](answer["message"])
    return Document(answer["kind"], answer["pieces"])
