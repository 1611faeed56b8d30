"""Keys about how things are set up: theme, indentation, contact data, pets, languages, drinks."""

from collections.abc import Iterator

from apps.ingest.rules.keys.claim import STOP, Claim, Clause, any_of, is_negated, person_of, search_in
from apps.ingest.rules.lexicon import LANGUAGES, PET
from apps.ingest.rules.subjects import slug
from text import patterns

_THEME = patterns.compile(
    r"\b(?P<v>dark|light|high[- ]contrast|solarized|sepia|auto(?:matic)?)[ -]?(?:mode|theme|themed|themes|ui"
    r"|colou?r scheme)s?\b|\btheme(?:s)?(?: is| to|:)(?: now| set to)? (?P<v2>dark|light|high[- ]contrast|solarized"
    r"|system)\b"
)
_INDENT = patterns.compile(r"\b(?P<v>(?P<n>\d|two|four|three|eight)[ -]?spaces?|spaces?|tabs?)\b")
_INDENT_SAID = patterns.compile(
    r"\b(?:indent\w*|tabs? (?:over|instead|rather|not|for|please|everywhere|only|in|width)|spaces (?:over|instead"
    r"|rather|for|please|everywhere|only|not|per)|(?:prefer|use|using|like|want|switched to|on|to|team|with"
    r"|gone over to|not) (?:\w+ )?(?:tabs|spaces|\d[ -]spaces?|two spaces|four spaces)|tab width|\d[ -]spaces?)\b"
)
_NUMBERS = {"two": "2", "three": "3", "four": "4", "eight": "8"}
_SEAT = patterns.compile(
    r"\b(?P<v>aisle|window|middle|front|exit row|bulkhead)(?: seats?)?\b(?=.{0,40}\b(?:seat|always|please|pls|flight"
    r"|fly|plane|train|sit|prefer|over|person)\b)|\b(?P<v3>aisle|exit row|bulkhead)[, ]*$"
    r"|\bseat.{0,12}\b(?P<v2>aisle|window)\b"
)
_EMAIL = patterns.compile(
    r"\b(?:e-?mail|mail)(?: address)?(?: is| changed to|:| for me is|'s| now is| is now)?(?: now"
    r"| me at)?:?\s*(?P<v>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4})|\b(?:reach|write|contact) me (?:at|on"
    r"|under) (?P<v2>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4})"
)
_PHONE = patterns.compile(
    r"\b(?:(?:phone|mobile|cell|cellphone|landline|whatsapp|telephone|contact|new|my)(?: phone)? (?:number|nr|no\.?)"
    r"|number|call me (?:at|on)|reach me (?:at|on)|my (?:cell|mobile|phone|tel))(?: is| changed to"
    r"| now)*(?: now)?:?\s*(?P<v>\+?\d[\d ()/.-]{5,20}\d)"
)
_TIMEZONE = patterns.compile(
    r"\b(?:time ?zone|tz)(?: is|:|'s)?(?: now)? (?P<v>[\w/+:-]{2,30})|\b(?:i'?m|we'?re|i am|live|work|based) (?:in"
    r"|on) (?P<v2>(?:utc|gmt)(?:[+-]\d{1,2}(?::\d\d)?)?|cet|cest|est|edt|pst|pdt|cst|mst|ist|jst|bst|aest"
    r"|eet)(?: time)?\b|\b(?P<v3>(?:pacific|eastern|central european|mountain|central) time)\b"
)
_PET_NAMED = patterns.compile(
    rf"\b(?:my|our|the|a|an|have a|got a|adopted a)(?: new| old| little| rescue"
    rf"| \d+[- ]year[- ]old)? (?:\w+ )?(?P<k>{any_of(PET)})(?:(?:'s name)?(?:,| is| was|'s)? (?:called "
    rf"|named |name is )|'s name(?: is|'s)? )(?P<v>[^\W\d_][\w'-]{{1,20}})"
)
_SPEAKS = patterns.compile(
    rf"\b(?P<verb>speaks?|fluent in|native(?: language(?: is)?)?|mother tongue(?: is)?|learning|studying"
    rf"|bilingual in|first language is)\s+(?:a bit of |some |a little |fluent |basic |good |native |only |also "
    rf"|both |fluently |conversational )*(?P<l>{any_of(LANGUAGES)}(?:(?:, and |, | and )(?:a little |some "
    rf"|a bit of |basic )?{any_of(LANGUAGES)}){{0,4}})"
)
_DRINKS = patterns.compile(
    r"\b(?:drinks?|drinking)\s+(?:(?:about|around|up to|only|mostly|just|at least|almost|too much|a lot of"
    r"|lots of) )*(?P<n>(?:\d+|one|two|three|four|five|six|seven|eight|no|a|an|some|my)\s+)?(?:(?:cups?|glasses"
    r"|pints?|litres?|liters?|mugs?|cans?|bottles?) of )?(?P<v>coffees?|(?:green |black |herbal |mint |oolong "
    r"|white )?teas?|beers?|wine|alcohol|water|milk|soda|coke|juice|mate|espresso|decaf|energy drinks?|cola|whisky"
    r"|kombucha)\b"
)
_TEETOTAL = patterns.compile(
    r"\b(?:i|we|he|she) (?:still |really )*(?:don'?t|doesn'?t|never) drink(?: any ?more)?\s*(?:[.,;!]|$)|\bteetotal\b"
)
_GAVE_UP = patterns.compile(
    r"\b(?:gave up|given up|giving up|quit|stopped|cut out|swore off|went off|off|no more|don'?t|doesn'?t|no longer"
    r"|never)\s+(?:drinking|drink|drinks|having|have|eating|eat|smoking|smoke|touch|playing|play|doing|do|using|use"
    r"|taking|take|going to|go to|watching|watch)?\s*(?:any |the |my )?(?P<v>coffee|(?:green |black )?tea|beer|wine"
    r"|alcohol|soda|coke|sugar|meat|dairy|caffeine|smoking|cigarettes|gluten|milk|fish|bread|juice|chocolate|booze)\b"
)
_TOOK_UP = patterns.compile(
    r"\b(?:started|began|took up|back to|resumed|gone back to|went back to|begun)\s+(?:eating|drinking|smoking"
    r"|having)\s+(?:some |a little |the "
    r"|my )?(?P<v>coffee|(?:green |black )?tea|beer|wine|alcohol|soda|coke|sugar|dairy|caffeine|cigarettes|gluten"
    r"|milk|fish|bread|juice|chocolate)\b"
)
_COFFEE = patterns.compile(
    r"\b(?:like|take|drink|prefer|have|want)s? (?:my|his|her|the|our) (?P<k>coffee|tea|steak|eggs|toast|whisky|pizza"
    r"|burger|martini|espresso)(?: always| best)?\s+(?P<v>[a-z][\w' -]{2,30}?)"
    + STOP
    + (r"|\b(?P<k2>coffee|tea):? (?P<v2>black|white|with (?:oat |soy |almond )?milk|no sugar|two sugars)\b")
)
_DISH_FROM_VERB = {"coffees": "coffee", "teas": "tea", "beers": "beer"}


def theme(clause: Clause) -> Iterator[Claim]:
    for match in _THEME.finditer(clause.low, clause.start, clause.end):
        if not is_negated(clause, match.start()) and not patterns.search(
            r"\b(?:hate|hates|dislike|no|not)\s+(?:the )?$", clause.low[clause.start : match.start()]
        ):
            who = clause.subject.key
            owner = "ui" if who in ("", "user") or not clause.subject.is_person else f"{who}.ui"
            yield Claim(f"{owner}.theme", slug(match["v"] or match["v2"]), type="preference")
            return


def indent(clause: Clause) -> Iterator[Claim]:
    if not search_in(_INDENT_SAID, clause):
        return
    for match in _INDENT.finditer(clause.low, clause.start, clause.end):
        if not is_negated(clause, match.start()):
            size = match["n"]
            who = clause.subject.key
            owner = f"{who}.editor" if clause.subject.is_person and who not in ("", "user") else "editor"
            yield Claim(
                f"{owner}.indentation",
                f"{_NUMBERS.get(size, size)}_spaces" if size else slug(match["v"]),
                type="preference",
            )
            return


def seat(clause: Clause) -> Iterator[Claim]:
    match = search_in(_SEAT, clause)
    if match and not is_negated(clause, match.start()):
        yield Claim("travel.seat", slug(match["v"] or match["v2"] or match["v3"]), type="preference")


def contact(clause: Clause) -> Iterator[Claim]:
    owner = clause.subject.key if clause.subject.is_person and clause.subject.key else "user"
    match = search_in(_EMAIL, clause)
    if match:
        yield Claim(f"{owner}.email", match["v"] or match["v2"])
        return
    match = search_in(_PHONE, clause)
    if match:
        yield Claim(f"{owner}.phone_number", patterns.sub(r"[^\d+]", "", match["v"]))
        return
    match = search_in(_TIMEZONE, clause)
    if match:
        yield Claim(f"{owner}.timezone", slug(match["v"] or match["v2"] or match["v3"]))


def pet(clause: Clause) -> Iterator[Claim]:
    match = search_in(_PET_NAMED, clause)
    if match:
        one_of_several = patterns.search(
            r"\b(?:other|second|third|another|also|too|as well)\b", clause.low[clause.start : clause.end]
        )
        name = slug(match["v"])
        if one_of_several:
            yield Claim(f"user.{match['k']}.{name}.name", name, many_valued=True)
        else:
            yield Claim(f"user.{match['k']}.name", name)


def speaks(clause: Clause) -> Iterator[Claim]:
    spoken = search_in(_SPOKEN, clause)
    if spoken:
        yield Claim(f"user.language.{slug(spoken['l'])}", "native" if spoken["native"] else "yes", many_valued=True)
        return
    match, who = search_in(_SPEAKS, clause), person_of(clause)
    if match and who:
        level = (
            "learning"
            if match["verb"] in ("learning", "studying")
            else "native"
            if match["verb"].startswith(("native", "mother", "first"))
            else "yes"
        )
        for name in patterns.findall(any_of(LANGUAGES), match["l"]):
            yield Claim(f"{who}.language.{slug(name)}", level, many_valued=True)


_SPOKEN = patterns.compile(
    rf"\b(?P<l>{any_of(LANGUAGES)}) is (?:(?:one of |among )?(?:the|my) languages? (?:that )?i (?:can )?speak"
    rf"|(?P<native>my (?:native|first|mother|main) (?:language|tongue)))"
)


def drink(clause: Clause) -> Iterator[Claim]:
    who = person_of(clause)
    if who is None:
        return
    match = search_in(_COFFEE, clause)
    if match:
        yield Claim(f"{who}.{slug(match['k'] or match['k2'])}", slug(match["v"] or match["v2"]), type="preference")
        return
    if search_in(_TEETOTAL, clause):
        yield Claim(f"{who}.consumes.alcohol", "no", many_valued=True)
        return
    match = search_in(_TOOK_UP, clause)
    if match:
        yield Claim(f"{who}.consumes.{slug(match['v'])}", "yes", many_valued=True)
        return
    match = search_in(_GAVE_UP, clause)
    if match:
        yield Claim(f"{who}.consumes.{slug(_DISH_FROM_VERB.get(match['v'], match['v']))}", "no", many_valued=True)
        return
    match = search_in(_DRINKS, clause)
    if match:
        yield Claim(f"{who}.consumes.{slug(match['v'])}", slug(match["n"] or "yes") or "yes", many_valued=True)
