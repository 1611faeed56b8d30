"""Training examples of the reader: the writers' turns as tokens, with targets for each sentence.

A sentence that overlaps a statement to keep has the target "keep"; otherwise the reason of its dropped part. A sentence
without a label counts as chatter, with a lower weight.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from apps.adapters.classifiers.tokens import Span, Tokens, tokenize
from apps.adapters.embedders.minilm.wordpiece import WordPiece
from text.sentences import clauses, fold, sentences
from training.corpus import Author, Guarded, Utterance, Wishful

ALSO: Final = 0.5  # target value of a type that is also accepted
UNSAID: Final = (0.6, 0.25)  # weight of an unlabelled sentence: in a turn with nothing kept, or something
WORTH: Final = 0.5  # weight of a turn of SHORT.md to keep: most of what people say so shortly is not
UNASKED: Final = 0.3  # weight of "not forbidden" and "not of style" if the writer was not asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """span: in the text.  tokens: range of the turn's tokens.  outcome: with its weight; None if unknown.

    forbidden, style: 0 or 1, with its weight.  style: an instruction that concerns only the style of answers.
    """

    span: Span
    tokens: Span
    outcome: tuple[str, float] | None
    forbidden: tuple[float, float]
    style: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A turn with its targets.

    kind: of a guard's turn; "wish", "short" or "spoken" for any other.  types: ranges of tokens, with a target value
    for each type.
    secret: token range of the secret; None if there is none or it is unknown.  secret_weight: 0 if unknown.
    parts: the clauses of each sentence.  said: the writer's labels; None for turns of guards and wishes.
    """

    author: str
    id: str
    kind: str
    text: str
    tokens: Tokens
    sentences: list[Sentence]
    parts: list[list[Span]]
    types: list[tuple[Span, dict[str, float]]] = field(default_factory=list)
    forbidden: float = 0.0
    secret: Span | None = None
    secret_weight: float = 0.0
    said: Utterance | None = None


def turns_of(author: Author, tokenizer: WordPiece) -> Iterator[Turn]:
    for said in author.utterances:
        yield from _whole(_spoken(author, said, tokenizer))
    for guarded in author.guards:
        yield from _whole(_guarded(author, guarded, tokenizer))


def wishes_of(author: Author, tokenizer: WordPiece) -> Iterator[Turn]:
    """The turns that the head "style" learns from, beside the others; the reader does not."""
    for wishful in author.wishes:
        yield from _whole(_wishful(author, wishful, tokenizer))


def short_of(author: Author, tokenizer: WordPiece) -> Iterator[Turn]:
    """The turns of SHORT.md, which the reader learns from beside those of ``turns_of``."""
    for said in author.short:
        tokens, cut, parts = _cut(said.text, tokenizer)
        if len(cut) == 1:
            ((span, reached),) = cut
            outcome = (said.outcome, WORTH if said.outcome == "keep" else 1.0)
            one = Sentence(span=span, tokens=reached, outcome=outcome, forbidden=(0.0, 0.0), style=(0.0, 0.0))
            yield Turn(
                author=author.id, id=said.id, kind="short", text=said.text, tokens=tokens, sentences=[one], parts=parts
            )


def _whole(turn: Turn) -> Iterator[Turn]:
    """The turn, unless its text is blank."""
    if turn.sentences:
        yield turn


def _cut(text: str, tokenizer: WordPiece) -> tuple[Tokens, list[tuple[Span, Span]], list[list[Span]]]:
    """The text's tokens, its sentences with their token ranges, and the clauses of each."""
    plain = fold(text)
    spans = sentences(plain)
    tokens = tokenize(text, spans, tokenizer)
    found = [(span, reached) for span in spans if (reached := tokens.range_of(span))]
    parts: list[list[Span]] = [list(clauses(plain, span)) for span, _ in found]
    return tokens, [((span.start, span.end), reached) for span, reached in found], parts


def _spoken(author: Author, said: Utterance, tokenizer: WordPiece) -> Turn:
    tokens, cut, parts = _cut(said.text, tokenizer)
    is_forbidden = any(dropped.reason == "policy" for dropped in said.dropped)
    reached = [(tokens.range_of((kept.start, kept.end)), kept.types) for kept in said.kept]
    types = [(span, {**dict.fromkeys(names, ALSO), names[0]: 1.0}) for span, names in reached if span]
    return Turn(
        author=author.id,
        id=said.id,
        kind="spoken",
        text=said.text,
        tokens=tokens,
        sentences=[_sentence(said, span, reached) for span, reached in cut],
        types=types,
        forbidden=float(is_forbidden),
        secret_weight=0.0 if is_forbidden else UNASKED,
        parts=parts,
        said=said,
    )


def _sentence(said: Utterance, span: Span, reached: Span) -> Sentence:
    kept = [one for one in said.kept if one.start < span[1] and one.end > span[0]]
    reasons = [one.reason for one in said.dropped if one.start < span[1] and one.end > span[0]]
    if "policy" in reasons:
        return Sentence(span=span, tokens=reached, outcome=None, forbidden=(1.0, 1.0), style=(0.0, UNASKED))
    # One turn cannot show whether something is a repetition, so "redundant" counts as keep.
    reason = "transient" if "transient" in reasons else "low_signal"
    outcome = "keep" if kept or "redundant" in reasons else reason
    weight = 1.0 if kept or reasons else UNSAID[bool(said.kept)]
    style = (0.0, 0.0 if any("instruction" in one.types for one in kept) else UNASKED)
    return Sentence(span=span, tokens=reached, outcome=(outcome, weight), forbidden=(0.0, UNASKED), style=style)


def _guarded(author: Author, said: Guarded, tokenizer: WordPiece) -> Turn:
    tokens, cut, parts = _cut(said.text, tokenizer)
    secret = None if said.start is None or said.end is None else (said.start, said.end)
    found = []
    for span, reached in cut:
        if said.kind == "secret" and secret is not None:
            touches = secret[0] < span[1] and secret[1] > span[0]
            forbidden = (1.0, 1.0) if touches else (0.0, 0.0)
        else:
            forbidden = (1.0, 0.5) if said.kind == "order" else (0.0, 1.0)
        style = (0.0, 0.0 if said.kind == "innocent" else 1.0)
        found.append(Sentence(span=span, tokens=reached, outcome=None, forbidden=forbidden, style=style))
    return Turn(
        author=author.id,
        id=said.id,
        kind=said.kind,
        text=said.text,
        tokens=tokens,
        sentences=found,
        forbidden=float(said.kind != "innocent"),
        secret=tokens.range_of(secret) if secret else None,
        secret_weight=1.0,
        parts=parts,
    )


def _wishful(author: Author, said: Wishful, tokenizer: WordPiece) -> Turn:
    """A sentence that asks for an action is not one of style, whatever else it says."""
    tokens, cut, parts = _cut(said.text, tokenizer)
    found = []
    for span, reached in cut:
        kinds = {one.kind for one in said.wishes if one.start < span[1] and one.end > span[0]}
        outcome = ("keep", 1.0) if kinds else None
        style = (float(kinds == {"style"}), 1.0)
        found.append(Sentence(span=span, tokens=reached, outcome=outcome, forbidden=(0.0, 0.0), style=style))
    return Turn(
        author=author.id,
        id=said.id,
        kind="wish",
        text=said.text,
        tokens=tokens,
        sentences=found,
        parts=parts,
    )
