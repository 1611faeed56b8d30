"""The subject of a clause, as the first part of a key: user, user.sister, olga.  Also names and slugs in keys."""

import unicodedata
from typing import Final

from text import patterns
from text.extraction.lexicon import (
    BOSS,
    COMPANIES,
    DIETS,
    KIN,
    PET,
    PRODUCTS,
    REPORTEE,
    SEVERAL,
    SOCIAL,
    any_of,
    listed,
    words,
)

_LEAD = patterns.compile(
    r"(?:(?:hi|hey|hello|ok|okay|so|well|yes|yeah|yep|yup|no(?=[,:]|\s+wait)|nope|btw|by the way|fyi|also|and|but|oh|ah"
    r"|haha|lol|anyway|anyways|actually|honestly|tbh|sorry|typo|just so you know|jsyk|just|please|pls|plz"
    r"|for the record|for reference|for context"
    r"|for your (?:information|records?|memory)|correction|update|news|heads up|good news|bad news|big news"
    r"|quick (?:intro|update|note|one)|before (?:we|i) (?:start|begin|forget)|i think|i guess|i told you"
    r"|as (?:i said|mentioned|you know|always|usual|of (?:today|now|this week|last week))|like i said"
    r"|you should know(?: that)?|keep in mind(?: that)?"
    r"|(?:please )?(?:remember|note|save|store|record|memori[sz]e)(?: this| that| down)?|(?:can|could"
    r"|will) you (?:please )?(?:remember|note|save|keep in mind)(?: this| that)?|don'?t forget(?: that)?"
    r"|did i (?:mention|tell you|say)(?: that)?|did you know(?: that)?|have i (?:mentioned|told you)(?: that)?"
    r"|fun fact|ps|p\.s\.|(?:ever )?since"
    r"(?: then| \w+ (?:19|20)\d\d| (?:19|20)\d\d| last \w+)?"
    r"|because|given(?: that)?|now that|although|though|while|that"
    r"|my bad|wait|hmm+|um+|uh+|in fact|in case (?:it matters|you need it|that helps)|turns out|finally|good|great"
    r"|right|thanks|thx|too|plus|new here|about me|background|context|reminder|important|note to self|lately"
    r"|these days|nowadays|by now|reorg|wrong(?=[,:])|oops|mistake|scratch that|i mean(?=[,:])|yay|guess what"
    r"|apparently|what'?s new|as a reminder|reminder)\b[\s,.:;!-]*)+"
)
_NOT_NAMES = listed(
    "the a an this that these those there here it its what when where why who how which if in on at by for from with"
    " as of to and or but so yes no not please thanks after before since during about over under my our your their"
    " his her i we you he she they every each all some any most many both either neither one two three four five six"
    " seven eight nine ten next last first second new old today tomorrow yesterday tonight monday tuesday wednesday"
    " thursday friday saturday sunday"
    " january february march april may june july august september october november december everyone everybody"
    " nobody somebody someone something nothing everything dear hi hello hey ok okay well also never always dont"
    " don't let lets just still only even once per via any can could should would will must do does did is are was"
    " were be been have has had remember note remind call use keep make get got go going then there suppose imagine"
    " went"
    " mondays tuesdays wednesdays thursdays fridays saturdays sundays morning evening afternoon night half quick thing"
)

_MOST_CHARS: Final = 60  # of a slug

# Attributes of a person that a clause may state.
_THINGS: Final = (
    r"(?:birthday|bday|date of birth|dob|e-?mail|(?:new )?(?:phone|mobile|cell|landline|whatsapp|telephone)|number|age"
    r"|employer|(?:new )?job|job title|title|role|profession"
    r"|home|(?:home )?address|time ?zone|tz|weight|salary|diet|rent|mother tongue"
    r"|(?:native|first) language)\b"
)
# What may follow a person as subject: "Olga's vegan" is about Olga, "Olga's flat is damp" is not.
_IS: Final = (
    rf"'s (?:{_THINGS}|(?:an?|allergic|{any_of(DIETS)}|living|moved|relocated|based|working|married|engaged|single"
    r"|divorced|separated|widowed|turned|been|got|become|now|also|on|fluent|learning|studying|retired|joined|started"
    r"|left|quit|no|not|just|taking|back|\d{1,3})\b)"
)
_DOES: Final = (
    r" (?:is|has|lives?|living|resides|works?|working|moved|relocated|emigrated|settled|joined|became|turned|got|went"
    r"|takes|taking|speaks|stud(?:ies|ying)|attends|goes|earns|weighs|reports?|teaches|drives|left|quit|resigned"
    r"|stopped|started|was|retrained|qualified|eats|no|doesn't|isn't|just|now|also|recently|currently|still|allergic"
    r"|birthday|born|aged?)\b"
)
_SAYS: Final = patterns.compile(rf"{_IS}|{_DOES}")
_ACTS: Final = patterns.compile(r" (?:will |can |also |just |already )?[a-z]{2,15}s\b")
_OF_A_THING: Final = patterns.compile(rf"'s? (?!{_THINGS})")

# Subjects at the beginning of a clause.
_SELF: Final = patterns.compile(r"(?:i|im|ive|we)\b")
# "My husband Gordon and I have lived here since 1989."
_TOGETHER: Final = patterns.compile(r"(?:[\w'-]{1,25} ){1,3}and (?:i|me)(?='ve\b| )")
_MINE: Final = patterns.compile(
    rf"(?:my|our) (?:new |current |own |personal |preferred |default )?(?={_THINGS}|[a-z]+(?: [a-z]+)? allergy\b)"
)
_THEIRS: Final = patterns.compile(
    r"my (?:new |current |older |younger |little |big |eldest |oldest |youngest |best |twin )?"
    rf"(?P<role>{any_of(KIN | SOCIAL | BOSS | REPORTEE | PET)})\b(?![ -]in[ -]law| tongue)"
)
_THEY: Final = patterns.compile(rf"(?:he|she)\b|(?:his|her) (?={_THINGS})")
# Verbs that continue the previous subject.
_GOES_ON: Final = patterns.compile(
    r"(?:live|living|based|moved|relocated|work|working|joined|allergic|turned|promoted|take|taking|quit|left|started"
    r"|no longer|stopped|speak|married|currently)\b"
)
_THEY_GO_ON: Final = patterns.compile(
    r"(?:lives|works|takes|speaks|studies|attends|earns|weighs|eats|has|is|aged?|birthday|born)\b"
)
_WORD: Final = r"[^\W\d_][\w-]{1,24}"
_NAMES: Final = (patterns.compile(rf"{_WORD} {_WORD}"), patterns.compile(_WORD))
_APART: Final = patterns.compile(r",? ?")
# What may stand between the subject and the statement about it.
_BETWEEN: Final = patterns.compile(
    r"(?:[\s,]*(?:'s|'m|'re|'ve|m|is|am|are|was|has|have|been|now|also|only|both|currently|still|just|actually|really"
    r"|officially|finally|happily|recently|already|permanently|mostly|always|again|too)\b)*[\s,]*"
)
_ANOTHER: Final = patterns.compile(
    rf"\b(?:{any_of(KIN | SOCIAL | BOSS | REPORTEE)})\b|\b(?:to|with|by|and|than|like|met|called|named|saw|visited"
    rf"|knows"
    r"|loves|likes|helps?|asked|told|says?|said) (?P<name>[^\W\d_])"
)
_MOVED: Final = patterns.compile(r"\b(?:moved|relocated|emigrated)(?: \w+){0,2} to\b")


def who_of(plain: str, low: str, start: int, end: int, *, last: str | None, before: str | None) -> str | None:
    """The subject of a clause; None if unclear.

    last: the person mentioned last, for "she". before: the subject of the sentence's previous clause, for "and works at
    the mill".
    """
    who, _ = _subject(plain, low, start, end)
    if who in (_SHE, _HE):
        return None if last in (_MEN if who == _SHE else _WOMEN) else last
    if who == _BEFORE:
        return before
    if who == _BEFORE_THEY:
        return before if before != "user" else None
    return who


def spoken_of(plain: str, low: str, start: int, end: int, who: str | None) -> str | None:
    """The person that "she" means afterwards: the clause's subject, unless it names someone else."""
    who = who or _who_acts(plain, low, start, end)
    if who in (None, "user"):
        return None
    for other in _ANOTHER.finditer(low, said_from(plain, low, start, end), end):
        at = other.start("name")
        if at < 0 or (plain[at].isupper() and _MOVED.search(low, start, at) is None):
            return None
    return who


def _who_acts(plain: str, low: str, start: int, end: int) -> str | None:
    """A named person with a verb that no slot knows: "Olga runs the bakery"."""
    named = _name_at(plain, low, lead_end(low, start, end), end, _ACTS)
    return None if named is None or named[0] in COMPANIES | PRODUCTS else slug(named[0])


def _name_at(plain: str, low: str, at: int, end: int, then: patterns.Pattern | None = None) -> patterns.Match | None:
    """The name at this position, two words before one.  then: pattern that must follow it."""
    for name in _NAMES:
        named = name.match(low, at, end)
        if named and is_name(plain, *named.span()) and (then is None or then.match(low, named.end(), end)):
            return named
    return None


def said_from(plain: str, low: str, start: int, end: int) -> int:
    """Where the words after the subject begin; the start of the clause if it has no known subject."""
    return _subject(plain, low, start, end)[1]


def is_of_subject(plain: str, low: str, start: int, end: int, at: int) -> bool:
    """Whether the words at this position are about the clause's subject, and not about something else it names."""
    begin = said_from(plain, low, start, end)
    return at <= begin or _BETWEEN.fullmatch(low, begin, at) is not None


_SHE, _HE, _BEFORE, _BEFORE_THEY = "<she>", "<he>", "<before>", "<before, not the user>"


def _subject(plain: str, low: str, start: int, end: int) -> tuple[str | None, int]:
    """The subject, as a key or as one of the marks above, and where the words about it begin."""
    at = lead_end(low, start, end)
    if own := _SELF.match(low, at, end) or _TOGETHER.match(low, at, end) or _MINE.match(low, at, end):
        return "user", own.end()
    if theirs := _THEIRS.match(low, at, end):
        named = _apposition(plain, low, theirs.end(), end)
        return _somebody(_related(theirs["role"], named), low, (named or theirs).end(), at, end)
    if they := _THEY.match(low, at, end):
        return _SHE if they[0].startswith(("she", "her")) else _HE, they.end()
    if _GOES_ON.match(low, at, end):
        return _BEFORE, at
    if _THEY_GO_ON.match(low, at, end):
        return _BEFORE_THEY, at
    named = _name_at(plain, low, at, end, _SAYS)
    return (slug(named[0]), named.end()) if named else (None, at)


def _somebody(who: str, low: str, said: int, at: int, end: int) -> tuple[str | None, int]:
    """The person whose words end at ``said``, unless the clause is about a thing of theirs: "my sister's car"."""
    if _SAYS.match(low, said, end) is None and _OF_A_THING.match(low, said, end):
        return None, at
    return who, said


def _related(role: str, named: patterns.Match | None) -> str:
    """The user's relative, friend or pet as a key; by name where the user may have several: "my friend Anna"."""
    known = slug(role)
    name = slug(named[0]) if named and (known in SEVERAL or role in PET) else ""
    return name or f"user.{known}"


def _apposition(plain: str, low: str, at: int, end: int) -> patterns.Match | None:
    """The name after a role, as in "my sister Olga"."""
    apart = _APART.match(low, at, end)
    begin = apart.end() if apart else at
    return _name_at(plain, low, begin, end) if begin > at else None


def lead_end(low: str, start: int, end: int) -> int:
    """Where the clause begins after openers such as "btw" and "remember that"."""
    lead = _LEAD.match(low, start, end)
    return lead.end() if lead else start


def slug(words: str) -> str:
    """Canonical form of a name or value: without accents, articles and plurals, blanks as underscores."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", words) if not unicodedata.combining(c)).lower()
    found = [w for w in patterns.findall(r"[^\W_]+(?:[.'+#@-]*[^\W_]+|[+#]+)*", plain) if w not in _DROPPED]
    return "_".join(
        singular(w.replace("'s", "").replace("'", "")).replace("-", "_").replace(".", "_")
        if not any(c.isdigit() for c in w)
        else w.replace("'", "")
        for w in found
    )[:_MOST_CHARS].strip("_")


_DROPPED = listed(
    "the a an my our his her their your its new old now currently just also really very this that these some all any"
    " btw actually still only officially lol please pls own current"
)
_IRREGULAR = {
    "children": "child",
    "kids": "kid",
    "people": "person",
    "women": "woman",
    "men": "man",
    "shellfish": "shellfish",
    "wives": "wife",
    "knives": "knife",
    "leaves": "leaf",
    "news": "news",
    "feet": "foot",
    "teeth": "tooth",
    "mice": "mouse",
}


def singular(word: str) -> str:
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes", "zes", "toes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is", "as", "os")):
        return word[:-1]
    return word


def is_name(plain: str, start: int, end: int) -> bool:
    """Whether every word is capitalised, and not only because it begins the sentence."""
    found = plain[start:end].split()
    return bool(found) and all(w[:1].isupper() for w in found) and found[0].lower().strip(".,'") not in _NOT_NAMES


_WOMEN: Final = frozenset(
    f"user.{slug(role)}"
    for role in words(
        "wife, girlfriend, fiancee, mother, mom, mum, mommy, sister, daughter, stepdaughter, stepmother, grandmother,"
        " grandma, gran, nan, granddaughter, aunt, auntie, niece, mother in law, sister in law, godmother, goddaughter,"
        " landlady, midwife"
    )
)
_MEN: Final = frozenset(
    f"user.{slug(role)}"
    for role in words(
        "husband, boyfriend, father, dad, daddy, brother, son, stepson, stepfather, grandfather, grandpa, grandad,"
        " grandson, uncle, nephew, father in law, brother in law, godfather, godson, landlord"
    )
)
