"""Keys of orders to the assistant: the response trait that an order sets."""

from text import patterns
from text.extraction.lexicon import LANGUAGES, any_of
from text.extraction.slots.clause import Claim, signature
from text.extraction.subjects import slug

# What may follow the name of a language; "German letters" are letters.
_NOTHING_OF_IT = (
    r"(?=\s*(?:$|[,.;:!?)])|\s+(?:please|with|from|only|again|and|to|for|at|by|now|today|instead|rather|as|always"
    r"|not|is|but|throughout|unless|even|too|thanks)\b)"
)
_SPOKEN = any_of(LANGUAGES)
_ANSWER_LANGUAGE = patterns.compile(
    rf"\b(?:in|speak|use|write|talk|answer|reply|prefer|(?:switch|go|going|back) (?:back )?to)"
    rf"(?: (?:to|with) me)?(?: in)?(?: plain| simple)? (?P<v>{_SPOKEN})\b{_NOTHING_OF_IT}"
    rf"|^\W*(?:(?:just|only|always|please|from now on)\W+)*(?P<w>{_SPOKEN})\b(?=,? (?:please|only|again|from now on"
    rf"|is (?:fine|ok)))"
)
_NOT = patterns.compile(r"(?:not|never|don'?t|stop|no longer|instead of|rather than)\s+(?:\w+ ){0,2}$")
# "Use bullets, not tables" is about bullets.
_CONTRASTED = patterns.compile(r"(?:,? not|instead of|rather than)\s+(?:\w+ )?$")
_ANSWER_VERB = patterns.compile(
    r"\b(?:repl(?:y|ies|ying)|answer(?:s|ing)?|respon\w+|speaking|talking|go(?:ing)? back|back to|write|writing"
    r"|speak|talk|communicate|switch|from now on|chat|prefer|use|always|please|only|to me)\b"
)
# An order for some occasions does not replace the general one.
_FOR_SOME = patterns.compile(
    r"\b(?:when(?:ever)?|if|unless|except|but not|while|during|on (?:\w+days?|weekends?)|(?:in|for|to|with"
    r"|about) (?:my|the|any"
    r"|our|work|code|slack|clients?|customers?|recipes|reports?|(?:\w+ )?e?-?mails?)\b(?! (?:answers?|repl(?:y|ies)"
    r"|responses?|messages?|chat)\b))"
)
_ASSISTANT: tuple[tuple[str, str], ...] = (
    ("emojis", r"\b(?:emojis?|smileys|emoticons)\b"),
    ("commit_messages", r"\bcommit (?:messages?|titles?|subjects?)\b"),
    ("length", (
        r"\b(?:(?:answers?|repl(?:y|ies)|respon\w+|messages?|explanations?|summaries|texts?|be|stay|keep (?:it"
        r"|things)|write"
        r"|make it)\b[^,;.]{0,25}\b(?:short(?:er)?|brief(?:er|ly)?|concise(?:ly)?|verbose|long(?:er)?|terse|detailed"
        r"|in[- ]depth)"
        r"|(?:short(?:er)?|brief(?:er)?|concise|verbose|long(?:er)?|terse|detailed|in[- ]depth) (?:\w+ )?(?:answers?"
        r"|repl(?:y|ies)|responses?|messages?|explanations?|summaries|texts?)|(?:under"
        r"|below|max(?:imum)?|at most|no more than|within|up to|than) (?:\w+ )?(?:\d+|one|two|three|four|five|six"
        r"|seven|eight|nine|ten|a|hundred)[\w -]{0,14}(?:sentences?|words|lines|paragraphs?|bullets?|characters"
        r"|pages?)|tl;?dr|to the point|length of (?:your|the) (?:answers?|repl(?:y|ies)))\b"
    )),
    ("bullets", r"\b(?:bullet(?: point)?s?|bulleted)\b"),
    ("tables", r"\b(?:tables|(?:in|as|use|with|into) a table|tabular)\b"),
    ("format", r"\b(?:markdown|plain text|json|yaml|headings?|headers|prose|(?:numbered )?lists)\b"),
    ("code_blocks", r"\bcode blocks?\b"),
    ("formality", (
        r"\b(?:formal(?:ly)?|informal(?:ly)?|casual(?:ly)?|polite(?:ly)?|first[- ]name|friendly|tone"
        r"|professional(?:ly)?)\b"
    )),
    ("units", (
        r"\b(?:metric|imperial|celsius|fahrenheit|si units|(?:in|use|using|as|to) (?:kilomet\w+|miles|kilos?|pounds"
        r"|feet))\b"
    )),
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


def traits(low: str) -> set[str]:
    """The keys of all response traits that the text names."""
    return {f"assistant.{name}" for name, pattern in _ASSISTANT_RULES if pattern.search(low)}


def order_claim(low: str, start: int, end: int) -> Claim | None:
    """The claim of an order about one trait of answers, which has one value at a time.

    None if the order is limited to some occasions, or names several traits: another value of one must not end the rest.
    """
    text = low[start:end]
    if _FOR_SOME.search(text):
        return None
    named = [
        m["v"] or m["w"]
        for m in _ANSWER_LANGUAGE.finditer(text)
        if not _NOT.search(text, max(0, m.start() - 30), m.start())
    ]
    if named and _ANSWER_VERB.search(text) and not patterns.search(r"\b(?:british|american) english\b", text):
        others = traits(text) - {"assistant.formality"}
        return None if others else Claim("assistant.language", slug(named[-1]), start, end, type="instruction")
    found = [(name, match) for name, pattern in _ASSISTANT_RULES if (match := _wanted(pattern, text))]
    found = [one for one in found if not _CONTRASTED.search(text, 0, one[1].start())] if len(found) > 1 else found
    if len(found) != 1 or found[0][0] in _OPEN_ENDED:
        return None
    ((name, match),) = found
    return Claim(f"assistant.{name}", _behaviour(name, match, text), start, end, type="instruction")


def _wanted(pattern: patterns.Pattern, text: str) -> patterns.Match | None:
    """The first match in the text that is not refused: in "forget metric, use imperial" the second one.  If all are
    refused, the first."""
    matches = list(pattern.finditer(text))
    refused = (_UNWANTED, _TAKEN_BACK)
    wanted = (one for one in matches if not any(refusal.search(text, 0, one.start()) for refusal in refused))
    return next(wanted, matches[0] if matches else None)


_TAKEN_BACK = patterns.compile(r"\b(?:forget|ignore|scrap|wrong about|instead of|rather than)\b[^,;:.]*$")
_UNWANTED = patterns.compile(
    r"\b(?:don'?t|do not|never|no|stop|avoid|without|skip|less|fewer|no more|not|drop|quit|leave out|cut)\b[^,;:.]*$"
)
_UNWANTED_IT_IS = patterns.compile(r"\s*(?:are|is|:)\s*(?:not|no|unwanted|forbidden|banned|off)\b")
# Traits with many orders at a time: "never pay in advance", "buy organic eggs".
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
        "comments",
        "steps",
        "sources",
        "format",
    }
)


def _behaviour(name: str, match: patterns.Match, text: str) -> str:
    """The value of an order about a known trait: whether it is wanted, and to what degree."""
    said = match[0]
    if name == "date_format":
        return signature(text)
    if name == "length" and not any(c.isdigit() for c in said):
        said = (
            "short"
            if patterns.search(r"\b(?:short|brief|concise|terse|tl|to the point)", said)
            else "long"
            if patterns.search(r"\b(?:long|verbose|detail|in[- ]depth)", said)
            else said
        )
    if name == "formality":
        said = "informal" if patterns.match(r"informal|casual|friendly|first", said) else "formal"
    is_unwanted = _UNWANTED.search(text[: match.start()]) or _UNWANTED_IT_IS.match(text, match.end())
    return ("no_" if is_unwanted else "") + slug(said)
