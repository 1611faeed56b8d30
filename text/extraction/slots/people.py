"""Slots for relationships: relatives, other persons with a unique role, the manager, birthdays."""

from collections.abc import Iterator
from typing import Final

from text import patterns
from text.dates.number_words import MONTHS
from text.extraction.lexicon import (
    BOSS,
    COMPANIES,
    KIN,
    LANGUAGES,
    OCCUPATIONS,
    PET,
    PRODUCTS,
    SEVERAL,
    SOCIAL,
    any_of,
    listed,
    words,
)
from text.extraction.slots.clause import END, PERSON, SO, Claim, Clause, Reader, asserts
from text.extraction.subjects import slug

_DAYS: Final = 31
_SPOUSE: Final = listed("husband wife spouse hubby")
_TITLE: Final = patterns.compile(r"(?:dr|prof|professor|mr|mrs|ms|miss|sir)\.? ")
_NOBODY: Final = listed(
    "the a an my our your his her their it this that not no in on at from away back out off sick now very so too also"
    " really always never who which retired married pregnant new old called coming going allergic all both he she they"
    " there here what everyone nobody someone coffee music sleep time patience money chocolate wine food running yoga"
    " pain silence nature work practice failure history fear life death sugar monday tuesday wednesday thursday friday"
    " saturday sunday christmas me us him dr dra mr mrs ms prof"
)
# "My wife is German" states no name.
_OF_A_KIND: Final = LANGUAGES | listed(
    "american british scottish english irish welsh canadian australian austrian swiss belgian brazilian mexican indian"
    " pakistani nigerian ghanaian kenyan egyptian iranian israeli palestinian lebanese syrian argentinian chilean"
    " colombian peruvian cuban filipino filipina african european asian catholic christian protestant lutheran anglican"
    " orthodox muslim jewish hindu buddhist sikh mormon atheist aries taurus gemini leo virgo libra scorpio sagittarius"
    " capricorn aquarius pisces siamese persian labrador dachshund beagle poodle january february march april may june"
    " july august september october november december"
)
_ONE: Final = (KIN | SOCIAL | PET) - words("family, kids, children, parents, in-laws")
_ROLE: Final = (
    r"(?:new |current |older |younger |little |big |eldest |oldest |youngest |best )?"
    rf"(?P<k>{any_of(_ONE)})\b(?!'s (?!name|called)|[ -]in[ -]law)"
)
# What may follow "Olga is my sister", but not "at bridge".
_ROLE_ENDS: Final = r"(?=\s*(?:$|[,.;:!?()])|\s+(?:and|but|who|since|now|too|btw|in|from|not|by the way|you know|so)\b)"
_OTHER: Final = PERSON.replace("?P<v>", "?P<w>")
_THEY_ARE: Final = patterns.compile(
    rf"(?:my|our) {_ROLE}(?:(?:'s name is|'s name's| is called| is named|'s called| called| named)(?: now| actually)?"
    rf" {PERSON}|(?: is|'s|:)(?: now| actually)? {_OTHER}){END}"
)
_ARE_THEY: Final = patterns.compile(rf"{PERSON} (?:is|'s)(?: now| also)? (?:my|our) {_ROLE}{_ROLE_ENDS}")
_WED: Final = patterns.compile(rf"\b(?:i'?m|i am|we're|got|been){SO} (?P<k>married|engaged) to {PERSON}{END}")
# "Leanne and I have split up" ends what names Leanne.
_PARTED: Final = patterns.compile(
    rf"{PERSON} and (?:i|me)(?:'ve| have| are| were| both)?{SO} (?:(?P<m>(?:got |getting )?(?:divorced|separated)"
    rf"|split(?: up)?)|brok(?:en?) up|parted ways)(?! by\b){END}"
)
_PARTNERS: Final = ("spouse", "fiance", "partner", "girlfriend", "boyfriend")
_BOSSES: Final = any_of(BOSS)
_BOSS_IS: Final = patterns.compile(
    rf"(?:my(?: new| current| direct)? {_BOSSES}|our (?:new )?(?:team lead|line manager|manager|boss))"
    rf"(?: is|'s name is|'s|:)(?: now| called)? {PERSON}{END}"
)
_REPORTS_TO: Final = patterns.compile(rf"\breports?(?: directly| now){{0,2}} to {PERSON}{END}")
_IS_BOSS: Final = patterns.compile(
    rf"{PERSON} (?:is|became|'s)(?: now| also){{0,2}} (?:my(?: new| current)? {_BOSSES}|our(?: new)? (?:team lead"
    rf"|line manager|manager|boss)){_ROLE_ENDS}"
)
_MONTH: Final = any_of(frozenset(MONTHS))
_BIRTHDAY: Final = patterns.compile(
    r"\b(?:birthday|bday|date of birth|dob|born)\b(?:'s|:|,| is| falls| (?:at|in) [\w'-]{2,20}| on| the)*? (?:the )?"
    rf"(?:(?P<d>[0-3]?\d)(?:st|nd|rd|th)?(?: of)? (?P<m>{_MONTH})"
    rf"|(?P<n>{_MONTH})\.? (?:the )?(?P<e>[0-3]?\d)(?:st|nd|rd|th)?)\b"
)


def _kin(clause: Clause) -> Iterator[Claim]:
    if not asserts(clause):
        return
    if clause.search(_WED):
        wed = clause.says(_WED)
        if wed is not None and clause.who == "user" and _is_somebody(clause, wed):
            role = "spouse" if wed["k"] == "married" else "fiance"
            yield Claim(f"user.{role}", _named(wed["v"]), clause.start, wed.end("v"), type="relation")
        return
    for pattern in (_THEY_ARE, _ARE_THEY):
        match = clause.begins(pattern)
        if match is not None and match["k"] not in BOSS:
            group = "v" if match["v"] is not None else "w"
            is_called = pattern is _THEY_ARE and group == "v"
            if _is_somebody(clause, match, group, is_called=is_called) and not _is_thing(match[group], match["k"]):
                yield _theirs(clause, match, group)
            return


def _theirs(clause: Clause, match: patterns.Match, group: str) -> Claim:
    name, end = _named(match[group]), max(match.end(group), match.end("k"))
    role = "spouse" if match["k"] in _SPOUSE else slug(match["k"])
    if match["k"] in PET:
        return Claim(f"user.{role}.name", name, clause.start, end)
    if role in SEVERAL:
        return Claim(f"user.{role}.{name}", name, clause.start, end, many_valued=True, type="relation")
    return Claim(f"user.{role}", name, clause.start, end, type="relation")


def _parted(clause: Clause) -> Iterator[Claim]:
    match = clause.begins(_PARTED) if asserts(clause, also_past=True) else None
    if match is not None and _is_somebody(clause, match):
        over = [(f"user.{role}", _named(match["v"])) for role in _PARTNERS]
        if match["m"] is not None:
            over.append(("user.relationship_status", "married"))
        for key, value in over:
            yield Claim(key, value, clause.start, match.end(), is_over=True)


def _boss(clause: Clause) -> Iterator[Claim]:
    if not asserts(clause):
        return
    match = clause.begins(_IS_BOSS) or clause.begins(_BOSS_IS)
    who: str | None = "user"
    if match is None:
        match, who = clause.says(_REPORTS_TO), clause.who
    if match is not None and who is not None and _is_somebody(clause, match):
        yield Claim(f"{who}.reports_to", _named(match["v"]), clause.start, match.end(), type="relation")


def _birthday(clause: Clause) -> Iterator[Claim]:
    match = clause.says(_BIRTHDAY) if asserts(clause, also_past=True) else None
    if match is not None and clause.who is not None:
        month, day = MONTHS[(match["m"] or match["n"]).rstrip(".")], int(match["d"] or match["e"])
        if 0 < day <= _DAYS:
            yield Claim(f"{clause.who}.birthday", f"{month:02}-{day:02}", clause.start, match.end())


def _is_somebody(clause: Clause, match: patterns.Match, group: str = "v", *, is_called: bool = False) -> bool:
    """Whether the match is a person's name. is_called: the text says so, so it need not be capitalised."""
    first = _TITLE.sub("", match[group], count=1).split()[0].rstrip(".")
    is_other = first in _NOBODY or match[group] in OCCUPATIONS or first.endswith(("ing", "ed", "ful", "ous", "ish"))
    return (
        not is_other and (is_called or first not in _OF_A_KIND) and clause.is_named(match, group, also_small=is_called)
    )


def _is_thing(name: str, role: str) -> bool:
    """Whether the name is a thing: "my dad's Volvo" is no relative. A client, however, may be a company."""
    return name in COMPANIES | PRODUCTS and role in KIN


def _named(name: str) -> str:
    """The value without title: "Dr Okonjo" and "Okonjo" are one person."""
    return slug(_TITLE.sub("", name, count=1))


READERS: Final[tuple[Reader, ...]] = (_kin, _parted, _boss, _birthday)
