import os
import signal
import time
from typing import Any

from django.apps import AppConfig

KILLS, HANGS, ENDURES = "The black vial kills.", "The grey vial sleeps.", "The white vial is deaf."


class PoisonConfig(AppConfig):
    name = "tests.poison"

    def ready(self) -> None:
        from apps.ingest import pipeline

        usual = pipeline.extract

        def extract(proposal: Any, **options: Any) -> Any:
            text = proposal.text.reveal()
            if KILLS in text:
                os.kill(os.getpid(), signal.SIGKILL)
            if HANGS in text:
                time.sleep(600)
            if ENDURES in text:  # as a pattern does, which leaves the interpreter no time to be told
                signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
                time.sleep(600)
            return usual(proposal, **options)

        pipeline.extract = extract  # type: ignore[assignment]
