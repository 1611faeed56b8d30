"""Keys about the body and the table: allergies, diet, conditions, medicines."""

from collections.abc import Iterator

from apps.ingest.rules.keys.claim import LIST, Claim, Clause, any_of, is_negated, person_of, search_in, split_list
from apps.ingest.rules.lexicon import CONDITIONS, DIETS, MEDICINE_ENDING, MEDICINES, listed
from apps.ingest.rules.subjects import slug
from text import patterns

_ALLERGIC = patterns.compile(
    r"\b(?:all?erg(?:ic|y|ies)|anaphyla\w+|react badly|hypersensitive|intolerant)\s+(?:reaction |is )?(?:to"
    r"|against)\s+(?:all |any |raw |most |some |the |eating )*" + LIST
)
_ALLERGY_OF = patterns.compile(
    r"\b(?P<l>[a-z]+(?: (?:nut|milk|sting|mite|dander|pollen))?) all?erg(?:y|ies)\b|\b(?P<i>lactose|gluten|histamine"
    r"|fructose)[- ]intolerant\b"
)
_CANT_HAVE = patterns.compile(
    r"\b(?:can'?t|cannot|can not|mustn'?t|must not|shouldn'?t|am not allowed to)(?: really| ever)? (?:have|eat|touch"
    r"|go near) (?:any |anything with |raw )?" + LIST
)
_ADDED = patterns.compile(
    r"\b(?:allergist|doctor|test|allergy test|gp|dermatologist|clinic|results?)\b.{0,30}\b(?:added|adds|found|says"
    r"|confirmed|shows?|showed)\s+(?:that i'?m allergic to |an allergy to |also )?"
    + LIST
    + r"\b.{0,30}\b(?:list|allerg|too|on top|as well)"
)
_TAIL = patterns.compile(
    r"\s+(?:after|before|any|since|though|because|when|until|these|this|that|which|who|but|so|as|too|now|lol|btw"
    r"|actually|again|either|at)\b.*$"
)
_NO_ALLERGEN = listed(
    "it that this them those me you him her anything everything nothing a an the reaction any food my your severe"
    " bad mild no seasonal some an have has had got food any allergy allergies allergic food"
)
_DIET = patterns.compile(rf"\b(?P<v>{any_of(DIETS)})\b")
_DIET_SAID = patterns.compile(
    r"\b(?:i'?m|im|i am|is|are|am|'s|'re|went|go|going|gone|turned|became|become|back to|now|as an?|eat|eats|eating"
    r"|strictly|stay|staying|been|being|switched to|follow|following|keep|keeps|diet|diet:|only|raised|mostly|fully"
    r"|all|100%|a|still|doing|on|started|converted to|turning|getting|stick to|sticking to|live|vegan|since)\s+(?:a "
    r"|an |the |to |now |strict |strictly |mostly |fully |also |still |completely |actually |back |again |being "
    r"|lifelong |pretty much |eating |going |on |committed )*$"
)
_MEAT = patterns.compile(
    r"\b(?:eat(?:s|ing)?|back to eating|started eating) (?:meat|fish|chicken|everything)(?: and \w+)? (?:again|now"
    r"|these days)\b|\b(?:not|no longer) (?:a )?(?P<v>vegan|vegetarian|pescatarian)\b(?: any ?more)?"
)
_SHUNNED = patterns.compile(
    r"\b(?:don'?t|doesn'?t|do not|does not|never|no longer|stopped|quit|gave up|given up)(?: ever)? (?:eat|eats"
    r"|eating|touch|consume|have)"
    r"(?: any)? (?:(?P<meat>meat(?! on| after| before| and two))|animal products?|anything (?:from|with) animals?)\b"
)
_CONDITION = patterns.compile(rf"\b(?P<v>{any_of(CONDITIONS)})\b")
_CONDITION_SAID = patterns.compile(
    r"\b(?:i'?m|im|i am|is|'s|am|as an?|have|has|had|having|with|diagnosed(?: with)?|got|suffer(?:s|ing)? from|my"
    r"|given my|because of my|living with|being|'ve|a|was|are|chronic|doctor'?s orders|due to(?: my)?|for my"
    r"|manage my|history of|type \d|prone to)\s+(?:a |an |the |my |type (?:1|2|one|two|i|ii) |mild |severe |chronic "
    r"|also |been |very |quite |partly |partially |red-green |slightly |now |\d+ months |\w+ weeks |bad |with "
    r"|diagnosed |fully |legally )*$|\($"
)
_DOSE = r"(?P<dose>\d+(?:[.,]\d+)?\s?(?:mg|mcg|ug|µg|g|ml|iu|units?|drops?|puffs?|tablets?|pills?))"
_MEDICINE_WORD = rf"(?P<v>{any_of(MEDICINES)}|[a-z]{{3,20}}(?:{'|'.join(MEDICINE_ENDING)}))"
_MEDICINE = patterns.compile(
    rf"\b(?:{_DOSE}\s+(?:of\s+)?)?{_MEDICINE_WORD}\b(?:[^.;\n]{{0,30}}?\b(?P<dose2>\d+(?:[.,]\d+)?\s?(?:mg|mcg|µg|g"
    rf"|ml|iu|units?|puffs?|tablets?|pills?)))?"
)
_MEDICINE_SAID = patterns.compile(
    r"\b(?:take|takes|taking|on|prescribed|put me on|started|switched|dose|dosage|mg|mcg|units|daily|twice|morning"
    r"|evening|stopped|came off|medication|meds|meds:|now|increased|reduced|upped|lowered|changed|off)\b"
)


def allergy(clause: Clause) -> Iterator[Claim]:
    who = person_of(clause) or "user"
    match = search_in(_ALLERGIC, clause) or search_in(_ADDED, clause)
    if match is None:
        match = search_in(_ALLERGY_OF, clause)
        if match is None and patterns.search(r"all?erg", clause.low[clause.start : clause.end]):
            match = search_in(_CANT_HAVE, clause)
    if match is None:
        return
    over = (
        patterns.search(
            r"\b(?:no longer|not allergic|outgrew|outgrown|grew out|isn'?t allergic|gone|not .{0,12}allergic)\b",
            clause.low[clause.start : clause.end],
        )
        is not None
    )
    for item in split_list(match["l"] or match["i"]):
        name = slug(_TAIL.sub("", item))
        if name and item.split()[0] not in _NO_ALLERGEN:
            yield Claim(f"{who}.allergy.{name}", "no" if over else "yes", many_valued=True, type="fact")


def diet(clause: Clause) -> Iterator[Claim]:
    who = person_of(clause)
    if who is None:
        return
    shunned = search_in(_SHUNNED, clause)
    if shunned:
        yield Claim(f"{who}.diet", "vegetarian" if shunned["meat"] else "vegan")
        return
    ate = search_in(_MEAT, clause)
    if ate is not None and ate["v"] is None:
        yield Claim(f"{who}.diet", "omnivore")
        return
    said = [
        m
        for m in _DIET.finditer(clause.low, clause.start, clause.end)
        if _DIET_SAID.search(clause.low, max(clause.start, m.start() - 40), m.start())
    ]
    kept = [m for m in said if not is_negated(clause, m.start())]
    back = [
        m for m in kept if patterns.search(r"\bback to\b.{0,20}$|\bnow\b.{0,12}$", clause.low[clause.start : m.start()])
    ]
    chosen = (back or kept)[-1:] if kept else []
    short = clause.low[clause.start : clause.end].split()
    if not chosen and not said and len(short) <= 5 and (alone := search_in(_DIET, clause)) and alone["v"] in short[-2:]:
        chosen = [alone]
    for match in chosen:
        rest = clause.low[match.end() : match.end() + 20].split()
        if rest[:1] and rest[0].strip(",.") in (
            "restaurant",
            "restaurants",
            "food",
            "recipe",
            "recipes",
            "cheese",
            "option",
            "options",
            "leather",
            "place",
            "places",
            "dish",
            "dishes",
            "cookbook",
            "burger",
            "cake",
            "menu",
        ):
            continue
        yield Claim(f"{who}.diet", DIETS[match["v"]])
        return
    if not chosen and said:
        yield Claim(f"{who}.diet", DIETS[said[0]["v"]], closed=True)


def condition(clause: Clause) -> Iterator[Claim]:
    who = person_of(clause)
    if who is None:
        return
    for match in _CONDITION.finditer(clause.low, clause.start, clause.end):
        if _CONDITION_SAID.search(clause.low, max(clause.start, match.start() - 40), match.start()) and not is_negated(
            clause, match.start()
        ):
            yield Claim(f"{who}.condition.{CONDITIONS[match['v']]}", "yes", many_valued=True)
            return


def medicine(clause: Clause) -> Iterator[Claim]:
    who = person_of(clause) or "user"
    if not search_in(_MEDICINE_SAID, clause):
        return
    text = clause.low[clause.start : clause.end]
    over = (
        patterns.search(
            r"\b(?:stopped|came off|no longer|quit|off the|discontinued|don'?t take|not taking|took me off)\b",
            text,
        )
        is not None
    )
    for match in _MEDICINE.finditer(clause.low, clause.start, clause.end):
        name = match["v"]
        dose = match["dose"] or match["dose2"]
        if "unchanged" in text[match.end() - clause.start : match.end() - clause.start + 14] and not dose:
            continue
        yield Claim(
            f"{who}.medication.{slug(name)}",
            "no" if over else slug(dose.replace(" ", "")) if dose else "yes",
            many_valued=True,
        )
