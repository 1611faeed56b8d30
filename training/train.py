"""``python -m training.train``: train the reader of turns anew, and write its weights, their checksum and its report.

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
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import torch
from torch import Tensor, nn

from apps.adapters.classifiers.encoder import FOLDER
from apps.adapters.embedders.minilm.weights import find_model_folder, read_vocabulary, read_weights
from apps.adapters.embedders.minilm.wordpiece import WordPiece
from training.corpus import authors
from training.reader import BATCH, Reader, batches
from training.report import report
from training.turns import turns_of

SEED: Final = 1
EPOCHS: Final = 4
WARM_UP: Final = 0.06  # of all steps
RATE, HEADS_RATE = 6e-4, 1e-3
DECAY: Final = 0.01
CLIP: Final = 1.0
REPORT: Final = Path(__file__).parent / "report.json"


def train(epochs: int) -> Reader:
    """The model after its last epoch."""
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(SEED)
    order = random.Random(SEED)  # noqa: S311  no secret
    folder = find_model_folder()
    tokenizer = WordPiece(read_vocabulary(folder))
    learned = [turn for author in authors("train") for turn in turns_of(author, tokenizer)]
    model = Reader(read_weights(folder))
    own = [weight for weight in model.encoder.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(
        [{"params": own, "lr": RATE}, {"params": model.heads.parameters(), "lr": HEADS_RATE}], weight_decay=DECAY
    )
    steps = epochs * math.ceil(len(learned) / BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, step / (WARM_UP * steps)) * max(0.0, 1 - step / steps)
    )
    for epoch in range(epochs):
        started, losses = time.monotonic(), []
        for batch in batches(learned, order):
            loss = model.loss(batch)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.3f}, {time.monotonic() - started:.0f} s", flush=True)
    return model


def tensors(model: Reader) -> dict[str, np.ndarray]:
    """Half precision, by name."""
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


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m training.train", description=__doc__)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--out", type=Path, default=FOLDER, metavar="FOLDER", help="where to put the weights")
    options = parser.parse_args(arguments)
    model = train(options.epochs)
    digest = write(options.out / "turns.safetensors", tensors(model))
    (options.out / "checksums.json").write_text(json.dumps({"turns": digest}, indent=2) + "\n")
    print(f"turns.safetensors {digest}")
    if options.out == FOLDER:
        REPORT.write_text(json.dumps(report("validation"), indent=2) + "\n")


if __name__ == "__main__":
    main()
