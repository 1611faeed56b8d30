"""mem0's published client for JavaScript, in Node.  MEM0_JAVASCRIPT names the directory of an `npm install mem0ai`."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import DEFAULT
from apps.tenants.services import set_policy
from tests.makers import NOW, make_api_key
from tests.node import find_node

pytestmark = [
    pytest.mark.django_db(databases="__all__", transaction=True),
    pytest.mark.skipif("MEM0_JAVASCRIPT" not in os.environ, reason="MEM0_JAVASCRIPT names no directory with mem0ai"),
]


def test_every_method_of_the_client(live_server: Any, acme: OpenedTenant, tmp_path: Path) -> None:
    set_policy(acme.tenant, key_deletes="retire", actor="test", now=NOW)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "MEM0_TELEMETRY": "false",
        "MEM0_JAVASCRIPT": str(Path(os.environ["MEM0_JAVASCRIPT"]).absolute()),
        "MEMSYNC_URL": live_server.url,
        "MEM0_API_KEY": make_api_key(acme.scope, scopes=[*DEFAULT, "memory:delete", "exports:read"]).text,
        "KEY_THAT_DELETES_NOTHING": make_api_key(acme.scope, scopes=list(DEFAULT)).text,
    }

    command = [find_node(), str(Path(__file__).with_name("memory_client.mjs"))]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
