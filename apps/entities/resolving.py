"""Entity resolution: from words to entities, by the most certain way that decides (seed 003's cascade).

A pronoun is resolved to the entity that the turn, or the session's last memories, mentioned last.  A name is resolved
by exactly that name, then as part of a fuller one, then by similar spelling (trigrams, Jaccard of 0.85), then by a
judge if there is one.  If none of these decides, a new entity is created; if it may be a known one, it is flagged for
review.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from apps.crypto.services import SpaceCipher
from apps.entities.entity_cache import Alias, EntityCache, EntityRecord
from apps.entities.models import How
from apps.entities.statements import StatementContext
from apps.projects.scope import Scope
from text.mentions import MOST_NAMED, Mention, RelationMention
from text.names import (
    ALIKE,
    ALIKE_ENOUGH_TO_LOOK,
    SHORTEST_ALIKE,
    is_full,
    likeness,
    may_be_one,
    normalised,
    short_forms,
    trigrams,
)
from text.vocabulary import HAS_ROLE, PERSON, PLACE

# From an unknown name and those spelled similarly, the index of the one that is meant, or None.
Judge = Callable[[str, Sequence[str]], int | None]

_GENDERS = {"she": "f", "he": "m"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _ResolvedMention:
    """aliases: the names used in this mention."""

    known: EntityRecord
    how: How
    aliases: Sequence[Alias] = ()
    is_unsure: bool = False


def resolve(
    scope: Scope,
    space_id: int,
    cipher: SpaceCipher,
    said: Sequence[StatementContext],
    *,
    judge: Judge | None = None,
    now: datetime,
) -> None:
    """Write the entities that these memories mention and what they state about them, in the order of the statements.

    In the transaction that writes the memories, under the lock of the space.  A sealed space stores none of it.
    """
    told = [one for one in said if one.reading]
    if not told or not cipher.is_searchable:
        return
    directory = EntityCache(scope, space_id, cipher, now=now)
    directory.ask(form for one in told for named in one.reading.named for form in _forms(named, one))
    resolver = _Resolver(directory, judge)
    for one in told:
        resolver.take(one)
    directory.write()


def _forms(named: Mention, said: StatementContext) -> set[str]:
    """Every normalised form by which the entity may be known."""
    words = [normalised(text) for text in (named.name, _role(named, said), *named.also) if text]
    if named.is_user and said.voice:
        words.append(normalised(said.voice.reveal()))
    return {form for word in words if word for form in (word, *short_forms(word))}


def _role(named: Mention, said: StatementContext) -> str:
    """The role, with the speaker's name if there is one: "my manager" depends on the speaker."""
    if said.voice and named.role.startswith("my "):
        return f"{said.voice.reveal()}'s {named.role.removeprefix('my ')}"
    return named.role


class _Resolver:
    def __init__(self, directory: EntityCache, judge: Judge | None) -> None:
        self.directory, self.judge = directory, judge
        self._recent: list[EntityRecord] = []  # the entities mentioned, the most recent at the end
        self._turn: object = None
        self._reached_back = False

    def take(self, said: StatementContext) -> None:
        """Process one memory: its mentions and its claims."""
        if self._turn != said.turn:
            self._turn, self._recent, self._reached_back = said.turn, [], False
        found: dict[Mention, _ResolvedMention] = {}
        for named in said.reading.named[:MOST_NAMED]:
            one = self._find(named, said)
            if one is not None:
                found[named] = one
        seen: set[tuple[int, int | None]] = set()
        for one in found.values():
            for alias in one.aliases or (None,):
                place = (one.known.id, alias.id if alias else None)
                if place not in seen and not (one.known.is_user and alias is None):
                    self.directory.mention(one.known, said.memory_id, alias, one.how, is_unsure=one.is_unsure)
                seen.add(place)
        if said.may_meet:
            self._claim(said, found)
        self._remember(said, found)

    def _claim(self, said: StatementContext, found: dict[Mention, _ResolvedMention]) -> None:
        made: set[tuple[int, str, int | None, str]] = set()
        for told in said.reading.told:
            subject = found.get(told.subject)
            object_ = found.get(told.object) if told.object else None
            if subject is None or (told.object is not None and object_ is None):
                continue
            if told.is_implied and object_ is not None and object_.how != How.NEW:
                continue
            predicate, other, value = _corrected(told, subject.known, object_.known if object_ else None)
            claim = (subject.known.id, predicate, other.id if other else None, value)
            if claim not in made and (other is not None or value):
                made.add(claim)
                self.directory.claim(subject.known, said.memory_id, predicate, other, value)

    def _remember(self, said: StatementContext, found: dict[Mention, _ResolvedMention]) -> None:
        """Note the mentioned entities, the subject last, because "she" in the next sentence refers to it first."""
        subjects = [told.subject for told in said.reading.told[:1]]
        order = [named for named in found if named not in subjects] + [named for named in subjects if named in found]
        for named in order:
            known = found[named].known
            if not known.is_user:
                self._recent = [one for one in self._recent if one is not known] + [known]

    # --- the cascade --------------------------------------------------------------------------------------------------

    def _find(self, named: Mention, said: StatementContext) -> _ResolvedMention | None:
        if named.is_user:
            return self._user(named, said)
        if named.pronoun:
            known = self._by_pronoun(named.pronoun, said)
            return _ResolvedMention(known=known, how=How.PRONOUN) if known else None
        found = self._by_name(named, said) if named.name else self._by_role(named, said)
        if found is None:
            return None
        if not said.may_meet:
            alias = found.known.names.get(normalised(named.name or _role(named, said)))
            return replace(found, aliases=[alias] if alias else [])
        found.known.learn_type(named.type)
        return replace(found, aliases=self._called(found.known, named, said))

    def _user(self, named: Mention, said: StatementContext) -> _ResolvedMention | None:
        """The speaker: the end user, or one of several named speakers.  None if such a name has no letter."""
        if said.voice is None:
            known = self.directory.user()
            names = [self.directory.name(known, named.name)] if named.name and said.may_meet else []
            return _ResolvedMention(known=known, how=How.USER, aliases=names)
        name = said.voice.reveal()
        if not normalised(name):
            return None
        found = self._by_name(Mention(name=name, type=PERSON), said)
        return found or _ResolvedMention(known=self.directory.user(), how=How.USER)

    def _by_pronoun(self, pronoun: str, said: StatementContext) -> EntityRecord | None:
        known = next((one for one in reversed(self._recent) if _may_be_called(one, pronoun)), None)
        if known is None and said.session and not self._reached_back:
            self._reached_back = True
            self._recent = [*self.directory.of_session(said.session), *self._recent]
            known = next((one for one in reversed(self._recent) if _may_be_called(one, pronoun)), None)
        return known

    def _by_role(self, named: Mention, said: StatementContext) -> _ResolvedMention | None:
        role = _role(named, said)
        found = self._among(self.directory.called(normalised(role), named.type), How.EXACT)
        if found or not (named.is_sure and said.may_meet):
            return found
        return _ResolvedMention(known=self.directory.make(named.type), how=How.NEW)

    def _by_name(self, named: Mention, said: StatementContext) -> _ResolvedMention | None:
        name = normalised(named.name)
        if not name:
            return None
        found = self._among(self.directory.called(name, named.type), How.EXACT)
        if found or not (named.is_sure and said.may_meet):
            return found
        holder = self._unnamed_holder(named, said)
        if holder is not None:
            return _ResolvedMention(known=holder, how=How.EXACT)
        return self._by_part(name, named.type) or self._by_spelling(name, named.type)

    def _unnamed_holder(self, named: Mention, said: StatementContext) -> EntityRecord | None:
        """The entity for "my sister Ana", if "my sister" was mentioned before and has no name yet."""
        if not named.role:
            return None
        holders = self.directory.called(normalised(_role(named, said)), named.type)
        return next((one for one in holders if not one.proper), None)

    def _by_part(self, name: str, type_: str) -> _ResolvedMention | None:
        """The entity for "Priya Sharma", if a Priya or a P. Sharma is known who may be the same."""
        if type_ != PERSON or not is_full(name):
            return None
        among = [
            one
            for form in short_forms(name)
            for one in self.directory.called(form, PERSON)
            if all(may_be_one(name, other) for other in one.proper)
        ]
        return self._among(list(dict.fromkeys(among)), How.PART)

    def _by_spelling(self, name: str, type_: str) -> _ResolvedMention:
        grams = trigrams(name)
        alike = sorted(
            (
                (score, other, known)
                for other, known in (self.directory.spelled() if len(name) >= SHORTEST_ALIKE else ())
                if known.may_be_a(type_)
                and (score := likeness(grams, trigrams(other))) >= ALIKE_ENOUGH_TO_LOOK
                and not (type_ == PERSON and not may_be_one(name, other) and score < ALIKE)
            ),
            key=lambda one: -one[0],
        )
        if alike and alike[0][0] >= ALIKE:
            return _ResolvedMention(known=alike[0][2], how=How.TRIGRAM)
        if alike and self.judge is not None:
            chosen = self.judge(name, [other for _, other, _ in alike])
            if chosen is not None:
                return _ResolvedMention(known=alike[chosen][2], how=How.JUDGE)
        return _ResolvedMention(known=self.directory.make(type_, needs_review=bool(alike)), how=How.NEW)

    def _among(self, known: Sequence[EntityRecord], how: How) -> _ResolvedMention | None:
        """The only candidate; of several, the most recent one, which is unsure if it was not mentioned just now."""
        if len(known) < 2:
            return _ResolvedMention(known=known[0], how=how) if known else None
        recent = next((one for one in reversed(self._recent) if one in known), None)
        chosen = recent or self.directory.latest(known)
        if recent is None:
            self.directory.flag(chosen)
        return _ResolvedMention(known=chosen, how=how, is_unsure=recent is None)

    def _called(self, known: EntityRecord, named: Mention, said: StatementContext) -> list[Alias]:
        """Store the names used for the entity, and take its role from other entities."""
        aliases = []
        if named.name:
            alias = self.directory.name(known, named.name)
            aliases.append(alias)
            if known.type == PERSON:
                for form in short_forms(normalised(named.name)):
                    if form not in known.names:
                        self.directory.name(known, form, parent=alias)
        role = _role(named, said)
        if role:
            name = normalised(role)
            for other in [] if named.is_shared else self.directory.called(name):
                if other is not known:
                    self.directory.take_away(other, name)
            aliases.append(self.directory.name(known, role, is_role=True))
        return aliases + [self.directory.name(known, other) for other in named.also if normalised(other)]


def _may_be_called(known: EntityRecord, pronoun: str) -> bool:
    if pronoun == "it":
        return known.type not in (PERSON, PLACE)
    if pronoun == "they":
        return known.type != PLACE
    return known.type == PERSON and known.gender in ("", _GENDERS[pronoun])


def _corrected(
    told: RelationMention, subject: EntityRecord, other: EntityRecord | None
) -> tuple[str, EntityRecord | None, str]:
    """A relation of a person to themselves becomes a role (seed 003's second correction)."""
    if other is subject and told.object is not None:
        words = told.value or told.object.role or told.object.name
        return HAS_ROLE, None, words.removeprefix("the ").removeprefix("my ")
    return told.predicate, other, told.value
