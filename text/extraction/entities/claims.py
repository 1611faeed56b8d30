"""Relations implied by claims, and the entity names in them as written."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from text import patterns
from text.extraction.entities.endpoints import type_of
from text.extraction.entities.tables import COLLEAGUES, NO_NAMES, NO_PERSONS, ROLES
from text.extraction.finding import ClaimPart
from text.extraction.lexicon import BOSS, REPORTEE
from text.extraction.subjects import slug
from text.mentions import Mention, RelationMention
from text.vocabulary import PERSON, PLACE, TEAM

USER: Final = Mention(is_user=True, type=PERSON)
DENIED = patterns.compile(
    r"\b(?:no longer|not|never|used to|former(?:ly)?|ex|isn't|wasn't|anymore|any more|if|would|might|could)\b"
)


def relation(owner: Mention, role: str, named: Mention) -> RelationMention:
    """The relation between the owner of a role and the person who has it."""
    if role in BOSS:
        return RelationMention(subject=owner, predicate="reports_to", object=named)
    if role in REPORTEE:
        return RelationMention(subject=owner, predicate="manages", object=named)
    if role in COLLEAGUES:
        return RelationMention(subject=owner, predicate="works_with", object=named)
    return RelationMention(subject=owner, predicate="related_to", object=named, value=role)


# --- from the canonical key: the values found by other rules, even if not written like names ------------------------

OWN_NAME: Final = ("user.name", "user.preferred_name")
# Last part of a key -> (relation, type of its object).
_ATTRIBUTES: Final = {
    "reports_to": ("reports_to", PERSON),
    "team": ("member_of", TEAM),
    "employer": ("works_at", ""),
    "location": ("located_at", PLACE),
}
_LISTED: Final = {"manages": "manages", "works_with": "works_with"}
_ROLE_KEYS: Final = {slug(role): role for role in ROLES if role not in NO_PERSONS} | {"spouse": "spouse"}
_ENTITY_KEYS: Final = _ATTRIBUTES.keys() | _LISTED.keys() | _ROLE_KEYS.keys()


def relations_of(claim: ClaimPart, plain: str, low: str) -> Iterator[RelationMention]:
    key, value, many_valued = claim.key, claim.value, claim.many_valued
    parts = key.split(".")
    if len(parts) < 2 or DENIED.search(low, claim.start, claim.end):
        return
    attribute = parts[-2] if many_valued and len(parts) > 2 else parts[-1]
    about = parts[: -2 if many_valued and len(parts) > 2 else -1]
    meant = parts[-1] if many_valued else value
    if attribute == "managed_by":
        thing, boss = surface(".".join(about), plain), surface(value, plain)
        if thing and boss and thing.lower() not in NO_NAMES:
            yield RelationMention(
                subject=person(boss), predicate="manages", object=Mention(name=thing, type=type_of(thing.lower()))
            )
        return
    if attribute not in _ENTITY_KEYS:
        return
    subject, name = _subject(about, plain), surface(meant, plain)
    if subject is None or not name:
        return
    if attribute in _ATTRIBUTES:
        predicate, type_ = _ATTRIBUTES[attribute]
        yield RelationMention(
            subject=subject, predicate=predicate, object=Mention(name=name, type=type_ or type_of(name.lower()))
        )
    elif attribute in _LISTED:
        yield RelationMention(subject=subject, predicate=_LISTED[attribute], object=person(name))
    elif attribute in _ROLE_KEYS and subject.is_user and is_plain_name(name):
        role = _ROLE_KEYS[attribute]
        yield relation(subject, role, replace(person(name), role=f"my {role}", is_shared=many_valued))


def is_plain_name(words: str) -> bool:
    return 0 < len(words.split()) < 4 and not any(c.isdigit() for c in words)


def person(name: str) -> Mention:
    return Mention(name=name, type=PERSON)


def _subject(about: list[str], plain: str) -> Mention | None:
    if about == ["user"]:
        return USER
    if len(about) == 2 and about[0] == "user" and about[1] in _ROLE_KEYS:
        role = _ROLE_KEYS[about[1]]
        return Mention(role=f"my {role}", type=PERSON)
    name = surface(about[0], plain) if len(about) == 1 else ""
    if name:
        return person(name)
    # A pronoun here refers to the person of whom the turn spoke before.
    pronoun = _HE_OR_SHE.search(plain.lower()) if len(about) == 1 else None
    return Mention(pronoun=pronoun[1]) if pronoun else None


_HE_OR_SHE = patterns.compile(r"\b(s?he)\b")
_SPAN = patterns.compile(r"[^\W_]+(?:[.'&+#-]+[^\W_]+)*")


def surface(canonical: str, plain: str) -> str:
    """The words of the text that express a canonical value; empty if they cannot be found."""
    first, size = canonical.split("_")[0], canonical.count("_") + 1
    tokens = list(_SPAN.finditer(plain))
    for at, token in enumerate(tokens):
        if not token[0].lower().startswith(first[:3]):
            continue
        for last in range(at, min(at + size + 1, len(tokens))):
            said = plain[token.start() : tokens[last].end()].removesuffix("'s")
            if slug(said) == canonical:
                return said
    return ""
