"""The table of rules for keys: trigger words, then the reader; in the order in which they are asked."""

from apps.ingest.rules.keys import choices, habits, health, people, person, routines, setup, things, tools
from apps.ingest.rules.keys.claim import Claim, Clause, Reader
from apps.ingest.rules.lexicon import CONDITIONS, DIETS, PET, THING_OF
from text import patterns


def claims_of(clause: Clause) -> list[Claim]:
    """What the clause claims, best rule first; one claim per item where a rule reads a list."""
    named: list[Claim] = []
    for number in sorted({n for word in clause.words for n in _BY_WORD.get(word, ())} | _ALWAYS):
        found = list(_TABLE[number][1](clause))
        if found and found[0].key == "user.name" and not named:
            named = found  # "I'm Bram, a typesetter" says two things
        elif found and found[0].key.startswith("."):
            continue  # of whom, the clause does not say
        elif found and not (named and found[0].general):
            return [*named, *found][:4]
    return named


def _first_word(name: str) -> str:
    """As the words of a clause are cut: "fly.io" begins with "fly"."""
    return str(patterns.split(r"[^\w'-]", name)[0])


_TABLE: tuple[tuple[str, Reader], ...] = (
    (
        "allergic allergy allergies alergic alergy allergen intolerant anaphylaxis anaphylactic allergist"
        " hypersensitive",
        health.allergy,
    ),
    ("", health.medicine),
    ("report reports reporting manager boss lead supervisor em director under team direct", people.boss),
    (
        "manage manages managed leads led heads headed supervises supervised mentors mentor oversees maintains"
        " maintained owns owned run runs chairs teaches trains tutors treats line-manages charge responsible head"
        " owner lead coaches",
        people.manages,
    ),
    ("work works working together pair pairing collaborate", people.works_with),
    ("tabs spaces tab space indentation indent", setup.indent),
    ("mode theme themes dark light", setup.theme),
    ("aisle window", setup.seat),
    ("prefer prefers favor favour rather over than take pick choose have beats", choices.compared),
    ("favourite favorite best most", choices.favourite),
    (
        "email mail e-mail number phone mobile cell landline whatsapp reach call timezone zone tz utc gmt cet cest"
        " est pst ist bst time",
        setup.contact,
    ),
    ("budget", things.budget),
    ("name name's call called calls i'm im am this it's go address", person.name),
    (" ".join({w.split()[0] for w in PET}) + " dog's cat's", setup.pet),
    ("speak speaks fluent native tongue learning studying bilingual first", setup.speaks),
    (" ".join({w.split()[0] for w in DIETS}) + " eat eating eats meat", health.diet),
    ("birthday bday born dob birth", person.birthday),
    ("is my our are married engaged", people.kin),
    (
        "works work working worked joined joining joins employed employer started new job hired driving drives drive"
        " flying fly writing write teach teaching nurse notice at with company left"
        " quit resigned switched moved went still offer",
        person.employer,
    ),
    (
        "where moved live lives living based relocated moving address located home house flat in resides reside"
        " settled hometown left staying emigrated returned to",
        person.location,
    ),
    (
        "team squad group org department division board committee crew club choir band guild chapter tribe union"
        " council",
        people.member,
    ),
    ("", person.role),
    ("i'm im am is as she's he's works work working", person.trade),
    (" ".join({w.split()[0] for w in CONDITIONS}), health.condition),
    (
        "single married engaged divorced separated widowed widower widow relationship weigh weighs weight down up"
        " pay pays paying costs cost rent mortgage tuition salary insured insurance study studies studying major"
        " majoring degree school schools primary college university attends enrolled kindergarten nursery",
        person.standing,
    ),
    ("the our replaced replaces succeeded succeeds took takes", people.office),
    (
        "smoke smokes smoker smoking vape vapes vaping cigarettes non-smoker plan tier subscription tariff package"
        " licence license membership account diet",
        habits.habit,
    ),
    (
        "started began took resumed fish drink drinks drinking coffee tea gave quit stopped smoking smoke caffeine"
        " alcohol steak eggs beer wine"
        " consume",
        setup.drink,
    ),
    ("switched changed changing switching new different swapped", people.successor),
    ("switched changed changing switching new different swapped", habits.switched),
    ("size sized", things.size),
    ("have got own keep we've i've", things.count),
    (
        " ".join(
            {w.split()[0] for w in THING_OF}
            | {
                "node",
                "nodejs",
                "kubernetes",
                "k8s",
                "terraform",
                "nginx",
                "ios",
                "android",
                "cuda",
                "pytorch",
                "net",
                "dotnet",
                "php",
                "wordpress",
                "elasticsearch",
            }
        ),
        habits.version,
    ),
    (" ".join({_first_word(w) for w in THING_OF}), tools.thing),
    (
        "love loves like likes adore adores enjoy enjoys hate hates dislike dislikes loathe loathes detest detests"
        " despise stand bear care fan into keen fond crazy obsessed sick fed",
        habits.taste,
    ),
    ("req request requests calls queries limit limited throttled messages", things.rate),
    (
        "monday mondays tuesday tuesdays wednesday wednesdays thursday thursdays friday fridays saturday saturdays"
        " sunday"
        " sundays",
        routines.routine,
    ),
    ("turned turns aged age old years yo am is i'm im", person.age),
    ("", things.stated),
)
_ALWAYS = frozenset(number for number, (triggers, _) in enumerate(_TABLE) if not triggers)
_BY_WORD: dict[str, list[int]] = {}
for _number, (_triggers, _) in enumerate(_TABLE):
    for _trigger in _triggers.split():
        _BY_WORD.setdefault(_trigger, []).append(_number)
