"""A model's endpoint on the loopback, with what goes wrong with real ones whatever they are asked."""

from typing import Any, Final

from tests.fakes.service import FakeAnswer, FakeService, Request

FAULTS: Final = ("error_500", "throttled_429", "redirect", "disconnect", "down", "slow", "drip")


class FakeModel(FakeService):
    """operation: the name that its requests are counted under.  Its own faults are up to ``answer_body``.

    fault: what goes wrong, or empty.  asked: the bodies of the requests, newest last.
    """

    content_type = "application/json"
    operation: str

    def __init__(self) -> None:
        self.fault = ""
        self.asked: Final[list[dict[str, Any]]] = []
        super().__init__()

    @property
    def base_url(self) -> str:
        return f"{self.url}/v1"

    def break_with(self, fault: str) -> None:
        """Fail in this way from now on."""
        self.fault = fault
        if fault == "down":
            self.take_down()
        self.slow_seconds = 30.0 if fault == "slow" else 0.0
        self.drip_seconds = 0.2 if fault == "drip" else 0.0
        self.redirect_to = "http://127.0.0.1:9" if fault == "redirect" else ""
        self.throttled = fault == "throttled_429"
        self.fail_next = 10**9 if fault == "error_500" else 0

    def mend(self) -> None:
        self.break_with("")
        self.bring_up()

    def answer(self, request: Request) -> FakeAnswer:
        body = request.json()
        self.asked.append(body)
        self.calls[self.operation] += 1
        if self.fault == "disconnect":
            raise ConnectionResetError
        return FakeAnswer(200, self.answer_body(body))

    def answer_body(self, body: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError
