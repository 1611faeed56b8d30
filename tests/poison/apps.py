import contextlib
import os
import signal
import time
from typing import Any

from django.apps import AppConfig

HARD_LIMIT = 5  # seconds by the clock, in place of the product's; it is waited for three times
KILLS, HANGS, ENDURES = "The black vial kills.", "The grey vial sleeps.", "The white vial is deaf."


class PoisonConfig(AppConfig):
    name = "tests.poison"

    def ready(self) -> None:
        from apps.ingest import pipeline
        from apps.transfers.imports.tasks import work

        work.time_limit = HARD_LIMIT
        usual = pipeline.extract

        def extract(proposal: Any, **options: Any) -> Any:
            text = proposal.text.reveal()
            if KILLS in text:
                os.kill(os.getpid(), signal.SIGKILL)
            if HANGS in text:
                time.sleep(600)
            while ENDURES in text:  # as what catches every exception does
                with contextlib.suppress(BaseException):
                    time.sleep(600)
            return usual(proposal, **options)

        pipeline.extract = extract  # type: ignore[assignment]
