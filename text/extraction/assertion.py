"""Whether a sentence asserts anything.  Questions, hypotheses and quotations of others do not."""

from typing import Final

from text import patterns
from text.languages import ENGLISH
from text.terms import language

_QUESTION: Final = patterns.compile(
    r"(?:(?:so|and|but|ok|okay|well|hey|hi|btw|also|now|sorry|wait|oh|anyway|quick question|question)[\s,:.-]+){0,4}"
    r"(?:(?:what|where|when|why|who|whom|whose|which|how)(?:'s|'re|'d)? (?:is|are|was|were|do|does|did|can|could|should"
    r"|would|will|has|have|had|might|am|else|about|come|to|much|many|long|often|far|old|big|good|well|hard|likely)\b"
    r"|(?:what|where|why|who|how)'s\b|(?:whats|hows|wheres|whos)\b|any (?:ideas?|tips|advice|suggestions|thoughts"
    r"|chance)\b"
    r"|(?:do|does|did|is|are|was|were|can|could|will|would|should|has|have|had|may|might|am|isn't|aren't|don't|doesn't"
    r"|didn't|won't|wouldn't|shouldn't|couldn't|haven't) (?:you|i|we|it|they|he|she|there|this|that|the|my|our|your"
    r"|these"
    r"|those|any|anyone|someone|people)\b)"
)
_SELF: Final = patterns.compile(r"\b(?:i|me|my|mine|myself|we|us|our|ours|ourselves|im|ive|id)\b")
_SUPPOSED: Final = patterns.compile(
    r"\b(?:i|we)(?:'d| would) (?:\w+ ){0,3}(?:if|when)\b|\b(?:i|we|he|she|they)(?:'m|'re|'s| am| are"
    r"| is)? (?:\w+ ){0,2}"
    r"(?:wonder(?:ing)?|considering|contemplating|tempted|daydreaming|thinking (?:about|of)|toying with|torn)\b"
    r"|\b(?:i|we|he|she|they) (?:might|may|could)\b|\b(?:if|what if|as if|unless) (?:i|we|he|she|they|my \w+|it"
    r"|you) (?:\w+ )"
    r"{0,2}(?:were|was|had|could|would|\w+[^\We]ed|got|went|took|bought|sold|became|left|quit)\b"
    r"|\b(?:i|we)(?:'d| would) (?:\w+ ){0,2}(?:love|like|kill|die|give anything|move|quit|sell|buy|live|retire|marry)\b"
    r"|\b(?:hypothetical(?:ly)?|in theory|one of these days|some ?day|in another life|if only|i wish|wish i|who knows"
    r"|for the sake of argument|not sure (?:if|whether)|haven'?t decided|no idea (?:if|whether))\b"
    r"|^(?:(?:so|and|but|well|ok|hmm+|tbh|idk|now)[\s,]+)*(?:maybe|perhaps|possibly|suppose|supposing|imagine|pretend"
    r"|assume|assuming|let'?s (?:say|pretend|assume|imagine|suppose)|say (?:i|we|my)\b|what if|picture this|in a world"
    r"|thinking (?:about|of)|considering|wondering|might|may or may not)\b"
    r"|\b(?:maybe|perhaps) (?:i|we)\b"
)

# These apply to the rest of the turn: "Imagine you're my landlord. I live in Ravenholm."
_PLAYED: Final = patterns.compile(
    r"^(?:(?:so|and|but|well|ok|okay|hey|now|please|can you|could you|let'?s|let us|i want you to)[\s,]+)*"
    r"(?:imagine|pretend|suppose|supposing|assume|role-?play\w*|picture this|say (?:i|we|you)\b|play (?:a|the|my)\b"
    r"|what if|act as|hypothetically|in (?:a|my|this|the) (?:novel|story|game|dream|book|play|script|film|movie|scene"
    r"|campaign))\b"
    r"|\b(?:here(?:'s| is)|this is|below is|from) (?:a|an|my|the) (?:[\w-]+ ){0,2}(?:poem|song|lyrics|story|novel|scene"
    r"|dialogue|monologue|character|script|quote)\b|\bfor the sake of argument\b"
)
_IF: Final = patterns.compile(
    r"(?:(?:and|but|so|well|ok)[\s,]+)*(?:(?:even|only) )?(?:if|unless|in case|whenever|should|as long as|provided)"
    r" (?:that )?(?:i|we|he|she|they|it|my|our|his|her|their)\b"
)
# The classifier mistakes "Correction:" for a request to correct what follows.
_ANNOUNCEMENT: Final = patterns.compile(
    r"(?:(?:small|quick|minor) )?(?:correction|update|edit)\s*[:,]\s+(?=\S)", patterns.IGNORECASE
)
_QUOTED: Final = patterns.compile(
    r"\A\s*[\"'>]|\"[^\"\n]{12}|^\s*(?:>|(?:fwd?|re|from|assistant|bot|system|tool)\s*:)|\bwrote:",
    patterns.IGNORECASE | patterns.MULTILINE,
)


# "Had my last shift today", "Did the washing, at last": statements that leave out "I".
_SHORTENED: Final = patterns.compile(
    r"(?:(?:so|and|but|ok|okay|well|also|now|anyway)[\s,:.-]+){0,4}(?:(?:had|have|has) (?:the|my|our)\b"
    r"|did (?:the|my|our) [\w'-]+(?=\s*(?:$|[,.;:!)-])"
    r"|\s+(?:yesterday|today|last|this|again|already|on|at|in|with|and|but|so)\b))"
)


def is_supposed(low: str) -> bool:
    """Whether a sentence is hypothetical: "if I moved to Oslo", "maybe we'll sell".  low: in lower case."""
    return _SUPPOSED.search(low) is not None


def asks(low: str) -> bool:
    """Whether it is a question, with or without a question mark.  low: in lower case."""
    if low.rstrip(" )\"'").endswith("?"):
        return True
    return _QUESTION.match(low) is not None and _SHORTENED.match(low) is None


def asks_in_general(low: str) -> bool:
    """Whether it is an English question in which nobody speaks of themselves: "Is a caper a vegetable?"."""
    return asks(low) and _SELF.search(low) is None and language(low) == ENGLISH


def is_played(low: str) -> bool:
    """Whether a sentence starts role play or a hypothesis: "let's pretend".  low: in lower case."""
    return _PLAYED.search(low) is not None


def is_condition(low: str) -> bool:
    """Whether a clause is a condition for the rest of its sentence.  low: in lower case."""
    return _IF.match(low) is not None


def is_quoted(plain: str) -> bool:
    """Whether a turn quotes someone else.  plain: folded text."""
    return _QUOTED.search(plain) is not None


def statement_start(plain: str, start: int = 0, end: int | None = None) -> int:
    """Where the statement begins after an announcement, as in "Correction: the fair is in May"."""
    opening = _ANNOUNCEMENT.match(plain, start, end)
    return opening.end() if opening else start
