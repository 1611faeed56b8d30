"""Which orders take effect immediately: how a user wants to be answered, in their own words.  Pure.

An order is planted in a text to have something done.  So only what is of the form of answers counts, which
does no harm, and only where nothing in the text looks as if it came from elsewhere.
"""

from typing import Final

from apps.ingest.candidates import MemoryCandidate
from apps.ingest.speakers import is_user, participant
from text import patterns
from text.extraction.slots.orders import traits
from text.sentences import fold, lower

# Traits of answers, as ``rules/slots/orders.py`` names them, and what the user is called.
STYLE: Final = frozenset(
    {
        "assistant.apologies", "assistant.bullets", "assistant.code_blocks", "assistant.currency",
        "assistant.date_format", "assistant.emojis", "assistant.formality", "assistant.format", "assistant.greeting",
        "assistant.humor", "assistant.language", "assistant.length", "assistant.spelling", "assistant.steps",
        "assistant.tables", "assistant.units", "user.preferred_name",
    }
)  # fmt: skip
LONGEST: Final = 400  # characters of a turn that is certainly the user's own words
LONGEST_WISH: Final = 120  # characters of the wish itself
# What an order does beside saying how to answer.
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
    """Whether it is of the form of answers, and nothing shows that anyone but the user wrote it."""
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
