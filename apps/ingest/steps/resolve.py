"""The keyed handles by which a candidate is known again: digest, slot, value, and its words for the index."""

from collections.abc import Sequence

from apps.ingest.candidates import Candidate
from apps.ingest.steps.extract import participant, voice
from apps.ingest.tools import Tools
from apps.memories.types import TYPES
from apps.memories.words import normalised, terms


def resolve(candidates: Sequence[Candidate], tools: Tools) -> None:
    """Fill in the handles.  A slot belongs to a project, where there is one; a text, to whoever said it.

    Macs are keyed with the space's identity key, which does not rotate with the data key.
    """
    cipher, project = tools.cipher, str(tools.scope.project_id or "")
    for candidate in candidates:
        text = candidate.text.reveal()
        candidate.text_mac = cipher.identity_mac("text", voice(candidate.proposal), normalised(text))
        if not candidate.is_wanted:
            continue
        candidate.terms = terms(text)
        if name := participant(candidate.proposal):
            candidate.actor_token = cipher.actor_token(name.split()[0].casefold())
        group = TYPES[candidate.type].group
        if candidate.key and group:
            value = candidate.value or normalised(text)
            # Where one may have many (tastes, allergies, children), the key names the one that is meant.
            candidate.slot = cipher.identity_mac("slot", group, project, candidate.key)
            candidate.value_mac = cipher.identity_mac("value", value)
        if candidate.closes:
            key, value_closed = candidate.closes
            candidate.closed_slot = cipher.identity_mac("slot", "claim", project, key)
            candidate.closed_value = cipher.identity_mac("value", value_closed) if value_closed else None
