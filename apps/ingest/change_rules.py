"""Decide what a statement changes in an earlier one, from the classifier's scores of the pair.  Pure.

Rules decide which statements may change anything: only assertions.  The classifier decides whether two statements are
about the same thing, and which words no longer hold.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from apps.adapters.classifiers.base import ChangeScores, Classifier, WordScore
from apps.ingest.relatedness import NEAREST, corrected, likely
from text import dates, patterns
from text.extraction.assertion import asks, is_played, is_quoted, is_supposed, statement_start
from text.extraction.finding import LIMIT, ORDER
from text.marking import MARK, marked
from text.parallel import have_other_subjects
from text.sentences import Span, all_clauses, fold, lower, sentences
from text.terms import terms

_NUMBER_OR_NAME: Final = patterns.compile(r"\b(?:\w*\d\w*|[A-Z]\w+)")
# "It's a whippet, not a greyhound": matches the denied value.
_DENIED: Final = patterns.compile(
    r"\b(?:not|instead of|rather than|no longer)\s+(?:(?:an?|the|my|our|at|in|on|to|for|with|by)\s+){0,2}"
    r"(?P<v>[^\W_][\w'-]*(?: [\w'-]+){0,2}?)(?=\s*(?:$|[.,;:!?)]|\b(?:any ?more|and|but|as|because|since)\b))",
    patterns.IGNORECASE,
)
# Single-valued: there is one favourite of a kind at a time.
_FAVOURITE: Final = patterns.compile(r"\b(?P<v>(?:my|our|his|her) favou?rite \w+(?: \w+)?) (?:is|are)\b")
# "I switched from Postgres to SQLite": names what has ended.
_FROM: Final = patterns.compile(
    r"\b(?:switch|chang|mov|migrat|upgrad|convert|transferr?|went|go)\w* (?:\w+ ){0,3}from"
    r" (?P<v>[^.,;:!?]{1,40}?) to\b",
    patterns.IGNORECASE,
)
_LIMIT_ENDS: Final = 0.6  # confidence needed to end a limit by a statement that is neither limit nor order
_SEVERAL_END: Final = 0.9  # confidence needed to end a claim by another value of a slot with several values
_UNRELATED: Final = 0.8  # from here on the word rules are skipped: it is about something or someone else
_PUNCTUATION: Final = f" \t\r\n.,;:!?()[]\"'-{MARK}"
# Stems (by ``terms``) that say nothing by themselves once the object of a statement has ended: of common verbs, and of
# verbs for the end itself, which "I gave up the cello" shares with "I gave up alcohol".
_EMPTY: Final = frozenset(
    """
    live work drive use take go stay own play studi call name get keep eat drink pay cost come make run start move lot
    current still also alway usual late thing one like need want plan new old
    give quit stop drop end leav cancel sell chang switch finish replac lose
    """.split()  # noqa: SIM905  (a list of words reads best as words)
)


class Effect(StrEnum):
    ENDS = "ends"  # all of it, or the given words, no longer hold
    OUTDATES = "outdates"  # some unknown part may no longer hold
    REPEATS = "repeats"  # same content


@dataclass(frozen=True, slots=True, kw_only=True)
class Sureness:
    """Thresholds of the classifier's scores, 0..1.

    ends: of a change, to end words.  outdates: of a possible change.  repeats: of a repetition.  word: of a single
    word.  worth: of the later statement being worth keeping, below which it changes nothing.
    """

    ends: float = 0.4
    outdates: float = 0.2
    repeats: float = 0.6
    word: float = 0.3
    worth: float = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementChange:
    """words: spans of the earlier statement that no longer hold; empty if all of it ends.  over: confidence, 0..1."""

    effect: Effect
    words: Sequence[Span] = ()
    over: float = field(default=1.0, compare=False)


def may_change(later: str) -> bool:
    """Whether the text is an assertion: a question, a quotation, a hypothesis or role play changes nothing.

    One quotation, hypothesis or role play disqualifies the whole text; a question only if every sentence is one.
    """
    plain = fold(later)
    if is_quoted(plain):
        return False
    said = [lower(plain[start:end]) for start, end in sentences(plain)]
    return not any(is_supposed(one) or is_played(one) for one in said) and not all(map(asks, said))


def may_end(earlier: str, *, by: str, over: float) -> bool:
    """Whether a statement of type ``by`` may end one of type ``earlier``.

    Only an order or a limit ends an order.  Any other statement ends a limit only with high confidence.
    over: confidence that the earlier statement no longer holds, 0..1.
    """
    return earlier not in (ORDER, LIMIT) or by in (ORDER, LIMIT) or (earlier == LIMIT and over >= _LIMIT_ENDS)


def is_beside(effect: Effect, over: float, *, many_valued: bool, has_slot: bool) -> bool:
    """Whether a claim of a slot with several values ("I speak German") only stands beside an earlier claim.

    effect, over: what the comparer says, and its confidence.  many_valued: of the new claim.  has_slot: the earlier
    statement is a single claim; if it is of the same slot, the slot has decided before.
    """
    return many_valued and has_slot and (effect is Effect.OUTDATES or over < _SEVERAL_END)


def changes_among(
    later: str,
    earlier: Sequence[tuple[str, float]],
    classifier: Classifier,
    sureness: Sureness,
    *,
    worth: float = 1.0,
) -> Iterator[tuple[int, StatementChange]]:
    """Yield (index, change) for each of the earlier statements that ``later`` changes.

    The nearest are preselected by ``relatedness``, and only the likely pairs go to the classifier.

    later: passes ``may_change``.  earlier: (text, cosine).  worth: probability that ``later`` is worth keeping; below
    the threshold it can only repeat.  Raises AdapterError.
    """
    later = later[statement_start(fold(later)) :]
    nearest = sorted(range(len(earlier)), key=lambda place: -earlier[place][1])[:NEAREST]
    wanted = [(nearest[number], related) for number, related in likely(later, [earlier[place] for place in nearest])]
    texts = [earlier[place][0] for place, _ in wanted]
    for (place, related), text, scores in zip(wanted, texts, classifier.compare(later, texts), strict=True):
        change = change_of(later, text, corrected(scores, related), sureness)
        if change is not None and (worth >= sureness.worth or change.effect is Effect.REPEATS):
            yield place, change


def change_of(later: str, earlier: str, scores: ChangeScores, sureness: Sureness) -> StatementChange | None:
    """The change of one pair, or None.  later: passes ``may_change``.  earlier: its text that still holds."""
    if scores.relations["unrelated"] < _UNRELATED:
        denied = clause_denied(later, earlier) or favourite_of(later, earlier)
        if denied is not None:
            return _ending(earlier, denied)
    if are_other_favourites(later, earlier) or ends_another(later, earlier) or have_other_subjects(later, earlier):
        return None
    if scores.over >= sureness.ends:
        words = words_over(later, earlier, scores.words, sureness.word)
        return StatementChange(effect=Effect.OUTDATES) if words is None else _ending(earlier, words, over=scores.over)
    if scores.over >= sureness.outdates:
        return StatementChange(effect=Effect.OUTDATES)
    if scores.repeated >= sureness.repeats and not _tells_more(later, earlier):
        return StatementChange(effect=Effect.REPEATS)
    return None


def _ending(earlier: str, words: Span, *, over: float = 1.0) -> StatementChange:
    """End these words, or the whole statement if the rest says nothing."""
    return StatementChange(
        effect=Effect.ENDS, words=() if says_nothing(marked(earlier, [words])) else [words], over=over
    )


def clause_denied(later: str, earlier: str) -> Span | None:
    """The clause that the later statement denies: "my tea is genmaicha, not oolong" denies "my tea is oolong".

    The later statement must repeat every content word of the clause.
    """
    said, plain = set(terms(later)), fold(earlier)
    for match in _DENIED.finditer(fold(later)):
        wrong = set(terms(match["v"]))
        for part in all_clauses(plain):
            there = set(terms(earlier[part.start : part.end]))
            if wrong and wrong <= there and there - wrong and there <= said:
                return part
    return None


def favourite_of(later: str, earlier: str) -> Span | None:
    """The clause that names a different favourite of the same kind as the later statement."""
    now = _favourites(lower(fold(later)))
    low = lower(fold(earlier))
    for part in all_clauses(low) if now else ():
        match = _FAVOURITE.search(low, part.start, part.end)
        if match is not None and match["v"] in now and low[part.start : part.end].rstrip(".!") not in later.lower():
            return part
    return None


def ends_another(later: str, earlier: str) -> bool:
    """Whether the later statement is a single change that names what it ends, of which the earlier one says nothing."""
    plain = fold(later)
    match = _FROM.search(plain) if len(all_clauses(plain)) == 1 else None
    ended = set(terms(match["v"])) if match else set()
    return bool(ended) and not ended & set(terms(earlier))


def are_other_favourites(later: str, earlier: str) -> bool:
    """Whether the later statement names a favourite, and every clause of the earlier one a favourite of other kinds."""
    now = _favourites(lower(fold(later)))
    low = lower(fold(earlier)) if now else ""
    kinds = [_favourites(low[part.start : part.end]) for part in all_clauses(low)]
    return bool(kinds) and all(kind and not kind & now for kind in kinds)


def _favourites(low: str) -> set[str]:
    """The kinds of favourites that it names: {"my favourite tea"}."""
    return {match["v"] for match in _FAVOURITE.finditer(low)}


def says_nothing(text: str) -> bool:
    """Whether nothing, or only a date, is left of a statement without the marked words: "I live in …, since May"."""
    rest = _without_dates(_without_openings(text))
    return _NUMBER_OR_NAME.search(rest) is None and _EMPTY.issuperset(terms(rest))


def words_over(later: str, earlier: str, words: Sequence[WordScore], threshold: float) -> Span | None:
    """The span of words that most surely no longer hold, without punctuation around it; None if unknown.

    It is the run within one clause with the largest sum of scores above the threshold (Kadane's algorithm).  If some
    clauses share a content word with the later statement, only those are considered.
    """
    plain = fold(earlier)
    parts = all_clauses(plain)
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


def _named(later: str, parts: Sequence[str]) -> set[int]:
    """Indexes of the clauses that share a content word with the later statement; empty for a single clause."""
    said = set(terms(later)) - _EMPTY
    return {number for number, part in enumerate(parts) if said & set(terms(part))} if len(parts) > 1 else set()


def _tells_more(later: str, earlier: str) -> bool:
    """Whether it contains a number or a name that the earlier one lacks."""
    there = earlier.casefold()
    return any(said.casefold() not in there for said in _NUMBER_OR_NAME.findall(_without_openings(later)))


def _without_openings(text: str) -> str:
    """Lower-case the first letter of each sentence, so that its first word does not count as a name."""
    plain = fold(text)
    letters = list(text)
    for start, _ in sentences(plain):
        letters[start] = letters[start].lower()[:1] or letters[start]
    return "".join(letters).replace("I ", "i ").replace("I'", "i'")


def _without_dates(text: str) -> str:
    undated = dates.without_dates(lower(fold(text)))
    return "".join(" " if blank == " " else letter for letter, blank in zip(text, undated, strict=True))
