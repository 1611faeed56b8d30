"""Who and what a candidate is about, in its own words; which entities these are is told under the lock."""

from collections.abc import Iterable, Iterator, Sequence

from apps.core.plaintext import Plaintext
from apps.edges.ontology import get_ontology
from apps.entities.said import Named, Reading, Said, Told
from apps.entities.vocabulary import RELATIONS, relation_of
from apps.ingest.candidates import Candidate
from apps.ingest.costs import budget_for
from apps.ingest.rules.entities import read_entities
from apps.ingest.rules.entities.ends import type_of
from apps.ingest.rules.finding import Part
from apps.ingest.rules.reader import TOO_COSTLY
from apps.ingest.tools import Tools
from apps.ingest.voices import is_user, participant
from apps.memories.predicates import Claim, canonical
from text.budget import TooCostly, checkpoint
from text.letters import kept


def identify(candidates: Sequence[Candidate], tools: Tools) -> None:
    """Read who it is about.  A sealed space keeps no entities, so there nothing is read."""
    if not tools.cipher.is_searchable:
        return
    for candidate in candidates:
        if not candidate.is_wanted or candidate.reason == TOO_COSTLY:
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
                candidate.reason = TOO_COSTLY


def _claims_of(candidate: Candidate) -> Iterator[Part]:
    if candidate.key is not None and candidate.value is not None:
        end, many = len(candidate.text), candidate.many_valued
        yield Part(start=0, end=end, key=candidate.key, value=candidate.value, many_valued=many)
    for one in candidate.parts:
        yield Part(start=one.start, end=one.end, key=one.key, value=one.value, many_valued=one.many_valued)


def said_of(candidate: Candidate) -> Said | None:
    """What a candidate that is stored says of entities; None where it says nothing."""
    if not candidate.about or candidate.memory_id is None:
        return None
    proposal = candidate.proposal
    name = participant(proposal)
    return Said(
        memory_id=candidate.memory_id,
        reading=candidate.about,
        turn=proposal.session_id or id(proposal),
        session=proposal.session_id or None,
        voice=Plaintext(name) if name else None,
        may_meet=candidate.type != "reference" and (proposal.kept is not None or is_user(proposal)),
    )


def _stated(claim: Claim, also: Iterable[str]) -> Reading:
    """A fact that is stated as one: between two entities where its predicate is a relation, else about one."""
    relation = relation_of(claim.predicate, also)
    owner, _, role = claim.about.partition(".")
    if claim.about == "user":
        subject = Named(is_user=True, type="person")
    elif owner == "user":
        subject = Named(role=f"my {role.replace('_', ' ')}", type="person")
    else:
        subject = _named(claim.subject, relation.subject if relation else "")
    if relation is not None:
        object_ = _named(claim.object, relation.object)
        return Reading(named=[subject, object_], told=[Told(subject=subject, predicate=relation.name, object=object_)])
    if subject.is_user:
        return Reading()
    told = Told(subject=subject, predicate=canonical(claim.predicate), value=claim.object)
    return Reading(named=[subject], told=[told])


def _named(said: str, type_: str) -> Named:
    return Named(name=said, type=type_ or type_of(said.lower()))
