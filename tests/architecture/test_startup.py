"""What every process and command waits for before it does anything."""

import subprocess
import sys

# Each takes a quarter of a second or more to import, and only some commands need it.
SLOW = ("apps.ingest.rules.reader", "onnxruntime", "torch", "hvac", "boto3", "google.auth")
CODE = "import django, sys; django.setup(); print(*sys.modules)"


def test_setting_up_imports_nothing_slow() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)

    assert not set(SLOW) & set(done.stdout.split())
