"""Context of a query: one space as a transaction sees it, and the question parsed with the space's speaker names."""

from dataclasses import dataclass
from datetime import datetime
from typing import cast

import numpy as np
from numpy.typing import NDArray

from apps.adapters.embedders.base import Embedder
from apps.adapters.errors import AdapterError
from apps.adapters.instances import get_embedder
from apps.core.plaintext import Plaintext
from apps.crypto.services import SpaceCipher, open_space
from apps.memories.spaces import space_now
from apps.memories.speakers import known_speakers
from apps.projects.models import Space
from apps.projects.scope import Scope, SpaceRef
from apps.recall.decrypted_scan import OpenedSpace, open_sealed
from apps.recall.options import Options
from apps.recall.question import Question, ask, words_that_may_name
from apps.recall.relevance import EMBEDDER, Floors
from apps.recall.results import Filters
from apps.recall.search import moment_of


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedSpace:
    """A space row as its transaction sees it, with its cipher and the embedder for questions."""

    scope: Scope
    row: Space
    cipher: SpaceCipher
    embedder: Embedder

    @property
    def ref(self) -> SpaceRef:
        return self.row.ref


@dataclass(frozen=True, slots=True, kw_only=True)
class Speakers:
    """words: keyed token to the word of the question that names a speaker of the space.

    opened: the decrypted memories of a sealed space, which finding speakers requires; None for an indexed space.
    """

    words: dict[int, str]
    opened: OpenedSpace | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryContext:
    """A space and the question parsed for it, ready to be searched.

    vector: of the question; None while the embedder is down.  opened: as in Speakers.
    """

    space: SearchedSpace
    question: Question
    vector: NDArray[np.float32] | None
    opened: OpenedSpace | None

    @property
    def is_calibrated(self) -> bool:
        """Whether relevance can be computed: it was fitted on the vectors of one embedder."""
        return self.vector is not None and self.space.embedder.id == EMBEDDER

    def floors(self, options: Options) -> Floors:
        """The floors of relevance; none if it cannot be computed."""
        return options.floors if self.is_calibrated else Floors()


def enter_space(scope: Scope, space: SpaceRef) -> SearchedSpace:
    """Read the space and open its keys.  Raises Space.DoesNotExist, SpaceShredded."""
    row = space_now(scope, space.id)
    cipher = open_space(scope.tenant, row.ref)
    return SearchedSpace(scope=scope, row=row, cipher=cipher, embedder=get_embedder())


def find_speakers(space: SearchedSpace, query: Plaintext, filters: Filters, *, now: datetime) -> Speakers:
    """The space's speakers that the question may name.  Call inside the snapshot that entered the space."""
    tokens = {space.cipher.actor_token(word): word for word in words_that_may_name(query.reveal())}
    if space.ref.is_sealed:
        opened = open_sealed(space.scope, space.ref, space.cipher, filters, embedder=space.embedder.id, now=now)
        return Speakers(words={token: word for token, word in tokens.items() if token in opened.actors}, opened=opened)
    replaced = moment_of(filters, now=now) is not None
    known = known_speakers(space.scope, space.ref, list(tokens), replaced=replaced, now=now)
    return Speakers(words={token: tokens[token] for token in known})


def parse_question(
    space: SearchedSpace, speakers: Speakers, query: Plaintext, *, embeds: bool = True, now: datetime
) -> QueryContext:
    """Parse and embed the question.  It does not use the database; a remote embedder makes a network call.

    embeds: false for a search without our vectors.
    """
    words = speakers.words
    question = ask(query, participants=list(words.values()), actors=frozenset(words), now=now)
    vector = _embed(space.embedder, question.first_person) if embeds else None
    return QueryContext(space=space, question=question, vector=vector, opened=speakers.opened)


def _embed(embedder: Embedder, text: Plaintext) -> NDArray[np.float32] | None:
    """The text's vector; None while the embedder is down."""
    try:
        (vector,) = embedder.embed([text.reveal()])
    except AdapterError:
        return None
    return cast("NDArray[np.float32]", vector)
