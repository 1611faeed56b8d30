"""Keys about who belongs to whom: managers, colleagues, family, teams, offices."""

from collections.abc import Iterator

from apps.ingest.rules.keys.claim import (
    Claim,
    Clause,
    any_of,
    has_capital,
    is_aside,
    is_negated,
    person_of,
    search_in,
    split_list,
)
from apps.ingest.rules.lexicon import BOSS, CONDITIONS, DIETS, KIN, MOODS, OCCUPATIONS, PET, REPORTEE, SOCIAL, listed
from apps.ingest.rules.subjects import slug
from text import patterns

_NAMED = (
    r"(?P<p>[^\W\d_][\w'.-]{1,25}(?: (?!now\b|and\b|since\b|from\b|is\b|who\b|as\b|on\b|in\b|at\b|for\b|directly\b"
    r"|these\b|instead\b|again\b|anymore\b|with\b|but\b|until\b|of\b|to\b|so\b|this\b|next\b|last\b"
    r"|btw\b)[^\W\d_][\w'.-]{1,25})?)"
)
_NAMES = (
    r"(?P<l>[^\W\d_][\w'.-]{1,25}(?: (?!and\b|on\b|in\b|from\b|who\b|at\b|now\b|is\b|as\b|for\b|since\b|with\b|but\b"
    r"|so\b|to\b|these\b|directly\b|every\b)[^\W\d_][\w'.-]{1,25})?(?:(?:, and |, | and | & )(?!i\b|we\b|the\b|my\b"
    r"|our\b|she\b|he\b|they\b|it\b)[^\W\d_][\w'.-]{1,25}){0,6})"
)
_REPORTS_TO = patterns.compile(
    r"\b(?:reports?|reporting)(?: directly| now| in| straight| up)* (?:in)?to (?:the |my |our )?" + _NAMED
)
_BOSS_WORD = any_of(BOSS)
_BOSS_IS = patterns.compile(
    rf"\b(?:my|our)(?: new| current| direct)? {_BOSS_WORD}(?: now)?(?: is|'s name is|'s| will be|:)(?: now| called"
    rf"| actually| still)? {_NAMED}"
)
_IS_BOSS = patterns.compile(
    rf"{_NAMED} (?:is|will be|becomes|became|'s)(?: now| going to be| also| officially| actually)* (?:my|our)(?: new"
    rf"| current| direct| interim)? {_BOSS_WORD}\b"
)
_TOOK_OVER = patterns.compile(
    rf"{_NAMED} (?:(?:has |have )?(?:took|taken|takes|is taking) over(?: from [^\W\d_][\w'.-]{{1,25}})?|replaced"
    rf" [^\W\d_][\w'.-]{{1,25}}"
    rf"|stepped in|was made|was appointed) as (?:my|our)(?: new| interim)? {_BOSS_WORD}\b"
)
_MANAGED_BY = patterns.compile(
    rf"\b(?:managed|led|headed|run|supervised|owned|maintained|overseen|chaired|coached"
    rf"|mentored) by (?:the )?{_NAMED}"
)
_MANAGES = patterns.compile(
    r"\b(?:manages?|leads?|supervises?|oversees?|heads(?: up)?|mentors?|coaches|maintains?|owns?|runs|chairs"
    r"|in charge of|responsible for|head of|lead of|manager of|owner of|maintainer of)\s+(?P<what>(?:the |our |a "
    r"|my )?(?:[\w&'.-]+)(?: (?!since\b|now\b|from\b|and\b|with\b|on\b|at\b|for\b|in\b|as\b"
    r"|so\b)[\w&'.-]+){0,3}(?:(?:, and |, | and )(?!i\b|we\b|report|work|the\b|my\b)[\w'.-]+){0,5})"
)
_I_DO = patterns.compile(
    r"\b(?:i|i'?m|i'?ve|we|we're|me|and|who|am|also|now)\b(?: (?!my\b|your\b|an?\b|get\b|had\b)[\w']+){0,4}\s*$"
)
_UNDER_ME = patterns.compile(
    rf"{_NAMES} (?:report|reports|are reporting|is reporting|work|works) (?:directly |now |in )*(?:to|for|under) me\b"
)
_TEAM_IS = patterns.compile(
    r"\b(?:my|our) (?:team|reports|direct reports) (?:is|are|consists of"
    r"|:)\s*(?:me,? (?:and )?)?(?P<l>[^\W\d_][\w'.-]{1,25}(?:(?:, and |, | and )[^\W\d_][\w'.-]{1,25}){0,6})"
)
_WORKS_WITH = patterns.compile(
    rf"\b(?:works?|working|pair(?:ing|s)?|pair-program\w*|collaborat\w+|team(?:ed|ing)? up|partner(?:ed"
    rf"|ing)?) (?:closely |together |directly |mostly |a lot |up |side by side |every day )*(?:with"
    rf"|alongside) {_NAMES}"
)
_TOGETHER = patterns.compile(
    rf"(?:^|\b){_NAMED} and (?:i|me)\b.{{0,30}}\b(?:work|collaborate|pair|run|lead|own|are on|share)\b"
)
_PEOPLE = KIN | SOCIAL | REPORTEE | PET
_KIN_IS = patterns.compile(
    rf"\b(?:my|our)(?: new| current| older| younger| little| big| eldest| oldest| youngest| best"
    rf"| family)? (?P<k>{any_of(_PEOPLE)})(?:'s name is| is called| is named| is now|'s called| is|'s"
    rf"|:)(?: now| actually)? {_NAMED}"
)
_IS_KIN = patterns.compile(
    rf"{_NAMED} (?:is|'s|are)(?: now| also| actually)* (?:my|our)(?: new| current| older| younger| little| big"
    rf"| eldest| oldest| youngest| best| family| twin)? (?P<k>{any_of(_PEOPLE)})\b"
)
_MEMBER = patterns.compile(
    r"\b(?:joined|back (?:in|on|to)|(?:^|i'm |im |now )(?:in|on)|moved (?:over )?to|transferred to|is (?:now )?(?:on"
    r"|in|part of|a member of)|am (?:now )?(?:on|in)"
    r"|'m (?:now )?(?:on|in)|switched to|member of|belongs to|went to|assigned to)\s+(?:the |our "
    r"|a )?(?P<v>[\w&'-]+(?: [\w&'-]+){0,3}? (?:team|squad|group|org|department|division|board|committee|crew|club"
    r"|choir|band|guild|chapter|tribe|union|council)|team [\w&'-]+)\b"
)
_NOT_PEOPLE = listed(
    "the a an my our your his her their it this that these those there here me you him us them someone nobody"
    " everyone not no in on at from away back out off sick now very so too also really always never people kids data"
    " team and is are was who which if great good nice ok okay vegan vegetarian called coming going moving leaving"
    " retired married turning having allergic pregnant new old both all we they he she i reorg then today correction"
    " update yes btw sorry anyway"
)


_MARRIED_TO = patterns.compile(
    rf"\b(?:i'?m|im|i am|we'?re|been|got|get|getting) (?:now |happily |still )*(?P<k>married|engaged) to {_NAMED}"
    rf"|{_NAMED.replace('?P<p>', '?P<p2>')} and (?:i|me) (?:are|got|were)(?: now| recently| happily)? (?P<k2>married"
    rf"|engaged)"
)
_SPOUSES = listed("husband wife spouse hubby")


_ADJECTIVAL = ("ful", "ous", "ive", "able", "ible", "less", "ish")


def _is_person(clause: Clause, match: patterns.Match, group: str = "p") -> bool:
    name = match[group]
    first = name.split()[0]
    if first in _NOT_PEOPLE or first in _PEOPLE or name in CONDITIONS or name in DIETS or first.endswith(_ADJECTIVAL):
        return False
    return has_capital(clause, match, group) and not name.endswith(("ing", "ed")) and name not in MOODS


_TITLE = patterns.compile(r"(?:dr|prof|professor|mr|mrs|ms|miss|sir)\.? ")


def _who(name: str) -> str:
    """ "Dr Okonjo" and "Okonjo" are one person."""
    return slug(_TITLE.sub("", name, count=1))


def boss(clause: Clause) -> Iterator[Claim]:
    for pattern in (_BOSS_IS, _IS_BOSS, _TOOK_OVER):
        match = search_in(pattern, clause)
        if (
            match
            and _is_person(clause, match)
            and not patterns.search(r"\b(?:no longer|was|used to be|isn'?t|former)\b", match[0])
        ):
            yield Claim("user.reports_to", _who(match["p"]), type="relation")
            return
    match = search_in(_UNDER_ME, clause) or (
        search_in(_TEAM_IS, clause) if patterns.search(r"\bmanage|\blead|\breports", clause.low) else None
    )
    if match:
        for name in split_list(match["l"]):
            if name not in _NOT_PEOPLE:
                yield Claim(f"user.manages.{slug(name)}", slug(name), many_valued=True, type="relation")
        return
    match = search_in(_REPORTS_TO, clause)
    if match and match["p"] not in ("me", "us"):
        who = person_of(clause)
        if who and not is_negated(clause, match.start()):
            yield Claim(f"{who}.reports_to", _who(match["p"]), type="relation")


# "Changed therapists, seeing Paulo now", "got a new boss: Ravi": who holds a role from now on.
_SUCCESSOR = patterns.compile(
    rf"\b(?:(?:switched|changed|swapped|changing|switching)(?: (?:my|our))?|(?:(?:have|has|got|with) )?(?:an?|my"
    rf"|our)? ?(?:new|different))"
    rf" (?P<k>{any_of(SOCIAL | BOSS)})s?\b(?:[:,]| -|,? (?:now|and|it's|seeing|with|called|named|is|to|i'm|we're"
    rf"|going|working|under|her"
    rf"|his|name|name's|having))+ {_NAMED}"
)


# "Okonjo supervises me" says the same as "my supervisor is Okonjo".
_ROLE_OF = {
    "supervises": "reports_to",
    "manages": "reports_to",
    "line-manages": "reports_to",
    "mentors": "mentor",
    "coaches": "coach",
    "teaches": "teacher",
    "trains": "trainer",
    "tutors": "tutor",
    "treats": "doctor",
}
_DOES_FOR_ME = patterns.compile(
    rf"{_NAMED} (?:now |currently |also )*(?P<k>supervises|manages|line-manages|mentors|coaches|teaches|trains"
    rf"|tutors|treats) me\b"
)


def _serving(clause: Clause) -> Iterator[Claim]:
    match = search_in(_DOES_FOR_ME, clause)
    if match and _is_person(clause, match):
        role, name = _ROLE_OF[match["k"]], _who(match["p"])
        if role in _SEVERAL:
            yield Claim(f"user.{role}.{name}", name, many_valued=True, type="relation")
        else:
            yield Claim(f"user.{role}", name, type="relation")


def successor(clause: Clause) -> Iterator[Claim]:
    match = search_in(_SUCCESSOR, clause)
    if match and _is_person(clause, match):
        role = "reports_to" if match["k"] in BOSS else slug(match["k"])
        yield Claim(f"user.{role}", _who(match["p"]), type="relation")


def manages(clause: Clause) -> Iterator[Claim]:
    served = list(_serving(clause))
    if served:
        yield from served
        return
    match = search_in(_MANAGED_BY, clause)
    if match and _is_person(clause, match):
        who = clause.subject.key
        if who in ("", "user"):
            yield Claim("user.reports_to", _who(match["p"]), type="relation")
        else:
            yield Claim(f"{who}.managed_by", _who(match["p"]), type="relation")
        return
    match = search_in(_MANAGES, clause)
    person = person_of(clause)
    if (
        match is None
        or person is None
        or patterns.match(r"(?:owns?|runs?) (?:a|an|\d|two|three|my|out|on|every)\b", match[0])
    ):
        return
    if person == "user" and (not _I_DO.search(clause.low, clause.start, match.start()) or is_aside(clause)):
        return
    things = split_list(match["what"])
    at = clause.plain[match.start("what") : match.start("what") + 1]
    for thing in things:
        if slug(thing) in ("both_of_them", "them", "it", "both", "", "to", "well"):
            continue
        if person == "user" or (at.isupper() and len(things) > 0 and not thing.startswith(("the ", "our "))):
            yield Claim(f"{person}.manages.{slug(thing)}", slug(thing), many_valued=True, type="relation")
        else:
            yield Claim(f"{slug(thing)}.managed_by", person, type="relation")


def works_with(clause: Clause) -> Iterator[Claim]:
    match = search_in(_WORKS_WITH, clause)
    if match and match["l"].split()[0] not in _NOT_PEOPLE and has_capital(clause, match, "l"):
        for name in split_list(match["l"]):
            yield Claim(
                f"{person_of(clause) or 'user'}.works_with.{slug(name)}", slug(name), many_valued=True, type="relation"
            )
        return
    match = search_in(_TOGETHER, clause)
    if match and match["p"].split()[0] not in _NOT_PEOPLE and has_capital(clause, match, "p"):
        yield Claim(f"user.works_with.{slug(match['p'])}", _who(match["p"]), many_valued=True, type="relation")


# One may have several of these; of the others one, so that a new dentist takes the old one's place.
_SEVERAL = listed(
    "sister brother sibling son daughter kid child baby cousin aunt auntie uncle niece nephew grandson granddaughter"
    " friend colleague coworker co_worker teammate neighbour neighbor report direct_report intern client customer"
    " student mentee buddy mate pal roommate flatmate godson goddaughter grandmother grandma grandfather grandpa"
    " parent twin stepson stepdaughter tenant teacher tutor specialist"
)


def kin(clause: Clause) -> Iterator[Claim]:
    wed = search_in(_MARRIED_TO, clause)
    if wed and _is_person(clause, wed, "p" if wed["p"] else "p2"):
        role = "spouse" if (wed["k"] or wed["k2"]) == "married" else "fiance"
        yield Claim(f"user.{role}", _who(wed["p"] or wed["p2"]), type="relation")
        return
    for pattern in (_KIN_IS, _IS_KIN):
        match = search_in(pattern, clause)
        if match and _is_person(clause, match) and match["p"] not in OCCUPATIONS:
            role, name = "spouse" if match["k"] in _SPOUSES else slug(match["k"]), _who(match["p"])
            if match["k"] in PET:
                yield Claim(f"user.{role}.name", name, type="fact")
            elif role in _SEVERAL:
                yield Claim(f"user.{role}.{name}", name, many_valued=True, type="relation")
            else:
                yield Claim(f"user.{role}", name, type="relation")
            return


def member(clause: Clause) -> Iterator[Claim]:
    match, who = search_in(_MEMBER, clause), person_of(clause)
    if match and who:
        yield Claim(f"{who}.team", slug(match["v"]))


_HOLDS = patterns.compile(
    rf"\b{_NAMED} (?:is|became|was made|'s)(?: now| currently)? (?:the|our)(?: new| current"
    rf"| interim)? (?P<r>[\w -]{{2,24}}?)(?= of\b| for\b| on\b| at\b|\s*$|[,.;!]| now\b| since\b)"
    rf"|\b(?P<p2>[^\W\d_][\w'.-]{{1,25}}) (?:replaced|replaces|succeeded|succeeds|took over from|takes over from"
    rf"|took over for) [^\W\d_][\w'.-]{{1,25}} as (?:the |our )?(?P<r2>[\w -]{{2,24}}?)(?=\s*$|[,.;!]| of\b| on\b"
    rf"| now\b| in\b| last\b| this\b)"
)
_OFFICES = (
    OCCUPATIONS
    | BOSS
    | listed(
        "po product owner scrum master team lead tech lead chair host maintainer on-call captain spokesperson"
        " chairperson treasurer contact"
    )
    | {"product owner", "scrum master", "project lead", "project manager", "head coach"}
)


_SINGLE_OFFICES = any_of(
    frozenset({"ceo", "cto", "cfo", "coo", "chair", "president", "treasurer", "team lead", "tech lead"})
)
_OUR_OFFICE_IS = patterns.compile(
    rf"\b(?:our|the)(?: new| current| interim)? (?P<r>{_SINGLE_OFFICES})(?: is| will be| became)(?: now)? {_NAMED}"
)
_BECAME = patterns.compile(
    rf"\b{_NAMED} (?:became|becomes|is now|is the new|has become|was named) (?:the "
    rf"|our )?(?:new )?(?P<r>{_SINGLE_OFFICES})\b"
)


def office(clause: Clause) -> Iterator[Claim]:
    """An office that one person holds at a time: "Petra is the product owner"."""
    match = search_in(_HOLDS, clause)
    if match and (match["r"] or match["r2"]) in _OFFICES and _is_person(clause, match, "p" if match["p"] else "p2"):
        yield Claim(f"{slug(match['r'] or match['r2'])}.holder", _who(match["p"] or match["p2"]), type="relation")
        return
    match = search_in(_OUR_OFFICE_IS, clause) or search_in(_BECAME, clause)
    if match and _is_person(clause, match):
        yield Claim(f"{slug(match['r'])}.holder", _who(match["p"]), type="relation")
