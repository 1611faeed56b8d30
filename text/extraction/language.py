"""Detects turns in languages other than English, by script and by function words."""

from text import languages, patterns, terms
from text.extraction.lexicon import listed

_WORD = patterns.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
ENGLISH = listed(
    "the a an i i'm my me we our is are was to of and in on at for with it that this you your not don't can do have"
    " has be from as but he she they his her their will if so what how when where which who why no by or about just"
    " like now please would there all up out im u"
)
# Function words that occur in no English sentence.
OTHERS: dict[str, frozenset[str]] = {
    "es": listed(
        "el la los las un una unos unas de del que y en es soy eres estoy está están son mi mis tu su sus con por"
        " para pero como muy más ya también porque cuando donde qué se lo le les al nos vivo tengo trabajo gusta me"
        " llamo soy año años desde hasta nunca siempre todos cada este esta mañana hoy prefiero"
    ),
    "fr": listed(
        "le la les un une des du de et en est suis es sont je j'ai j'habite tu il elle nous vous ils mon ma mes ton"
        " ta son sa ses avec pour mais comme très plus aussi parce que qui dans sur pas ne c'est n'est au aux chez"
        " depuis toujours jamais mes habite travaille m'appelle ce cette j'aime d'un d'une l'ai l'été"
    ),
    "de": listed(
        "der das den dem des ein eine einen einem einer und ist bin bist sind ich du er sie wir ihr mein meine"
        " meinen meinem meiner dein sein mit für aber wie sehr mehr auch weil wenn wo im am zu von nicht kein keine"
        " habe hat haben wird werde wohne arbeite heiße seit immer nie jeden bitte mich mir uns auf aus bei nach"
        " über unser unsere ab nur noch jetzt gerne esse"
    ),
    "it": listed(
        "il lo la gli le un una uno di del della che e è sono sei siamo mio mia miei con per ma come molto più anche"
        " perché quando dove in non ho ha hanno vivo abito lavoro mi chiamo da dal nel sempre mai ogni piace questo"
        " questa sul"
    ),
    "pt": listed(
        "o os as um uma de do da dos das que e em é sou és estou está são meu minha meus com por para mas como muito"
        " mais também porque quando onde não tenho moro trabalho gosto eu você desde sempre nunca nos na no ao"
    ),
    "nl": listed(
        "de het een en is ben bent zijn ik jij hij zij wij mijn jouw met voor maar als heel meer ook omdat wanneer"
        " waar niet geen heb heeft hebben woon werk naar van op aan bij altijd nooit elke ons onze dat dit sinds"
        " graag"
    ),
    "pl": listed(
        "jestem mam nie się jest mieszkam pracuję mój moja na do od w z i że ale jak bardzo też lubię mnie mi jutro"
        " dziś"
    ),
    "sv": listed(
        "jag är och att det en ett på med för inte har min mitt mina bor jobbar heter till från som men också aldrig"
        " alltid den"
    ),
    "tr": listed(
        "ben bir ve bu için ile çok değil var yok benim evet hayır ama gibi daha ne kadar her zaman yaşıyorum"
        " çalışıyorum"
    ),
    "da or no": listed(
        "jeg er og det en et på med for ikke har min mit mitt bor jobber til fra som men også aldrig aldri altid alltid"
        " hos"
    ),
    "fi": listed("olen on ja ei että minun mutta asun myös hän minulla tai kun sitten joka"),
    "cs": listed("jsem je se že v na a s z mám bydlím pracuji jako ale také můj moje mi není pro od už"),
    "hu": listed("vagyok van és egy a az hogy nem de is lakom nekem már még vagy meg"),
    "ro": listed("sunt este și în la cu pentru nu am care meu mea locuiesc lucrez de din mai"),
}  # fmt: skip
_ACCENTS = frozenset("áéíóúñüöäßçàèùêîôûãõåøæłęąśżźćńığş¿¡ěřčšžůýďťňőűăâșț")


def is_foreign(low: str) -> bool:
    """Whether a text, in lower case, is in another language than English; in doubt it is not."""
    return _is_foreign(low) or terms.language(low[:1500]) != languages.ENGLISH


def _is_foreign(low: str) -> bool:
    head = low[:600]
    if head.isascii() and len(ENGLISH.intersection(_WORD.findall(head))) >= 2:
        return False
    letters = sum(map(str.isalpha, head))
    if letters == 0:
        return False
    if sum(c.isalpha() and c < "\u0250" for c in head) < letters * 0.5:
        return True
    found = _WORD.findall(low[:1500])
    english = sum(word in ENGLISH for word in found)
    other = max(sum(word in little for word in found) for little in OTHERS.values())
    accents = any(c in _ACCENTS for c in head)
    if other <= english or other + accents < 2:
        return False
    return accents or english == 0 or other - english >= 2
