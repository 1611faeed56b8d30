"""How well the models that ship do on authors they have not learned from, and how far their sureness can be believed.

``python -m training.report SPLIT [--weights FOLDER] [--out FILE]``; without torch, by the same code that serves.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from apps.adapters.classifiers.base import CHANGES, RELATIONS, TYPES, ChangeScores, TurnScores
from apps.adapters.classifiers.encoder import load_encoder
from apps.adapters.classifiers.pairs import PairReader
from apps.adapters.classifiers.turns import TurnReader
from apps.adapters.embedders.local import FineTunedEmbedder, LocalEmbedder
from apps.adapters.embedders.minilm.low_rank import FOLDER, read_tuned
from apps.adapters.embedders.minilm.weights import find_model_folder, read_vocabulary
from apps.adapters.embedders.minilm.wordpiece import WordPiece
from apps.ingest.change_rules import Sureness, words_over
from apps.ingest.relatedness import corrected
from training.changes import asked_about, related_of
from training.corpus import SPLITS, Ending, Pair, Split, authors
from training.turns import Turn, short_of, turns_of, wishes_of

THRESHOLDS: Final = (0.1, 0.2, 0.3, 0.5)
SURE: Final = (0.5, 0.7, 0.9, 0.95, 0.98)
SURE_OF_STYLE: Final = (0.5, 0.8, 0.9)
SURE_OF_CHANGE: Final = (0.5, 0.75, 0.9)
SURE_OF_END: Final = (0.3, Sureness().ends, 0.5, 0.7)
SURE_OF_REPETITION: Final = (0.3, Sureness().repeats)

Found = Mapping[str, TurnScores]


def report(split: Split, weights: Path = FOLDER) -> dict[str, Any]:
    """Report of both models on a split.  weights: the folder of the trained parameters."""
    folder = find_model_folder()
    tokenizer = WordPiece(read_vocabulary(folder))
    tuned = read_tuned("turns", weights)
    style = read_tuned("style", weights)
    reader = TurnReader(load_encoder(tuned, folder, None), tokenizer, {**tuned.tensors, **style.tensors})
    turns = [
        turn for author in authors(split) for turn in (*turns_of(author, tokenizer), *wishes_of(author, tokenizer))
    ]
    found = {
        turn.id: reader.read(
            turn.text, [one.span for one in turn.sentences], [part for one in turn.parts for part in one]
        )
        for turn in turns
    }
    pairs = report_pairs(split, weights)
    return {
        "split": split,
        "authors": len({turn.author for turn in turns}),
        "weights": {"turns": tuned.digest, "style": style.digest, **pairs.pop("weights")},
        "keep": {str(at): _kept(turns, found, at) for at in THRESHOLDS},
        "short": {str(at): _short(split, reader, tokenizer, at) for at in THRESHOLDS},
        "types": _types(turns, found),
        "forbidden": {str(at): _forbidden(turns, found, at) for at in SURE},
        "style": {str(at): _of_style(turns, found, at) for at in SURE_OF_STYLE},
        "calibration_error": _calibration_error(turns, found),
        "pairs": pairs,
    }


def report_pairs(split: Split, weights: Path = FOLDER) -> dict[str, Any]:
    """Report of the comparer.  relations: share of pairs with the right relation.  f1: by relation.

    changes: by threshold, recall and precision of pairs in which something ended.  words: recall and precision of the
    words that ended, in pairs where some did.
    """
    folder = find_model_folder()
    tokenizer = WordPiece(read_vocabulary(folder))
    tuned, endings = read_tuned("pairs", weights), read_tuned("endings", weights)
    reader = PairReader(load_encoder(tuned, folder, None), tokenizer, {**tuned.tensors, **endings.tensors})
    pairs = [pair for author in authors(split) for pair in author.pairs]
    scores = [reader.read(pair.later, pair.earlier) for pair in pairs]
    meant = [pair.relation for pair in pairs]
    read = [max(one.relations, key=lambda name: one.relations[name]) for one in scores]
    ended = [_changed(one) for one in scores]
    return {
        "weights": {"pairs": tuned.digest, "endings": endings.digest},
        "pairs": len(pairs),
        "relations": _mean([one == other for one, other in zip(meant, read, strict=True)]),
        "f1": {name: _f1([one == name for one in meant], [one == name for one in read]) for name in RELATIONS},
        "changes": _by_threshold([one in CHANGES for one in meant], ended, SURE_OF_CHANGE),
        "words": _words(pairs, scores),
        "stories": _stories(split, reader),
        "endings": {name: _endings(found, reader) for name, found in _compared(split).items()},
    }


def _changed(scores: ChangeScores) -> float:
    """Probability of a relation that is a change, 0..1."""
    return sum(scores.relations[name] for name in CHANGES)


def _stories(split: Split, reader: PairReader) -> dict[str, Any]:
    """Recall and precision of changes by threshold, over the pairs that the comparer is asked about in stories."""
    embedder = LocalEmbedder()
    meant, ended = [], []
    for author in authors(split):
        for story in author.stories:
            for later, earlier in asked_about(story, embedder):
                meant.append(story.told.get((later, earlier), ("", ()))[0] in CHANGES)
                ended.append(_changed(reader.read(story.turns[later], story.turns[earlier])))
    return {"asked_about": len(meant), "changes": _by_threshold(meant, ended, SURE_OF_CHANGE)}


def _compared(split: Split) -> dict[str, list[Ending]]:
    """Pairs of statements that the pipeline compared, of the same form, and of events."""
    found = authors(split)
    return {
        "stories": [one for author in found if author.stories for one in author.endings],
        "conversations": [one for author in found if not author.stories for one in author.endings],
        "parallel": [one for author in found for one in author.parallel],
        "events": [one for author in found for one in author.events],
    }


def _endings(found: Sequence[Ending], reader: PairReader) -> dict[str, Any]:
    """Recall and precision by threshold.  over_wrongly: share of statements that hold but would end."""
    chances = related_of([(one.later, one.earlier) for one in found], FineTunedEmbedder())
    scores = [
        corrected(reader.read(one.later, one.earlier), related) for one, related in zip(found, chances, strict=True)
    ]
    over, repeated = [one.over for one in scores], [one.repeated for one in scores]
    wrongly = [chance >= Sureness().ends for one, chance in zip(found, over, strict=True) if not one.is_over]
    return {
        "pairs": len(found),
        "over": _by_threshold([one.is_over for one in found], over, SURE_OF_END),
        "over_wrongly": _mean(wrongly),
        "repeated": _by_threshold([one.is_repeated for one in found], repeated, SURE_OF_REPETITION),
    }


def _by_threshold(
    meant: Sequence[bool], chances: Sequence[float], thresholds: Sequence[float]
) -> dict[str, dict[str, float]]:
    """Recall and precision by threshold.  meant: what is true; chances: its predicted probability."""
    return {str(at): _found(meant, [chance >= at for chance in chances]) for at in thresholds}


def _words(pairs: Sequence[Pair], scores: Sequence[ChangeScores]) -> dict[str, float]:
    """Recall and precision of words in the run that a change would end, whatever its relation."""
    meant: list[bool] = []
    read: list[bool] = []
    for pair, one in zip(pairs, scores, strict=True):
        if pair.claim is None:
            continue
        start = pair.earlier.index(pair.claim)
        run = words_over(pair.later, pair.earlier, one.words, Sureness().word) or (0, 0)
        for word in one.words:
            meant.append(word.start < start + len(pair.claim) and word.end > start)
            read.append(word.start < run[1] and word.end > run[0])
    return _found(meant, read)


def _found(meant: Sequence[bool], read: Sequence[bool]) -> dict[str, float]:
    both = sum(one and other for one, other in zip(meant, read, strict=True))
    return {"recall": round(both / max(1, sum(meant)), 4), "precision": round(both / max(1, sum(read)), 4)}


def _f1(meant: Sequence[bool], read: Sequence[bool]) -> float:
    both = sum(one and other for one, other in zip(meant, read, strict=True))
    return round(2 * both / max(1, sum(meant) + sum(read)), 4)


def _kept(turns: Sequence[Turn], found: Found, threshold: float) -> dict[str, Any]:
    """decisions: share right of statements to keep and of turns without any.  lost: share of statements dropped.

    junk_kept: share of turns with nothing to keep of which something is kept.
    """
    right: dict[str, list[bool]] = defaultdict(list)
    lost, junk = [], []
    for turn in turns:
        said = turn.said
        if said is None:
            continue
        scores = found[turn.id].sentences
        kept = [one.span for one, score in zip(turn.sentences, scores, strict=True) if score.keep >= threshold]
        for statement in said.kept:
            hit = any(statement.start < end and statement.end > start for start, end in kept)
            lost.append(not hit)
            right[turn.author].append(hit)
        reasons = {dropped.reason for dropped in said.dropped}
        if not said.kept and not reasons & {"redundant", "policy"}:
            junk.append(bool(kept))
            passing = sum(score.transient for score in scores) > sum(score.low_signal for score in scores)
            right[turn.author].append(not kept and ("transient" if passing else "low_signal") in reasons)
    return {
        "decisions": _mean([hit for hits in right.values() for hit in hits]),
        "lost": _mean(lost),
        "junk_kept": _mean(junk),
        "by_author": {author: _mean(hits) for author, hits in sorted(right.items())},
    }


def _short(split: Split, reader: TurnReader, tokenizer: WordPiece, threshold: float) -> dict[str, float]:
    """Shares of short turns: lost, of those to keep; kept, of the others."""
    turns = [turn for author in authors(split) for turn in short_of(author, tokenizer)]
    scores = [reader.read(turn.text, [one.span for one in turn.sentences], []).sentences[0] for turn in turns]
    kept: dict[bool, list[bool]] = {True: [], False: []}  # by whether it is worth keeping
    for turn, one in zip(turns, scores, strict=True):
        outcome = turn.sentences[0].outcome
        kept[outcome is not None and outcome[0] == "keep"].append(one.keep >= threshold)
    return {"lost": round(1 - _mean(kept[True]), 4), "junk_kept": _mean(kept[False])}


def _types(turns: Sequence[Turn], found: Found) -> dict[str, Any]:
    """Macro-F1 over statements, each with the type of the clause that it overlaps most.  Accepted types are right."""
    counts = {name: [0, 0, 0] for name in TYPES}
    for turn in turns:
        said = turn.said
        if said is None:
            continue
        clauses = [part for one in turn.parts for part in one]
        for statement in said.kept:
            overlaps = [min(end, statement.end) - max(start, statement.start) for start, end in clauses]
            types = found[turn.id].parts[int(np.argmax(overlaps))]
            name = max(types, key=lambda one: types[one])
            if name in statement.types:
                counts[name][0] += 1
            else:
                counts[name][1] += 1
                counts[statement.types[0]][2] += 1
    scores = {name: 2 * hit / max(1, 2 * hit + wrong + missed) for name, (hit, wrong, missed) in counts.items()}
    return {"macro_f1": round(_mean(list(scores.values())), 3), **{name: round(f1, 3) for name, f1 in scores.items()}}


def _forbidden(turns: Sequence[Turn], found: Found, threshold: float) -> dict[str, float]:
    """Share of turns flagged as forbidden, by kind of turn; "spoken" counts only turns without a forbidden part."""
    caught: dict[str, list[bool]] = defaultdict(list)
    for turn in turns:
        if turn.kind != "wish" and (turn.kind != "spoken" or not turn.forbidden):
            scores = found[turn.id]
            sureness = max(scores.forbidden, *(one.forbidden for one in scores.sentences))
            caught[turn.kind].append(sureness >= threshold)
    return {kind: _mean(hits) for kind, hits in sorted(caught.items())}


def _of_style(turns: Sequence[Turn], found: Found, threshold: float) -> dict[str, float]:
    """Share of sentences taken for a wish about style, by kind: such a wish, one for an action, or none."""
    taken: dict[str, list[bool]] = defaultdict(list)
    for turn in turns:
        if turn.kind == "wish":
            for one, score in zip(turn.sentences, found[turn.id].sentences, strict=True):
                kind = "style" if one.style[0] else "action" if one.outcome else "none"
                taken[kind].append(score.style >= threshold)
    return {kind: _mean(hits) for kind, hits in sorted(taken.items())}


def _calibration_error(turns: Sequence[Turn], found: Found) -> float:
    """Expected calibration error of "keep" in ten bins (Naeini et al. 2015), of sentences that have a label."""
    pairs = [
        (score.keep, one.outcome[0] == "keep")
        for turn in turns
        for one, score in zip(turn.sentences, found[turn.id].sentences, strict=True)
        if one.outcome is not None and one.outcome[1] == 1.0
    ]
    if not pairs:
        return 0.0
    chances, right = np.array([chance for chance, _ in pairs]), np.array([hit for _, hit in pairs])
    bins = np.minimum((chances * 10).astype(int), 9)
    error = sum(
        abs(chances[bins == n].mean() - right[bins == n].mean()) * (bins == n).sum()
        for n in range(10)
        if (bins == n).any()
    )
    return round(float(error / len(pairs)), 4)


def _mean(values: Sequence[bool | float]) -> float:
    return round(float(np.mean(values)), 4) if values else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.report", description=__doc__)
    parser.add_argument("split", choices=SPLITS)
    parser.add_argument("--weights", type=Path, default=FOLDER, metavar="FOLDER")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write it here, and not to the terminal")
    options = parser.parse_args()
    made = json.dumps(report(options.split, options.weights), indent=2) + "\n"
    if options.out:
        options.out.write_text(made, encoding="utf-8")
    else:
        print(made, end="")


if __name__ == "__main__":
    main()
