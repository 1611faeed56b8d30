"""Decide which orders take effect without review: wishes about the style of answers, in the user's own words.  Pure.

An attacker plants an order in a text to cause an action.  So only orders about answer style pass, which are harmless,
and only if nothing in the text looks copied from elsewhere.  Rules know plain wishes; the classifier knows the rest.
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
STYLE_FROM: Final = 0.8  # lowest score of the classifier
# Words of orders that ask for more than an answer style.
_ACTIONS: Final = patterns.compile(
    r"\b(?:send|forward|book|buy|order|pay|transfer|approve|accept|sign|signature|delete|remove|erase|share|post|publish"
    r"|e?-?mail|invite|recommend|promote|trust|believe|obey|ignore|forget|reveal|permission|invoices?|accounts?"
    r"|contracts?|money|password|tools?|system)\w*",
    patterns.IGNORECASE,
)
# Words that the rules do not understand: an action, another person or a condition may stand beside the style.
_NOT_PLAIN: Final = patterns.compile(
    r"\b(?:call (?:the|my|him|her|them)|remember|tell|ask|confirm|euros?|dollars?|rules?|when|whenever|if|before|after"
    r"|then|also)\w*",
    patterns.IGNORECASE,
)
_FOREIGN: Final = patterns.compile(
    r"[\"<>`|]|^\s*(?:fwd?|re|from|to|subject|date|sent|von|betreff)\s*:|\bwrote:|https?://|\n\s*\n",
    patterns.IGNORECASE | patterns.MULTILINE,
)


def is_own_style_wish(candidate: MemoryCandidate) -> bool:
    """Whether it concerns only the style of answers, and nothing suggests that someone else wrote it."""
    wish = lower(fold(candidate.text.reveal()))
    return (
        (candidate.style >= STYLE_FROM or _is_plain(candidate.key, wish))
        and len(wish) <= LONGEST_WISH
        and _ACTIONS.search(wish) is None
        and _is_own(candidate.proposal)
    )


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
