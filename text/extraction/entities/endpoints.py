"""Mentions of persons and things in a text: names, roles, offices, pronouns, the user's own things."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from text import patterns
from text.extraction.entities.tables import (
    COMPANY_NAMES,
    JOINING,
    NO_NAMES,
    NO_PERSONS,
    OFFICES,
    ONLY_ONE,
    ORGANIZATION_WORDS,
    PLACES,
    PRODUCT_NAMES,
    PROJECT_WORDS,
    ROLES,
    SAME_ROLE,
    TEAM_WORDS,
    THING_WORDS,
    TITLES,
)
from text.extraction.lexicon import KIN
from text.extraction.subjects import is_name
from text.given_names import GIVEN_NAMES
from text.mentions import Mention
from text.vocabulary import ORGANIZATION, PERSON, PLACE, PRODUCT, PROJECT, TEAM

MOST: Final = 24  # mentions per text


@dataclass(frozen=True, slots=True)
class End:
    """text[start:end] refers to ``named``.  owner: whose role it is; whose: the possessive as written."""

    start: int
    end: int
    named: Mention
    role: str = ""
    whose: str = ""


def _any(names: frozenset[str]) -> str:
    return "(?:" + "|".join(sorted(map(patterns.escape, names), key=len, reverse=True)) + ")"


_KIND = (
    r"(?:(?:new|old|older|younger|little|big|eldest|oldest|youngest|twin|former|current|direct|dear|late|step"
    r"|own|other|favou?rite) )*"
)
_ROLE: Final = patterns.compile(
    rf"\b(?P<whose>my|our|his|her|their|[^\W\d_][\w-]+'s) {_KIND}(?P<role>{_any(ROLES)})\b(?!'s? \w)"
)
_OFFICE: Final = patterns.compile(rf"\b(?:the|our) (?:new |current |acting |interim )?(?P<role>{_any(OFFICES)})\b")
_USER: Final = patterns.compile(r"\b(?:i(?=\b(?!\.\w))|me|myself|we|us)\b|(?:^|(?<=[.!?] ))(?:the )?user\b(?!'s)")
_PRONOUN: Final = patterns.compile(
    r"\b(?P<p>she|he|they|him|them|it)\b|\b(?P<her>her)\b(?! \w+(?<!\band)(?<!\bon)(?<!\bin))"
)
_SAME_PRONOUN: Final = {"him": "he", "them": "they", "her": "she"}
_MANY: Final = ("sisters", "brothers", "sons", "daughters", "cousins", "colleagues", "friends", "flatmates")
_SEVERAL: Final = patterns.compile(
    rf"\bhave (?:\d|two|three|four|five) (?:\w+ )?(?P<role>{'|'.join(_MANY)})(?:,| called| named|:) "
)
_THING: Final = patterns.compile(
    rf"\b(?P<whose>the|our|my) (?P<name>(?:(?!(?:the|our|my|and|or|is|are|was|to|of|on|in|for|new|old|whole)\b)"
    rf"[\w&'-]+ ){{0,3}}(?P<kind>{_any(TEAM_WORDS | THING_WORDS)}))\b"
)
_TOKEN: Final = patterns.compile(r"[^\W_]+(?:[.'&+#-]+[^\W_]+)*[+#]*")
_WORD: Final = patterns.compile(r"[a-z]+")
# Words required by the expressions above: searching for words is faster.
_ROLE_WORDS, _OFFICE_WORDS, _THING_WORDS = (
    frozenset(word for name in names for word in _WORD.findall(name))
    for names in (ROLES, OFFICES, TEAM_WORDS | THING_WORDS)
)
_ROLE_WORDS_OF_MANY = frozenset(_MANY)
_OPENS: Final = patterns.compile(r"(?:^|[.!?:;\n\u2022*-]\s|\n)[\s\"'(\[*-]*$")
_FORMER: Final = patterns.compile(r"\bformer\b|\bex-|\bold \w+$|\blate\b")


def ends_of(plain: str, low: str, *, is_english: bool) -> list[End]:
    """All mentions in order, without overlaps.  plain: folded text; low: the same in lower case."""
    taken = bytearray(len(plain))
    found: list[End] = []
    names = list(_names(plain, low, is_english=is_english))
    words = frozenset(_WORD.findall(low)) if is_english else frozenset()
    for end in [*_roles(plain, low, words), *names, *_rest(low, words)]:
        if any(taken[end.start : end.end]):
            continue
        taken[end.start : end.end] = b"\x01" * (end.end - end.start)
        found.append(end)
    if plain == low:
        found += _words_that_may_name(low, taken)
    return sorted(found, key=lambda end: end.start)[: 2 * MOST]


def _roles(plain: str, low: str, words: frozenset[str]) -> Iterator[End]:
    for match in _ROLE.finditer(low) if words & _ROLE_WORDS else ():
        role = SAME_ROLE.get(match["role"], match["role"])
        if role in NO_PERSONS or _FORMER.search(match[0]):
            continue
        own = match["whose"] in ("my", "our")
        whose = "my" if own else plain[match.start("whose") : match.end("whose")]
        # A name identifies the owner of the role; with a pronoun the owner is unknown.
        known_by = f"{whose} {role}" if own or whose.endswith("'s") else ""
        named = Mention(
            role=known_by,
            type=PERSON,
            is_sure=own and (role in ONLY_ONE or match["role"] in KIN),
            is_shared=role not in ONLY_ONE,
        )
        yield End(match.start(), match.end(), named, role=role, whose=match["whose"] if not own else "my")
    for match in _SEVERAL.finditer(low) if words & _ROLE_WORDS_OF_MANY else ():
        role = match["role"].removesuffix("s")
        named = Mention(role=f"my {role}", type=PERSON, is_sure=False, is_shared=True)
        yield End(match.start("role"), match.end("role"), named, role=role, whose="my")
    for match in _OFFICE.finditer(low) if words & _OFFICE_WORDS else ():
        role = SAME_ROLE.get(match["role"], match["role"])
        yield End(match.start(), match.end(), Mention(role=f"the {role}", type=PERSON, is_sure=False), role=role)


def _rest(low: str, words: frozenset[str]) -> Iterator[End]:
    for match in _THING.finditer(low) if words & _THING_WORDS else ():
        kind = match["kind"]
        type_ = TEAM if kind in TEAM_WORDS else PROJECT if kind in PROJECT_WORDS else PRODUCT
        is_bare = match["name"] == kind
        # "The project" is one known to both speakers; "the app" may be any.
        is_sure = not is_bare or kind == "project" or (kind == "team" and match["whose"] != "the")
        name = f"my {kind}" if is_bare and match["whose"] != "the" else match["name"]
        yield End(match.start(), match.end(), Mention(name=name, type=type_, is_sure=is_sure))
    for match in _USER.finditer(low) if words else ():
        yield End(match.start(), match.end(), Mention(is_user=True, type=PERSON))
    for match in _PRONOUN.finditer(low) if words else ():
        said = match["p"] or match["her"]
        yield End(match.start(), match.end(), Mention(pronoun=_SAME_PRONOUN.get(said, said)))


def _names(plain: str, low: str, *, is_english: bool) -> Iterator[End]:
    """Runs of capitalised words.  In languages other than English a capital alone does not make a name."""
    tokens = list(_TOKEN.finditer(plain))
    capitals = sum(token[0][:1].isupper() for token in tokens)
    is_headline = capitals > 3 and capitals > 0.6 * len(tokens)
    at = 0
    while at < len(tokens):
        if not _begins_name(tokens[at], low) and not _begins_place(tokens, at, low):
            at += 1
            continue
        last = at
        while not plain[tokens[last].start() : tokens[last].end()].endswith("'s") and last + 1 < len(tokens):
            following = _continues(plain, tokens, last, joins=JOINING if is_english else frozenset())
            if following is None:
                break
            last = following
        start, end = tokens[at].start(), tokens[last].end()
        if plain[start:end].endswith("'s"):
            end -= 2
        yield _name(plain, low, start, end, knows_only=is_headline or not is_english)
        at = last + 1


def _begins_name(token: patterns.Match, low: str) -> bool:
    word = token[0]
    if not word[:1].isupper() or word.removesuffix("'s").lower() in NO_NAMES:
        return False
    is_initial = len(word) == 1 and low[token.end() : token.end() + 2] == ". "
    return len(word) > 1 or is_initial


def _begins_place(tokens: list[patterns.Match], at: int, low: str) -> bool:
    """ "New York", although "new" begins no name."""
    is_written = at + 1 < len(tokens) and tokens[at][0][:1].isupper() and tokens[at + 1][0][:1].isupper()
    return is_written and low[tokens[at].start() : tokens[at + 1].end()].removesuffix("'s") in PLACES


def _continues(plain: str, tokens: list[patterns.Match], last: int, *, joins: frozenset[str]) -> int | None:
    """The token with which the name continues, or None."""
    word, following = tokens[last][0], tokens[last + 1]
    gap = plain[tokens[last].end() : following.start()]
    if gap not in ((" ", ". ") if len(word) == 1 or word.lower() in TITLES else (" ",)):
        return None
    if following[0][:1].isupper():
        ends = following[0].removesuffix("'s").lower()
        return last + 1 if ends not in NO_NAMES or ends in TEAM_WORDS else None
    if following[0][0].isdigit() and len(following[0]) < 4:
        return last + 1
    if following[0] in joins and last + 2 < len(tokens):
        after = tokens[last + 2]
        if (
            plain[following.end() : after.start()] == " "
            and after[0][:1].isupper()
            and after[0].lower() not in NO_NAMES
        ):
            return last + 2
    if following[0] in TEAM_WORDS | PROJECT_WORDS:
        return last + 1  # "the Falcon project"
    return None


def _name(plain: str, low: str, start: int, end: int, *, knows_only: bool) -> End:
    name, said = plain[start:end], low[start:end]
    type_ = type_of(said, before=low[max(0, start - 6) : start])
    is_known = type_ != "" or said in COMPANY_NAMES or said in PRODUCT_NAMES or said.split()[0] in GIVEN_NAMES
    opens = _OPENS.search(plain, max(0, start - 8), start) is not None
    is_acronym = name.isupper() and len(name) < 5
    is_sure = is_known or (not (opens and " " not in name) and not is_acronym)
    if plain[end : end + 2] == "'s" and is_name(plain, start, end):
        is_sure = True
    return End(start, end, Mention(name=name, type=type_, is_sure=is_sure and (is_known or not knows_only)))


def type_of(said: str, *, before: str = "") -> str:
    """The type that a lower-case name itself implies; empty if it implies none, or several."""
    parts = said.split()
    first, last = parts[0].strip("."), parts[-1]
    may_be_person = first in GIVEN_NAMES and len(parts) < 4
    if first in TITLES or (len(first) == 1 and parts[0].endswith(".") and len(parts) > 1):
        return PERSON
    if last in TEAM_WORDS:
        return TEAM
    if last in PROJECT_WORDS or first in ("project", "operation"):
        return PROJECT
    if len(parts) > 1 and last in ORGANIZATION_WORDS:
        return ORGANIZATION
    if said in PLACES:
        return "" if may_be_person and not before.endswith((" in ", " to ")) else PLACE
    if said in COMPANY_NAMES:
        return ORGANIZATION
    if may_be_person:
        return PERSON
    if said in PRODUCT_NAMES:
        return PRODUCT
    return ""


def _words_that_may_name(low: str, taken: bytearray) -> Iterator[End]:
    """In a text without capitals any word may be a known name."""
    before: patterns.Match | None = None
    number = 0
    for token in _TOKEN.finditer(low):
        word = token[0].removesuffix("'s")
        is_free = len(word) > 2 and word not in NO_NAMES and not any(taken[token.start() : token.end()])
        if not is_free or number >= MOST:
            before = None
            continue
        number += 1
        yield End(token.start(), token.start() + len(word), Mention(name=word, type=_sure_type(word), is_sure=False))
        if before is not None and low[before.end() : token.start()] == " ":
            yield End(before.start(), token.start() + len(word), Mention(name=f"{before[0]} {word}", is_sure=False))
        before = token


def _sure_type(word: str) -> str:
    return PERSON if word in GIVEN_NAMES and word not in PLACES else ""
