"""What every process and command waits for before it does anything."""

import subprocess
import sys

# Each takes a quarter of a second or more to import, and only some commands need it.
SLOW = ("text.extraction.extractor", "onnxruntime", "torch", "hvac", "boto3", "google.auth")
CODE = "import django, sys; django.setup(); print(*sys.modules)"


def test_setting_up_imports_nothing_slow() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)

    assert not set(SLOW) & set(done.stdout.split())


OF_A_THREAD = """
import threading
import django

django.setup()  # and no more: what a web server does
from apps.outbox.tasks import drain

def send():
    try:
        drain.apply_async(kwargs={"text": "x" * 65})
    except Exception as error:
        print(type(drain.app).__name__, drain.app.main, type(error).__name__)

thread = threading.Thread(target=send)
thread.start()
thread.join()
"""


def test_every_thread_of_a_process_that_set_django_up_sends_tasks_by_our_application() -> None:
    done = subprocess.run([sys.executable, "-c", OF_A_THREAD], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["IdOnlyCelery", "memsync", "ArgumentRefused"]
