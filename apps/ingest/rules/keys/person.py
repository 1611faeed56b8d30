"""Keys about the person: name, age, home, employer, role, studies, standing."""

from collections.abc import Iterator

from apps.ingest.rules.keys.claim import (
    STOP,
    Claim,
    Clause,
    amount_of,
    any_of,
    has_capital,
    is_negated,
    person_of,
    search_in,
    signature,
)
from apps.ingest.rules.lexicon import (
    COMPANIES,
    COMPANY_ENDING,
    CONDITIONS,
    DIETS,
    LANGUAGES,
    MOODS,
    OCCUPATIONS,
    THING_OF,
    listed,
)
from apps.ingest.rules.subjects import is_name, slug
from apps.memories.dates import MONTHS
from text import patterns

_NAME = patterns.compile(
    r"\b(?:(?:my|the) (?:first |full |last |real |preferred |legal )?name(?:'s| is)(?: now| actually)?|(?:call"
    r"|address) me(?: just| simply)?|i'?m called|i go by|everyone calls me|people call me"
    r"|name's)\s+(?P<v>[^\W\d_][\w'-]{1,30}(?:\s(?!not\b|from\b|please\b|and\b|but\b|in\b|instead\b|now\b|by\b|at\b"
    r"|when\b|if\b|btw\b|ok\b|for\b)[^\W\d_][\w'-]{1,30})?)"
)
_I_AM_NAME = patterns.compile(
    r"^(?:.{0,40}?\b)?(?:i'm|im|i am|this is|it's)\s+(?P<v>[^\W\d_][\w'-]{1,20}(?: [^\W\d_][\w'-]{1,20})?)(?=\s*(?:["
    r",.!]|$| and i\b| from\b| here\b| btw\b))"
)
_NO_NAME = (
    MOODS
    | OCCUPATIONS
    | frozenset(DIETS)
    | frozenset(CONDITIONS)
    | LANGUAGES
    | listed(
        "not in on at from the a an so very really just back new allergic going trying using working living looking"
        " single married divorced aware sure afraid american british indian canadian australian"
    )
)
_AGE = patterns.compile(
    r"\b(?:(?:i'm|im|i am|is|am|turned|turns|turning|aged?)(?: now| about| almost)?"
    r"|age:?)\s+(?P<v>\d{1,3}|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)(?: ?(?:years?|yrs?|yo"
    r"|y/o)(?:[- ]old)?)?(?=\s*(?:$|[,.;!)]|\s(?:now|today|and|last|in"
    r"|on|this|yesterday|tomorrow|next|years?|yrs?)\b))(?![.,]\d)(?!\s*(?:%|km|kg|min|minutes|hours?|days?|weeks?"
    r"|months?"
    r"|euros?|dollars?|people|cm))"
)
_BIRTHDAY = patterns.compile(r"\b(?:birthday|bday|b-day|date of birth|dob)\b(?: is|'s| falls)?|\bborn (?:on|in)\b")


_BORN_IN = patterns.compile(r"\bborn (?:back )?in (?:\w+ )?(?P<v>(?:19|20)\d\d)\b")
_MONTH = "(?:" + "|".join(sorted(MONTHS, key=len, reverse=True)) + ")"
_DAY_OF_MONTH = patterns.compile(
    rf"\b(?P<d>[0-3]?\d)(?:st|nd|rd|th)?(?: of)? (?P<m>{_MONTH})\b"
    rf"|\b(?P<m2>{_MONTH})\.? (?:the )?(?P<d2>[0-3]?\d)(?:st|nd|rd|th)?\b"
)


def name(clause: Clause) -> Iterator[Claim]:
    match = search_in(_NAME, clause)
    if match is not None:
        third = clause.subject.is_person and clause.subject.attribute == "name" and clause.subject.key != "user"
        if patterns.match(r"(?:call|address) me", match[0]):
            yield Claim("user.preferred_name", slug(match["v"]), type="instruction")
        else:
            yield Claim(f"{clause.subject.key if third else 'user'}.name", slug(match["v"]))
        return
    match = _I_AM_NAME.match(clause.low[clause.start : clause.end])
    if match is not None:
        words = match["v"].split()
        at = clause.start + match.start("v")
        named = is_name(clause.plain, at, at + len(match["v"])) or (
            not any(c.isupper() for c in clause.plain) and len(words) == 1 and "intro" in clause.low
        )
        if named and words[0] not in _NO_NAME and not words[0].endswith(("ing", "ed")):
            yield Claim("user.name", slug(match["v"]))


def age(clause: Clause) -> Iterator[Claim]:
    who, match = person_of(clause), search_in(_AGE, clause)
    if who and match and clause.subject.attribute in ("", "age"):
        yield Claim(f"{who}.age", signature(match["v"]))


def birthday(clause: Clause) -> Iterator[Claim]:
    if search_in(_BIRTHDAY, clause) and not patterns.search(
        r"\b(?:party|card|present|gift|cake|dinner|celebrat|invit)", clause.low[clause.start : clause.end]
    ):
        who = clause.subject.key if clause.subject.is_person or clause.subject.key == "user" else "user"
        day = _DAY_OF_MONTH.search(clause.low, clause.start, clause.end)
        year = search_in(_BORN_IN, clause)
        if year and not day:
            yield Claim(f"{who or 'user'}.birth_year", year["v"], type="fact")
        if day:
            yield Claim(
                f"{who or 'user'}.birthday",
                (f"{MONTHS[(day['m'] or day['m2']).rstrip('.')]:02}-{int(day['d'] or day['d2']):02}"),
            )


_LOCATION = patterns.compile(
    r"\b(?:(?:moved|relocated|moving|emigrated|immigrated|relocating|came back|moved back|returned"
    r"|settled(?: down)?)\s+(?:house |home |away |back |here |over |out "
    r"|permanently )*(?:from\s+(?P<from>[\w' .-]{2,40}?)\s+)?(?:to|in|into)|(?:live|lives|living|reside|resides|rent"
    r"|rents|renting"
    r"|residing|based|settled|staying|home is|house is|flat is|apartment is|address is(?: now)?(?: in)?"
    r"|new address(?: is|:)?(?: now)?(?: in)?|address:|home address is|located|home base is|hometown is|home city is"
    r"|residence is)\s*(?:now |currently |still |permanently |again |right |just |out |over |back |up |down |near "
    r"|outside |close to |these days |with \w+ |full[- ]time |mostly )*(?:in|at|near|outside|to|is|on)?|i'?m in"
    r"|we'?re in|i am in|we are in|now in|back in|left for|out of)\s+(?:the (?:city|town|suburbs|outskirts|center"
    r"|centre) of |downtown |central |north |south |east |west |rural |a (?:\w+ )*(?:flat|house|apartment|village"
    r"|town|city|suburb|place) (?:in|near|outside) )?"
    r"(?P<v>[^\W_][\w'.-]{1,30}(?:[ ][\w'.-]{2,20}){0,2}?)" + STOP
)
_HOMES = frozenset({"home", "house", "flat", "apartment", "place", "new_place", "address"})
_HOUSE_IS = patterns.compile(r"(?:home|house|flat|apartment) is\s+(?:now |currently |still |just )*")
_WHERE_I_LIVE = patterns.compile(
    r"\b(?P<v>[^\W_][\w'.-]{1,30}) is (?:where i(?:'m)? (?:now )?(?:live|based|staying)|(?:my"
    r"|our) (?:new )?home(?: town| city)?)\b"
)
_NOT_PLACES = listed(
    "a an the it this that there here my our his her their touch love charge stock bed town peace fear case fact"
    " favor favour france's us production prod staging order general time line mind life data sales marketing"
    " platform infra hr finance legal ops support security product design research monday tuesday wednesday thursday"
    " friday saturday sunday january february march april may june july august september october november december"
    " cash meeting hospital school office home"
)
_EMPLOYER = patterns.compile(
    r"\b(?:(?:(?:drives?|driving|flies|fly|flying|nurses?|writes?|writing|teach(?:es)?|teaching) for)"
    r"|(?:works?|working|worked)\s+(?:now |currently |full[- ]time |part[- ]time |remotely |there |still "
    r"|these days )*(?:at|for)|joined|joining|joins|employed (?:at|by|with)|started (?:at|with|working (?:at|for)"
    r"|a (?:new )?(?:job|role|position) (?:at|with))|new job (?:at|with|is (?:at|with))|(?:got|took|have|has|landed"
    r"|accepted|start|starting) (?:a|the|my) (?:\w+ ){0,2}(?:job|role|position|gig|offer) (?:at|with|from)"
    r"|hired (?:by|at)|employer is(?: now)?|new employer(?: is|:)|employer:|company is|still (?:at|with)|(?:i'?m|im"
    r"|i am|he'?s|she'?s|is|am|now|back|currently|started|been) (?:now |still |currently |back |working )*(?:at"
    r"|with)|switched(?: jobs)?(?: from [\w ]{2,30})? to|moved(?: from [\w ]{2,30}?)? to|went to"
    r"|left [\w ]{2,30} for)\s+(?:the |a |an )?(?P<v>[^\W_][\w&'.+-]{0,30}(?:[ ][\w&'.+-]{2,24}){0,3}?)" + STOP
)
# "I'm a clerk at Lidl", "I work as a cook for Sodexo"; and "I'm at Lidl now", where the old job is left in one breath.
_TRADE_AT = patterns.compile(
    r"\b(?:(?:i'?m|i am|he'?s|she'?s|is) (?:now |currently |still )*an?|(?:works?|working) as an?) [a-z][a-z -]{2,40}?"
    r"(?: now,?)? (?:at|for|with) (?:the )?(?P<v>[^\W_][\w&'.+-]{0,30}(?: [\w&'.+-]{2,24}){0,2}?)" + STOP
)
_NOW_AT = patterns.compile(
    r"\b(?:i'?m|i am|now|we'?re) (?:now )?(?:at|with) (?P<v>[^\W_][\w&'.+-]{0,30}(?: [\w&'.+-]{2,24}){0,2}?)(?: now)?"
    + STOP
)
_JOB_LEFT = patterns.compile(
    r"\b(?:left|quit|resigned|notice|no longer|laid off|fired|new job|changed jobs|switched jobs|moved on)\b"
)
_IS_EMPLOYER = patterns.compile(
    r"\b(?P<v>[^\W_][\w&'.+-]{0,30}(?: [\w&'.+-]{2,24}){0,2}?) (?:is|became)(?: now| currently)? (?:my|our)(?: new|"
    r" current"
    r"| present)? (?:employer|company|workplace|place of work)\b"
)
_EMPLOYER_LEFT = patterns.compile(
    r"\b(?:no longer (?:at|with|work(?:ing)? (?:at|for)|employed (?:at|by))"
    r"|(?:(?<!\bmy )(?<!\bthe )left(?![- ](?:hand|side))|quit"
    r"|leaving|resigned from|laid off (?:from|by)|fired (?:from|by)|stopped working (?:at|for)|finished at"
    r"|notice (?:at|to)"
    r"|parted ways with|don'?t work (?:at|for)|used to work (?:at|for)|worked (?:at|for)))\s+(?:my job at |the |a "
    r"|working at )?(?P<v>[^\W_][\w&'.+-]{0,30}(?:[ ][\w&'.+-]{2,24}){0,2}?)" + STOP
)
_ROLE = patterns.compile(
    r"\b(?:(?:works?|working) as|(?:promoted|moved|transitioned|switched) (?:up )?to|became|become|becoming|(?:job"
    r"|role|title|position|occupation|profession|job title|new role|new job|new title)(?: here| there)?(?: is|'s"
    r"|:)(?: now)?|(?:i'm|im|i am|is|am|'s|are|now|been|he's|she's|serve as|serving as|appointed|elected|acting as"
    r"|training as|qualified as|retrained as)(?: now| currently| still| also| actually| the new| officially| just"
    r"| both)*)\s+(?:to )?(?:as )?(?P<v>(?:an? |the |our |its |their )?(?:[\w+#/&.-]+ ){0,4}?(?P<job>"
    + any_of(OCCUPATIONS)
    + (
        r"))\b(?! (?:friendly|account|rights|panel|for me to|of (?:my|the) dog))(?: (?:of|at"
        r"|for) [\w &'.-]{2,30}?(?=$|[,.;!]| and| since| now| for))?"
    )
)


def location(clause: Clause) -> Iterator[Claim]:
    home = search_in(_WHERE_I_LIVE, clause)
    if home and has_capital(clause, home):
        yield Claim("user.location", slug(home["v"]))
        return
    who = "user" if clause.subject.key in _HOMES else person_of(clause)
    if who is None:
        return
    match = search_in(_LOCATION, clause)
    if match is None or not has_capital(clause, match):
        return
    value = match["v"]
    moved = patterns.match(r"(?:moved|moving|went|switched|left for|returned)", match[0]) is not None
    if (
        value.split()[0] in _NOT_PLACES
        or not value[0].isalpha()
        or _is_company(value)
        or (
            match[0].startswith(("i'm in", "im in", "i am in", "we're in", "we are in"))
            and not patterns.search(
                r"\b(?:now|moved|live|permanently|since|for good)\b", clause.low[clause.start : clause.end]
            )
        )
    ):
        return
    if moved and value in THING_OF:
        return
    if (
        _HOUSE_IS.fullmatch(match[0][: match.start("v") - match.start()])
        and not clause.plain[match.start("v")].isupper()
    ):
        return  # "our house is green"
    if is_negated(clause, match.start()):
        yield Claim(f"{who}.location", slug(value), closed=True)
    else:
        yield Claim(f"{who}.location", slug(value))


def _is_company(value: str) -> bool:
    return value in COMPANIES or value.endswith(COMPANY_ENDING)


def employer(clause: Clause) -> Iterator[Claim]:
    who = person_of(clause)
    if who is None:
        return
    told = search_in(_IS_EMPLOYER, clause)
    if told and has_capital(clause, told):
        yield Claim("user.employer", slug(told["v"]))
        return
    for match in _EMPLOYER.finditer(clause.low, clause.start, clause.end):
        value, verb = match["v"], match[0]
        sure = patterns.match(
            r"(?:work|employ|dr|fl|nurse|writ|teach|join|start|hired|new (?:job|emp)|company|got|took|have|landed"
            r"|accepted)",
            verb,
        )
        if (
            value.split()[0] in _NOT_EMPLOYERS
            or value.endswith(
                (
                    " team",
                    " squad",
                    " group",
                    " org",
                    " committee",
                    " board",
                    " gym",
                    " club",
                    " choir",
                    " department",
                    " meeting",
                    " call",
                    " band",
                    " union",
                    " party",
                    " class",
                )
            )
            or is_negated(clause, match.start())
        ):
            continue
        if (
            not sure
            and patterns.match(r"is |now |currently |back |been |started ", verb)
            and clause.subject.key in ("", "user")
            and not patterns.match(
                r"(?:i|we|now|back|currently|started)\b", clause.low[clause.start : clause.start + 12]
            )
        ):
            continue  # "all my savings are at the bank"
        plain_work = patterns.match(r"work(?:s|ing)? (?:at|for)|employ", verb) is not None
        if not (_is_company(value) or plain_work or (sure and has_capital(clause, match))):
            continue
        yield Claim(f"{who}.employer", slug(value))
        return
    beside = search_in(_TRADE_AT, clause) or (search_in(_NOW_AT, clause) if _JOB_LEFT.search(clause.low) else None)
    if beside and has_capital(clause, beside) and beside["v"].split()[0] not in _NOT_EMPLOYERS:
        yield Claim(f"{who}.employer", slug(beside["v"]))
        return
    left = search_in(_EMPLOYER_LEFT, clause)
    if (
        left is not None
        and (_is_company(left["v"]) or has_capital(clause, left))
        and left["v"].split()[0] not in _NOT_EMPLOYERS
    ):
        yield Claim(f"{who}.employer", slug(left["v"]), closed=True)


_NOT_EMPLOYERS = listed(
    "home night nights weekends me him her them myself it this that the a an my our his her their us you day days"
    " free now least once last first times work school uni university college dinner lunch risk monday tuesday"
    " wednesday thursday friday saturday sunday noon midnight about people kids no someone hours years months weeks"
    " two three four five six seven eight nine ten one long and to in on peace"
)


# Words for who does what, by their endings; those that name something else than a trade are left out.
_TRADE = patterns.compile(
    r"\b(?:i'?m|im|i am|is|she's|he's|works? as|working as|trained as|as) (?:now |currently |also |still )*an?"
    r" (?P<v>(?:(?!bit\b|big\b|huge\b"
    r"|light\b|heavy\b|early\b|bad\b|good\b|great\b|terrible\b|fast\b|slow\b|night\b|keen\b|regular\b)[a-z-]+"
    r" ){0,2}?(?P<job>[a-z-]{2,20}(?:grapher"
    r"|ologist|ologer|iatrist|maker|smith|wright|keeper|monger|wainer|worker|driver|fighter|trician|tician|sician"
    r"|brarian|geon"
    r"|entist|analyst|nomist|odist|pist|therapist|chemist|macist|ptionist|eer|ctor|tect|utor|ntant|sultant|ttorney"
    r"|ician|binder"
    r"|packer|fitter|roofer|glazier|layer|welder|miner|dresser|setter|turner|planner|trader|lender|surveyor)))\b"
)
_NO_TRADE = listed(
    "volunteer pioneer factor collector tracker player lover smoker drinker eater rider reader winner loser beginner"
    " newcomer foreigner customer member visitor"
)


# "I work as a …" is followed by a trade, whatever the word.
_WORKS_AS = patterns.compile(
    r"\b(?:works?|working|job|employed|started|retrained|qualified) (?:now "
    r"|currently )?as an? (?P<v>(?P<job>[a-z][a-z-]+(?: [a-z-]{2,20}){0,2}?))" + STOP
)


def trade(clause: Clause) -> Iterator[Claim]:
    who, match = person_of(clause), search_in(_WORKS_AS, clause) or search_in(_TRADE, clause)
    if who and match and match["job"] not in _NO_TRADE and not is_negated(clause, match.start("v")):
        yield Claim(f"{who}.role", slug(match["v"]))


_AS_A = patterns.compile(r"as an? (?P<v>(?:[\w-]+ ){0,3}?(?P<job>" + any_of(OCCUPATIONS) + r"))\b")


def role(clause: Clause) -> Iterator[Claim]:
    who, match = person_of(clause), search_in(_ROLE, clause) or _AS_A.match(clause.low, clause.start, clause.end)
    if who is None or match is None or is_negated(clause, match.start("v")):
        return
    if patterns.search(
        r"\b(?:my|our|his|her|your|\w+'s)\s+(?:\w+\s+)?$", clause.low[clause.start : match.start("job")]
    ):
        return  # "Ingrid is my manager" tells of the two of them
    yield Claim(f"{who}.role", slug(patterns.sub(r"^(?:an?|the|our|its|their) ", "", match["v"])))


_STATUS = patterns.compile(
    r"\b(?:i'm|im|i am|we're|we are|is|are|'s|been|now|finally|got|getting|just|newly) (?:now |happily |officially "
    r"|still |recently "
    r"|finally |newly |a )*(?P<v>single|married|engaged|divorced|separated|widowed|widower|widow|in a relationship)\b"
)
_STUDIES = patterns.compile(
    r"\b(?:stud(?:y|ies|ying)|majoring in|major is|(?:changed|switched) (?:my |his |her )?(?:major|degree|course"
    r"|subject|studies)(?: from [\w ]+?)? to|(?:doing|do|does) (?:a |my )?(?:degree|masters?|phd|bachelor'?s?|msc"
    r"|bsc) in)\s+(?P<v>(?!for\b|at\b|in\b|with\b|hard\b|the\b|to\b|abroad\b)[a-z]+(?: (?!in\b|at\b|and\b|since\b"
    r"|now\b|for\b|with\b)[a-z]+)?)"
)
_SCHOOL = patterns.compile(
    r"\b(?:(?:goes|go|went|going|moved|switched|changed) to|(?:is |'s |are |am |'m |started |starts |now )+(?:at|in)"
    r"|attends?|enrolled (?:at|in)|studies at|study at)\s+(?:the )?(?P<v>[^\W_][\w'. -]{1,30}?)(?: (?P<t>primary"
    r"|secondary|school|high school|college|university|uni|kindergarten|nursery|daycare|elementary|academy|gymnasium"
    r"|grammar school|preschool))\b|\bchanged schools?\b.{0,30}\b(?:at|to) (?P<v2>[^\W_][\w'.-]{1,30})"
)
_WEIGHT = patterns.compile(
    r"\b(?:weigh(?:s|ed)?|weight is|(?:down|up) to|i'm at|currently at|weigh in at)(?: now| about| around"
    r"| currently)* (?P<v>\d{2,3}(?:[.,]\d)?) ?(?:kg|kilos?|kilograms?|lbs?|pounds|stone)\b"
)
_EARNS = patterns.compile(
    r"\b(?:i|we|he|she|i'm|now|and) (?:now |currently |still |only )*(?:earn|earns|make|makes|get paid|am paid|is paid)"
    r"(?: about| around| roughly| now)* (?P<v>[€$£]? ?\d[\d.,]*k?)(?! ?(?:mistakes|cakes|copies|pizzas|calls|videos))"
)
_PAYS = patterns.compile(
    r"\b(?:pay|pays|paying|costs?)(?: me| us| about| around)* (?P<v>[€$£]? ?\d[\d.,]*k?(?: ?(?:€|\$|£|euros?|eur"
    r"|dollars?|usd|pounds?|gbp|chf))?)(?: (?:a|per|every|each|/) ?(?:month|year|week)| monthly| a month| in| of"
    r"| for| the| my| our)* (?P<n>rent|mortgage|tuition|childcare|insurance|alimony|electricity|internet|nursery"
    r"|parking|maintenance|daycare|health insurance)\b|\b(?P<n2>rent|mortgage|tuition|electricity bill|nursery fee"
    r"|salary)(?: is| was| went up| went down| rose| increased| goes up| has gone up| costs| fell| dropped| is now"
    r"| to| by| now| at| of| from [\d.,]+)+ (?P<v2>[€$£]? ?\d[\d.,]*k?)"
)
_INSURED = patterns.compile(
    r"\binsur(?:ed|ance)(?: is| now| still| currently| at home| policy)* (?:with|by|through|from|at) (?:the "
    r"|my )?(?P<v>[^\W_][\w&'.-]{1,24})"
)


def standing(clause: Clause) -> Iterator[Claim]:
    who = person_of(clause)
    status = search_in(_STATUS, clause)
    if status and who:
        yield Claim(f"{who}.relationship_status", slug(status["v"]))
        return
    weight = search_in(_WEIGHT, clause)
    if weight and who:
        yield Claim(f"{who}.weight", weight["v"])
        return
    earned = search_in(_EARNS, clause)
    if earned and who:
        yield Claim(f"{who}.salary", amount_of(earned["v"]))
        return
    paid = search_in(_PAYS, clause)
    if paid:
        yield Claim(f"user.{slug(paid['n'] or paid['n2'])}", amount_of(paid["v"] or paid["v2"]))
        return
    insured = search_in(_INSURED, clause)
    if insured:
        yield Claim("user.insurance", slug(insured["v"]))
        return
    studies = search_in(_STUDIES, clause)
    if studies and who:
        yield Claim(f"{who}.studies", slug(studies["v"]))
        return
    school = search_in(_SCHOOL, clause)
    if school and who and has_capital(clause, school, "v" if school["v"] else "v2"):
        yield Claim(f"{who}.school", slug(school["v"] or school["v2"]))
