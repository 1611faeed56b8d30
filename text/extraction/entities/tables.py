"""Word tables: the types of names, and relations between two names.  Lower case; add entries freely."""

from typing import Final, NamedTuple

from text.extraction.lexicon import BOSS, COMPANIES, KIN, LANGUAGES, PRODUCTS, REPORTEE, SOCIAL, listed, words

PLACES: Final = words(
    "afghanistan, albania, algeria, argentina, armenia, australia, austria, belarus, belgium, bolivia, bosnia, brazil,"
    " bulgaria, cambodia, cameroon, canada, chile, china, colombia, costa rica, croatia, cuba, cyprus, czechia,"
    " denmark, ecuador, egypt, england, estonia, ethiopia, finland, france, germany, ghana, greece, greenland,"
    " guatemala, hungary, iceland, india, indonesia, iran, iraq, ireland, israel, italy, jamaica, japan, jordan,"
    " kazakhstan, kenya, korea, kosovo, kuwait, latvia, lebanon, lithuania, luxembourg, madagascar, malaysia, malta,"
    " mexico, moldova, mongolia, montenegro, morocco, nepal, netherlands, new zealand, nicaragua, nigeria, norway,"
    " pakistan, panama, paraguay, peru, philippines, poland, portugal, qatar, romania, russia, rwanda, saudi arabia,"
    " scotland, senegal, serbia, singapore, slovakia, slovenia, south africa, south korea, spain, sri lanka, sweden,"
    " switzerland, syria, taiwan, tanzania, thailand, tunisia, turkey, uganda, ukraine, uk, united kingdom, uruguay,"
    " usa, united states, uzbekistan, venezuela, vietnam, wales, zambia, zimbabwe, europe, asia, africa,"
    " california, texas, florida, bavaria, catalonia, tuscany, sicily, brittany, provence, scandinavia,"
    " aachen, aberdeen, accra, amsterdam, ankara, antwerp, athens, atlanta, auckland, augsburg, austin, baghdad, bali,"
    " bangalore, bangkok, barcelona, basel, bath, beijing, beirut, belfast, belgrade, bergen, berlin, bern, bilbao,"
    " birmingham, bochum, bogota, bologna, bonn, bordeaux, boston, bratislava, bremen, brighton, brisbane, bristol,"
    " brno, brussels, bucharest, budapest, buenos aires, cairo, calgary, cambridge, cape town, cardiff, chicago,"
    " cologne, copenhagen, cork, dallas, delhi, denver, detroit, doha, dortmund, dresden, dubai, dublin, duisburg,"
    " dusseldorf, düsseldorf, edinburgh, eindhoven, essen, exeter, florence, frankfurt, freiburg, galway, gdansk,"
    " geneva, genoa, ghent, glasgow, gothenburg, granada, graz, groningen, haarlem, hamburg, hannover, hanoi, havana,"
    " heidelberg, helsinki, ho chi minh city, hong kong, honolulu, houston, innsbruck, istanbul, jakarta, jena,"
    " jerusalem, johannesburg, karlsruhe, kassel, kiel, krakow, kraków, kuala lumpur, kyiv, kyoto, lagos, lausanne,"
    " leeds, leicester, leiden, leipzig, lille, lima, limerick, linz, lisbon, liverpool, ljubljana, london,"
    " los angeles, lucerne, lund, lyon, maastricht, madrid, mainz, malaga, malmö, malmo, manchester, manila, mannheim,"
    " marrakesh, marseille, melbourne, mexico city, miami, milan, minneapolis, minsk, montevideo, montpellier,"
    " montreal, moscow, mumbai, munich, munster, münster, nairobi, nantes, naples, new york, newcastle, nice, norwich,"
    " nottingham, nuremberg, odense, odessa, osaka, oslo, ottawa, oxford, padua, palermo, paris, philadelphia,"
    " phoenix, pisa, plymouth, porto, portland, potsdam, poznan, prague, quebec, quito, reykjavik, riga, rio, rome,"
    " rostock, rotterdam, salzburg, san diego, san francisco, santiago, sao paulo, são paulo, sarajevo, seattle,"
    " seoul, seville, shanghai, sheffield, skopje, sofia, southampton, split, stockholm, strasbourg, stuttgart,"
    " sydney, taipei, tallinn, tampere, tbilisi, tel aviv, the hague, thessaloniki, tirana, tokyo, toronto, toulouse,"
    " trieste, trondheim, tunis, turin, uppsala, utrecht, valencia, vancouver, venice, verona, vienna, vilnius,"
    " warsaw, washington, wellington, wiesbaden, wolfsburg, wroclaw, york, zagreb, zurich, zürich, brooklyn,"
    " manhattan, queens"
)
ORGANIZATION_WORDS: Final = listed(
    "gmbh ag inc ltd llc corp plc bank labs university hospital group studios consulting systems software solutions"
    " school clinic bakery college institute foundation ministry airlines insurance agency partners company hotel"
    " restaurant museum council press pharma motors energy technologies media church association airport library"
)
TEAM_WORDS: Final = listed("team squad department division board committee crew club choir band guild chapter tribe")
PROJECT_WORDS: Final = listed("project programme program initiative migration rollout")
# A definite noun phrase that ends in one of these may be the user's own: "the orders service".
THING_WORDS: Final = PROJECT_WORDS | listed(
    "service app api website site platform product dashboard tool library package repo pipeline"
)
TITLES: Final = listed("mr mrs ms miss dr prof professor herr frau mx")

# Words that are no names even if capitalised.
NO_NAMES: Final = (
    listed(
        "i i'm i've i'll i'd im ive me my mine we we're we've we'll our us you your he she it they his her their"
        " its monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun today tomorrow"
        " yesterday tonight january february march april may june july august september october november december"
        " jan feb mar apr jun jul aug sep sept oct nov dec christmas easter ramadan diwali halloween spring summer"
        " autumn fall winter ok okay yes no hi hey hello dear thanks please tv pc usb id api apis url http https"
        " json xml html css sql pdf csv faq fyi btw asap eta eod eow am pm utc gmt cet cest pst est usd eur gbp kg"
        " km gb mb tb cpu gpu ram ssd ui ux qa hr it ai ml llm ios vpn wifi dna mri ct gp er phd bsc msc mba md ceo"
        " cto cfo coo vp em pm po sre the a an this that these those there here what when where why who how which"
        " if in on at by for from with without as of to and or but so not now never always also still just only"
        " even after before since during until while because although though whenever every each all some any most"
        " many much both either neither one two three four five six seven eight nine ten next last first second new"
        " old dont don't do does did is are was were be been have has had can could should would will shall may"
        " might must let lets let's remember note remind call use keep make get got go going moved joined bought"
        " sold switched started finished working living born married actually sorry wait oh well anyway lately"
        " recently currently usually sometimes once update correction reminder fact ps english user assistant"
        " someone somebody anyone everyone everybody nobody people"
    )
    | LANGUAGES
)
# Words that join two capitalised words into one name.
JOINING: Final = listed("of de del della van von der den la le bin al y und")

COLLEAGUES: Final = words("colleague, coworker, co-worker, teammate, pair")
# Roles that one person has at a time; a user may have several of the other relatives and acquaintances.
ONLY_ONE: Final = BOSS | words(
    "wife, husband, spouse, partner, girlfriend, boyfriend, fiance, fiancé, fiancee, fiancée, mother, mom, mum, father,"
    " dad, landlord, landlady, dentist, gp, doctor, therapist, supervisor, boss, mother-in-law, father-in-law,"
    " best friend, accountant, tax adviser, hairdresser, nanny, vet, midwife, personal trainer, cofounder, co-founder"
)
ROLES: Final = KIN | SOCIAL | BOSS | REPORTEE
# Groups and roles that do not denote a single person.
NO_PERSONS: Final = words("family, parents, kids, children, twins, in-laws, reports, direct reports, ex, baby, lead")
SAME_ROLE: Final = {
    "boss": "manager",
    "line manager": "manager",
    "direct manager": "manager",
    "em": "engineering manager",
    "pm": "product manager",
    "po": "product owner",
    "mom": "mother",
    "mum": "mother",
    "mommy": "mother",
    "dad": "father",
    "daddy": "father",
    "coworker": "colleague",
    "co-worker": "colleague",
    "neighbor": "neighbour",
    "flat mate": "flatmate",
    "room mate": "roommate",
    "fiancé": "fiance",
    "fiancée": "fiancee",
    "grandma": "grandmother",
    "grandpa": "grandfather",
    "auntie": "aunt",
    "tech lead": "tech lead",
}
# Offices held by one person at a time and used with "the": looked up like names.
OFFICES: Final = words(
    "engineering manager, product manager, product owner, project manager, project lead, team lead, tech lead,"
    " scrum master, ceo, cto, cfo, coo, cmo, cio, ciso, head of engineering, head of product, head of design,"
    " head of sales, managing director, chairman, chairwoman, chairperson, chair, president, vice president, treasurer,"
    " secretary, principal, headmaster, mayor, captain, head coach, landlord, landlady, founder, office manager,"
    " account manager, general manager, plant manager, store manager, site manager, line manager, em, pm, po"
)


class Verb(NamedTuple):
    """Words between a subject and an object.  predicate: of the vocabulary.  turned: the object is the subject.

    lasts: still true if stated in the past ("she founded …").  subject, object: the type of a name at this end if
    nothing else shows it.
    """

    says: str
    predicate: str
    turned: bool = False
    lasts: bool = False
    subject: str = ""
    object: str = ""


_PERSON, _ORGANIZATION, _PLACE = "person", "organization", "place"
# Regular expressions, matched directly after a subject and directly before an object.
VERBS: Final = (
    Verb(r"(?:reports?|reporting) (?:directly )?(?:in)?to", "reports_to", subject=_PERSON, object=_PERSON),
    Verb(r"(?:works?|working) under", "reports_to", subject=_PERSON, object=_PERSON),
    Verb(r"(?:am|is|are|'m|'s|'re) (?:directly )?(?:managed|supervised) by", "reports_to", object=_PERSON),
    Verb(r"(?:is|are|was|were) (?:led|headed|run|chaired|overseen|managed|coordinated) by", "manages", turned=True,
         object=_PERSON),
    Verb(r"(?:works?|working) (?:closely |together |a lot |mostly |directly )*(?:with|alongside)", "works_with",
         subject=_PERSON, object=_PERSON),
    Verb(r"(?:pairs?|pairing|collaborates?|collaborating|teams? up) with", "works_with", subject=_PERSON,
         object=_PERSON),
    Verb(r"(?:works?|working|interns?|interning) (?:as .{2,30} )?(?:for|at)", "works_at", subject=_PERSON),
    Verb(r"(?:is|am|are|'m) employed (?:by|at|with)", "works_at", subject=_PERSON, object=_ORGANIZATION),
    Verb(r"(?:got|took|started|starts|accepted) (?:a|the|his|her|my|their) (?:new )?(?:job|role|position|offer) "
         r"(?:at|with|from)", "works_at", lasts=True, subject=_PERSON, object=_ORGANIZATION),
    Verb(r"(?:manages?|managing|leads?|leading|heads?(?: up)?|runs?|running|supervises?|oversees?|chairs?"
         r"|coordinates?|mentors?|coaches)", "manages", subject=_PERSON),
    Verb(r"(?:is|am|'m|'s) (?:now )?(?:in charge of|responsible for|the (?:head|lead|manager|director|boss) of)",
         "manages", subject=_PERSON),
    Verb(r"(?:has |have |'ve |just |recently )*(?:joined|joins|joining)", "member_of", lasts=True, subject=_PERSON),
    Verb(r"(?:(?:is|am|are|'m|'s|'re) (?:now |also )?)?(?:a |an )?(?:members? of|part of|belongs? to)", "member_of",
         subject=_PERSON),
    Verb(r"(?:is|am|are|'m|'s|'re) (?:now |also )?(?:on|in)(?= (?:the |our |my )?[\w -]{2,30} (?:team|squad|board"
         r"|department|committee|choir|band|club|crew)\b)", "member_of", subject=_PERSON),
    Verb(r"(?:co-?)?owns?", "owns"),
    Verb(r"(?:co-?)?(?:founded|created|invented|built|wrote|designed|developed|authored|launched)", "created",
         lasts=True, subject=_PERSON),
    Verb(r"(?:was|were|is) (?:co-?)?(?:founded|created|invented|built|written|designed|developed|made) by", "created",
         turned=True, lasts=True),
    Verb(r"uses?|using|switched to|(?:is|are) using|runs? on|relies on", "uses", lasts=True),
    Verb(r"(?:lives?|living|resides?|(?:is|are|am|'m|'s) (?:now )?(?:based|living|located|living)|works?) in"
         r"|(?:has |have |'ve |just )*(?:moved|relocated|emigrated) (?:back )?to|is in", "located_at", lasts=True,
         object=_PLACE),
)  # fmt: skip

PRODUCT_NAMES: Final = PRODUCTS
COMPANY_NAMES: Final = COMPANIES
