"""Decide which orders take effect without review: wishes about the style of answers, in the user's own words.  Pure.

An attacker plants an order in a text to cause an action.  So only orders about answer style pass, which are harmless,
and only if nothing in the text looks copied from elsewhere.
"""

from typing import Final

from apps.ingest.candidates import MemoryCandidate
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
LONGEST_WISH: Final = 120  # characters of the wish itself
# Words of orders that ask for more than an answer style.
_DEEDS: Final = patterns.compile(
    r"\b(?:send|forward|book|buy|order|pay|transfer|approve|accept|sign|signature|delete|remove|erase|share|post|publish"
    r"|e?-?mail|call (?:the|my|him|her|them)|invite|recommend|promote|trust|believe|obey|ignore|forget|remember|reveal"
    r"|tell|ask|confirm|permission|invoices?|accounts?|contracts?|money|euros?|dollars?|password|tools?|system|rules?|when"
    r"|whenever|if|before|after|then|also)\w*",
    patterns.IGNORECASE,
)
_FOREIGN: Final = patterns.compile(
    r"[\"<>`|]|^\s*(?:fwd?|re|from|to|subject|date|sent|von|betreff)\s*:|\bwrote:|https?://|\n\s*\n",
    patterns.IGNORECASE | patterns.MULTILINE,
)


def is_own_style_wish(candidate: MemoryCandidate) -> bool:
    """Whether it concerns only the style of answers, and nothing suggests that someone else wrote it."""
    proposal = candidate.proposal
    said, wish = fold(proposal.text.reveal()), lower(fold(candidate.text.reveal()))
    return (
        candidate.key in STYLE
        and traits(wish) <= STYLE
        and len(wish) <= LONGEST_WISH
        and _DEEDS.search(wish) is None
        and is_user(proposal)
        and participant(proposal) is None
        and not proposal.is_imported
        and len(said) <= LONGEST
        and _FOREIGN.search(said) is None
    )
