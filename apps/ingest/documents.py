"""Remember a document: each passage becomes a memory of its own."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import accumulate
from typing import Any, Final

from apps.adapters.documents.reading import read_document
from apps.core.plaintext import Plaintext
from apps.ingest.candidates import Outcome, Proposal
from apps.ingest.services import remember_for
from apps.projects.scope import Scope
from text import patterns

PASSAGE: Final = 1_000  # characters, about the embedder's input limit
# Where to cut a long piece, in order of preference: after a line, after a sentence, between words.
CUTS: Final = tuple(patterns.compile(pattern) for pattern in (r"\n", r"[.!?。！？]\s+", r"\s+"))


def remember_document(
    scope: Scope,
    end_user: str,
    *,
    name: str,
    content: bytes,
    source: str = "",
    metadata: Mapping[str, Any],
    deduplicate: bool = True,
    now: datetime,
) -> tuple[Scope, Outcome]:
    """Store the passages of a file for this end user, in one transaction.

    Returns the scope of their space, and the passages' decisions in order; none for a file without text.

    A passage is stored whole and as a reference: its author is unknown, so its statements must not replace facts about
    the end user.  Secrets and prompt injections are refused as elsewhere.
    Raises the refusals of ``apps.adapters.documents`` before any end user is created or anything is written.
    """
    document = read_document(name, content)
    proposals = [
        Proposal(
            text=Plaintext(text),
            source=source,
            source_kind="document",
            importance=0.5,
            role="tool",
            metadata={"filename": name, **metadata},
            deduplicate=deduplicate,
        )
        for text in passages(document.pieces)
    ]
    if not proposals:
        return scope, Outcome(decisions=[])
    scope, outcomes = remember_for(scope, end_user, proposals, now=now)
    first = next((outcome.opened for outcome in outcomes if outcome.is_stored), None)
    return scope, Outcome(decisions=[made for outcome in outcomes for made in outcome.decisions], opened=first)


def passages(pieces: Sequence[str], *, is_known: Callable[[str], bool] | None = None) -> Iterator[str]:
    """Join the pieces into passages of at most PASSAGE characters; longer pieces are cut.

    is_known: whether a passage is one of an earlier version.  Those are found first, wherever they are now, so that an
    insertion changes only the passage that it is in.
    """
    parts = [part for piece in pieces for part in _parts(piece.strip("\n"))]
    ends = list(accumulate((len(part) + 1 for part in parts), initial=0))
    begun = at = 0
    while at < len(parts):
        # What one passage would hold from here on.  A passage that ended before an earlier one is found by that one.
        until = bisect_right(ends, ends[at] + PASSAGE + 1, lo=at + 1) - 1
        is_there = is_known is not None and is_known("\n".join(parts[at:until]))
        if begun < at and (is_there or ends[at + 1] - ends[begun] > PASSAGE + 1):
            yield "\n".join(parts[begun:at])
            begun = at
        if is_there:
            yield "\n".join(parts[at:until])
            begun = at = until
        else:
            at += 1
    if begun < at:
        yield "\n".join(parts[begun:])


def _parts(piece: str) -> Iterator[str]:
    while len(piece) > PASSAGE:
        at = next((places[-1] for cut in CUTS if (places := _ends(cut, piece))), PASSAGE)
        yield piece[:at].rstrip()
        piece = piece[at:].lstrip("\n")
    if piece.strip():
        yield piece


def _ends(cut: patterns.Pattern, piece: str) -> list[int]:
    """Offsets at which to cut a piece, so that its first part has PASSAGE // 4 to PASSAGE characters."""
    return [found.end() for found in cut.finditer(piece, PASSAGE // 4, PASSAGE)]
