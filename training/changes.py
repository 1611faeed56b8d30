"""Training examples of the comparer: pairs of turns of one person, their relation, and the words that ended.

Beside the writers' pairs and stories there are pairs with lower weight: turns marked as repeating an earlier one;
unrelated turns of one person; similar turns that were not written as a change; and chatter with the turn most similar
to it.  Statements about events have a higher weight.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from apps.adapters.classifiers.pairs import Pair, pair
from apps.adapters.embedders.local import FineTunedEmbedder, LocalEmbedder
from apps.adapters.embedders.minilm.wordpiece import WordPiece
from apps.ingest.relatedness import Words, likely, relatedness
from training.corpus import Author, Story, Utterance

REPEATED: Final = 0.7  # weight of a pair derived from a turn marked as redundant
STRANGE: Final = 0.5
EVENTS: Final = 2.0  # few, and of the kind that the pipeline meets most
STRANGERS: Final = 10  # per author and kind: few, since ``relatedness`` filters out most such pairs
BESIDE: Final = 0.7  # weight of two turns of a story that coexist
NEIGHBOURS: Final = 60  # per author
CHATTER: Final = 30  # per author, as the later and as the earlier turn
COVERED: Final = 0.5  # share of a word's letters that must have ended
# In place of a relation that is unknown: nothing ended, or something did.
HOLDS: Final = "holds"
OVER: Final = "over"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """relation: one of ``RELATIONS``, HOLDS or OVER.  ended: for each word of the earlier turn, whether it ended."""

    author: str
    id: str
    pair: Pair
    relation: str
    ended: list[bool]
    weight: float = 1.0


def changes_of(author: Author, tokenizer: WordPiece) -> Iterator[Change]:
    """The pairs written by the author."""
    for one in author.pairs:
        claims = (one.claim,) if one.claim else ()
        yield _change(author, one.id, one.later, one.earlier, one.relation, claims, 1.0, tokenizer)


def events_of(author: Author, tokenizer: WordPiece) -> Iterator[Change]:
    """The author's statements about a person or thing that was named before."""
    for one in author.events:
        relation = OVER if one.is_over else HOLDS
        yield _change(author, one.id, one.later, one.earlier, relation, one.words, EVENTS, tokenizer)


def told_in(author: Author, tokenizer: WordPiece, embedder: LocalEmbedder) -> Iterator[Change]:
    """The pairs of the author's stories that the comparer would be asked about, with their labels."""
    for story in author.stories:
        for later, earlier in asked_about(story, embedder):
            relation, claims = story.told.get((later, earlier), (HOLDS, ()))
            weight = BESIDE if relation == HOLDS else 1.0
            key, turns = f"{story.id}-{later}-{earlier}", story.turns
            yield _change(author, key, turns[later], turns[earlier], relation, claims, weight, tokenizer)


def asked_about(story: Story, embedder: LocalEmbedder) -> Iterator[tuple[int, int]]:
    """Each turn of a story with the earlier turns that it probably changes, and with those that it changes."""
    vectors = embedder.embed(list(story.turns))
    for later in range(1, len(story.turns)):
        known = [(story.turns[earlier], float(vectors[earlier] @ vectors[later])) for earlier in range(later)]
        told = {earlier for other, earlier in story.told if other == later}
        asked = {earlier for earlier, _ in likely(story.turns[later], known)}
        yield from ((later, earlier) for earlier in sorted(told | asked))


def others_of(author: Author, tokenizer: WordPiece, order: random.Random) -> Iterator[Change]:
    """Pairs derived from other texts: redundant turns with their originals, and random unrelated turns."""
    for number, (later, earlier) in enumerate(repetitions(author)):
        yield _change(author, f"{author.id}-r{number}", later, earlier, "repeats", (), REPEATED, tokenizer)
    texts = [said.text for said in author.utterances if said.kept]
    for number in range(STRANGERS if len(texts) > 1 else 0):
        later, earlier = order.sample(texts, 2)
        yield _change(author, f"{author.id}-n{number}", later, earlier, "unrelated", (), STRANGE, tokenizer)
    for number in range(STRANGERS if len(author.pairs) > 1 else 0):
        one, other = order.sample(author.pairs, 2)
        yield _change(author, f"{author.id}-m{number}", one.later, other.earlier, "unrelated", (), STRANGE, tokenizer)


def neighbours_of(author: Author, tokenizer: WordPiece, embedder: LocalEmbedder) -> Iterator[Change]:
    """Each turn with its most similar older turn; the most similar pairs only."""
    said = sorted((one for one in author.utterances if one.kept), key=lambda one: one.time)
    if len(said) < 2:
        return
    vectors = embedder.embed([one.text for one in said])
    found = []
    for later in range(1, len(said)):
        cosines = vectors[:later] @ vectors[later]
        earlier = int(cosines.argmax())
        if said[earlier].text != said[later].text:
            found.append((round(float(cosines[earlier]), 4), later, earlier))
    for _, later, earlier in sorted(found, reverse=True)[:NEIGHBOURS]:
        key = f"{said[later].id}-{said[earlier].id}"
        yield _change(author, key, said[later].text, said[earlier].text, HOLDS, (), STRANGE, tokenizer)


def chatter_of(author: Author, tokenizer: WordPiece, embedder: LocalEmbedder) -> Iterator[Change]:
    """Turns with nothing to keep, each with its most similar turn: chatter ends nothing and is not ended."""
    idle = [one for one in author.utterances if not one.kept and not {"policy", "redundant"} & _why(one)]
    others = [one for one in author.utterances if "policy" not in _why(one)]
    if not idle or len(others) < 2:
        return
    there, vectors = embedder.embed([one.text for one in others]), embedder.embed([one.text for one in idle])
    found = []
    for place, one in enumerate(idle):
        cosines = there @ vectors[place]
        cosines[[other.text == one.text for other in others]] = -1.0
        nearest = int(cosines.argmax())
        found.append((round(float(cosines[nearest]), 4), place, nearest))
    for number, (_, place, nearest) in enumerate(sorted(found, reverse=True)[: 2 * CHATTER]):
        later, earlier = (idle[place], others[nearest])[:: 1 if number % 2 else -1]
        yield _change(author, f"{later.id}~{earlier.id}", later.text, earlier.text, HOLDS, (), STRANGE, tokenizer)


def _why(said: Utterance) -> set[str]:
    return {dropped.reason for dropped in said.dropped}


def _change(
    author: Author,
    key: str,
    later: str,
    earlier: str,
    relation: str,
    claims: Sequence[str],
    weight: float,
    tokenizer: WordPiece,
) -> Change:
    made = pair(later, earlier, tokenizer)
    over = [(earlier.index(claim), earlier.index(claim) + len(claim)) for claim in claims]
    ended = []
    for first, last in made.spans:
        letters = max(1, len(earlier[first:last].strip(".,;:!?()")))
        ended.append(any(min(last, end) - max(first, start) >= COVERED * letters for start, end in over))
    return Change(author=author.id, id=key, pair=made, relation=relation, ended=ended, weight=weight)


def related_of(pairs: Sequence[tuple[str, str]], embedder: FineTunedEmbedder) -> list[float]:
    """The relatedness of each pair, (later, earlier)."""
    if not pairs:
        return []
    vectors = (embedder.embed(list(texts)) for texts in zip(*pairs, strict=True))
    return [
        relatedness(Words.of(later), Words.of(earlier), float(one @ other))
        for (later, earlier), one, other in zip(pairs, *vectors, strict=True)
    ]


def repetitions(author: Author) -> list[tuple[str, str]]:
    """Turns of which everything is redundant, with the turn before each: (later, earlier)."""
    return [
        (said.text, said.before[-1])
        for said in author.utterances
        if said.before and not said.kept and {dropped.reason for dropped in said.dropped} == {"redundant"}
    ]
