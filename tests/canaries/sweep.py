"""Does anything that people say get out?  A fresh instance, canaries through every door, and a search of all it keeps.

Afterwards a canary of another family is planted into each sink in each encoding: the search must find every one, or its
silence about the first family would mean nothing.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.canaries import doors, failures, mcp_doors, oauth_doors, people
from tests.canaries.canary import ENCODINGS, Family, encoded
from tests.canaries.doors import Visitor
from tests.canaries.sinks import Sink, Sinks, read_environment

ROOT = Path(__file__).resolve().parents[2]
ALWAYS: tuple[Callable[[Visitor], None], ...] = (
    doors.add,
    doors.add_in_bulk,
    doors.change,
    doors.keep_transcripts,
    doors.keep_profiles,
    mcp_doors.speak_mcp,
    doors.use_mem0,
    doors.bring_files,
    doors.be_wrong,
    doors.ask_for_what_is_not_there,
)
ONCE: tuple[Callable[[Visitor], None], ...] = (
    doors.speak_no_http,
    doors.use_the_admin,
    people.sign_in_wrongly,
    people.use_the_console,
    oauth_doors.connect_an_assistant,
    people.review,
    people.take_files_along,
    people.tell_others,
    people.break_the_glass,
    people.erase_a_person,
    failures.fail,
    doors.type_commands,
    failures.fail_without_keys,
)
NOT_FOR_THROWN = {"heap and indexes", "WAL", "broker", "columns of the data", "dump of the data"}  # it lay there


def sweep(count: int, *, say: Callable[[str], None] = lambda sentence: None) -> dict[str, Any]:
    """What was looked for, where, how much of it, and what was found; "hits" must be 0 and "missed" empty."""
    began = time.monotonic()
    family, thrown, control = Family(), Family(), Family()
    with instance(family) as (visitor, temporary, printed):
        say("sending")
        for door in (*ALWAYS, *ONCE):
            door(visitor)
        while len(family.doors) < count:
            doors.add(visitor)
            doors.add_in_bulk(visitor)
            doors.be_wrong(visitor)
        doors.settle(visitor)
        doors.throw(visitor, thrown)
        sinks = Sinks(visitor, temporary, printed)
        sinks.checkpoint()
        sent = time.monotonic() - began
        say("searching")
        for sink in sinks.all:
            sink.hits = sink.search(family)
            if sink.name not in NOT_FOR_THROWN:
                sink.hits |= {(f"thrown: {door}", how) for door, how in sink.search(thrown)}
        sizes = {sink.name: sink.size for sink in sinks.all}
        say("planting a control in every place")
        missed = find_planted(sinks, control)
        statuses = dict(sorted(visitor.statuses.items()))
    return {
        "canaries": len(family.doors),
        "thrown": len(thrown.doors),
        "doors": len(set(family.doors.values())),
        "encodings": len(ENCODINGS),
        "requests": sum(statuses.values()),
        "statuses": statuses,
        "sinks": [
            {"name": sink.name, "bytes": sizes[sink.name], "hits": sorted(map(list, sink.hits))} for sink in sinks.all
        ],
        "bytes": sum(sizes.values()),
        "hits": sum(len(sink.hits) for sink in sinks.all),
        "planted": len(sinks.all) * len(ENCODINGS),
        "missed": missed,
        "seconds": {"sending": round(sent), "all": round(time.monotonic() - began)},
    }


def find_planted(sinks: Sinks, control: Family) -> list[str]:
    """What was planted and not found again: "sink: encoding"."""
    for sink in sinks.all:
        for forms in encoded(control.take(sink.name)).values():
            for raw in forms:
                sink.plant(raw)
    sinks.checkpoint()
    missed = []
    for sink in sinks.all:
        found = {encoding for _, encoding in sink.search(control)}
        missed += [f"{sink.name}: {encoding}" for encoding in ENCODINGS if _seen_as(encoding, sink) not in found]
    return missed


def _seen_as(encoding: str, sink: Sink) -> str:
    if not sink.is_hex or encoding == "gzip":
        return encoding
    return "hex" if encoding == "utf-8" else f"{encoding} in hex"


@contextlib.contextmanager
def instance(family: Family) -> Iterator[tuple[Visitor, Path, Path]]:
    """A fresh one that fails badly when told to; with its temporary files and what it prints in directories of ours."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="memsync-canaries-") as folder:
        home, temporary, printed = (Path(folder) / name for name in ("home", "tmp", "printed"))
        for path in (temporary, printed):
            path.mkdir()
        ours = (
            "DATABASE",
            "DJANGO",
            "KEYRING",
            "OPERATOR",
            "CELERY",
            "CACHE",
            "SECRET",
            "DEPLOYMENT",
            "MEMSYNC",
            "KMS",
            "EMBED",
            "OAUTH",
        )
        environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        environment |= {
            "MEMSYNC_HOME": str(home),
            "TMPDIR": str(temporary),
            "CACHE_URL": f"filecache://{home}/cache",
            "EMBEDDER_BACKEND": "tests.canaries.leaky.LeakyEmbedder",
            "EMBEDDER_OPTIONS": "{}",
            "LOG_LEVEL": "DEBUG",
            "PYTHONPATH": str(ROOT),
            # A receiver of ours, for the webhooks.
            "WEBHOOK_ALLOW_HTTP": "1",
            "WEBHOOK_NETWORKS": "127.0.0.0/8",
            "OAUTH_ISSUER": f"http://127.0.0.1:{port}",
            "OAUTH_REGISTRATION": "1",
        }
        command = [sys.executable, "-m", "memsync.cli", "up", "--json", "--port", str(port)]
        with (
            (printed / "stderr").open("wb") as errors,
            subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=errors) as up,
        ):
            try:
                line = up.stdout.readline() if up.stdout else b""
                if not line:
                    sys.exit(f"canary: no instance could be started: {(printed / 'stderr').read_text()[-2000:]}")
                ready = json.loads(line)
                found = read_environment(home)
                visitor = Visitor(
                    url=ready["url"],
                    home=home,
                    key=ready["keys"]["production"],
                    operator=ready["operator"],
                    owner=ready["owner"],
                    tenant=ready["tenant"],
                    owner_url=found["DATABASE_OWNER_URL"],
                    environment=environment | found,
                    family=family,
                )
                with visitor.connected:
                    yield visitor, temporary, printed
            finally:
                up.send_signal(signal.SIGTERM)
