"""``python -m training.train``: train the models of what people say, and write weights, checksums and a report.

Takes torch, which nothing else here needs: ``uv run --with-requirements training/requirements.txt python -m
training.train``.  One thread and fixed seeds: on the same machine the same weights come out, byte for byte.
"""

import argparse
import hashlib
import json
import math
import random
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn

from apps.adapters.embedders.local import LocalEmbedder
from apps.adapters.embedders.minilm.low_rank import FOLDER
from apps.adapters.embedders.minilm.weights import ModelWeights, find_model_folder, read_vocabulary, read_weights
from apps.adapters.embedders.minilm.wordpiece import WordPiece
from training import distillation, reranker
from training.changes import Change, changes_of, chatter_of, events_of, neighbours_of, others_of, told_in
from training.comparer import Comparer
from training.corpus import authors
from training.distillation import Student
from training.reader import Reader
from training.report import report
from training.reranker import CrossEncoder
from training.retriever import Example, Retriever, examples
from training.turns import Turn, short_of, turns_of

SEED: Final = 1
CHUNK: Final = 16  # batches whose examples are sorted by length together
WARM_UP: Final = 0.06  # share of all steps
HEADS_RATE: Final = 1e-3
DECAY: Final = 0.01
CLIP: Final = 1.0
REPORT: Final = Path(__file__).parent / "report.json"

Model = Reader | Comparer | Retriever | CrossEncoder


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How to train a model.

    examples: the training data.  length: of an example, in tokens.  batch: examples in a step.  file: name of the
    weights, if not that of the plan.
    """

    make: Callable[[ModelWeights], Model]
    examples: Callable[[WordPiece, random.Random], list[Any]]
    length: Callable[[Any], int]
    rate: float
    epochs: int
    batch: int = 16
    file: str | None = None


def _turns(tokenizer: WordPiece, order: random.Random) -> list[Turn]:
    return [
        turn for author in authors("train") for turn in (*turns_of(author, tokenizer), *short_of(author, tokenizer))
    ]


def _pairs(tokenizer: WordPiece, order: random.Random) -> list[Change]:
    embedder = LocalEmbedder()
    made = [
        one
        for author in authors("train")
        for one in (
            *changes_of(author, tokenizer),
            *events_of(author, tokenizer),
            # of authors with endings, the head "over" learns from the stories, and needs ones new to the comparer
            *(told_in(author, tokenizer, embedder) if not author.endings else ()),
            *others_of(author, tokenizer, order),
            *neighbours_of(author, tokenizer, embedder),
            *chatter_of(author, tokenizer, embedder),
        )
    ]
    return [one for one in made if one.pair.words]


def _ranked(tokenizer: WordPiece, order: random.Random) -> list[reranker.Example]:
    return reranker.examples(tokenizer)


def _questions(tokenizer: WordPiece, order: random.Random) -> list[Example]:
    return examples(tokenizer, LocalEmbedder())


def _taught(tokenizer: WordPiece, order: random.Random) -> list[Example]:
    return distillation.examples(tokenizer)


PLANS: Final = {
    "turns": Plan(make=Reader, examples=_turns, length=lambda turn: len(turn.tokens.ids), rate=6e-4, epochs=4),
    "retrieval": Plan(
        make=Retriever, examples=_questions, length=lambda one: len(one.question), rate=3e-4, epochs=2, batch=32
    ),
    # begins with the updates of "retrieval", and learns from lists as they and the weights of the ranking make them
    "rerank": Plan(
        make=CrossEncoder,
        examples=_ranked,
        length=lambda one: max(map(len, (*one.right, *one.wrong))),
        rate=5e-4,
        epochs=2,
        batch=8,
    ),
    # begins with the updates of "retrieval", in whose place it comes, and learns from "rerank"
    "distilled": Plan(
        make=Student,
        examples=_taught,
        length=lambda one: len(one.question),
        rate=2e-4,
        epochs=1,
        file="retrieval",
    ),
    # begins with the updates of "rerank"
    "pairs": Plan(make=Comparer, examples=_pairs, length=lambda one: len(one.pair.ids), rate=5e-4, epochs=3),
}


def train(plan: Plan, epochs: int) -> Model:
    """Train; returns the model after the last epoch."""
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(SEED)
    order = random.Random(SEED)  # noqa: S311  no secret
    folder = find_model_folder()
    made = plan.examples(WordPiece(read_vocabulary(folder)), order)
    model = plan.make(read_weights(folder))
    updates = [weight for weight in model.encoder.parameters() if weight.requires_grad]
    heads = [weight for name, weight in model.named_parameters() if not name.startswith("encoder.")]
    optimizer = torch.optim.AdamW(
        [{"params": updates, "lr": plan.rate}, {"params": heads, "lr": HEADS_RATE}], weight_decay=DECAY
    )
    steps = epochs * math.ceil(len(made) / plan.batch)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, step / (WARM_UP * steps)) * max(0.0, 1 - step / steps)
    )
    for epoch in range(epochs):
        started, losses = time.monotonic(), []
        for batch in _batches(made, plan, order):
            loss = model.loss(batch)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        took = time.monotonic() - started
        print(f"epoch {epoch + 1} of {len(made):,}: loss {np.mean(losses):.3f}, {took:.0f} s", flush=True)
    return model


def _batches(examples: Sequence[Any], plan: Plan, order: random.Random) -> Iterator[list[Any]]:
    """Batches of examples of similar length, in a new random order."""
    places = list(range(len(examples)))
    order.shuffle(places)
    found: list[list[Any]] = []
    for start in range(0, len(places), plan.batch * CHUNK):
        chunk = sorted(places[start : start + plan.batch * CHUNK], key=lambda place: plan.length(examples[place]))
        found += [[examples[place] for place in chunk[n : n + plan.batch]] for n in range(0, len(chunk), plan.batch)]
    order.shuffle(found)
    yield from found


def tensors(model: Model) -> dict[str, np.ndarray]:
    """The trained parameters by name, in half precision."""
    found: dict[str, Tensor] = model.encoder.changes()
    for name, head in model.heads.items():
        found[f"{name}.weight"], found[f"{name}.bias"] = head.weight, head.bias
    return {name: tensor.detach().numpy().astype("<f2") for name, tensor in sorted(found.items())}


def write(path: Path, made: Mapping[str, np.ndarray]) -> str:
    """A safetensors file: header length 8, little-endian | header, JSON | tensors.  Returns the file's SHA-256."""
    header, place = {}, 0
    for name, tensor in made.items():
        header[name] = {"dtype": "F16", "shape": list(tensor.shape), "data_offsets": [place, place + tensor.nbytes]}
        place += tensor.nbytes
    head = json.dumps(header, separators=(",", ":")).encode()
    content = struct.pack("<Q", len(head)) + head + b"".join(tensor.tobytes() for tensor in made.values())
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return hashlib.sha256(content).hexdigest()


def write_weights(folder: Path, name: str, made: Mapping[str, np.ndarray]) -> None:
    """Write a model's weights and their checksum, and print it."""
    checksums = folder / "checksums.json"
    digests = json.loads(checksums.read_bytes()) if checksums.exists() else {}
    digests[name] = write(folder / f"{name}.safetensors", made)
    checksums.write_text(json.dumps(digests, indent=2) + "\n")
    print(f"{name}.safetensors {digests[name]}")


def write_report() -> None:
    """Write how the weights that ship do on the ``validation`` authors."""
    REPORT.write_text(json.dumps(report("validation"), indent=2) + "\n")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m training.train", description=__doc__)
    parser.add_argument("--only", choices=PLANS, action="append", help="which, if not all of them")
    parser.add_argument("--epochs", type=int, help="if not as planned")
    parser.add_argument("--out", type=Path, default=FOLDER, metavar="FOLDER", help="where to put the weights")
    options = parser.parse_args(arguments)
    for name in options.only or PLANS:
        model = train(PLANS[name], options.epochs or PLANS[name].epochs)
        write_weights(options.out, PLANS[name].file or name, tensors(model))
    if options.out == FOLDER:
        write_report()


if __name__ == "__main__":
    main()
