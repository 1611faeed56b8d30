"""Splits a turn into sentences and sentences into clauses, as spans of the original text."""

from typing import NamedTuple

from text import patterns
from text.budget import checkpoint

# Each character maps to one character, so that offsets in the folded text are valid in the original.
SAME_LENGTH = str.maketrans({
    "\u2018": "'", "\u2019": "'", "\u02bc": "'", "\u201c": '"', "\u201d": '"', "\u201e": '"',
    "\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-", "\u2014": "-", "\u2212": "-",
    "\u00a0": " ", "\u202f": " ", "\x00": " ", "\ufeff": " ", "\u200b": " ",
})  # fmt: skip

ABBREVIATION = patterns.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|vs|etc|approx|no|nr|inc|ltd|co|e\.g|i\.e|a\.m|p\.m|jan|feb|mar|apr|jun|jul|aug"
    r"|sept?|oct|nov|dec"
    r"|mon|tue|wed|thu|fri|sat|sun)|\b[a-z])\.$"
)
_STOPS = patterns.compile(
    r"```.*?(?:```|\Z)"  # a code block is one sentence
    r'|"[^"\n]{0,600}"'  # and so is a quotation
    r"|(?<!\w)'[^'\n]{2,200}'(?!\w)"
    r"|(?P<stop>[.!?\u2026]+[)\"']?(?=\s|$)|[\u3002\uff01\uff1f\uff0e]+|\n\s*|(?<=\s):-?[)(dp](?=\s|$))",
    patterns.DOTALL,
)
_EDGE = " \t\r\n\f\v"

# What may begin an independent clause after a comma or a conjunction.
_OPENING = (
    r"(?:i|i'?m|i'?ve|i'?ll|i'?d|im|we|we'?re|we'?ve|we'?ll|my|our|he|she|they|he's|she's|they're|it's|its|his|her"
    r"|their|the|this|these|that"
    r"|there(?:'s| is)|you|your|please|don'?t|never|always|also(?! known| called| named| referred)|new|no|not|remind"
    r"|and|but|so|moved|joined|left|sold|bought|got"
    r"|now|allergic|born|working|living|based|married|call|use|as|since|because|may|can|could|should|would|is|are|do"
    r"|does|what"
    r"|how|which|where|when|why|who|any|anyway|everything|actually|instead)\b"
)
_NAME_OPENING = (
    r"(?-i:[A-Z][\w'.-]+(?:\s+(?-i:[A-Z])[\w'.-]+)?\s+(?:is|was|has|will|can|runs|works|went|moved|left|took|takes"
    r"|lives|got|had|became|retired|quit|resigned|joined|started|hates|loves|likes|prefers|plays|teaches|studies|and)\b)"
)
_JOINTS = patterns.compile(
    r"\s*;\s+"
    r"|\s+-{1,3}\s+"
    r"|\s*,\s*(?:and\s+|but\s+|so\s+|while\s+|plus\s+|though\s+|then\s+)?(?=" + _OPENING + "|" + _NAME_OPENING + ")"
    r"|\s+(?:and|but|while|whereas|plus|so|because|although)\s+(?=(?:i|i'?m|i'?ve|im|we|we'?re|we'?ve|my|our|he|she"
    r"|they|he's|she's"
    r"|they're|it's|his|her|their|the|there's|also|please|don'?t|never|always|live|lives|work|works|moved|joined|use"
    r"|uses|prefer|hate|love"
    r"|have|has|take|takes|drive|report|reports|manage|manages|speak|is|was|am|are)\b|" + _NAME_OPENING + ")"
    r"|\s+and\s+(?=to [a-z]{2,12} (?!be\b))"
    r"|(?<=\w)\s+\((?=\w)",
    patterns.IGNORECASE,
)


_TWO_SUBJECTS = patterns.compile(r"(?:[^,:]{0,60}[,:]\s*)?(?:(?:[Mm]y|[Oo]ur)(?: [\w-]+){1,2}|[A-Z][\w-]+|[Mm]e)")
_FIRST_PERSON = patterns.compile(r"(?:i|me|we)\b(?!')", patterns.IGNORECASE)


class Span(NamedTuple):
    start: int
    end: int


def fold(text: str) -> str:
    """The text with plain quotes, dashes and blanks; offsets stay valid."""
    return text.translate(SAME_LENGTH)


def lower(plain: str) -> str:
    """Lower case with unchanged offsets: the few letters that become two when lowered are left unchanged."""
    low = plain.lower()
    return low if len(low) == len(plain) else "".join(c.lower() if len(c.lower()) == 1 else c for c in plain)


def trimmed(plain: str, start: int, end: int) -> Span:
    while start < end and plain[start].isspace():
        start += 1
    while end > start and plain[end - 1].isspace():
        end -= 1
    return Span(start, end)


def sentences(plain: str, start: int = 0, end: int | None = None) -> list[Span]:
    """Spans of the sentences, trimmed, none empty.  plain: folded text.  Raises TooCostly if a budget is spent."""
    end = len(plain) if end is None else end
    found: list[Span] = []
    begin = start
    for stop in _STOPS.finditer(plain, start, end):
        checkpoint()
        if stop["stop"] is None:
            continue
        if stop["stop"][0] == "." and ABBREVIATION.search(
            plain[max(begin, stop.start() - 8) : stop.start() + 1].lower()
        ):
            continue
        span = trimmed(plain, begin, stop.end())
        if span.start < span.end:
            found.append(span)
        begin = stop.end()
    span = trimmed(plain, begin, end)
    if span.start < span.end:
        found.append(span)
    return found


def all_clauses(plain: str) -> list[Span]:
    """The clauses of all sentences, in order."""
    return [part for sentence in sentences(plain) for part in clauses(plain, sentence)]


def clauses(plain: str, sentence: Span) -> list[Span]:
    """Candidate clauses of one sentence, in order.  They cover it except for the joints between them."""
    found: list[Span] = []
    begin = sentence.start
    for joint in _JOINTS.finditer(plain, sentence.start, sentence.end):
        if joint.start() - begin < 3 or _inside_quotes(plain, sentence.start, joint.start()):
            continue
        if _TWO_SUBJECTS.fullmatch(plain, begin, joint.start()) and _FIRST_PERSON.match(plain, joint.end()):
            continue  # "my uncle and I run …" has one verb
        found.append(trimmed(plain, begin, joint.start()))
        begin = joint.end()
    found.append(trimmed(plain, begin, sentence.end))
    return [span for span in found if span.start < span.end]


def _inside_quotes(plain: str, start: int, at: int) -> bool:
    return plain.count('"', start, at) % 2 == 1
