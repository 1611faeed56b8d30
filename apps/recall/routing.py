"""Choose the route that answers a question, by its intent, or refuse it.  Pure rules on words.

canonical   current facts that hold a canonical key, such as where a person lives
structured  memories of a type or a time: events, decisions, tasks; in chronological order
hybrid      everything that recall finds
refused     a request to hand over a secret; nothing is looked up
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from text import patterns

ROUTES: Final = ("canonical", "structured", "hybrid")
INTENTS: Final = ("factual", "analytical", "hybrid")
ROUTE_OF: Final = {"factual": "canonical", "analytical": "structured", "hybrid": "hybrid"}

REFUSAL: Final = "secret_requested"

_SECRET = patterns.compile(
    r"\b(?:pass ?words?|passcodes?|pass ?phrases?|pin (?:codes?|numbers?)|api[ -]?keys?|secret keys?|private keys?"
    r"|access tokens?|seed phrases?|recovery (?:phrases?|codes?)|credentials|(?:credit|debit|bank) card numbers?"
    r"|card numbers?|cvv|cvc|social security numbers?|ssn|iban|two[- ]factor codes?|2fa codes?|one[- ]time codes?)\b"
)
_ASKS_FOR = patterns.compile(
    r"\b(?:what(?:'s|’s)?|which|tell|give|show|read out|reveal|print|list|find|get|send|share|say|remind|repeat|recall"
    r"|do you (?:know|have|remember)|need)\b"
)
_ABOUT_IT = patterns.compile(
    r"\b(?:reset|change[ds]?|changing|forgot|forgotten|rotate[ds]?|manager|policy|policies|rules?|expire[ds]?|expiry"
    r"|how (?:do|to|can|should|often|long)|when|where|who|why)\b"
)

_KINDS: Final = {
    "decision": r"decisions?|decide[ds]?|chose|agreed",
    "event": r"events?|happened|did (?:i|we) do|appointments?|meetings?|trips?|visits?",
    "task": r"tasks?|to-?dos?|reminders?|deadlines?|due",
    "preference": r"preferences?|likes?|dislikes?|favou?rites?|prefers?",
    "instruction": r"instructions?|rules?",
    "constraint": r"constraints?|limits?|budgets?",
    "relation": r"relations?(?:hips?)?|colleagues?|family",
}
_ANALYTICAL = patterns.compile(
    r"\b(?:why|how come|compare|trends?|patterns?|summari[sz]e|overview|in what ways|how many|how often|list"
    r"|all (?:my|the|of)|every|timeline|history|what happened|what did (?:i|we) do|which of)\b"
)
_FACTUAL = patterns.compile(
    r"\b(?:who|what|when|where|which|how (?:much|old|long)|does|did|is|are|was|has|have|do i|am i|my)\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a question will be answered.  kinds: memory types that it names.  reasoning: fixed texts, for the caller."""

    intent: str
    route: str
    kinds: Sequence[str] = ()
    refusal_reason: str | None = None
    reasoning: Sequence[str] = ()

    @property
    def is_refused(self) -> bool:
        return self.refusal_reason is not None


def plan(query: str, *, wanted: str | None = None) -> Plan:
    """Plan the answer.  wanted: an intent or a route that the caller requires; a refusal takes precedence over it."""
    text = " ".join(query.casefold().split())
    kinds = [kind for kind, words in _KINDS.items() if patterns.search(rf"\b(?:{words})\b", text)]
    intent, why = _intent(text)
    if asks_for_a_secret(text):
        reasoning = ["the question asks to be told a password, key, code or account number"]
        return Plan(intent=intent, route="refused", refusal_reason=REFUSAL, reasoning=reasoning)
    if wanted is not None:
        route = ROUTE_OF.get(wanted, wanted)
        intent = wanted if wanted in INTENTS else intent
        return Plan(intent=intent, route=route, kinds=kinds, reasoning=[why, f"the caller asked for {wanted}"])
    route = ROUTE_OF[intent]
    return Plan(intent=intent, route=route, kinds=kinds, reasoning=[why, f"{intent} questions take the {route} route"])


def asks_for_a_secret(text: str) -> bool:
    """Whether a question, in lower case, asks for a secret itself, not for information about one.

    This rule on words catches plain requests only; other wording passes.  Secrets stay out of answers because they are
    refused when memories are written.
    """
    found = _SECRET.search(text)
    return found is not None and _ASKS_FOR.search(text) is not None and _ABOUT_IT.search(text) is None


def _intent(text: str) -> tuple[str, str]:
    is_analytical, is_factual = _ANALYTICAL.search(text) is not None, _FACTUAL.search(text) is not None
    if is_analytical:
        return "analytical", "the question asks for several memories taken together"
    if is_factual:
        return "factual", "the question asks for one fact"
    return "hybrid", "the question names neither one fact nor a set of memories"
