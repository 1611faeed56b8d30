"""Reading a file without trusting it."""

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
    """The text of a file.  name: decides between kinds of text; the content decides everything else.

    A process of its own reads it, with limits on time and memory, no secrets and no network; nothing touches the disk.
    Raises what is in ``refusals``, and DocumentsBusy when as many are being read as may be.
    """
    suffix = _SUFFIX.search(name.strip().lower())
    # No more of the name: anyone who may list processes sees their arguments.
    command = [sys.executable, "-P", "-m", CHILD, suffix[0] if suffix else ""]
    # Nothing of our own environment, which names databases and passwords.
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
