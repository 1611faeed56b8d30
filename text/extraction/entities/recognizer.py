"""Finds the entities of a statement and the relations between them, from its words and its claims."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from text import patterns
from text.extraction import language
from text.extraction.entities.claims import DENIED, OWN_NAME, USER, relation, relations_of, surface
from text.extraction.entities.endpoints import End, ends_of
from text.extraction.entities.tables import OFFICES, SAME_ROLE, VERBS
from text.extraction.finding import ClaimPart
from text.extraction.lexicon import OCCUPATIONS
from text.extraction.subjects import is_name, slug
from text.mentions import MOST_NAMED, NOBODY, Mention, Mentions, RelationMention
from text.sentences import fold, lower
from text.vocabulary import HAS_ROLE, ORGANIZATION, PERSON, PLACE, TEAM

LONGEST: Final = 2_000  # characters; in a longer text only names are read, no relations
MOST_READ: Final = 20_000
_WIDEST: Final = 70  # characters between two mentions that can be related

_ADVERBS = r"(?:now |also |currently |just |still |actually |mainly |mostly |both |always |only |really |already )*"
_VERBS = [
    (
        patterns.compile(
            rf",? ?(?:who |which |that |and )?{_ADVERBS}(?:{verb.says}) {_ADVERBS}(?:the |our |my |a |an )?"
        ),
        verb,
    )
    for verb in VERBS
]
_AND = patterns.compile(r"(?:,? (?:and|&) |, )(?:the |our |my |a )?")
_TOGETHER = patterns.compile(r" (?:both |all )?(?:work|collaborate|pair)(?: closely)? together\b")
_ON_TEAM = patterns.compile(r" (?:both |all )?work(?: closely)? together (?:on|in) (?:the |our )?")
_APPOSED = patterns.compile(
    r",? \(?|: |(?:'s name)? (?:is|was) (?:now )?(?:called |named )?|, called |, named | called | named |: "
)
_IS_APPOSED = patterns.compile(r", | \(| (?:is|'s|became|becomes) (?:now |also |actually |officially )*")
_ALSO_KNOWN = patterns.compile(
    r",? \(?(?:also known as|better known as|aka|a\.k\.a\.|or simply|or just|(?:who )?(?:also |usually )?goes by"
    r"|nicknamed|(?:is |for short |also )?called) [\"']?"
)
_SHORT_FOR = patterns.compile(r" (?:is short for|stands for|means|is what we call) (?:the )?")
_CALLED = patterns.compile(
    r"\b(?:calls?|nicknamed) (?:it|him|her|them) [\"']?"
    r"(?P<name>(?:[A-Z]\. )?[A-Z][\w -]{1,30}?|the [\w -]{2,30}?)[\"']?"
    r"(?:,? or (?:just |simply )?[\"']?(?P<other>[A-Z][\w -]{1,30}?|the [\w -]{2,30}?)[\"']?)?(?=[.,;!)]|$)"
)
_IS_A = patterns.compile(
    r"(?:'s|'m|'re| is| am| are| became| becomes| works as| work as| was (?:made|appointed|promoted to))"
    r" (?:now |also |currently |still )*(?P<article>an?|the|our|your)? ?(?:new |current |acting |interim )?"
    r"(?P<role>[\w-]+(?: [\w-]+){0,3}?)"
    r"(?= (?:at|for|of|in|on|with|and|here|who|now)\b|[.,;!?)]|$)"
)
_AT_WORK = patterns.compile(r" (?:at|for|with) (?:the )?$")


def read_entities(text: str, claims: Iterable[ClaimPart] = ()) -> Mentions:
    """Entities and relations of one kept statement.  Never raises.

    claims: the statement's claims, each with its words text[start:end].
    """
    claims = list(claims)
    plain = fold(text[:MOST_READ])
    low = lower(plain)
    is_english = bool(claims) or not language.is_foreign(low)
    ends = ends_of(plain, low, is_english=is_english)
    if not ends and not claims:
        return NOBODY
    if len(text) > LONGEST or not is_english:
        return Mentions(named=_once(end.named for end in ends if not end.named.is_user and not end.named.pronoun))
    for claim in claims:
        if len(claims) == 1 and claim.key in OWN_NAME and (name := surface(claim.value, plain)):
            return Mentions(named=[Mention(is_user=True, name=name, type=PERSON)])
    reader = _MentionReader(plain, low, ends)
    told = reader.read()
    for claim in claims:
        for one in relations_of(claim, plain, low):
            if one.subject.name:  # the claim has resolved "she"
                told = [other for other in told if not (other.subject.pronoun and _same_but_subject(one, other))]
            if not _is_told(one, told):
                told.append(one)
    inside = [named for one in told for named in (one.subject, one.object) if named is not None]
    named = _once([*(end.named for end in reader.ends), *inside])
    return Mentions(named=[one for one in named if _stands(one) or one in inside], told=told)


def _stands(named: Mention) -> bool:
    """Whether a mention is worth storing by itself: the user is mentioned in every memory."""
    return not named.is_user and named.pronoun != "it" and bool(named.name or named.role or named.pronoun)


def _once(named: Iterable[Mention]) -> list[Mention]:
    """Without duplicates; an unsure mention is dropped if a sure one has the same name."""
    every = list(dict.fromkeys(named))
    sure = {one.name.lower() for one in every if one.is_sure}
    return [one for one in every if one.is_sure or not one.name or one.name.lower() not in sure][:MOST_NAMED]


class _MentionReader:
    """Reads one statement; a mention is replaced as more becomes known about it."""

    def __init__(self, plain: str, low: str, ends: list[End]) -> None:
        self.plain, self.low, self.ends = plain, low, ends
        self.told: list[RelationMention] = []

    def read(self) -> list[RelationMention]:
        is_denied = DENIED.search(self.low) is not None
        self._join_roles(tells=not is_denied)
        self._join_offices(tells=not is_denied)
        self._join_aliases()
        if not is_denied:
            self._read_offices()
            self._read_verbs()
            self._read_together()
        return self.told

    def _gap(self, at: int) -> str:
        return self.low[self.ends[at].end : self.ends[at + 1].start]

    def _put(self, at: int, named: Mention) -> Mention:
        end = self.ends[at]
        self.ends[at] = replace_end(end, named)
        self.told = [_with(told, end.named, named) for told in self.told]
        return named

    def _join_roles(self, *, tells: bool) -> None:
        """ "My sister Ana", "Ana, my sister": merge the role and the name of one person."""
        at = 0
        while at < len(self.ends):
            if self.ends[at].role and self.ends[at].whose:
                self._join_role(at, tells=tells)
            at += 1

    def _join_role(self, at: int, *, tells: bool) -> None:
        end = self.ends[at]
        named = end.named
        after, before = at + 1, at - 1
        if after < len(self.ends) and self._names_person(after) and _APPOSED.fullmatch(self._gap(at)):
            named = self._one_person(at, after)
            self._join_more(at, end)
        elif before >= 0 and self._names_person(before) and _IS_APPOSED.fullmatch(self._gap(before)):
            named = self._one_person(at, before)
        owner = USER if end.whose == "my" else self._owner(end)
        if owner is not None and tells and (named.is_sure or named.name):
            self.told.append(replace(relation(owner, end.role, named), is_implied=not named.name))

    def _join_more(self, first: int, role: End) -> None:
        """ "My sisters Mia and Zoe": apply the role to the other names too."""
        is_plural = role.whose == "my" and self.low[role.start : role.end].endswith("s")
        at = first + 1
        while is_plural and at < len(self.ends) and _AND.fullmatch(self._gap(at - 1)) and self._names_person(at):
            one = replace(self.ends[at].named, role=role.named.role, is_shared=True, type=PERSON, is_sure=True)
            self._put(at, one)
            self.told.append(relation(USER, role.role, one))
            at += 1

    def _names_person(self, at: int) -> bool:
        end = self.ends[at]
        is_lower = self.plain == self.low and end.named.type == PERSON
        is_written = end.named.is_sure or is_lower or is_name(self.plain, end.start, end.end)
        return bool(end.named.name) and end.named.type in ("", PERSON) and is_written

    def _one_person(self, role_at: int, name_at: int) -> Mention:
        """Merge two mentions at the position of the name."""
        role, name = self.ends[role_at], self.ends[name_at]
        named = replace(name.named, role=role.named.role, is_shared=role.named.is_shared, type=PERSON, is_sure=True)
        self.ends[name_at] = replace_end(name, named)
        del self.ends[role_at]
        return named

    def _owner(self, end: End) -> Mention | None:
        if end.whose.endswith("'s"):
            name = self.plain[end.start : end.start + len(end.whose) - 2]
            return Mention(name=name, type=PERSON, is_sure=is_name(self.plain, end.start, end.start + len(name)))
        return Mention(pronoun={"his": "he", "her": "she", "their": "they"}[end.whose])

    def _join_aliases(self) -> None:
        at = 0
        while at + 1 < len(self.ends):
            one, other, gap = self.ends[at], self.ends[at + 1], self._gap(at)
            if one.named.name and other.named.name:
                if _ALSO_KNOWN.fullmatch(gap) or (gap == " (" and self.plain[other.end : other.end + 1] == ")"):
                    self._put(at, _also_called(one.named, [other.named.name]))
                    del self.ends[at + 1]
                    continue
                if _SHORT_FOR.fullmatch(gap):
                    self._put(at + 1, _also_called(other.named, [one.named.name]))
                    del self.ends[at]
                    continue
            at += 1
        called = _CALLED.search(self.plain)
        if called:
            before = [at for at, end in enumerate(self.ends) if end.end <= called.start() and end.named.name]
            if before:
                named = self.ends[before[-1]].named
                self.ends = [end for end in self.ends if end.start < called.start("name") or end.start >= called.end()]
                names = tuple(name for name in (called["name"], called["other"]) if name)
                self._put(before[-1], _also_called(named, names))

    def _join_offices(self, *, tells: bool) -> None:
        """ "Our CTO is Petra": an office followed by the person who has it."""
        at = 0
        while at + 1 < len(self.ends):
            end = self.ends[at]
            if end.role and not end.whose and self._names_person(at + 1) and _APPOSED.fullmatch(self._gap(at)):
                named = self._one_person(at, at + 1)
                if tells:
                    self.told.append(RelationMention(subject=named, predicate=HAS_ROLE, value=end.role))
            at += 1

    def _read_offices(self) -> None:
        """ "Priya is the engineering manager", "Tom is a nurse at the Charité"."""
        for at, end in enumerate(self.ends):
            match = _IS_A.match(self.low, end.end)
            if match is None or not self._is_somebody(at):
                continue
            role = SAME_ROLE.get(match["role"], match["role"])
            is_office = role in OFFICES and match["article"] in ("the", "our", None)
            if not is_office and not (match["article"] and role.split()[-1] in OCCUPATIONS):
                continue
            named = end.named
            if not named.is_user and not named.pronoun:
                known_by = f"the {role}" if is_office and match["article"] and not named.role else named.role
                named = self._put(at, replace(named, role=known_by, type=PERSON, is_sure=True))
            self.told.append(RelationMention(subject=named, predicate=HAS_ROLE, value=role))
            self._drop_inside(at, match.start(), match.end())
            if at + 1 < len(self.ends) and _AT_WORK.fullmatch(self.low[match.end("role") : self.ends[at + 1].start]):
                employer = self._sure(at + 1, "")
                if employer.name:
                    self.told.append(RelationMention(subject=named, predicate="works_at", object=employer))

    def _drop_inside(self, at: int, start: int, end: int) -> None:
        """Drop mentions inside the words of the role: they are no further persons."""
        mine = self.ends[at]
        self.ends[:] = [one for one in self.ends if one is mine or not (one.start >= start and one.end <= end)]

    def _is_somebody(self, at: int) -> bool:
        end = self.ends[at]
        if end.named.is_user:
            return self.low[end.start : end.end] in ("i", "user", "the user")
        if end.named.pronoun:
            return end.named.pronoun in ("she", "he")
        may_be = end.named.type in ("", PERSON) and bool(end.named.name or end.whose)
        return may_be and (end.named.is_sure or is_name(self.plain, end.start, end.end))

    def _read_verbs(self) -> None:
        for at in range(len(self.ends) - 1):
            gap = self._gap(at)
            if len(gap) > _WIDEST or "\n" in gap:
                continue
            verb = next((verb for pattern, verb in _VERBS if pattern.fullmatch(gap)), None)
            if verb is None or not self._may_be_subject(at):
                continue
            subjects = [self._sure(one, verb.subject) for one in self._listed_before(at)]
            objects = [self._sure(one, verb.object) for one in self._listed_after(at + 1)]
            for subject in subjects:
                for object_ in objects:
                    ends = (object_, subject) if verb.turned else (subject, object_)
                    self._tell(*ends, verb.predicate)

    def _tell(self, subject: Mention, object_: Mention, predicate: str) -> None:
        if predicate == "member_of" and object_.type not in ("", TEAM, ORGANIZATION):
            return
        if predicate == "member_of" and object_.type in ("", ORGANIZATION) and object_.name:
            predicate = "works_at"
        if predicate == "located_at" and object_.type not in ("", PLACE):
            return
        if predicate == "manages" and object_.is_user:
            subject, predicate, object_ = object_, "reports_to", subject
        self.told.append(RelationMention(subject=subject, predicate=predicate, object=object_))

    def _may_be_subject(self, at: int) -> bool:
        """Whether a mention can be a verb's subject: the user, a pronoun, a role, or a recognised name."""
        end = self.ends[at]
        named = end.named
        return (
            named.is_sure
            or named.is_user
            or bool(named.pronoun or named.role)
            or is_name(self.plain, end.start, end.end)
        )

    def _sure(self, at: int, type_: str) -> Mention:
        """The mention marked as a sure entity: a verb shows that it is one, and perhaps its type."""
        named = self.ends[at].named
        if named.name and not named.is_user:
            return self._put(at, replace(named, is_sure=True, type=named.type or type_))
        return named

    def _listed_before(self, at: int) -> list[int]:
        found = [at]
        while found[0] > 0 and _AND.fullmatch(self._gap(found[0] - 1)) and self._may_be_subject(found[0] - 1):
            found.insert(0, found[0] - 1)
        return found

    def _listed_after(self, at: int) -> list[int]:
        found = [at]
        while found[-1] + 1 < len(self.ends) and _AND.fullmatch(self._gap(found[-1])):
            if self._is_next_subject(found[-1] + 1):
                break
            found.append(found[-1] + 1)
        return found

    def _is_next_subject(self, at: int) -> bool:
        """Whether it has a verb of its own: "… with Ana and Tom manages the team"."""
        gap = self._gap(at) if at + 1 < len(self.ends) else ""
        return self.ends[at].named.is_user or any(pattern.fullmatch(gap) for pattern, _ in _VERBS)

    def _read_together(self) -> None:
        """ "John and Sarah work together on the platform team"."""
        for at in range(len(self.ends) - 1):
            if _AND.fullmatch(self._gap(at)) and _TOGETHER.match(self.low, self.ends[at + 1].end):
                pair = [self._sure(one, PERSON) for one in (at, at + 1)]
                pair.sort(key=lambda named: not named.is_user)
                self.told.append(RelationMention(subject=pair[0], predicate="works_with", object=pair[1]))
                if at + 2 < len(self.ends) and _ON_TEAM.fullmatch(self._gap(at + 1)):
                    for one in pair:
                        self._tell(one, self._sure(at + 2, TEAM), "member_of")


def _also_called(named: Mention, names: Sequence[str]) -> Mention:
    """An alias may be an office: "the EM" is the person who has it."""
    said = [name.lower().removeprefix("the ") for name in names]
    office = next((SAME_ROLE.get(one, one) for one in said if one in OFFICES), "")
    role = named.role or (f"the {office}" if office else "")
    return replace(named, also=(*named.also, *names), role=role, is_sure=True)


def replace_end(end: End, named: Mention) -> End:
    return End(end.start, end.end, named, role=end.role, whose=end.whose)


def _with(told: RelationMention, old: Mention, new: Mention) -> RelationMention:
    return replace(
        told,
        subject=new if told.subject is old else told.subject,
        object=new if told.object is old else told.object,
    )


def _same_but_subject(one: RelationMention, other: RelationMention) -> bool:
    ends = [slug(each.object.name or each.object.role) if each.object else "" for each in (one, other)]
    return one.predicate == other.predicate and ends[0] == ends[1]


def _is_told(one: RelationMention, told: Sequence[RelationMention]) -> bool:
    """Whether a relation between the same entities is already in the list."""

    def ends(each: RelationMention) -> tuple[str, ...]:
        object_ = each.object or USER
        return (
            slug(each.subject.name or each.subject.role) if not each.subject.is_user else "user",
            slug(object_.name or object_.role),
        )

    mine = ends(one)
    return any(mine == ends(other) or (one.object and other.object and mine[1] == ends(other)[1]) for other in told)
