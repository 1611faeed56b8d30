"""The keyed handles by which a candidate is known again: digest, slot, value, and its words for the index."""

from collections.abc import Sequence

from apps.ingest.candidates import Candidate
from apps.ingest.tools import Tools
from apps.memories.types import TYPES
from apps.memories.words import normalised, terms


def resolve(candidates: Sequence[Candidate], tools: Tools) -> None:
    """Fill in the handles.  A slot belongs to a project, where there is one.

    All are keyed with the space's identity key, which does not rotate with the data key.
    """
    cipher, project = tools.cipher, str(tools.scope.project_id or "")
    for candidate in candidates:
        text = candidate.text.reveal()
        candidate.text_mac = cipher.identity_mac("text", normalised(text))
        if not candidate.is_wanted:
            continue
        candidate.terms = terms(text)
        group = TYPES[candidate.type].group
        if candidate.key and group:
            value = candidate.value or normalised(text)
            parts = (group, project, candidate.key, *((value,) if candidate.many_valued else ()))
            candidate.slot = cipher.identity_mac("slot", *parts)
            candidate.value_mac = cipher.identity_mac("value", value)
        if candidate.closes:
            key, value_closed = candidate.closes
            candidate.closed_slot = cipher.identity_mac("slot", "claim", project, key)
            candidate.closed_value = cipher.identity_mac("value", value_closed) if value_closed else None
