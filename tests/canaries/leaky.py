"""An embedder that, where the file `leak` lies in MEMSYNC_HOME, fails as badly as it can: it quotes what it was given
in exceptions, warnings, prints and log lines."""

import logging
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from apps.adapters.embedders.fake import FakeEmbedder
from apps.adapters.errors import AdapterError


class LeakyEmbedder(FakeEmbedder):
    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        leak = Path(os.environ["MEMSYNC_HOME"]) / "leak"
        if leak.exists():
            said = " ".join(texts)
            warnings.warn(f"cannot embed {said}", stacklevel=1)
            logging.getLogger("leaky").error("cannot embed %s", said)
            logging.getLogger("leaky").error(f"cannot embed {said}")  # noqa: G004
            print("cannot embed", said, file=sys.stderr, flush=True)  # noqa: T201
            if leak.read_text() == "adapter":
                raise AdapterError(f"cannot embed {said}", permanent=False) from ValueError(said)
            raise RuntimeError(f"cannot embed {said}")
        return super().embed(texts)
