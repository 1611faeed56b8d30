"""Compute a candidate's keyed handles (text digest, slot, value) and its terms for the index."""

from collections.abc import Sequence

from apps.ingest.candidates import MemoryCandidate
from apps.ingest.pipeline_context import PipelineContext
from apps.ingest.speakers import participant, speaker_key
from apps.memories.lookup_keys import slot_in_group, slot_mac, text_mac, typed_public_id, value_mac
from apps.memories.speakers import first_name
from apps.memories.types import TYPES
from text.terms import normalised, terms


def add_lookup_keys(candidates: Sequence[MemoryCandidate], tools: PipelineContext) -> None:
    """Set the handles.  A slot is specific to the project, if there is one; a text digest to the speaker.

    MACs are keyed with the space's identity key, which does not rotate with the data key.
    """
    cipher, project_id = tools.cipher, tools.scope.project_id
    for candidate in candidates:
        whose = speaker_key(candidate.proposal)
        candidate.text_mac = text_mac(cipher, candidate.text, voice=whose)
        if not candidate.is_wanted:
            continue
        candidate.passage_macs = [
            (
                text_mac(cipher, passage.text, voice=whose),
                [text_mac(cipher, sentence, voice=whose) for sentence in passage.sentences],
            )
            for passage in candidate.passages
        ]
        candidate.terms = terms(candidate.text.reveal())
        if name := participant(candidate.proposal):
            candidate.actor = first_name(name)
        typed = candidate.proposal.typed
        context = typed.labels.context if typed and typed.labels else ""
        if typed:
            candidate.public_id = typed_public_id(
                cipher, typed.type, candidate.key, typed.content, project_id=project_id, context=context
            )
        if (candidate.key or context) and (group := candidate.kind.group):
            # For many-valued properties (tastes, allergies, children), the key contains the value.
            candidate.value = candidate.value or normalised(candidate.text.reveal())
            candidate.slot = slot_in_group(cipher, group, candidate.key or "", project_id=project_id, context=context)
            candidate.value_mac = value_mac(cipher, candidate.value)
            if group == "claim" and candidate.key and not typed:
                candidate.constraint_slot = slot_mac(cipher, "constraint", candidate.key, project_id=project_id)
        for part in candidate.parts:
            part.slot = slot_in_group(cipher, TYPES[part.type].group or "claim", part.key, project_id=project_id)
            part.value_mac = value_mac(cipher, part.value)
        candidate.closed = [
            (slot_mac(cipher, "fact", key, project_id=project_id), value_mac(cipher, value) if value else None)
            for key, value in candidate.closes
        ]
