"""Decide which orders need no review: wishes about the style of answers, in the user's own words.  Pure.

An attacker plants an order in a text to cause an action.  So only orders about answer style take effect, which are
harmless, and only if nothing in the text looks copied from elsewhere.  Rules know plain wishes; the classifier knows
the rest.  What may be such a wish is remembered as a preference, which is recalled but gives no orders.
"""

from typing import Final

from apps.ingest.candidates import MemoryCandidate, Proposal
from apps.ingest.speakers import is_user, participant
from text import patterns
from text.extraction.slots.orders import traits
from text.sentences import fold, lower

# Answer traits as named in ``text/extraction/slots/orders.py``, and the user's preferred name.
STYLE: Final = frozenset(
    {
        "assistant.apologies", "assistant.bullets", "assistant.code_blocks", "assistant.currency",
        "assistant.date_format", "assistant.emojis", "assistant.formality", "assistant.format", "assistant.greeting",
        "assistant.humor", "assistant.language", "assistant.length", "assistant.spelling", "assistant.steps",
        "assistant.tables", "assistant.units", "user.preferred_name",
    }
)  # fmt: skip
LONGEST: Final = 400  # characters; a longer turn may contain text that is not the user's own
LONGEST_WISH: Final = 240  # characters of the wish itself
PLAIN_WISH: Final = 120  # characters, where only the rules know that it is one of style
STYLE_FROM: Final = 0.8  # lowest score of the classifier at which a wish takes effect
PREFERENCE_FROM: Final = 0.1  # ... and at which it is remembered
# Words of orders that ask for more than an answer style.  Not topics such as money, nor other words that begin alike.
_ACTIONS: Final = patterns.compile(
    r"\b(?:sen(?:d|ds|ding|t)|forward(?:ed|ing)?|book(?:ed|ing)?|buy(?:ing)?|order(?:ed|ing)?|pay(?:s|ing|ments?)?"
    r"|transfers?|transferr(?:ed|ing)|approv\w+|accept\w*|sign(?:s|ed|ing|atures?)?|delet\w+|remov\w+|eras\w+"
    r"|shar(?:e|es|ed|ing)|post(?:s|ed|ing)?|publish\w*|e?-?mail(?:s|ed|ing)?|invit\w+|recommend\w*|promot\w+|trust\w*"
    r"|believ\w+|obey\w*|ignor\w+|forget\w*|reveal\w*|permission\w*|invoices?|accounts?|password\w*)\b",
    patterns.IGNORECASE,
)
# Words that the rules do not understand: an action, another person or a condition may stand beside the style.
_NOT_PLAIN: Final = patterns.compile(
    r"\b(?:call (?:the|my|him|her|them)|remember|tell|ask|confirm|euros?|dollars?|rules?|when|whenever|if|before|after"
    r"|then|also|contracts?|money|tools?|system)\w*",
    patterns.IGNORECASE,
)
_FOREIGN: Final = patterns.compile(
    r"[\"<>`|]|^\s*(?:fwd?|re|from|to|subject|date|sent|von|betreff)\s*:|\bwrote:|https?://|\n\s*\n",
    patterns.IGNORECASE | patterns.MULTILINE,
)


def is_own_style_wish(candidate: MemoryCandidate) -> bool:
    """Whether it concerns only the style of answers, and nothing suggests that someone else wrote it."""
    is_style = candidate.style >= STYLE_FROM or _is_plain(candidate.key, lower(fold(candidate.text.reveal())))
    return is_style and _is_harmless(candidate)


def may_be_own_style_wish(candidate: MemoryCandidate) -> bool:
    """Whether it may concern the style of answers, and nothing suggests an action or that someone else wrote it."""
    return candidate.style >= PREFERENCE_FROM and _is_harmless(candidate)


def _is_harmless(candidate: MemoryCandidate) -> bool:
    """Whether it is short, names no action, and the user said it."""
    wish = lower(fold(candidate.text.reveal()))
    return len(wish) <= LONGEST_WISH and _ACTIONS.search(wish) is None and _is_own(candidate.proposal)


def _is_plain(key: str | None, wish: str) -> bool:
    """Whether the rules find traits of style in the wish, and nothing else."""
    return key in STYLE and traits(wish) <= STYLE and len(wish) <= PLAIN_WISH and _NOT_PLAIN.search(wish) is None


def _is_own(proposal: Proposal) -> bool:
    """Whether the user said it, and nothing in it looks like the text of another."""
    said = fold(proposal.text.reveal())
    return (
        is_user(proposal)
        and participant(proposal) is None
        and not proposal.is_imported
        and len(said) <= LONGEST
        and _FOREIGN.search(said) is None
    )
