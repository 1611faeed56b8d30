"""Loading a program: thousands of modules' objects, none of which is garbage."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Collect no garbage inside, which takes a quarter of the time of imports; nor later what was made there."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
