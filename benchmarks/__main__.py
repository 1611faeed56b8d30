"""`python -m benchmarks recall|latency|extraction|…`: figures of the real service, as tables or as JSON."""

import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.arguments import build_parser
from benchmarks.tables import console


def main(arguments: Sequence[str] | None = None) -> int:
    parser = build_parser(__doc__)
    options = parser.parse_args(arguments)
    # If terminated, still stop what was started: by default a whole instance would be left running.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    for file in getattr(options, "files", []):
        if not file.is_file():
            parser.error(f"{file} is not a file")
    if options.json == "-":
        console.stderr = True
    result = options.run(options)
    if options.json == "-":
        print(json.dumps(result, indent=1))
    elif options.json:
        Path(options.json).write_text(json.dumps(result, indent=1))
    return 0 if not isinstance(result, dict) or result.get("is_good", True) else 1


if __name__ == "__main__":
    sys.exit(main())
