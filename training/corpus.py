"""The labelled texts, by author and by split.

Each author has a folder in ``training/data`` with some of ``utterances.jsonl``, ``pairs.jsonl``, ``stories.jsonl``,
``endings.jsonl``, ``parallel.jsonl``, ``events.jsonl``, ``short.jsonl``, ``guards.jsonl``, ``wishes.jsonl``,
``asked.jsonl``, ``nothing.jsonl`` and ``conversations.jsonl``; test authors of turns also have ``scripts.jsonl``,
``life.jsonl`` and ``questions.jsonl``.
``authors.json`` lists each author's style and split.  ``training/README.md`` describes the format.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

from apps.adapters.classifiers.base import CHANGES, OUTCOMES, RELATIONS, TYPES

DATA: Final = Path(__file__).parent / "data"

Split = Literal["train", "validation", "test"]
SPLITS: Final[tuple[Split, ...]] = ("train", "validation", "test")

REASONS: Final = ("low_signal", "transient", "policy", "redundant")
GUARD_KINDS: Final = ("secret", "order", "innocent")
WISH_KINDS: Final = ("style", "action")


class CorpusFault(ValueError):
    """A file of the corpus violates the format.  Names the author, the file and the record."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A statement to keep.  start, end: its span in the turn; types: the right one first, then other accepted ones."""

    start: int
    end: int
    types: tuple[str, ...]
    words: tuple[str, ...]
    at: str | None
    precision: str | None


@dataclass(frozen=True, slots=True)
class Dropped:
    """A part to drop, with its reason: one of ``REASONS``."""

    start: int
    end: int
    reason: str


@dataclass(frozen=True, slots=True)
class Utterance:
    """A turn with its labels.  before: earlier turns of the same person, oldest first."""

    id: str
    time: str
    text: str
    before: tuple[str, ...]
    kept: tuple[Kept, ...]
    dropped: tuple[Dropped, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two turns of one person.  claim: the words of the earlier one that no longer hold; None if there are none."""

    id: str
    earlier: str
    later: str
    relation: str
    claim: str | None


@dataclass(frozen=True, slots=True)
class Story:
    """Turns of one person, oldest first.

    told: (later, earlier) turn numbers -> their relation, and the words of the earlier turn that no longer hold.  All
    other pairs of turns coexist.
    """

    id: str
    turns: tuple[str, ...]
    told: dict[tuple[int, int], tuple[str, tuple[str, ...]]]


@dataclass(frozen=True, slots=True)
class Ending:
    """Two statements of one person, such as the pipeline compares.

    is_over: whether part of the earlier one no longer holds.  words: that part, where it is known.  is_repeated:
    whether the later one says only what the earlier one says.
    """

    id: str
    earlier: str
    later: str
    is_over: bool
    is_repeated: bool
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Guarded:
    """A turn with a secret or an injected order, or one that only looks like it.  start, end: the secret's span."""

    id: str
    text: str
    kind: str
    start: int | None
    end: int | None


@dataclass(frozen=True, slots=True)
class Short:
    """A turn of one short sentence.  outcome: "keep", "low_signal" or "transient"."""

    id: str
    text: str
    outcome: str


@dataclass(frozen=True, slots=True)
class Wish:
    """A standing wish to the assistant.  start, end: its span in the turn.

    kind: "style" if it concerns only how answers are worded, else "action".
    """

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class Wishful:
    """A turn with its standing wishes to the assistant, or one that only looks like it."""

    id: str
    text: str
    wishes: tuple[Wish, ...]


@dataclass(frozen=True)
class Author:
    """An author and their texts; files are read on first use."""

    id: str
    split: Split
    language: str
    register: str
    root: Path = DATA

    @cached_property
    def utterances(self) -> tuple[Utterance, ...]:
        return tuple(_utterance(self, record) for record in self._records("utterances"))

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        return tuple(_pair(self, record) for record in self._records("pairs"))

    @cached_property
    def stories(self) -> tuple[Story, ...]:
        return tuple(_story(self, record) for record in self._records("stories"))

    @cached_property
    def endings(self) -> tuple[Ending, ...]:
        return tuple(_ending(self, record) for record in self._records("endings"))

    @cached_property
    def parallel(self) -> tuple[Ending, ...]:
        """Statements of the same form, of which only the heads of the comparer learn."""
        return tuple(_ending(self, record) for record in self._records("parallel"))

    @cached_property
    def events(self) -> tuple[Ending, ...]:
        """Statements about a person or thing that was named before, of which the comparer learns."""
        return tuple(_ending(self, record) for record in self._records("events"))

    @cached_property
    def short(self) -> tuple[Short, ...]:
        """Short turns, of which the reader learns."""
        return tuple(
            Short(one["id"], one["text"], _one_of(self, one, one["label"], OUTCOMES)) for one in self._records("short")
        )

    @cached_property
    def guards(self) -> tuple[Guarded, ...]:
        return tuple(_guarded(self, record) for record in self._records("guards"))

    @cached_property
    def wishes(self) -> tuple[Wishful, ...]:
        return tuple(_wishful(self, record) for record in self._records("wishes"))

    @cached_property
    def scripts(self) -> tuple[dict[str, Any], ...]:
        return tuple(self._records("scripts"))

    @cached_property
    def life(self) -> tuple[dict[str, Any], ...]:
        return tuple(self._records("life"))

    @cached_property
    def questions(self) -> tuple[dict[str, Any], ...]:
        return tuple(self._records("questions"))

    @cached_property
    def asked(self) -> tuple[dict[str, Any], ...]:
        """Questions about turns of others: ``of`` is the id of a turn, ``ask`` the question."""
        return tuple(self._records("asked"))

    @cached_property
    def nothing(self) -> tuple[dict[str, Any], ...]:
        """Questions, ``ask``, that no life answers."""
        return tuple(self._records("nothing"))

    @cached_property
    def conversations(self) -> tuple[dict[str, Any], ...]:
        """``kind``, ``items`` and ``questions``, as ``benchmarks recall`` reads them."""
        return tuple(self._records("conversations"))

    def _records(self, name: str) -> Iterator[dict[str, Any]]:
        path = self.root / self.id / f"{name}.jsonl"
        if not path.exists():
            return
        seen: set[str] = set()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except ValueError as error:
                raise CorpusFault(f"{self.id}/{name}.jsonl:{number}: not JSON") from error
            given = record.get("id") if isinstance(record, dict) else None
            if not isinstance(given, str) or not given.startswith(self.id) or given in seen:
                raise CorpusFault(
                    f"{self.id}/{name}.jsonl:{number}: the id is missing, another author's, or used twice"
                )
            seen.add(given)
            yield record


def authors(*splits: Split) -> list[Author]:
    """The authors of these splits, or of all, in the order of their ids."""
    entries = json.loads((DATA / "authors.json").read_text(encoding="utf-8"))
    found = [Author(id=key, **entry) for key, entry in sorted(entries.items())]
    return [author for author in found if not splits or author.split in splits]


def questions_about_turns(found: Sequence[Author]) -> dict[str, list[dict[str, Any]]]:
    """The questions about single turns of these authors, by the author of the turn."""
    owners = {turn.id: author.id for author in found for turn in author.utterances}
    about: dict[str, list[dict[str, Any]]] = {}
    for author in found:
        for one in author.asked:
            about.setdefault(owners[one["of"]], []).append(one)
    return about


def about_nothing(split: Split) -> list[dict[str, Any]]:
    """Questions that no life answers, as those of a conversation; the ``test`` authors' for ``validation`` too."""
    return [
        {"question": one["ask"], "category": "nothing", "gold": []}
        for author in authors("train" if split == "train" else "test")
        for one in author.nothing
    ]


def _utterance(author: Author, record: dict[str, Any]) -> Utterance:
    text = record["text"]
    kept = tuple(
        Kept(
            *_span(author, record, label["quote"]),
            types=(_one_of(author, record, label["type"], TYPES), *(label.get("also") or ())),
            words=tuple(label.get("has") or ()),
            at=label.get("at"),
            precision=label.get("precision"),
        )
        for label in record.get("keep") or ()
    )
    dropped = tuple(
        Dropped(*_span(author, record, label["quote"]), reason=_one_of(author, record, label["why"], REASONS))
        for label in record.get("drop") or ()
    )
    if not kept and not dropped:
        raise CorpusFault(f"{record['id']}: has no label")
    return Utterance(record["id"], record["time"], text, tuple(record.get("before") or ()), kept, dropped)


def _pair(author: Author, record: dict[str, Any]) -> Pair:
    relation = _one_of(author, record, record["relation"], RELATIONS)
    claim = record.get("claim")
    if (relation in CHANGES) != (claim is not None) or (claim and claim not in record["earlier"]):
        raise CorpusFault(f"{record['id']}: the claim is not words of the earlier turn, or there should be none")
    return Pair(record["id"], record["earlier"], record["later"], relation, claim)


def _story(author: Author, record: dict[str, Any]) -> Story:
    """If a turn both ends and replaces parts of another, the relation is "replaces"."""
    turns = record["turns"]
    told: dict[tuple[int, int], tuple[str, tuple[str, ...]]] = {}
    for later, earlier in record.get("repeats") or ():
        told[later, earlier] = ("repeats", ())
    for one in record.get("changes") or ():
        if not 0 <= one["of"] < one["by"] < len(turns) or one["claim"] not in turns[one["of"]]:
            raise CorpusFault(f"{record['id']}: the claim is not words of an earlier turn")
        relation = _one_of(author, record, one["relation"], tuple(CHANGES))
        before, claims = told.get((one["by"], one["of"]), ("", ()))
        told[one["by"], one["of"]] = (
            "replaces" if before == "replaces" else relation,
            (*claims, one["claim"]),
        )
    return Story(record["id"], tuple(turns), told)


def _ending(author: Author, record: dict[str, Any]) -> Ending:
    words = tuple(record.get("words") or ())
    if not all(one in record["earlier"] for one in words) or (words and not record["over"]):
        raise CorpusFault(
            f"{record['id']}: words that are over are not of the earlier statement, or there should be none"
        )
    return Ending(record["id"], record["earlier"], record["later"], record["over"], record.get("repeats", False), words)


def _guarded(author: Author, record: dict[str, Any]) -> Guarded:
    kind = _one_of(author, record, record["kind"], GUARD_KINDS)
    start, end = _span(author, record, record.get("secret") or "") if kind == "secret" else (None, None)
    return Guarded(record["id"], record["text"], kind, start, end)


def _wishful(author: Author, record: dict[str, Any]) -> Wishful:
    wishes = tuple(
        Wish(*_span(author, record, one["quote"]), kind=_one_of(author, record, one["kind"], WISH_KINDS))
        for one in record["wishes"]
    )
    return Wishful(record["id"], record["text"], wishes)


def _span(author: Author, record: dict[str, Any], quote: str) -> tuple[int, int]:
    start = record["text"].find(quote) if quote else -1
    if start < 0:
        raise CorpusFault(f"{author.id}: {record['id']}: a quote is not in the text")
    return start, start + len(quote)


def _one_of(author: Author, record: dict[str, Any], value: Any, known: tuple[str, ...]) -> str:
    if value not in known:
        raise CorpusFault(f"{author.id}: {record['id']}: {value!r} is none of {', '.join(known)}")
    return str(value)
