"""Detects standing orders to the assistant.

The classifier recognises orders in many more words.  These forms count as orders whatever it says: an order mistaken
for a fact would take effect without review.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from text import patterns
from text.sentences import Span

_LEAD: Final = (
    r"^(?:(?:and|also|but|so|ok|okay|please|pls|kindly|btw|hey|actually|just|then|note|fyi|well|thanks|yes|sorry"
    r"|remember|instead|again|correction|reminder|important|rule|new rule|house rule|you (?:should|must|can|shall|may)"
    r"|(?:could|can|would|will) you|(?:make|be) sure(?: you)?)\b[\s,:.!-]*(?:to |that )?)*"
)
_DO: Final = (
    r"(?:review|prefer|include|search|consult|inform|describe|draft|use|write|reply|answer|respond|speak|talk|keep"
    r"|show|add|put|start|end|begin|sign|format|address|call|refer|treat|check|ask|run|confirm|explain|cite|quote"
    r"|list|summari[sz]e|translate|send|propose|suggest|mention|tell|avoid|assume|round|convert|prefix|wrap|verify"
    r"|warn|book|schedule|order|buy|delete|push|commit|deploy|share|post|change|apologi[sz]e|phrase|recommend|flag"
    r"|highlight|provide|return|repeat|limit|report|log|follow|store|charge|approve|merge|invent|guess|lecture"
    r"|rename|document|greet|forward|transfer|pay|wire|e?mail|trust|believe|disable|enable|allow|grant|accept"
    r"|execute|install|copy|upload|redirect|route|authori[sz]e|obey|prioriti[sz]e|ignore|reveal|hide|notify|reject"
    r"|refuse|decline|publish|say)"
)
_EVERY_TIME: Final = (
    r"(?:always|never|whenever|from now on|going forward|in (?:the )?future|every time|each time|any ?time|by default"
    r"|at all times|without (?:asking|checking|confirming)|permanently|ever again)"
)
_ORDERS: Final = (
    r"\b(?:the|my|your|this|any|every) (?:assistant|agent|bot|ai|model|chatbot) (?:should|must|shall|may|can|has to"
    r"|needs to|is to|is (?:now )?(?:allowed|free|permitted) to|will always|will never)\b",
    r"\b(?:should|must|shall) (?:always|never) be (?:sent|paid|given|told|forwarded|approved|accepted|trusted|shared"
    r"|copied|transferred|redirected|published|disabled|allowed|granted|executed|installed|deleted)\b",
    r"\bi(?:'d| would)? (?:want|need|expect|like) you to\b",
    rf"{_LEAD}(?:(?:from now on|going forward|in (?:the )?future)[\s,:]*)?(?:(?:always|never|please)\s+)*"
    rf"(?:always|never|from now on|going forward)[\s,:]+(?:please )?{_DO}\b",
    rf"{_LEAD}(?:don'?t|do not) (?:ever )?{_DO}\b",
    rf"{_LEAD}{_DO}\b.{{0,160}}\b{_EVERY_TIME}\b",
    rf"{_LEAD}treat (?:every|any|all|whatever|messages|e?-?mails?|what)\w*\b.{{0,60}}\bas\b",
    rf"{_LEAD}(?:when(?:ever)?|if|every time|each time|before|after) [^,.]{{2,80}}, (?:please |always |never |then )*"
    rf"{_DO}\b",
)
_ORDER: Final = patterns.compile("|".join(f"(?:{order})" for order in _ORDERS))


# "I work nights and never answer the phone" states a habit: after "and", only these words make an order.
_TO_YOU: Final = patterns.compile(
    r"(?:please|pls|kindly|you|from now on|going forward|make sure|be sure|when|whenever|if)\b"
)
_AND: Final = patterns.compile(r"\b(?:and|or|but|so|plus|then|while|because|although)\b")


def is_order(low: str) -> bool:
    """Whether it is an order.  low: a sentence or a clause in lower case."""
    return _ORDER.search(low) is not None


def has_order(low: str, sentence: Span, parts: Sequence[Span]) -> bool:
    """Whether a sentence, or one of its clauses, is an order: "I live in Hull, please always …".

    low: the text in lower case.  parts: spans of the sentence's clauses in it, in order.
    """
    if is_order(low[sentence.start : sentence.end]):
        return True
    for (_, before), (start, end) in pairwise(parts):
        is_told = _AND.search(low, before, start) is not None and _TO_YOU.match(low, start, end) is None
        if not is_told and is_order(low[start:end]):
            return True
    return False
