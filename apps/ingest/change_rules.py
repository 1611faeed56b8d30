"""What a statement changes of one that was made before, as the classifier scores the two.  Pure.

Rules decide who may change anything: only an assertion.  The classifier says whether two statements are of the same
thing, and which words are over.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from apps.adapters.classifiers.base import ChangeScores, Classifier, WordScore
from apps.ingest.relatedness import NEAREST, likely
from text import patterns
from text.extraction.assertion import asks, is_played, is_quoted, is_supposed, statement_start
from text.extraction.finding import LIMIT, ORDER
from text.marking import MARK, marked
from text.sentences import Span, clauses, fold, lower, sentences
from text.terms import terms

_NUMBER_OR_NAME: Final = patterns.compile(r"\b(?:\w*\d\w*|[A-Z]\w+)")
# "It's a whippet, not a greyhound": what is said to be wrong.
_DENIED: Final = patterns.compile(
    r"\b(?:not|instead of|rather than|no longer)\s+(?:(?:an?|the|my|our|at|in|on|to|for|with|by)\s+){0,2}"
    r"(?P<v>[^\W_][\w'-]*(?: [\w'-]+){0,2}?)(?=\s*(?:$|[.,;:!?)]|\b(?:any ?more|and|but|as|because|since)\b))",
    patterns.IGNORECASE,
)
# Of these there is one at a time.
_FAVOURITE: Final = patterns.compile(r"\b(?P<v>(?:my|our|his|her) favou?rite \w+(?: \w+)?) (?:is|are)\b")
_LIMIT_ENDS: Final = 0.75  # how surely a limit must be over to end by what is no limit
_UNRELATED: Final = 0.8  # from here on nothing is done, whatever the words: it is about something or someone else
_PUNCTUATION: Final = f" \t\r\n.,;:!?()[]\"'-{MARK}"
# What is left of a statement when its object is gone: it says nothing by itself.  As ``terms`` stems it.
_EMPTY: Final = frozenset(
    """
    live work drive use take go stay own play studi call name get keep eat drink pay cost come make run start move
    current still also alway usual late thing one like need want plan new old
    """.split()  # noqa: SIM905  (a list of words reads best as words)
)


class Effect(StrEnum):
    ENDS = "ends"  # all of it, or the words that are named
    OUTDATES = "outdates"  # something of it may be over, unknown what
    REPEATS = "repeats"  # it says the same


@dataclass(frozen=True, slots=True, kw_only=True)
class Sureness:
    """How sure the classifier must be, 0..1: of a change, to end words; that there may be one; of a repetition; of a
    word; and that the later statement is worth keeping at all, for anything to change by it."""

    ends: float = 0.7
    outdates: float = 0.5
    repeats: float = 0.9
    word: float = 0.4
    worth: float = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementChange:
    """words: spans of the earlier statement that hold no longer; none where all of it ends.  over: how surely, 0..1."""

    effect: Effect
    words: Sequence[Span] = ()
    over: float = field(default=1.0, compare=False)


def may_change(later: str) -> bool:
    """Whether it is an assertion: a question, a quotation, a hypothesis or an idle thought changes nothing.

    One that is quoted or supposed anywhere makes all of it so; a question may stand beside what is asserted.
    """
    plain = fold(later)
    if is_quoted(plain):
        return False
    said = [lower(plain[start:end]) for start, end in sentences(plain)]
    return not any(is_supposed(one) or is_played(one) for one in said) and not all(map(asks, said))


def may_end(earlier: str, *, by: str, over: float) -> bool:
    """Of two types: an order ends by an order or a limit, a limit by what is neither only where that is very sure.

    over: how surely the earlier statement is over, 0..1.
    """
    return earlier not in (ORDER, LIMIT) or by in (ORDER, LIMIT) or (earlier == LIMIT and over >= _LIMIT_ENDS)


def changes_among(
    later: str,
    earlier: Sequence[tuple[str, float]],
    classifier: Classifier,
    sureness: Sureness,
    *,
    worth: float = 1.0,
) -> Iterator[tuple[int, StatementChange]]:
    """What it changes of these statements, each with its cosine: by place.  The nearest are looked at, and those that
    are likely to be of the same thing are read.

    later: what ``may_change``.  worth: how likely it is worth keeping; chatter repeats something at most.  Raises
    AdapterError.
    """
    later = later[statement_start(fold(later)) :]
    nearest = sorted(range(len(earlier)), key=lambda place: -earlier[place][1])[:NEAREST]
    wanted = [nearest[number] for number in likely(later, [earlier[place] for place in nearest])]
    texts = [earlier[place][0] for place in wanted]
    for place, text, scores in zip(wanted, texts, classifier.compare(later, texts), strict=True):
        change = change_of(later, text, scores, sureness)
        if change is not None and (worth >= sureness.worth or change.effect is Effect.REPEATS):
            yield place, change


def change_of(later: str, earlier: str, scores: ChangeScores, sureness: Sureness) -> StatementChange | None:
    """later: what ``may_change``.  earlier: as what holds of it reads now."""
    if scores.relations["unrelated"] < _UNRELATED:
        denied = clause_denied(later, earlier) or favourite_of(later, earlier)
        if denied is not None:
            return _ending(earlier, denied)
    if scores.over >= sureness.ends:
        words = words_over(later, earlier, scores.words, sureness.word)
        return StatementChange(effect=Effect.OUTDATES) if words is None else _ending(earlier, words, over=scores.over)
    if scores.over >= sureness.outdates:
        return StatementChange(effect=Effect.OUTDATES)
    if scores.relations["repeats"] >= sureness.repeats and not _tells_more(later, earlier):
        return StatementChange(effect=Effect.REPEATS)
    return None


def _ending(earlier: str, words: Span, *, over: float = 1.0) -> StatementChange:
    """These words end; all of the statement where nothing is left to say."""
    return StatementChange(
        effect=Effect.ENDS, words=() if says_nothing(marked(earlier, [words])) else [words], over=over
    )


def clause_denied(later: str, earlier: str) -> Span | None:
    """The clause that says just what the later statement calls wrong: by "my tea is genmaicha, not oolong" "my tea is
    oolong".  Every word of it with content is said again."""
    said, plain = set(terms(later)), fold(earlier)
    for match in _DENIED.finditer(fold(later)):
        wrong = set(terms(match["v"]))
        for part in _clauses(plain):
            there = set(terms(earlier[part.start : part.end]))
            if wrong and wrong <= there and there - wrong and there <= said:
                return part
    return None


def favourite_of(later: str, earlier: str) -> Span | None:
    """The clause that names another favourite of the kind that the later statement names one of."""
    now = {match["v"] for match in _FAVOURITE.finditer(lower(fold(later)))}
    low = lower(fold(earlier))
    for part in _clauses(low) if now else ():
        match = _FAVOURITE.search(low, part.start, part.end)
        if match is not None and match["v"] in now and low[part.start : part.end].rstrip(".!") not in later.lower():
            return part
    return None


def says_nothing(text: str) -> bool:
    """Whether nothing is left of a statement once the marked words are gone: "I live in …"."""
    return _NUMBER_OR_NAME.search(_without_openings(text)) is None and _EMPTY.issuperset(terms(text))


def words_over(later: str, earlier: str, words: Sequence[WordScore], threshold: float) -> Span | None:
    """The run of words that are over most surely, without the punctuation around it.

    One thing changes at a time, and is said in one clause: of all runs the one whose words are above the threshold by
    the most together (Kadane's algorithm).  Where some clauses name what the later statement names, it is one of those,
    or unknown.
    """
    plain = fold(earlier)
    parts = _clauses(plain)
    ends = [end for _, end in parts]
    named = _named(later, [earlier[start:end] for start, end in parts])
    best, best_run, total, begin, within = 0.0, None, 0.0, 0, 0
    for place, word in enumerate(words):
        clause = bisect_right(ends, word.start)
        if total <= 0 or clause != within:
            total, begin, within = 0.0, place, clause
        is_mark = MARK in earlier[word.start : word.end]
        total += 0.0 if is_mark else word.over - threshold
        if total > 0 and total >= best - 1e-9 and (not named or clause in named):
            best, best_run = total, (begin, place)
    if best_run is None:
        return None
    start, end = words[best_run[0]].start, words[best_run[1]].end
    inner = earlier[start:end]
    start += len(inner) - len(inner.lstrip(_PUNCTUATION))
    end -= len(inner) - len(inner.rstrip(_PUNCTUATION))
    return Span(start, end) if start < end else None


def _clauses(plain: str) -> list[Span]:
    return [part for sentence in sentences(plain) for part in clauses(plain, sentence)]


def _named(later: str, parts: Sequence[str]) -> set[int]:
    """Which of several clauses have a content word in common with the later statement; none where they are one."""
    said = set(terms(later)) - _EMPTY
    return {number for number, part in enumerate(parts) if said & set(terms(part))} if len(parts) > 1 else set()


def _tells_more(later: str, earlier: str) -> bool:
    """Whether it contains a number or a name that the earlier one lacks."""
    there = earlier.casefold()
    return any(said.casefold() not in there for said in _NUMBER_OR_NAME.findall(_without_openings(later)))


def _without_openings(text: str) -> str:
    """The first letter of each sentence in lower case, so that it makes no name of a word."""
    plain = fold(text)
    letters = list(text)
    for start, _ in sentences(plain):
        letters[start] = letters[start].lower()[:1] or letters[start]
    return "".join(letters).replace("I ", "i ").replace("I'", "i'")
