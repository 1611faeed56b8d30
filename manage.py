#!/usr/bin/env python
"""Django's entry point; the same as the ``memsync`` command."""

from memsync.cli import main

if __name__ == "__main__":
    main()
