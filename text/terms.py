"""Text to search terms: the same analysis for indexing, for queries and for exact BM25.

It caches no words, because words are user content.
"""

import threading
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence

import Stemmer

from text import patterns
from text.irregular import BASES

# English words that say nothing about the subject.  Dropping them is also the index's main protection: a frequency
# attack on keyed tokens recovers 80 % of the hundred commonest words with them, 1 % without.
STOP_WORDS = frozenset(
    """
    i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it
    its itself they them their theirs themselves what which who whom this that these those am is are was were be been
    being have has had having do does did doing a an the and but if or because as until while of at by for with about
    against between into through during before after above below to from up down in out on off over under again
    further then once here there when where why how all any both each few more most other some such no nor not only
    own same so than too very s t can will just don should now
    """.split()  # noqa: SIM905  (a list of words reads best as words)
)
MAX_TERMS = 2048  # distinct terms indexed per memory; a longer text is still found by its first terms and its vector
TF_CAP = 3

_KEPT_CHARACTERS = 0x3000  # the alphabets; others are looked up each time
_CLITICS = frozenset({"s", "re", "ve", "ll", "d", "m", "t"})


class _Characters(dict[int, int]):
    """What each character of a text is in its words: itself, an apostrophe, or a space between them."""

    def __missing__(self, code: int) -> int:
        character = chr(code)
        made = code if character.isalnum() else ord("'" if character in "'’" else " ")
        if code < _KEPT_CHARACTERS:
            self[code] = made
        return made


_CHARACTERS = _Characters()
# Scripts written without spaces: a run of characters is indexed as overlapping pairs, the usual practice.
_UNSPACED = patterns.compile(r"[぀-ヿ㐀-䶿一-鿿豈-﫿฀-๿]+")
_local = threading.local()


def _stem(words: list[str]) -> list[str]:
    # A PyStemmer object is not thread-safe, and caches 10,000 words by default; 0 disables that.
    stemmer = getattr(_local, "stemmer", None)
    if stemmer is None:
        stemmer = _local.stemmer = Stemmer.Stemmer("english", 0)
    return list(stemmer.stemWords(words))


def _words(text: str) -> list[str]:
    """Runs of letters and digits, in lower case, also joined by single apostrophes, which are removed."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    spaced = folded.translate(_CHARACTERS)
    words = spaced.split()
    if "'" in spaced:
        words = [part for word in words for part in (_joined(word) if "'" in word else (word,))]
    if not folded.isascii() and _UNSPACED.search(folded):
        words = [part for word in words for part in _parts(word)]
    return words


def _joined(word: str) -> Iterator[str]:
    """The words in a run of characters with apostrophes, without clitics: "Ana's" is "Ana"."""
    for part in word.split("''"):
        stripped = part.strip("'")
        if stripped:
            before, _, after = stripped.rpartition("'")
            yield (before if before and after in _CLITICS else stripped).replace("'", "")


def _parts(word: str) -> Iterator[str]:
    for run in _UNSPACED.findall(word):
        yield from (run[at : at + 2] for at in range(max(1, len(run) - 1)))
    yield from filter(None, _UNSPACED.split(word))


def terms(text: str) -> list[str]:
    """The content terms of a text, in order: words in lower case, without stop words, stemmed (Snowball, English).

    Irregular forms are those of their base: "went" is "go".
    """
    return _stem([BASES.get(word, word) for word in _words(text) if word not in STOP_WORDS])


def normalised(text: str) -> str:
    """The text as hashed for deduplication: without differences in case, spacing, width and closing punctuation."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).rstrip(".!… ")


def indexed(text_terms: Sequence[str]) -> dict[str, int]:
    """Frequency of each term for the index; the number of terms and the frequencies are capped."""
    counts = Counter(text_terms)
    kept = list(counts)[:MAX_TERMS]
    return {term: min(counts[term], TF_CAP) for term in kept}


def rounded_length(count: int) -> int:
    """The length rounded in steps of at most an eighth, so that the index does not reveal a text's exact word count."""
    if count <= 8:
        return count
    step: int = 2 ** (count.bit_length() - 4)
    return min(32_000, (count + step // 2) // step * step)
