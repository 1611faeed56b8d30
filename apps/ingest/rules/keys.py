"""Canonical keys: which slot a statement fills, and with what value.

A rule reads the predicate; who it is about was found before (subjects.py). Rules are tried in the order of the table
and the first that matches wins; a rule is only tried when one of its trigger words stands in the clause.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from apps.ingest.rules.lexicon import (
    BOSS, COMPANIES, COMPANY_ENDING, CONDITIONS, DIETS, KIN, LANGUAGES, MEDICINE_ENDING, MEDICINES, MOODS, OCCUPATIONS, PET, REPORTEE, SOCIAL,
    THING_NEEDS_VERB, THING_OF, THINGS, UNFINISHED_STATES,
)  # fmt: skip
from apps.ingest.rules.subjects import Subject, is_name, singular, slug


class Claim(NamedTuple):
    key: str
    value: str | None
    many_valued: bool = False
    type: str | None = None  # the type this key always has, where the clause's own words do not decide it
    closed: bool = False  # says that the claim is over


class Clause(NamedTuple):
    plain: str
    low: str
    start: int
    end: int
    subject: Subject
    words: frozenset[str]


Reader = Callable[[Clause], Iterator[Claim]]


def _alternatives(names: frozenset[str] | dict[str, str]) -> str:
    return "(?:" + "|".join(sorted(map(re.escape, names), key=len, reverse=True)) + ")"


_STOP = (
    r"(?=\s*(?:$|[,.;:!?()\"]|-\s)|\s+(?:and|but|or|as|since|for|with|in|on|at|from|until|till|because|so|now|btw|anymore|any|these|last|this|next|by|who|which|where|when|after|before|again|instead|to|too|which|that|if|though|although|while|than|lol|tbh|pls|please|rather|over|not|actually"
    r"|right|today|yesterday|tomorrow|currently|permanently|is|was|are|has|have|every|via|about|due)\b)"
)
_VALUE = r"(?P<v>[^\W_][^,;:!?()\"\n]{0,50}?)" + _STOP
_LIST = r"(?P<l>[a-z][a-z'-]{1,24}(?:\s(?!and\b|or\b|as\b|so\b|but\b|since\b|which\b|if\b|btw\b|too\b|for\b|from\b|in\b|with\b|at\b|to\b|is\b|on\b|that\b|because\b|now\b|pls\b|please\b|dont\b|don't\b|though\b|by\b|lol\b|also\b|like\b|of\b|actually\b|not\b|any\b|again\b|especially\b|badly\b)[a-z'-]{1,24}){0,2}(?:\s*(?:,\s*(?:and\s+|or\s+)?|\s+and\s+|\s+or\s+|\s*&\s*|\s*/\s*)(?!i\b|so\b|it\b|we\b|my\b|also\b|but\b|please\b|pls\b|then\b|dont\b|don't\b|no\b|not\b|so\b|the doctor|that\b|which\b|always\b|can\b|he\b|she\b)[a-z][a-z'-]{1,24}(?:\s(?!and\b|or\b|so\b|but\b|as\b|for\b|from\b|in\b|is\b|to\b|at\b|on\b|which\b|with\b|pls\b|please\b|btw\b|too\b|now\b|since\b)[a-z'-]{1,24})?){0,5})"
_NOT = r"(?:not|no longer|never|don'?t|doesn'?t|isn'?t|aren'?t|wasn'?t|stopped|quit|gave up|given up|no more|instead of|rather than|over|from|than|left|without|ditched|dropped|closed|sold|cancelled|canceled|replaced|leaving|away from|out of|off|got rid of|done with|moved off|migrated off)"
_NEGATED = re.compile(_NOT + r"\s+(?:being |using |taking |eating |drinking |having |doing |playing |a |an |the |my |our |at |with |for |in |working |work |be |use |take |drink |eat |really |to )*$")
_OVER = re.compile(r"\b(?:no longer|not .{1,30} any ?more|any ?more|stopped|quit|gave up|given up|no more|sold|closed|cancelled|canceled|ditched|got rid of|done with|left|used to|over it|outgrew|outgrown|came off|off the|discontinued|dropped|got over|ended|finished with|parted with)\b")


def claims_of(clause: Clause) -> list[Claim]:
    """What the clause claims, best rule first; one claim per item where a rule reads a list."""
    tried: set[int] = set()
    for number in sorted({n for word in clause.words for n in _BY_WORD.get(word, ())} | _ALWAYS):
        if number in tried:
            continue
        tried.add(number)
        found = list(_RULES[number][1](clause))
        if found:
            return [claim for claim in found if claim.key][:4]
    return []


def _who(clause: Clause, *, default: str = "user") -> str:
    return clause.subject.key or default


def _person(clause: Clause) -> str | None:
    """The subject if a person can be meant: a thing has no employer and no diet."""
    subject = clause.subject
    if subject.key in ("", "user"):
        return "user"
    return subject.key if subject.is_person else None


def _search(pattern: re.Pattern[str], clause: Clause) -> re.Match[str] | None:
    return pattern.search(clause.low, clause.start, clause.end)


def _negated(clause: Clause, at: int) -> bool:
    return _NEGATED.search(clause.low, max(clause.start, at - 40), at) is not None


def _capital(clause: Clause, match: re.Match[str], group: str = "v") -> bool:
    """Written like a name, or the turn is written without capitals altogether."""
    value = clause.plain[match.start(group) : match.end(group)]
    return value[:1].isupper() or value[:1].isdigit() or not any(c.isupper() for c in clause.plain[clause.start : clause.end])


# -- who the user is ------------------------------------------------------------------------------

_NAME = re.compile(
    r"\b(?:(?:my|the) (?:first |full |last |real |preferred |legal )?name(?:'s| is)(?: now| actually)?|(?:call|address) me(?: just| simply)?|i'?m called|i go by|everyone calls me|people call me|name's)\s+(?P<v>[^\W\d_][\w'-]{1,30}(?:\s(?!not\b|from\b|please\b|and\b|but\b|in\b|instead\b|now\b|by\b|at\b|when\b|if\b|btw\b|ok\b|for\b)[^\W\d_][\w'-]{1,30})?)"
)
_I_AM_NAME = re.compile(r"^(?:.{0,40}?\b)?(?:i'm|im|i am|this is|it's)\s+(?P<v>[^\W\d_][\w'-]{1,20}(?: [^\W\d_][\w'-]{1,20})?)(?=\s*(?:[,.!]|$| and i\b| from\b| here\b| btw\b))")
_NO_NAME = MOODS | OCCUPATIONS | frozenset(DIETS) | frozenset(CONDITIONS) | LANGUAGES | frozenset("not in on at from the a an so very really just back new allergic going trying using working living looking single married divorced aware sure afraid american british indian canadian australian".split())
_AGE = re.compile(r"\b(?:(?:i'm|im|i am|is|am|turned|turns|turning|aged?)(?: now| about| almost)?|age:?)\s+(?P<v>\d{1,3})(?: ?(?:years?|yrs?|yo|y/o)(?:[- ]old)?)?(?=\s*(?:$|[,.;!)]|\s(?:now|today|and|last|in|on|this|yesterday|tomorrow|next|years?|yrs?)\b))(?!\s*(?:%|km|kg|min|minutes|hours?|days?|weeks?|months?|euros?|dollars?|people|cm))")
_BIRTHDAY = re.compile(r"\b(?:birthday|bday|b-day|date of birth|dob)\b(?: is|'s| falls)?|\bborn (?:on|in)\b")


def _name(clause: Clause) -> Iterator[Claim]:
    match = _search(_NAME, clause)
    if match is not None:
        who = "user" if "me" in match[0] or match[0].startswith(("my", "name", "i")) else _who(clause)
        subject = clause.subject.key
        yield Claim(f"{who if subject in ('', 'user') else subject}.name", slug(match["v"]), type="instruction" if re.match(r"(?:call|address) me", match[0]) else None)
        return
    match = _I_AM_NAME.match(clause.low[clause.start : clause.end])
    if match is not None:
        words = match["v"].split()
        at = clause.start + match.start("v")
        named = is_name(clause.plain, at, at + len(match["v"])) or (not any(c.isupper() for c in clause.plain) and len(words) == 1 and "intro" in clause.low)
        if named and words[0] not in _NO_NAME and not words[0].endswith(("ing", "ed")):
            yield Claim("user.name", slug(match["v"]))


def _age(clause: Clause) -> Iterator[Claim]:
    who, match = _person(clause), _search(_AGE, clause)
    if who and match and 0 < int(match["v"]) < 120:
        yield Claim(f"{who}.age", match["v"])


def _birthday(clause: Clause) -> Iterator[Claim]:
    if _search(_BIRTHDAY, clause) and not re.search(r"\b(?:party|card|present|gift|cake|dinner|celebrat|invit)", clause.low[clause.start : clause.end]):
        who = clause.subject.key if clause.subject.is_person or clause.subject.key == "user" else "user"
        yield Claim(f"{who or 'user'}.birthday", slug(clause.low[clause.start : clause.end].split("birthday")[-1]) or None)


# -- where, work --------------------------------------------------------------------------------

_LOCATION = re.compile(
    r"\b(?:(?:moved|relocated|moving|emigrated|immigrated|relocating|came back|moved back|returned|settled(?: down)?)\s+(?:house |home |away |back |here |over |out |permanently )*(?:from\s+(?P<from>[\w' .-]{2,40}?)\s+)?(?:to|in|into)|(?:live|lives|living|reside|resides|residing|based|settled|staying|home is|house is|flat is|apartment is|address is(?: now)?(?: in)?|new address(?: is|:)?(?: now)?(?: in)?|address:|home address is|located|home base is|hometown is|home city is|residence is)\s*(?:now |currently |still |permanently |again |right |just |out |over |back |up |down |near |outside |close to |these days |with \w+ |full[- ]time |mostly )*(?:in|at|near|outside|to|is|on)?|i'?m in|we'?re in|i am in|we are in|now in|back in|left for|out of)\s+(?:the (?:city|town|suburbs|outskirts|center|centre) of |downtown |central |north |south |east |west |rural |a (?:\w+ )*(?:flat|house|apartment|village|town|city|suburb|place) (?:in|near|outside) )?"
    r"(?P<v>[^\W_][\w'.-]{1,30}(?:[ ][\w'.-]{2,20}){0,2}?)" + _STOP
)
_NOT_PLACES = frozenset("a an the it this that there here my our his her their touch love charge stock bed town peace fear case fact favor favour france's us production prod staging order general time line mind life data sales marketing platform infra hr finance legal ops support security product design research monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october november december cash meeting hospital school office home".split())
_EMPLOYER = re.compile(
    r"\b(?:(?:works?|working|worked)\s+(?:now |currently |full[- ]time |part[- ]time |remotely |there |still |these days )*(?:at|for)|joined|joining|joins|employed (?:at|by|with)|started (?:at|with|working (?:at|for)|a (?:new )?(?:job|role|position) (?:at|with))|new job (?:at|with|is (?:at|with))|(?:got|took|have|has|landed|accepted|start|starting) (?:a|the|my) (?:\w+ ){0,2}(?:job|role|position|gig|offer) (?:at|with|from)|hired (?:by|at)|employer is(?: now)?|new employer(?: is|:)|employer:|company is|still (?:at|with)|(?:i'?m|im|i am|he'?s|she'?s|is|am|now|back|currently|started|been) (?:now |still |currently |back |working )*(?:at|with)|switched(?: jobs)?(?: from [\w ]{2,30})? to|moved(?: from [\w ]{2,30}?)? to|went to|left [\w ]{2,30} for)\s+(?:the |a |an )?(?P<v>[^\W_][\w&'.+-]{0,30}(?:[ ][\w&'.+-]{2,24}){0,3}?)" + _STOP
)
_EMPLOYER_LEFT = re.compile(r"\b(?:no longer (?:at|with|work(?:ing)? (?:at|for)|employed (?:at|by))|(?:left|quit|leaving|resigned from|laid off (?:from|by)|fired (?:from|by)|stopped working (?:at|for)|finished at|parted ways with|don'?t work (?:at|for)|used to work (?:at|for)|worked (?:at|for)))\s+(?:my job at |the |a |working at )?(?P<v>[^\W_][\w&'.+-]{0,30}(?:[ ][\w&'.+-]{2,24}){0,2}?)" + _STOP)
_ROLE = re.compile(
    r"\b(?:(?:works?|working) as|(?:promoted|moved|transitioned|switched) (?:up )?to|became|become|becoming|(?:job|role|title|position|occupation|profession|job title|new role|new job|new title)(?: here| there)?(?: is|'s|:)(?: now)?|(?:i'm|im|i am|is|am|'s|are|now|been|he's|she's|serve as|serving as|appointed|elected|acting as|training as|qualified as|retrained as)(?: now| currently| still| also| actually| the new| officially| just| both)*)\s+(?:to )?(?:as )?(?P<v>(?:an? |the |our |its |their )?(?:[\w+#/&.-]+ ){0,4}?(?P<job>"
    + _alternatives(OCCUPATIONS)
    + r"))\b(?! (?:friendly|account|rights|panel|for me to|of (?:my|the) dog))(?: (?:of|at|for) [\w &'.-]{2,30}?(?=$|[,.;!]| and| since| now| for))?"
)


def _location(clause: Clause) -> Iterator[Claim]:
    who = _person(clause)
    if who is None:
        return
    match = _search(_LOCATION, clause)
    if match is None or not _capital(clause, match):
        return
    value = match["v"]
    moved = re.match(r"(?:moved|moving|went|switched|left for|returned)", match[0]) is not None
    if value.split()[0] in _NOT_PLACES or _is_company(value) or (match[0].startswith(("i'm in", "im in", "i am in", "we're in", "we are in")) and not re.search(r"\b(?:now|moved|live|permanently|since|for good)\b", clause.low[clause.start : clause.end])):
        return
    if moved and value in THING_OF:
        return
    if _negated(clause, match.start()):
        yield Claim(f"{who}.location", slug(value), closed=True)
    else:
        yield Claim(f"{who}.location", slug(value))


def _is_company(value: str) -> bool:
    return value in COMPANIES or value.endswith(COMPANY_ENDING)


def _employer(clause: Clause) -> Iterator[Claim]:
    who = _person(clause)
    if who is None:
        return
    for match in _EMPLOYER.finditer(clause.low, clause.start, clause.end):
        value, verb = match["v"], match[0]
        sure = re.match(r"(?:work|employ|join|start|hired|new (?:job|emp)|company|got|took|have|landed|accepted)", verb)
        if value.split()[0] in _NOT_EMPLOYERS or value.endswith((" team", " squad", " group", " org", " committee", " board", " gym", " club", " choir", " department", " meeting", " call", " band", " union", " party", " class")) or _negated(clause, match.start()):
            continue
        if not (_is_company(value) or (sure and _capital(clause, match))):
            continue
        yield Claim(f"{who}.employer", slug(value))
        return
    left = _search(_EMPLOYER_LEFT, clause)
    if left is not None and (_is_company(left["v"]) or _capital(clause, left)) and left["v"].split()[0] not in _NOT_EMPLOYERS:
        yield Claim(f"{who}.employer", slug(left["v"]), closed=True)


_NOT_EMPLOYERS = frozenset("home night nights weekends me him her them myself it this that the a an my our his her their us you day days free now least once last first times work school uni university college dinner lunch risk monday tuesday wednesday thursday friday saturday sunday noon midnight about people kids no someone hours years months weeks two three four five six seven eight nine ten one long and to in on peace".split())


def _role(clause: Clause) -> Iterator[Claim]:
    who, match = _person(clause), _search(_ROLE, clause)
    if who is None or match is None or _negated(clause, match.start("v")):
        return
    if re.search(r"\b(?:my|our|his|her|your|\w+'s)\s+(?:\w+\s+)?$", clause.low[clause.start : match.start("job")]):
        return  # "Sarah is my manager" tells of the two of them
    yield Claim(f"{who}.role", slug(re.sub(r"^(?:an?|the|our|its|their) ", "", match["v"])))


# -- people --------------------------------------------------------------------------------------

_NAMED = r"(?P<p>[^\W\d_][\w'.-]{1,25}(?: (?!now\b|and\b|since\b|from\b|is\b|who\b|as\b|on\b|in\b|at\b|for\b|directly\b|these\b|instead\b|again\b|anymore\b|with\b|but\b|until\b|of\b|to\b|so\b|this\b|next\b|last\b|btw\b)[^\W\d_][\w'.-]{1,25})?)"
_NAMES = r"(?P<l>[^\W\d_][\w'.-]{1,25}(?: (?!and\b|on\b|in\b|from\b|who\b|at\b|now\b|is\b|as\b|for\b|since\b|with\b|but\b|so\b|to\b|these\b|directly\b|every\b)[^\W\d_][\w'.-]{1,25})?(?:(?:, and |, | and | & )(?!i\b|we\b|the\b|my\b|our\b|she\b|he\b|they\b|it\b)[^\W\d_][\w'.-]{1,25}){0,6})"
_REPORTS_TO = re.compile(r"\b(?:reports?|reporting)(?: directly| now| in| straight| up)*(?: in)?to (?:the |my |our )?" + _NAMED)
_BOSS_WORD = _alternatives(BOSS)
_BOSS_IS = re.compile(rf"\b(?:my|our)(?: new| current| direct)? {_BOSS_WORD}(?: now)?(?: is|'s name is|'s| will be|:)(?: now| called| actually| still)? {_NAMED}")
_IS_BOSS = re.compile(rf"{_NAMED} (?:is|will be|becomes|became|'s)(?: now| going to be| also| officially| actually)* (?:my|our)(?: new| current| direct| interim)? {_BOSS_WORD}\b")
_MANAGED_BY = re.compile(rf"\b(?:managed|led|headed|run|supervised|owned|maintained|overseen|chaired|coached|mentored) by (?:the )?{_NAMED}")
_MANAGES = re.compile(rf"\b(?:manages?|leads?|supervises?|oversees?|heads(?: up)?|mentors?|coaches|maintains?|owns?|runs|chairs|in charge of|responsible for|head of|lead of|manager of|owner of|maintainer of)\s+(?P<what>(?:the |our |a |my )?(?:[\w&'.-]+)(?: (?!since\b|now\b|from\b|and\b|with\b|on\b|at\b|for\b|in\b|as\b|so\b)[\w&'.-]+){{0,3}}(?:(?:, and |, | and )(?!i\b|we\b|report|work|the\b|my\b)[\w'.-]+){{0,5}})")
_UNDER_ME = re.compile(rf"{_NAMES} (?:report|reports|are reporting|is reporting|work|works) (?:directly |now |in )*(?:to|for|under) me\b")
_TEAM_IS = re.compile(r"\b(?:my|our) (?:team|reports|direct reports) (?:is|are|consists of|:)\s*(?:me,? (?:and )?)?(?P<l>[^\W\d_][\w'.-]{1,25}(?:(?:, and |, | and )[^\W\d_][\w'.-]{1,25}){0,6})")
_WORKS_WITH = re.compile(rf"\b(?:works?|working|pair(?:ing|s)?|pair-program\w*|collaborat\w+|team(?:ed|ing)? up|partner(?:ed|ing)?) (?:closely |together |directly |mostly |a lot |up |side by side |every day )*(?:with|alongside) {_NAMES}")
_TOGETHER = re.compile(rf"(?:^|\b){_NAMED} and (?:i|me)\b.{{0,30}}\b(?:work|collaborate|pair|run|lead|own|are on|share)\b")
_PEOPLE = KIN | SOCIAL | REPORTEE | PET
_KIN_IS = re.compile(rf"\b(?:my|our)(?: new| current| older| younger| little| big| eldest| oldest| youngest| best| family)? (?P<k>{_alternatives(_PEOPLE)})(?:'s name is| is called| is named| is now|'s called| is|'s|:)(?: now| actually)? {_NAMED}")
_IS_KIN = re.compile(rf"{_NAMED} (?:is|'s|are)(?: now| also| actually)* (?:my|our)(?: new| current| older| younger| little| big| eldest| oldest| youngest| best| family| twin)? (?P<k>{_alternatives(_PEOPLE)})\b")
_MEMBER = re.compile(r"\b(?:joined|moved (?:over )?to|transferred to|is (?:now )?(?:on|in|part of|a member of)|am (?:now )?(?:on|in)|'m (?:now )?(?:on|in)|switched to|member of|belongs to|went to|assigned to)\s+(?:the |our |a )?(?P<v>[\w&'-]+(?: [\w&'-]+){0,3}? (?:team|squad|group|org|department|division|board|committee|crew|club|choir|band|guild|chapter|tribe|union|council))\b")
_NOT_PEOPLE = frozenset("the a an my our your his her their it this that these those there here me you him us them someone nobody everyone not no in on at from away back out off sick now very so too also really always never people kids data team and is are was who which if great good nice ok okay vegan vegetarian called coming going moving leaving retired married turning having allergic pregnant new old both all we they he she i reorg then today correction update yes btw sorry anyway".split())


def _is_person(clause: Clause, match: re.Match[str], group: str = "p") -> bool:
    name = match[group]
    if name.split()[0] in _NOT_PEOPLE or name.split()[0] in _PEOPLE:
        return False
    return _capital(clause, match, group) and not name.endswith(("ing", "ed")) and name not in MOODS


def _boss(clause: Clause) -> Iterator[Claim]:
    for pattern in (_BOSS_IS, _IS_BOSS):
        match = _search(pattern, clause)
        if match and _is_person(clause, match) and not re.search(r"\b(?:no longer|was|used to be|isn'?t|former)\b", match[0]):
            yield Claim("user.reports_to", slug(match["p"]), type="relation")
            return
    match = _search(_UNDER_ME, clause) or (_search(_TEAM_IS, clause) if re.search(r"\bmanage|\blead|\breports", clause.low) else None)
    if match:
        for name in _split(match["l"]):
            if name not in _NOT_PEOPLE:
                yield Claim(f"user.manages.{slug(name)}", slug(name), many_valued=True, type="relation")
        return
    match = _search(_REPORTS_TO, clause)
    if match and match["p"] not in ("me", "us"):
        who = _person(clause)
        if who and not _negated(clause, match.start()):
            yield Claim(f"{who}.reports_to", slug(match["p"]), type="relation")


def _manages(clause: Clause) -> Iterator[Claim]:
    match = _search(_MANAGED_BY, clause)
    if match and _is_person(clause, match):
        who = clause.subject.key
        if who in ("", "user"):
            yield Claim("user.reports_to", slug(match["p"]), type="relation")
        else:
            yield Claim(f"{who}.managed_by", slug(match["p"]), type="relation")
        return
    match = _search(_MANAGES, clause)
    person = _person(clause)
    if match is None or person is None or re.match(r"(?:owns?|runs?) (?:a|an|\d|two|three|my|out|on|every)\b", match[0]):
        return
    things = _split(match["what"])
    at = clause.plain[match.start("what") : match.start("what") + 1]
    for thing in things:
        if slug(thing) in ("both_of_them", "them", "it", "both", "", "to", "well"):
            continue
        if person == "user" or (at.isupper() and len(things) > 0 and not thing.startswith(("the ", "our "))):
            yield Claim(f"{person}.manages.{slug(thing)}", slug(thing), many_valued=True, type="relation")
        else:
            yield Claim(f"{slug(thing)}.managed_by", person, type="relation")


def _works_with(clause: Clause) -> Iterator[Claim]:
    match = _search(_WORKS_WITH, clause)
    if match and match["l"].split()[0] not in _NOT_PEOPLE and _capital(clause, match, "l"):
        for name in _split(match["l"]):
            yield Claim(f"{_person(clause) or 'user'}.works_with.{slug(name)}", slug(name), many_valued=True, type="relation")
        return
    match = _search(_TOGETHER, clause)
    if match and match["p"].split()[0] not in _NOT_PEOPLE and _capital(clause, match, "p"):
        yield Claim(f"user.works_with.{slug(match['p'])}", slug(match["p"]), many_valued=True, type="relation")


def _kin(clause: Clause) -> Iterator[Claim]:
    for pattern in (_KIN_IS, _IS_KIN):
        match = _search(pattern, clause)
        if match and _is_person(clause, match) and match["p"] not in OCCUPATIONS:
            pet = match["k"] in PET
            yield Claim(f"user.{slug(match['k'])}.name", slug(match["p"]), type="fact" if pet else "relation")
            return


def _member(clause: Clause) -> Iterator[Claim]:
    match, who = _search(_MEMBER, clause), _person(clause)
    if match and who:
        yield Claim(f"{who}.team", slug(match["v"]))


# -- health and food -------------------------------------------------------------------------------

_ALLERGIC = re.compile(r"\b(?:all?erg(?:ic|y|ies)|anaphyla\w+|react badly|hypersensitive|intolerant)\s+(?:reaction )?(?:to|against)\s+(?:all |any |raw |most |some |the |eating )*" + _LIST)
_ALLERGY_OF = re.compile(r"\b(?P<l>[a-z]+(?: (?:nut|milk|sting|mite|dander|pollen))?) all?erg(?:y|ies)\b|\b(?P<i>lactose|gluten|histamine|fructose)[- ]intolerant\b")
_CANT_HAVE = re.compile(r"\b(?:can'?t|cannot|can not|mustn'?t|must not|shouldn'?t|am not allowed to)(?: really| ever)? (?:have|eat|touch|go near) (?:any |anything with |raw )?" + _LIST)
_ADDED = re.compile(r"\b(?:allergist|doctor|test|allergy test|gp|dermatologist|clinic|results?)\b.{0,30}\b(?:added|adds|found|says|confirmed|shows?|showed)\s+(?:that i'?m allergic to |an allergy to |also )?" + _LIST + r"\b.{0,30}\b(?:list|allerg|too|on top|as well)")
_NO_ALLERGEN = frozenset("it that this them those me you him her anything everything nothing a an the reaction any food my your severe bad mild no seasonal some an have has had got food any".split())
_DIET = re.compile(rf"\b(?P<v>{_alternatives(DIETS)})\b")
_DIET_SAID = re.compile(r"\b(?:i'?m|im|i am|is|are|am|'s|'re|went|go|going|gone|turned|became|become|back to|now|as an?|eat|eats|eating|strictly|stay|staying|been|being|switched to|follow|following|keep|keeps|diet|diet:|only|raised|mostly|fully|all|100%|a|still|doing|on|started|converted to|turning|getting|stick to|sticking to|live|vegan|since)\s+(?:a |an |the |to |now |strict |strictly |mostly |fully |also |still |completely |actually |back |again |being |lifelong |pretty much |eating |going |on |committed )*$")
_MEAT = re.compile(r"\b(?:eat(?:s|ing)?|back to eating|started eating) (?:meat|fish|chicken|everything)(?: and \w+)? (?:again|now|these days)\b|\b(?:not|no longer) (?:a )?(?P<v>vegan|vegetarian|pescatarian)\b(?: any ?more)?")
_CONDITION = re.compile(rf"\b(?P<v>{_alternatives(CONDITIONS)})\b")
_CONDITION_SAID = re.compile(r"\b(?:i'?m|im|i am|is|'s|am|as an?|have|has|had|having|with|diagnosed(?: with)?|got|suffer(?:s|ing)? from|my|given my|because of my|living with|being|'ve|a|was|are|chronic|doctor'?s orders|due to(?: my)?|for my|manage my|history of|type \d|prone to)\s+(?:a |an |the |my |type (?:1|2|one|two|i|ii) |mild |severe |chronic |also |been |very |quite |partly |partially |red-green |slightly |now |\d+ months |\w+ weeks |bad |with |diagnosed |fully |legally )*$|\($")
_DOSE = r"(?P<dose>\d+(?:[.,]\d+)?\s?(?:mg|mcg|ug|µg|g|ml|iu|units?|drops?|puffs?|tablets?|pills?))"
_MEDICINE_WORD = rf"(?P<v>{_alternatives(MEDICINES)}|[a-z]{{3,20}}(?:{'|'.join(MEDICINE_ENDING)}))"
_MEDICINE = re.compile(rf"\b(?:{_DOSE}\s+(?:of\s+)?)?{_MEDICINE_WORD}\b(?:[^.;\n]{{0,30}}?\b(?P<dose2>\d+(?:[.,]\d+)?\s?(?:mg|mcg|µg|g|ml|iu|units?|puffs?|tablets?|pills?)))?")
_MEDICINE_SAID = re.compile(r"\b(?:take|takes|taking|on|prescribed|put me on|started|switched|dose|dosage|mg|mcg|units|daily|twice|morning|evening|stopped|came off|medication|meds|meds:|now|increased|reduced|upped|lowered|changed|off)\b")


def _split(listed: str) -> list[str]:
    return [part for part in re.split(r"\s*,\s*(?:and\s+|or\s+)?|\s+and\s+|\s+or\s+|\s*&\s*|\s*/\s*", listed.strip()) if part]


def _allergy(clause: Clause) -> Iterator[Claim]:
    who = _person(clause) or "user"
    match = _search(_ALLERGIC, clause) or _search(_ADDED, clause)
    if match is None:
        match = _search(_ALLERGY_OF, clause)
        if match is None and re.search(r"all?erg", clause.low[clause.start : clause.end]):
            match = _search(_CANT_HAVE, clause)
    if match is None:
        return
    over = re.search(r"\b(?:no longer|not allergic|outgrew|outgrown|grew out|isn'?t allergic|gone|not .{0,12}allergic)\b", clause.low[clause.start : clause.end]) is not None
    for item in _split(match["l"] or match["i"]):
        name = slug(item)
        if name and item.split()[0] not in _NO_ALLERGEN:
            yield Claim(f"{who}.allergy.{name}", "no" if over else "yes", many_valued=True)


def _diet(clause: Clause) -> Iterator[Claim]:
    who = _person(clause)
    if who is None:
        return
    ate = _search(_MEAT, clause)
    if ate is not None and ate["v"] is None:
        yield Claim(f"{who}.diet", "omnivore")
        return
    said = [m for m in _DIET.finditer(clause.low, clause.start, clause.end) if _DIET_SAID.search(clause.low, max(clause.start, m.start() - 40), m.start())]
    kept = [m for m in said if not _negated(clause, m.start())]
    back = [m for m in kept if re.search(r"\bback to\b.{0,20}$|\bnow\b.{0,12}$", clause.low[clause.start : m.start()])]
    chosen = (back or kept)[-1:] if kept else []
    short = clause.low[clause.start : clause.end].split()
    if not chosen and not said and len(short) <= 5 and (alone := _search(_DIET, clause)) and alone["v"] in short[-2:]:
        chosen = [alone]
    for match in chosen:
        rest = clause.low[match.end() : match.end() + 20].split()
        if rest[:1] and rest[0].strip(",.") in ("restaurant", "restaurants", "food", "recipe", "recipes", "cheese", "option", "options", "leather", "place", "places", "dish", "dishes", "cookbook", "burger", "cake", "menu"):
            continue
        yield Claim(f"{who}.diet", DIETS[match["v"]])
        return
    if not chosen and said:
        yield Claim(f"{who}.diet", DIETS[said[0]["v"]], closed=True)


def _condition(clause: Clause) -> Iterator[Claim]:
    who = _person(clause)
    if who is None:
        return
    for match in _CONDITION.finditer(clause.low, clause.start, clause.end):
        if _CONDITION_SAID.search(clause.low, max(clause.start, match.start() - 40), match.start()) and not _negated(clause, match.start()):
            yield Claim(f"{who}.condition.{CONDITIONS[match['v']]}", "yes", many_valued=True)
            return


def _medicine(clause: Clause) -> Iterator[Claim]:
    who = _person(clause) or "user"
    if not _search(_MEDICINE_SAID, clause):
        return
    text = clause.low[clause.start : clause.end]
    over = re.search(r"\b(?:stopped|came off|no longer|quit|off the|discontinued|don'?t take|not taking|took me off|weaned off)\b", text) is not None
    for match in _MEDICINE.finditer(clause.low, clause.start, clause.end):
        name = match["v"]
        dose = match["dose"] or match["dose2"]
        if "unchanged" in text[match.end() - clause.start : match.end() - clause.start + 14] and not dose:
            continue
        yield Claim(f"{who}.medication.{slug(name)}", "no" if over else slug(dose.replace(" ", "")) if dose else "yes", many_valued=True)


# -- how things are set up -----------------------------------------------------------------------

_THEME = re.compile(r"\b(?P<v>dark|light|high[- ]contrast|solarized|sepia|auto(?:matic)?)[ -]?(?:mode|theme|themed|themes|ui|colou?r scheme)s?\b|\btheme(?:s)?(?: is| to|:)(?: now| set to)? (?P<v2>dark|light|high[- ]contrast|solarized|system)\b")
_INDENT = re.compile(r"\b(?P<v>(?P<n>\d|two|four|three|eight)[ -]?spaces?|spaces?|tabs?)\b")
_INDENT_SAID = re.compile(r"\b(?:indent\w*|tabs? (?:over|instead|rather|not|for|please|everywhere|only|in|width)|spaces? (?:over|instead|rather|for|please|everywhere|only|not|per)|(?:prefer|use|using|like|want|switched to|on|to|team|with|not) (?:\w+ )?(?:tabs|spaces|\d[ -]spaces?|two spaces|four spaces)|tab width|\d[ -]spaces?)\b")
_NUMBERS = {"two": "2", "three": "3", "four": "4", "eight": "8"}
_SEAT = re.compile(r"\b(?P<v>aisle|window|middle|front|exit row|bulkhead)(?: seats?)?\b(?=.{0,40}\b(?:seat|always|please|pls|flight|fly|plane|train|sit|prefer|over|person)\b|[, ]*$)|\bseat.{0,12}\b(?P<v2>aisle|window)\b")
_EMAIL = re.compile(r"\b(?:e-?mail|mail)(?: address)?(?: is| changed to|:| for me is|'s| now is| is now)?(?: now| me at)?:?\s*(?P<v>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4})|\b(?:reach|write|contact) me (?:at|on|under) (?P<v2>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4})")
_PHONE = re.compile(r"\b(?:(?:phone|mobile|cell|cellphone|landline|whatsapp|telephone|contact|new|my)(?: phone)? (?:number|nr|no\.?)|number|call me (?:at|on)|reach me (?:at|on)|my (?:cell|mobile|phone|tel))(?: is| changed to| now)*(?: now)?:?\s*(?P<v>\+?\d[\d ()/.-]{5,20}\d)")
_TIMEZONE = re.compile(r"\b(?:time ?zone|tz)(?: is|:|'s)?(?: now)? (?P<v>[\w/+:-]{2,30})|\b(?:i'?m|we'?re|i am|live|work|based) (?:in|on) (?P<v2>(?:utc|gmt)(?:[+-]\d{1,2}(?::\d\d)?)?|cet|cest|est|edt|pst|pdt|cst|mst|ist|jst|bst|aest|eet)(?: time)?\b|\b(?P<v3>(?:pacific|eastern|central european|mountain|central) time)\b")
_PET_NAMED = re.compile(rf"\b(?:my|our|the|a|an|have a|got a|adopted a)(?: new| old| little| rescue| \d+[- ]year[- ]old)? (?:\w+ )?(?P<k>{_alternatives(PET)})(?:'s name)?(?:,| is| was|'s)? (?:called |named |name is )(?P<v>[^\W\d_][\w'-]{{1,20}})")
_SPEAKS = re.compile(rf"\b(?P<verb>speaks?|fluent in|native(?: language(?: is)?)?|mother tongue(?: is)?|learning|studying|bilingual in|first language is)\s+(?:a bit of |some |a little |fluent |basic |good |native |only |also |both |fluently |conversational )*(?P<l>{_alternatives(LANGUAGES)}(?:(?:, and |, | and )(?:a little |some |a bit of |basic )?{_alternatives(LANGUAGES)}){{0,4}})")
_DRINKS = re.compile(r"\b(?:drinks?|drinking)\s+(?:(?:about|around|up to|only|mostly|just|at least|almost|too much|a lot of|lots of) )*(?P<n>(?:\d+|one|two|three|four|five|six|seven|eight|no|a|an|some|my)\s+)?(?:(?:cups?|glasses|pints?|litres?|liters?|mugs?|cans?|bottles?) of )?(?P<v>coffees?|(?:green |black |herbal |mint |oolong |white )?teas?|beers?|wine|alcohol|water|milk|soda|coke|juice|mate|espresso|decaf|energy drinks?|cola|whisky|kombucha)\b")
_GAVE_UP = re.compile(r"\b(?:gave up|given up|giving up|quit|stopped|cut out|swore off|went off|off|no more|don'?t|doesn'?t|no longer|never)\s+(?:drinking|drink|drinks|having|have|eating|eat|smoking|smoke|touch|playing|play|doing|do|using|use|taking|take|going to|go to|watching|watch)?\s*(?:any |the |my )?(?P<v>coffee|(?:green |black )?tea|beer|wine|alcohol|soda|coke|sugar|meat|dairy|caffeine|smoking|cigarettes|gluten|milk|fish|bread|juice|chocolate|booze)\b")
_COFFEE = re.compile(r"\b(?:like|take|drink|prefer|have|want)s? (?:my|his|her|the|our) (?P<k>coffee|tea|steak|eggs|toast|whisky|pizza|burger|martini|espresso)(?: always| best)?\s+(?P<v>[a-z][\w' -]{2,30}?)" + _STOP + r"|\b(?P<k2>coffee|tea):? (?P<v2>black|white|with (?:oat |soy |almond )?milk|no sugar|two sugars)\b")
_DISH_FROM_VERB = {"coffees": "coffee", "teas": "tea", "beers": "beer"}


def _theme(clause: Clause) -> Iterator[Claim]:
    for match in _THEME.finditer(clause.low, clause.start, clause.end):
        if not _negated(clause, match.start()) and not re.search(r"\b(?:hate|hates|dislike|no|not)\s+(?:the )?$", clause.low[clause.start : match.start()]):
            who = clause.subject.key
            owner = "ui" if who in ("", "user") or not clause.subject.is_person else f"{who}.ui"
            yield Claim(f"{owner}.theme", slug(match["v"] or match["v2"]), type="preference")
            return


def _indent(clause: Clause) -> Iterator[Claim]:
    if not _search(_INDENT_SAID, clause):
        return
    for match in _INDENT.finditer(clause.low, clause.start, clause.end):
        if not _negated(clause, match.start()):
            size = match["n"]
            who = clause.subject.key
            owner = f"{who}.editor" if clause.subject.is_person and who not in ("", "user") else "editor"
            yield Claim(f"{owner}.indentation", f"{_NUMBERS.get(size, size)}_spaces" if size else slug(match["v"]), type="preference")
            return


def _seat(clause: Clause) -> Iterator[Claim]:
    match = _search(_SEAT, clause)
    if match and not _negated(clause, match.start()):
        yield Claim("travel.seat", slug(match["v"] or match["v2"]), type="preference")


def _contact(clause: Clause) -> Iterator[Claim]:
    owner = clause.subject.key if clause.subject.is_person and clause.subject.key else "user"
    match = _search(_EMAIL, clause)
    if match:
        yield Claim(f"{owner}.email", match["v"] or match["v2"])
        return
    match = _search(_PHONE, clause)
    if match:
        yield Claim(f"{owner}.phone_number", re.sub(r"[^\d+]", "", match["v"]))
        return
    match = _search(_TIMEZONE, clause)
    if match:
        yield Claim(f"{owner}.timezone", slug(match["v"] or match["v2"] or match["v3"]))


def _pet(clause: Clause) -> Iterator[Claim]:
    match = _search(_PET_NAMED, clause)
    if match:
        yield Claim(f"user.{match['k']}.name", slug(match["v"]))


def _speaks(clause: Clause) -> Iterator[Claim]:
    match, who = _search(_SPEAKS, clause), _person(clause)
    if match and who:
        level = "learning" if match["verb"] in ("learning", "studying") else "native" if match["verb"].startswith(("native", "mother", "first")) else "yes"
        for name in re.findall(_alternatives(LANGUAGES), match["l"]):
            yield Claim(f"{who}.language.{slug(name)}", level, many_valued=True)


def _drink(clause: Clause) -> Iterator[Claim]:
    who = _person(clause)
    if who is None:
        return
    match = _search(_COFFEE, clause)
    if match:
        yield Claim(f"{who}.{slug(match['k'] or match['k2'])}", slug(match["v"] or match["v2"]), type="preference")
        return
    match = _search(_GAVE_UP, clause)
    if match:
        yield Claim(f"{who}.consumes.{slug(_DISH_FROM_VERB.get(match['v'], match['v']))}", "no", many_valued=True)
        return
    match = _search(_DRINKS, clause)
    if match:
        yield Claim(f"{who}.consumes.{slug(match['v'])}", slug(match["n"] or "yes") or "yes", many_valued=True)


# -- tools, providers, the parts of a system -------------------------------------------------------

_THING_WORD = re.compile(r"(?<![\w@/.-])(?P<v>" + _alternatives(frozenset(THING_OF)) + r")(?![\w@/-])")
_THING_SAID = re.compile(
    r"\b(?:use|uses|using|switch(?:ed|es|ing)?|moved|moving|migrat\w+|on|to|prefer|prefers|run|runs|running|drive|drives|driving|have|has|got|bought|bank|banks|banking|with|at|is|are|went|sold|closed|cancelled|canceled|ditched|dropped|back|love|swear|swears|by|in|stick|rely|relies|chose|picked|stores?|reads?|built|written|hosted|deployed|subscribe[ds]?|pay|our|my|new|now|upgraded|replaced|installed|signed|still|from)\b"
)
_STRONG_VERB = re.compile(r"\b(?:use|uses|using|switch(?:ed|es|ing)?|moved|migrat\w+|prefer|runs?|running|drives?|driving|bought|banks?|banking|sold|closed|cancelled|canceled|ditched|swears?|rely|hosted|deployed|written|built|stores?|upgraded|replaced|account|phone|car|editor|browser|database|db|provider|everything|subscribed|installed|have a|got a|contract)\b")
_DOMAIN_WORDS = {
    "bank": re.compile(r"\b(?:bank\w*|account|salary|savings|closed|opened|everything is|money|mortgage|card)\b"),
    "car": re.compile(r"\b(?:car|drive|drives|driving|bought|sold|have a|got a|leas\w+|parked|vehicle|trade\w*)\b"),
    "mobile_provider": re.compile(r"\b(?:mobile|phone|sim|contract|provider|carrier|plan|tariff|network)\b"),
}


def _thing(clause: Clause) -> Iterator[Claim]:
    """Tools and providers known by name. The last one that is not turned down is the current one."""
    if not _search(_THING_SAID, clause):
        return
    text = clause.low[clause.start : clause.end]
    strong = _STRONG_VERB.search(text) is not None
    kept: Claim | None = None
    closed: Claim | None = None
    for match in _THING_WORD.finditer(clause.low, clause.start, clause.end):
        word = match["v"]
        kind = _kind_of_thing(word, text)
        if kind is None or (word in THING_NEEDS_VERB and not strong):
            continue
        subject = clause.subject
        owner = "user" if subject.key in ("", "user") or subject.attribute else subject.key
        if owner != "user" and not subject.is_person and kind in ("bank", "car", "mobile_provider", "music_service", "phone", "email_provider"):
            owner = "user"
        if subject.key and not subject.is_person and (word == subject.key.replace("_", " ") or subject.key.startswith(slug(word))):
            continue  # the clause is about the tool itself
        claim = Claim(f"{owner}.{kind}", slug(word))
        if _negated(clause, match.start()):
            closed = closed or claim
        else:
            kept = claim
            if not re.search(r"\b(?:switch|mov|migrat|went|replac)\w*\b", text):
                break
    if kept:
        yield kept
    elif closed:
        yield closed._replace(closed=True)


def _kind_of_thing(word: str, text: str) -> str | None:
    for kind, domain in _DOMAIN_WORDS.items():
        if word in THINGS[kind]:
            if domain.search(text):
                return kind
            others = [k for k in THINGS if k not in _DOMAIN_WORDS and word in THINGS[k]]
            return others[0] if others else None
    return THING_OF.get(word)


# -- how the assistant should behave ----------------------------------------------------------------

_ANSWER_LANGUAGE = re.compile(rf"\b(?P<v>{_alternatives(LANGUAGES)})\b")
_ANSWER_VERB = re.compile(r"\b(?:repl(?:y|ies)|answers?|respon\w+|write|writing|speak|talk|communicate|language|switch|from now on|is (?:fine|ok|okay)|only|chat|please|again|to me)\b")
_ASSISTANT: tuple[tuple[str, str], ...] = (
    ("emojis", r"\b(?:emojis?|smileys|emoticons)\b"),
    ("commit_messages", r"\bcommit (?:messages?|titles?|subjects?)\b"),
    ("length", r"\b(?:short(?:er)?|brief(?:er|ly)?|concise(?:ly)?|verbose|long(?:er)?|terse|detailed|in[- ]depth|(?:under|below|max(?:imum)?|at most|no more than|within|up to|than) (?:\w+ )?(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|a|hundred)[\w -]{0,14}(?:sentences?|words|lines|paragraphs?|bullets?|characters|pages?)|tl;?dr|to the point|length)\b"),
    ("format", r"\b(?:bullet(?: point)?s?|bulleted|numbered lists?|tables?|markdown|plain text|json|yaml|headings?|headers|prose|lists|code blocks?)\b"),
    ("formality", r"\b(?:formal(?:ly)?|informal(?:ly)?|casual(?:ly)?|polite(?:ly)?|first[- ]name|friendly|tone|professional(?:ly)?)\b"),
    ("units", r"\b(?:metric|imperial|celsius|fahrenheit|kilomet\w+|miles|kilos?|pounds|units|feet)\b"),
    ("date_format", r"\b(?:date format|iso dates?|dd[./-]mm|yyyy|mm/dd|dates? (?:as|in)|24[- ]?h(?:our)?s?|12[- ]?hour)\b"),
    ("currency", r"\b(?:currency|prices? in|in (?:euros?|eur|dollars?|usd|pounds|gbp))\b"),
    ("spelling", r"\b(?:british|american|uk|us|australian) (?:spelling|english)\b"),
    ("booking", r"\b(?:book|booking|bookings|reservations?|reserve)\b"),
    ("purchases", r"\b(?:buy|buying|order|ordering|purchase|spend|spending|pay)\b"),
    ("linter", r"\b(?:lint\w*|format(?:ter|ting) before)\b"),
    ("tests", r"\b(?:tests?|test suite)\b"),
    ("comments", r"\bcomments?\b"),
    ("type_hints", r"\btype (?:hints?|annotations?)\b"),
    ("apologies", r"\b(?:apolog\w+|sorry)\b"),
    ("greeting", r"\b(?:greet\w*|hello|small talk|pleasantries|preamble|chit[- ]?chat|sign[- ]?off|signature)\b"),
    ("sources", r"\b(?:sources?|citations?|cite|references?|links?)\b"),
    ("humor", r"\b(?:jokes?|puns?|humou?r|sarcas\w+)\b"),
    ("reminders", r"\b(?:remind\w*|nag\w*)\b"),
    ("confirmation", r"\b(?:ask (?:me )?(?:first|before)|confirm|without asking|check with me|my (?:approval|ok|permission|confirmation))\b"),
    ("code_language", r"\b(?:python|typescript|javascript|rust|go|java|kotlin|ruby|c\+\+|c#)\b"),
    ("calendar", r"\b(?:calendar|meetings?|invites?|schedul\w+)\b"),
    ("email", r"\b(?:e-?mails?|mails?)\b"),
    ("steps", r"\b(?:step[- ]by[- ]step|one step at a time|reasoning|explain\w*)\b"),
)  # fmt: skip
_ASSISTANT_RULES = tuple((name, re.compile(pattern)) for name, pattern in _ASSISTANT)


def instruction_claim(low: str, start: int, end: int) -> Claim | None:
    """The slot of an order to the assistant: the part of its behaviour that is named first in the table."""
    text = low[start:end]
    named = [m["v"] for m in _ANSWER_LANGUAGE.finditer(text) if not _NEGATED.search(text, max(0, m.start() - 30), m.start())]
    if named and _ANSWER_VERB.search(text) and not re.search(r"\b(?:british|american) english\b", text):
        return Claim("assistant.language", slug(named[-1]), type="instruction")
    for name, pattern in _ASSISTANT_RULES:
        if pattern.search(text):
            return Claim(f"assistant.{name}", signature(text), type="instruction")
    return None


# -- limits, numbers, whatever else is stated of a thing -------------------------------------------

_AMOUNT = r"(?P<v>(?:about |around |roughly |up to |under |max |at |only )?[€$£]?\s?\d[\d.,]*\s?(?:k|m|mio|million|thousand|bn)?\b\s?(?:euros?|eur|usd|dollars?|pounds?|gbp|chf|francs|€|\$|£|kr|yen|inr|rupees|pln)?)"
_BUDGET = re.compile(r"\b(?:(?P<of>[\w' -]{2,40}?) )?budget(?: for (?:the |our |my |this |a )?(?P<for>[\w' -]{2,40}?))?(?: is| was| of|:|'s| has been| got| now| went| set| raised| cut| increased| reduced| lowered| changed| capped| limited| stays| at| to| only| from [€$£]?[\d.,]+k?)+\s*" + _AMOUNT)
_RATE_LIMIT = re.compile(r"\b(?P<v>\d[\d.,]*\s?(?:k)?)\s?(?:req(?:uest)?s?|calls|queries|messages)\s?(?:/|per|a|an)\s?(?P<u>s|sec|second|m|min|minute|h|hour|day|d|month)\w*\b")
_LIFTED = re.compile(r"\b(?:lifted|removed|dropped|relaxed|scrapped|revoked|ended|waived|withdrew|repealed|abolished|is over|no longer (?:applies|in force)|allowed again|is gone|off the table|can .{1,40} again)\b")
_BAN_OF = re.compile(r"\b(?P<v>deploy|release|merg|push|alcohol|gluten|dairy|peanut|pork|meat|pet|smok|dog|meeting|call|overtime|travel|flight|external api|third[- ]party|gpl|hiring|expense|contractor|caffeine|lactose|shellfish|nut|sugar|salt|lifting|driv|running|screen|sublet|part|friday|weekend|code freeze)")
_RENAMED = {"merg": "merge", "smok": "smoking", "driv": "driving"}
_COPULA = re.compile(r"(?:'s|\s+(?:is|are|was changed to|changed to|will be|has been|stays|became|costs?|weighs|measures|equals|moved to|set to|went (?:up |down )?to|goes up to))\s+(?:now |currently |still |also |actually |always |only |just |called |set to |at |in |on |by |going to be |officially |from now on )*(?P<v>[^\W_€$£+][^,;!?()\n]{0,80}|[€$£+]\s?\d[^,;!?()\n]{0,60})")
_COLON = re.compile(r"\s*[:=]\s+(?P<v>[^\W_€$£+][^,;!?()\n]{0,80})")
_NEW_IS = re.compile(r"\bnew (?P<n>[\w -]{2,30}?)(?: is|:|'s)(?: now)? (?P<v>[^\W_][^,;!?()\n]{0,60})")
_USES = re.compile(r"\b(?P<verb>runs? on|is (?:hosted|deployed|running|stored|located|served|written|built|based|backed|scheduled) (?:on|in|at|by|with|to)|uses?|depends on|talks to|reads? from|writes? to|deploys? to|is on|moved to|migrated to|switched to|upgraded to|was upgraded to|requires|needs|supports|pinned to|locked to|targets?|ships? (?:with|on|every)|expires?(?: on| in)?|launch(?:es)?|goes live|wiped|gets \w+ed|costs?|lives in|sits in|holds|speaks|returns|listens on|closes|opens|starts|ends)\s+(?P<v>[^\W_][^,;!?()\n]{0,60})")
_LASTING_ATTRIBUTE = {
    "runs on": "platform", "run on": "platform", "is hosted on": "platform", "hosted on": "platform", "is deployed on": "platform", "is running on": "platform", "is deployed to": "platform", "deploys to": "platform", "uses": "uses", "use": "uses", "moved to": "platform",
    "migrated to": "platform", "switched to": "platform", "upgraded to": "version", "was upgraded to": "version", "is on": "version", "pinned to": "version", "locked to": "version", "expires": "expiry", "expires on": "expiry", "expires in": "expiry", "costs": "cost", "cost": "cost", "is written in": "language", "is built with": "language",
}  # fmt: skip
_STATEY = re.compile(r"^(?:(?:so|very|really|too|still|being|a bit|not|quite|super|all|just|always|pretty|also)\s+)*(?:" + "|".join(sorted(map(re.escape, MOODS | UNFINISHED_STATES), key=len, reverse=True)) + r"|great|nice|awesome|terrible|awful|horrible|amazing|good|bad|wrong|right|weird|annoying|cute|funny|lovely|boring|important|hard|easy|difficult|cool|beautiful|ugly|stupid|true|false|gone|missing|not \w+ing|\w+ing|evil|better|worse|interesting|useless|useful|confusing|helpful|different|correct|clear|unclear|here|there)\b")
_ATTRIBUTE_FIRST = re.compile(r"^(?P<a>[\w-]+(?: [\w-]+)?) (?:of|for) (?:the |my |our |this )?(?P<s>[\w' -]+)$")


def _budget(clause: Clause) -> Iterator[Claim]:
    match = _search(_BUDGET, clause)
    if match:
        of = re.sub(r"^.*\b(?:my|our|the|this|typo|sorry|so|and|btw|a|for)\b", "", match["of"] or "")
        what = slug(match["for"] or of) or "user"
        yield Claim(f"{what}.budget", _amount(match["v"]))


def _amount(words: str) -> str:
    number = re.search(r"\d[\d.,]*", words)
    digits = re.sub(r"[.,](?=\d{3}(?:\D|$))", "", number[0].rstrip(".,")) if number else ""
    scale = re.search(r"\d\s?(k|thousand|m|mio|million|bn)\b", words)
    if scale and digits:
        digits = f"{float(digits.replace(',', '.')) * {'k': 1e3, 'thousand': 1e3, 'bn': 1e9}.get(scale[1], 1e6):g}"
    return digits


def _rate(clause: Clause) -> Iterator[Claim]:
    match = _search(_RATE_LIMIT, clause)
    if match:
        subject = slug(re.sub(r"_?(?:rate_?)?limit$", "", clause.subject.key)) if clause.subject.key not in ("", "user") else slug(re.sub(r"_?(?:rate_?)?limit$", "", clause.subject.attribute))
        yield Claim(f"{subject or 'api'}.rate_limit", f"{_amount(match['v'])}/{ {'s': 's', 'm': 'min', 'h': 'h', 'd': 'day'}.get(match['u'][0], match['u']) if match['u'] != 'month' else 'month'}")


def constraint_claim(low: str, start: int, end: int) -> Claim | None:
    """What is banned or allowed again: the same word in "no deploys on Fridays" and in "the Friday rule is lifted"."""
    text = low[start:end]
    found = sorted({_RENAMED.get(m["v"], m["v"]).replace(" ", "_").replace("-", "_") for m in _BAN_OF.finditer(text)})
    if not found:
        return None
    name = "deploy" if "deploy" in found or "release" in found or "merge" in found else found[0]
    day = "friday" if "friday" in found else ""
    key = f"{name if name not in ('friday', 'weekend') else 'deploy'}.ban"
    lifted = _LIFTED.search(text) is not None
    return Claim(key, "lifted" if lifted else "_".join(filter(None, (day, "banned"))), type="constraint")


def _stated(clause: Clause) -> Iterator[Claim]:
    """The last resort: "my X is Y", "our X is Y", "X runs on Y"."""
    subject = clause.subject
    if not subject.key or (subject.key == "user" and not subject.attribute):
        new = _search(_NEW_IS, clause)
        if new and not _STATEY.match(new["v"]):
            yield Claim(f"user.{slug(new['n'])}", signature(new["v"]))
        return
    low = clause.low
    match = _COPULA.match(low, subject.after, clause.end) or _COLON.match(low, subject.after, clause.end)
    if match and not _STATEY.match(match["v"]):
        yield Claim(_stated_key(subject), signature(match["v"]))
        return
    if match is None and not subject.is_person:
        used = _USES.search(low, subject.after, min(clause.end, subject.after + 60))
        if used and not _negated(clause, used.start()):
            attribute = _LASTING_ATTRIBUTE.get(re.sub(r"\s+", " ", used["verb"]), slug(used["verb"]))
            yield Claim(f"{subject.key}.{attribute}", signature(used["v"]))


_ATTRIBUTES = frozenset(
    "budget deadline owner region version limit size address name number schedule time date day launch release colour color price cost rent salary password plan status stack database db port url repo branch language framework target goal window timezone provider host address model brand type level height weight age speed capacity quota timeout retention cadence format location place venue room floor team lead manager contact email phone theme code key diet allergy frequency length duration rate standup retro review indentation interval domain".split()
)


def _stated_key(subject: Subject) -> str:
    if subject.attribute:
        return f"{subject.key}.{subject.attribute}"
    phrase = subject.key
    of = re.match(r"(?P<a>[a-z0-9]+(?:_[a-z0-9]+)?)_(?:of|for)_(?P<s>\w+)$", phrase)
    if of:
        return f"{of['s']}.{of['a']}"
    head, _, tail = phrase.rpartition("_")
    return f"{head}.{tail}" if head and tail in _ATTRIBUTES else f"{phrase}.value"


_STOPWORDS = frozenset(
    "the a an my our his her their your its i we you he she they it is are was were be been am im i'm we're of to in on at for with and or but so that this these those there now currently still also just really very please pls btw actually only as by from has have had do does did will would can could should not"
    " again yes no ok okay lol said told mentioned ago last next since every each me us him them too then than like i've we've it's about into up out over some any all more most one who which what when where how if because remember note reminder fyi know always never from now".split()
)
_STEMS = {"flight": "fly", "flying": "fly", "flew": "fly", "flies": "fly", "req": "request", "min": "minute", "sec": "second", "meeting": "meet", "met": "meet", "ran": "run", "running": "run", "bought": "buy", "went": "go", "going": "go", "answers": "answer", "replies": "reply", "answer": "reply", "respond": "reply", "response": "reply", "dentist's": "dentist"}
_TOKEN = re.compile(r"[^\W_]+(?:[.'/+#@-][^\W_]+)*")
_UNIT = re.compile(r"(\d)\s?(%|km|kg|mg|gb|mb|tb|ms|cm|mm|k|h)\b")


def signature(text: str) -> str:
    """The content words in a fixed order: equal for the same statement told with other little words."""
    found = set()
    for word in _TOKEN.findall(_UNIT.sub(r"\1\2", text.lower())):
        if word in _STOPWORDS:
            continue
        stem = _STEMS.get(word) or _STEMS.get(singular(word)) or singular(word)
        if len(stem) > 5 and stem.endswith("ing"):
            stem = stem[:-3]
        elif len(stem) > 4 and stem.endswith("ed"):
            stem = stem[:-2]
        found.add(stem.rstrip("e") if len(stem) > 4 else stem)
    return "_".join(sorted(found))[:120]


# -- the table: trigger words, then the reader -----------------------------------------------------

_TABLE: tuple[tuple[str, Reader], ...] = (
    ("allergic allergy allergies alergic alergy allergen intolerant anaphylaxis anaphylactic allergist hypersensitive", _allergy),
    ("", _medicine),
    ("report reports reporting manager boss lead supervisor em director under team direct", _boss),
    ("manage manages managed leads led heads headed supervises supervised mentors mentor oversees maintains maintained owns owned run runs chairs charge responsible head owner lead coaches", _manages),
    ("work works working together pair pairing collaborate", _works_with),
    ("tabs spaces tab space indentation indent", _indent),
    ("mode theme themes dark light", _theme),
    ("aisle window", _seat),
    ("email mail e-mail number phone mobile cell landline whatsapp reach call timezone zone tz utc gmt cet cest est pst ist bst time", _contact),
    ("budget", _budget),
    ("name name's call called calls i'm im am this it's go address", _name),
    (" ".join({w.split()[0] for w in PET}) + " dog's cat's", _pet),
    ("speak speaks fluent native tongue learning studying bilingual first", _speaks),
    (" ".join({w.split()[0] for w in DIETS}) + " eat eating eats meat", _diet),
    ("birthday bday born dob birth", _birthday),
    ("is my our are", _kin),
    ("works work working worked joined joining joins employed employer started new job hired at with company left quit resigned switched moved went still offer", _employer),
    ("moved live lives living based relocated moving address located home house flat in resides reside settled hometown left staying emigrated returned to", _location),
    ("team squad group org department division board committee crew club choir band guild chapter tribe union council", _member),
    ("", _role),
    (" ".join({w.split()[0] for w in CONDITIONS}), _condition),
    ("drink drinks drinking coffee tea gave quit stopped smoking smoke caffeine alcohol steak eggs beer wine consume", _drink),
    (" ".join({w.split()[0] for w in THING_OF}), _thing),
    ("req request requests calls queries", _rate),
    ("turned turns aged age old years yo am is i'm im", _age),
    ("", _stated),
)
_RULES: tuple[tuple[str, Reader], ...] = _TABLE
_ALWAYS = frozenset(number for number, (triggers, _) in enumerate(_TABLE) if not triggers)
_BY_WORD: dict[str, list[int]] = {}
for _number, (_triggers, _) in enumerate(_TABLE):
    for _trigger in _triggers.split():
        _BY_WORD.setdefault(_trigger, []).append(_number)
