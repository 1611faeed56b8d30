"""Extract the entity mentions of candidates; they are resolved to entities under the lock."""

from collections.abc import Iterable, Iterator, Sequence

from apps.core.plaintext import Plaintext
from apps.edges.ontology import get_ontology
from apps.entities.statements import StatementContext
from apps.ingest.candidates import MemoryCandidate
from apps.ingest.costs import budget_for
from apps.ingest.pipeline_context import PipelineContext
from apps.ingest.speakers import is_user, participant
from text.budget import TooCostly, checkpoint
from text.extraction.entities import read_entities
from text.extraction.entities.endpoints import type_of
from text.extraction.finding import ClaimPart
from text.extraction.reasons import Reason
from text.letters import kept
from text.mentions import Mention, Mentions, RelationMention
from text.predicates import PredicateClaim, canonical
from text.vocabulary import RELATIONS, relation_of


def extract_entities(candidates: Sequence[MemoryCandidate], tools: PipelineContext) -> None:
    """Set each candidate's mentions.  A sealed space stores no entities, so nothing is extracted there."""
    if not tools.cipher.is_searchable:
        return
    for candidate in candidates:
        if not candidate.is_wanted or candidate.reason == Reason.TOO_COSTLY:
            continue
        stated = candidate.proposal.stated
        if stated is not None:
            known = canonical(stated.claim.predicate) in RELATIONS
            also = () if known else get_ontology(tools.scope).custom_relation_types
            candidate.about = _stated(stated.claim, also)
        else:
            text = candidate.text.reveal()
            try:
                with kept(), budget_for(text):
                    checkpoint()
                    candidate.about = read_entities(text, _claims_of(candidate))
            except TooCostly:
                candidate.reason = Reason.TOO_COSTLY


def _claims_of(candidate: MemoryCandidate) -> Iterator[ClaimPart]:
    if candidate.key is not None and candidate.value is not None:
        end, many = len(candidate.text), candidate.many_valued
        yield ClaimPart(start=0, end=end, key=candidate.key, value=candidate.value, many_valued=many)
    for one in candidate.parts:
        yield ClaimPart(start=one.start, end=one.end, key=one.key, value=one.value, many_valued=one.many_valued)


def said_of(candidate: MemoryCandidate) -> StatementContext | None:
    """The entity statements of a stored candidate; None if it has none."""
    if not candidate.about or candidate.memory_id is None:
        return None
    proposal = candidate.proposal
    name = participant(proposal)
    return StatementContext(
        memory_id=candidate.memory_id,
        reading=candidate.about,
        turn=proposal.session_id or id(proposal),
        session=proposal.session_id or None,
        voice=Plaintext(name) if name else None,
        may_meet=candidate.type != "reference" and (proposal.kept is not None or is_user(proposal)),
    )


def _stated(claim: PredicateClaim, also: Iterable[str]) -> Mentions:
    """The mentions of a stated fact: two entities if its predicate is a relation, else one."""
    relation = relation_of(claim.predicate, also)
    owner, _, role = claim.about.partition(".")
    if claim.about == "user":
        subject = Mention(is_user=True, type="person")
    elif owner == "user":
        subject = Mention(role=f"my {role.replace('_', ' ')}", type="person")
    else:
        subject = _named(claim.subject, relation.subject if relation else "")
    if relation is not None:
        object_ = _named(claim.object, relation.object)
        return Mentions(
            named=[subject, object_], told=[RelationMention(subject=subject, predicate=relation.name, object=object_)]
        )
    if subject.is_user:
        return Mentions()
    told = RelationMention(subject=subject, predicate=canonical(claim.predicate), value=claim.object)
    return Mentions(named=[subject], told=[told])


def _named(said: str, type_: str) -> Mention:
    return Mention(name=said, type=type_ or type_of(said.lower()))
