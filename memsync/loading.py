"""Loading a program: thousands of modules' objects, none of which is garbage."""

import gc
import sys
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


@contextmanager
def exit_if_misconfigured() -> Iterator[None]:
    """End the process with one line if a setting is wrong: servers log only the class of other exceptions."""
    from django.core.exceptions import ImproperlyConfigured

    try:
        yield
    except ImproperlyConfigured as error:
        sys.exit(f"memsync: {error}")
