"""The language of a text, from its small words: English, or one of those whose words are stemmed too.

Small words decide as reliably as letter statistics from a sentence on (Grefenstette 1995), and cost a lookup a word.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Final

ENGLISH: Final = "en"

# Words without a subject of their own, folded as ``text.terms`` folds words.
SMALL_WORDS: Final[Mapping[str, frozenset[str]]] = {
    language: frozenset(words.split())
    for language, words in {
        ENGLISH: """
            i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers
            herself it its itself they them their theirs themselves what which who whom this that these those am is
            are was were be been being have has had having do does did doing a an the and but if or because as until
            while of at by for with about against between into through during before after above below to from up
            down in out on off over under again further then once here there when where why how all any both each few
            more most other some such no nor not only own same so than too very s t can will just don should now
        """,
        "de": """
            aber alle allem allen aller alles als also am an ander andere anderen auch auf aus bei beim bin bis bist
            da damit dann das dass dein deine deinem deinen deiner dem den denn der des dich die dies diese diesem
            diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines er es etwas euch euer fur
            gegen gewesen hab habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren
            ihrer im in indem ins ist ja jede jedem jeden jeder jedes jene jetzt kann kein keine keinem keinen keiner
            mal man mein meine meinem meinen meiner meines mich mir mit muss nach nein nicht nichts noch nun nur ob
            oder ohne schon sehr sein seine seinem seinen seiner seit sich sie sind so soll sondern sonst uber um und
            uns unser unsere unter vom von vor wann war waren warum was weil welche welcher welches wenn wer werde
            werden wie wieder will wir wird wo wollen wurde zu zum zur zwar zwischen
        """,
        "fr": """
            a ai aie ait alors as au aucun aura aussi autre aux avait avant avec avoir avons c ca car ce cela ces cet
            cette chez comme d dans de depuis des deux dois doit donc dont du elle elles en es est et etaient etais
            etait ete etes etre eu fait faut ici il ils j jai je juste l la le les leur leurs lui m ma mais me meme
            mes moi mon n ne nos notre nous on ont ou par parce pas peu peut peux plus pour pourquoi qu quand que
            quel quelle quelles quels qui quoi s sa sans se sera ses si son sont suis sur t ta te tes toi ton tous
            tout toute toutes tres tu un une va vais vers vos votre vous y
        """,
        "es": """
            a ahora al algo alguna algunas alguno algunos ante antes aqui asi aun aunque cada como con contra cual
            cuales cuando cuanta cuanto cuantos de del desde donde dos el ella ellas ellos en entre era eran eres es
            esa esas ese eso esos esta estaba estado estan estar estas este esto estos estoy fue fueron ha habia han
            has hasta hay he la las le les lo los mas me mi mia mio mis mucho muchos muy nada ni no nos nosotros
            nuestra nuestro o os otra otros para pero poco por porque pues que quien quienes se sea ser si sin sobre
            sois somos son soy su sus suyo tambien tan tanto te tengo ti tiene tienen todo todos tu tus un una uno
            unos vos y ya yo
        """,
        "pt": """
            a agora ainda ao aos aquela aquele aquilo as assim ate cada com como da das de dela dele deles depois do
            dos e ela elas ele eles em entre era eram essa esse esta estava este estou eu foi foram ha isso isto ja
            la lhe lhes mais mas me mesmo meu meus minha minhas muito na nao nas nem no nos nossa nosso num numa o
            onde os ou para pela pelas pelo pelos por porque quais qual quando quanto quantos que quem sao se sem ser
            seu seus so sou sua suas tambem te tem tenha tenho ter teu teve tinha tive todo todos tu tua um uma uns
            voce voces
        """,
        "nl": """
            aan al alles als altijd andere ben bij daar dan dat de den der deze die dit doch doen door dus een en er
            ge geen geweest haar had heb hebben heeft hem het hier hij hoe hun iemand iets ik in is ja je jij jou
            jouw jullie kan kon kunnen m maar mag me meer men met mij mijn mocht moest moet na naar niet niets nog
            nou nu of om ons onze ook op over reeds te tegen toch toen tot u uit uw van veel voor waar waarom wanneer
            want waren was wat we wel welke werd wezen wie wij wil worden wordt zal ze zei zelf zich zij zijn zo
            zonder zou
        """,
    }.items()
}

# Small words that are English words with a subject: they count half.
_ALSO_ENGLISH: Final = frozenset(
    "also bin c dans den die door hat im mag man men met over plus pour sin son ta ton tout u van war".split()  # noqa: SIM905  (as above)
)
_LEAST: Final = 1.0  # one small word of that language alone


def language_of(words: Iterable[str]) -> str:
    """A code of ``SMALL_WORDS``: of the language whose small words are the most among these; English if in doubt.

    words: folded (``text.terms.folded``).  A word of several languages counts for each in part.
    """
    weights = _weights()
    found: defaultdict[str, float] = defaultdict(float)
    for word in words:
        for language, weight in weights.get(word, ()):
            found[language] += weight
    english = found.pop(ENGLISH, 0.0)
    if not found:
        return ENGLISH
    best = max(found.values())
    first = [language for language, weight in found.items() if weight == best]
    return first[0] if best >= _LEAST and best > english and len(first) == 1 else ENGLISH


@cache
def _weights() -> Mapping[str, Sequence[tuple[str, float]]]:
    holders: defaultdict[str, list[str]] = defaultdict(list)
    for language, words in SMALL_WORDS.items():
        for word in words:
            holders[word].append(language)
    return {
        word: [(language, (0.5 if word in _ALSO_ENGLISH else 1) / len(of)) for language in of]
        for word, of in holders.items()
    }
