"""Who or what a clause is about, as the first part of a key: user, user.sister, olga, orders_service."""

import unicodedata
from typing import NamedTuple

from apps.ingest.rules.lexicon import BOSS, KIN, PET, REPORTEE, SOCIAL, listed
from text import patterns

_PERSONS = KIN | SOCIAL | BOSS | REPORTEE
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
    r"|fun fact|ps|p\.s\.|since|because|given(?: that)?|now that|although|though|while|that"
    r"|my bad|wait|hmm+|um+|uh+|in fact|in case (?:it matters|you need it|that helps)|turns out|finally|good|great"
    r"|right|thanks|thx|too|plus|new here|about me|background|context|reminder|important|note to self|lately"
    r"|these days|nowadays|by now|reorg|wrong(?=[,:])|oops|mistake|scratch that|i mean(?=[,:])|yay|guess what"
    r"|apparently|what'?s new|as a reminder|reminder)\b[\s,.:;!-]*)+"
)
EXPLICIT = patterns.compile(
    r"\b(?:remember(?: this| that)?|note(?: this| that| down)?|keep in mind|don'?t forget|dont forget|for the record"
    r"|for future reference|save this|store this|memori[sz]e|you should know|make a note|write (?:this|that) down"
    r"|fyi|just so you know|for reference|pls remember|bear in mind)\b"
)
_VERB = (
    r"(?:[a-z]{3,}(?<!ne)(?<!fe)(?<!bre)(?<!spe)ed|is|are|was|were|isn'?t|aren'?t|has|have|had|hasn'?t|haven'?t"
    r"|works?|working|lives?|living|moved|moves"
    r"|moving|uses?|used|using|runs?|ran|running|reports?|reporting|manages?|leads?|led|goes|go|went|needs?|takes?"
    r"|took|drives?|drove|wants?|likes?|loves?|hates?|prefers?|joined|joins"
    r"|left|switched|switches|became|becomes|turned|turns|got|gets|can|can'?t|cannot|must|will|won'?t|should|may"
    r"|might|expires?|starts?|started|ends?|ended|costs?|owns?|owned|bought|sold|supports?|requires?|sits?|speaks?"
    r"|eats?|drinks?|plays?|plans?|studies|studied|stays?|stayed|stands|swears|says|said|told|thinks|changed|changes"
    r"|migrated|upgraded|reads?|writes?|wrote|hosts?|deploys?|lets|allows|keeps?|teaches|does|doesn'?t|don'?t|did"
    r"|didn'?t|quit|quits|stopped|gave|relocated|attends?|graduated|retired"
    r"|accepted|added|closes?|closed|opens?|opened|ships?|shipped|talks|maintains|handles|serves|stores|connects"
    r"|depends|listens|caps|allergic|diagnosed|suffers|teaches|turns|owes|owe|costs|weighs|measures|holds|lies|comes"
    r"|came|calls|called|named|belongs|enjoys|dislikes|avoids|sings|rents|commutes|trains|swims|cycles|practises"
    r"|practices|collects|cooks|bakes|paints|breeds|finished|paid|pays|visits|visited|met|meets|flies|flew|sees|saw"
    r"|found|hired|fired|approved|lifted|banned|set|sets|wipes|gets|rotates|decided|chose|picked|voted|agreed|lost"
    r"|won|broke|returns?|sends?|expects?|accepts?|produces?|contains?|includes?|covers|lasts|lasted|happens"
    r"|arrives?|receives|logs|fails|responds|renews|renewed|refuses|logs|emits|exposes|wraps|triggers|follows"
    r"|displays|shows|slipped|smokes?|tastes|wears|knows|gave|hears|rejects|uses|enforces|ignores|wakes|sleeps|barks"
    r"|snores|recovered|turned|weighs|earns|makes|made|charges|pays|serves|ends|resets|syncs|rotates|expired|burned"
    r"|died|crashed|flooded|caught|fell|slept|ate|drank|swam|ran|met|grew|built|traded|rolled|downgraded|returned"
    r"|retired|transferred|resigned|traveled|travelled|graduated|proposed|married|divorced|dates|adopted|lends"
    r"|borrowed|remembers)"
)
_PRONOUN = patterns.compile(
    r"(?:i|im|ive|we|me and my \w+|my \w+ and i|my (?:whole )?family and i)\b(?!\.)|us two\b|both of us\b"
)
_OTHER_PRONOUN = patterns.compile(r"(he|she|they|it)\b(?:'s|'re|'ll)?")
_NOUN_PHRASE = patterns.compile(
    rf"(?P<whose>(?:my|our|the|this|his|her|their|its|a|an|all|each|every|both|your"
    rf"|new)\s+)?(?P<noun>[^\W_][\w.&/'+#-]{{0,40}}(?:\s+(?!(?:to|that|which|who|if"
    rf"|when)\b)[\w.&/'+#-]{{1,40}}){{0,5}}?)(?:'s)?\s+(?:now |also |just |still |really |always |only |already "
    rf"|then |never |actually |currently |usually |recently |finally |mostly |probably |officially |both "
    rf"|apparently )*(?:{_VERB}|as of)\b"
)
# "Olga's car is …" has one verb; in "Olga's late and she is …" the 's is one.
_OWNED = patterns.compile(
    r"'s (?!not |now |so |very |in |at |on |the |an? )[a-z-]{2,20}(?: (?!and |or |but )[a-z-]{2,20})?(?=\Z)"
)
_NOUN_IS = patterns.compile(
    r"(?P<whose>(?:my|our|the|this|his|her|their|new"
    r"|a)\s+)?(?P<noun>[\w.&/+#-]{1,40}(?:\s+[\w.&/+#-]{1,40}){0,4}?)(?P<link>\s*[:=]\s+|'s\s+|\s+now\s+)"
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
    " were be been have has had remember note remind call use keep make get got go going"
)


_PRONOUNS = frozenset({"i", "we", "you", "they", "he", "she", "it", "there"})


class Subject(NamedTuple):
    key: str  # "user", "user.sister", "olga", "orders_service"; "" when the clause names none
    is_person: bool
    attribute: str  # "birthday" in "my wife's birthday is …", else ""
    after: int  # where the predicate begins
    whose: str = ""  # the determiner: "my", "the", "those", or none


def lead_end(low: str, start: int, end: int) -> int:
    """Where the words begin once openers such as "btw" and "remember that" are passed over."""
    lead = _LEAD.match(low, start, end)
    return lead.end() if lead else start


def slug(words: str, *, limit: int = 60) -> str:
    """Canonical form of a name or value: plain letters, articles and plurals off, blanks as underscores."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", words) if not unicodedata.combining(c)).lower()
    found = [w for w in patterns.findall(r"[^\W_]+(?:[.'+#@-]*[^\W_]+|[+#]+)*", plain) if w not in _DROPPED]
    return "_".join(
        singular(w.replace("'s", "").replace("'", "")).replace("-", "_").replace(".", "_")
        if not any(c.isdigit() for c in w)
        else w.replace("'", "")
        for w in found
    )[:limit].strip("_")


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
    """Every word of the phrase is written with a capital, and it is no word that merely opens the sentence."""
    found = plain[start:end].split()
    return bool(found) and all(w[:1].isupper() for w in found) and found[0].lower().strip(".,'") not in _NOT_NAMES


def subject_of(plain: str, low: str, start: int, end: int, *, last_person: str, last_thing: str) -> Subject:
    at = lead_end(low, start, end)
    pronoun = _PRONOUN.match(low, at, end)
    if pronoun:
        return Subject("user", is_person=True, attribute="", after=pronoun.end())
    other = _OTHER_PRONOUN.match(low, at, end)
    if other:
        thing = other[1] == "it"
        return Subject(
            last_thing if thing else last_person, is_person=not thing, attribute="", after=other.start() + len(other[1])
        )
    phrase = _NOUN_PHRASE.match(low, at, min(end, at + 160))
    after = phrase.end("noun") if phrase else 0
    link = _NOUN_IS.match(low, at, min(end, at + 120))
    if link and (phrase is None or (link.end("noun") < after and not _OWNED.match(low, link.end("noun"), after))):
        phrase, after = link, link.end("noun")
    if phrase is None:
        return Subject("", is_person=False, attribute="", after=at)
    return _named(plain, phrase, after)._replace(whose=(phrase["whose"] or "").strip())


def _named(plain: str, phrase: patterns.Match, after: int) -> Subject:
    whose, noun = (phrase["whose"] or "").strip(), phrase["noun"]
    start = phrase.start("noun")
    owner, _, attribute = noun.partition("'s ")
    if owner in ("he", "she", "it", "that", "there", "what", "who", "where", "here", "let"):
        return Subject("", is_person=False, attribute="", after=phrase.start())
    words = owner.split()
    if not whose and any(word in _PRONOUNS for word in words):  # "once we have …": the noun is half a clause
        mine = words[-1] in ("i", "we") and not attribute
        return Subject("user" if mine else "", is_person=mine, attribute="", after=after if mine else phrase.start())
    # "my colleague Omar", "my aunt Lena": the name goes with the role, kin keep the role as their key.
    head = next((size for size in range(min(3, len(words)), 0, -1) if " ".join(words[:size]) in _PERSONS), 0)
    if (
        not head
        and len(words) > 1
        and words[0]
        in (
            "older",
            "younger",
            "little",
            "big",
            "new",
            "old",
            "oldest",
            "youngest",
            "eldest",
            "twin",
            "best",
            "former",
            "other",
        )
    ):
        head = next((size for size in range(min(4, len(words)), 1, -1) if " ".join(words[1:size]) in _PERSONS), 0)
    if whose in ("my", "our") and head:
        role = " ".join(words[:head])
        named = len(words) > head and is_name(plain, start + len(role) + 1, start + len(owner))
        if named and role not in KIN:
            return Subject(slug(" ".join(words[head:])), is_person=True, attribute=slug(attribute), after=after)
        return Subject(
            "user." + slug(role),
            is_person=True,
            attribute=slug(attribute if attribute or named else " ".join(words[head:])),
            after=after,
        )
    if whose in ("my", "our") and words[0] in PET:
        return Subject(
            "user." + words[0],
            is_person=True,
            attribute=slug(
                attribute or " ".join(words[1:])
                if not is_name(plain, start + len(words[0]) + 1, start + len(owner))
                else attribute
            ),
            after=after,
        )
    if not whose and is_name(plain, start, start + len(owner)):
        return Subject(slug(owner), is_person=len(words) <= 2, attribute=slug(attribute), after=after)
    if whose == "my" and not attribute:
        return Subject("user", is_person=True, attribute=slug(noun), after=after)
    if whose == "new" and not attribute:
        return Subject("user", is_person=True, attribute=slug(noun), after=after)
    if whose in ("his", "her", "their"):
        return Subject("", is_person=False, attribute=slug(noun), after=after)
    return Subject(slug(owner), is_person=False, attribute=slug(attribute), after=after)
