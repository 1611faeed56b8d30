"""Keys of orders to the assistant: the trait of its behaviour that is meant."""

from apps.ingest.rules.keys.claim import NEGATED, Claim, any_of, signature
from apps.ingest.rules.lexicon import LANGUAGES
from apps.ingest.rules.subjects import slug
from text import patterns

_ANSWER_LANGUAGE = patterns.compile(rf"\b(?P<v>{any_of(LANGUAGES)})\b")
_ANSWER_VERB = patterns.compile(
    r"\b(?:repl(?:y|ies|ying)|answer(?:s|ing)?|respon\w+|speaking|talking|go(?:ing)? back|back to|write|writing"
    r"|speak|talk|communicate|language|switch|from now on"
    r"|is (?:fine|ok|okay)|only|chat|please|again|to me)\b"
)
_ASSISTANT: tuple[tuple[str, str], ...] = (
    ("emojis", r"\b(?:emojis?|smileys|emoticons)\b"),
    ("commit_messages", r"\bcommit (?:messages?|titles?|subjects?)\b"),
    ("length", (
        r"\b(?:short(?:er)?|brief(?:er|ly)?|concise(?:ly)?|verbose|long(?:er)?|terse|detailed|in[- ]depth|(?:under"
        r"|below|max(?:imum)?|at most|no more than|within|up to|than) (?:\w+ )?(?:\d+|one|two|three|four|five|six"
        r"|seven|eight|nine|ten|a|hundred)[\w -]{0,14}(?:sentences?|words|lines|paragraphs?|bullets?|characters"
        r"|pages?)|tl;?dr|to the point|length)\b"
    )),
    ("bullets", r"\b(?:bullet(?: point)?s?|bulleted)\b"),
    ("tables", r"\btables?\b"),
    ("format", r"\b(?:markdown|plain text|json|yaml|headings?|headers|prose|(?:numbered )?lists)\b"),
    ("code_blocks", r"\bcode blocks?\b"),
    ("formality", (
        r"\b(?:formal(?:ly)?|informal(?:ly)?|casual(?:ly)?|polite(?:ly)?|first[- ]name|friendly|tone"
        r"|professional(?:ly)?)\b"
    )),
    ("units", r"\b(?:metric|imperial|celsius|fahrenheit|kilomet\w+|miles|kilos?|pounds|units|feet)\b"),
    ("date_format", (
        r"\b(?:date format|iso dates?|dd[./-]mm|yyyy|mm/dd|dates? (?:as|in)|24[- ]?h(?:our)?s?|12[- ]?hour)\b"
    )),
    ("currency", (
        r"\b(?:euros?|eur|dollars?|usd|pounds|gbp|francs|chf|yen)\b(?=.{0,40}\b(?:price|amount|cost|sum|always"
        r"|from now|please|all)|[.!]*$)"
    )),
    ("spelling", r"\b(?:british|american|uk|us|australian) (?:spelling|english)\b"),
    ("booking", r"\b(?:book|booking|bookings|reservations?|reserve)\b"),
    ("purchases", r"\b(?:buy|buying|order|ordering|purchase|spend|spending|pay)\b"),
    ("linter", r"\b(?:lint\w*|format(?:ter|ting) before)\b"),
    ("tests", r"\b(?:tests?|test suite)\b"),
    ("comments", r"\bcomments?\b"),
    ("type_hints", r"\btype (?:hints?|annotations?)\b"),
    ("apologies", r"\b(?:apolog\w+|sorry)\b"),
    ("greeting", r"\b(?:greet\w*|hello|small talk|pleasantries|preamble|chit[- ]?chat|sign[- ]?off|signature)\b"),
    ("sources", r"\b(?:sources?|citations?|cite|references?|links?)\b"),
    ("humor", r"\b(?:jokes?|puns?|humou?r|sarcas\w+)\b"),
    ("reminders", r"\b(?:remind\w*|nag\w*)\b"),
    ("confirmation", (
        r"\b(?:ask (?:me )?(?:first|before)|confirm|without asking|check with me|my (?:approval|ok|permission"
        r"|confirmation))\b"
    )),
    ("code_language", (
        r"\b(?:python|typescript|javascript|rust|golang|go (?:code|examples?|snippets?)|java|kotlin|ruby|c\+\+|c#)\b"
    )),
    ("calendar", r"\b(?:calendar|meetings?|invites?|schedul\w+)\b"),
    ("email", r"\b(?:e-?mails?|mails?)\b"),
    ("steps", r"\b(?:step[- ]by[- ]step|one step at a time|reasoning|explain\w*)\b"),
)  # fmt: skip
_ASSISTANT_RULES = tuple((name, patterns.compile(pattern)) for name, pattern in _ASSISTANT)


def instruction_claim(low: str, start: int, end: int) -> Claim | None:
    """The slot of an order to the assistant: the part of its behaviour that is named first in the table."""
    text = low[start:end]
    named = [
        m["v"] for m in _ANSWER_LANGUAGE.finditer(text) if not NEGATED.search(text, max(0, m.start() - 30), m.start())
    ]
    if named and _ANSWER_VERB.search(text) and not patterns.search(r"\b(?:british|american) english\b", text):
        return Claim("assistant.language", slug(named[-1]), type="instruction")
    for name, pattern in _ASSISTANT_RULES:
        match = pattern.search(text)
        if match:
            return Claim(f"assistant.{name}", _behaviour(name, match[0], text), type="instruction")
    return None


_UNWANTED = patterns.compile(
    r"\b(?:don'?t|do not|never|no|stop|avoid|without|skip|less|fewer|no more|not|drop|quit|leave out|cut)\b"
)
_OPEN_ENDED = frozenset(
    {
        "commit_messages",
        "booking",
        "purchases",
        "linter",
        "tests",
        "reminders",
        "confirmation",
        "calendar",
        "email",
        "greeting",
        "code_language",
    }
)


def _behaviour(name: str, said: str, text: str) -> str:
    """The value of an order about a known trait: whether it is wanted, and how much of it."""
    if name in _OPEN_ENDED:
        return signature(text)
    if name == "length" and not any(c.isdigit() for c in said):
        said = (
            "short"
            if patterns.match(r"short|brief|concise|terse|tl|to the point", said)
            else "long"
            if patterns.match(r"long|verbose|detail|in[- ]depth", said)
            else said
        )
    if name == "formality":
        said = "informal" if patterns.match(r"informal|casual|friendly|first", said) else "formal"
    return ("no_" if _UNWANTED.search(text) else "") + slug(said)
