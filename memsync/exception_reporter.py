"""Django's exception reports without sensitive data: no local variables, settings, headers or bodies.

With DEBUG off no report is made.  With DEBUG on, or if reports are mailed, they hold the exception's class and the
lines of code in its traceback.  They omit its message, which may quote input or a row (PostgreSQL's DETAIL).
"""

import traceback
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.views.debug import ExceptionReporter, SafeExceptionReporterFilter


class NothingFilter(SafeExceptionReporterFilter):
    """A filter that hides everything, for code that uses the filter without the reporter."""

    def is_active(self, request: Any) -> bool:
        return True

    def get_safe_settings(self) -> dict[str, Any]:
        return {}

    def get_safe_request_meta(self, request: Any) -> dict[str, Any]:
        return {}

    def get_safe_cookies(self, request: Any) -> dict[str, Any]:
        return {}

    def get_post_parameters(self, request: Any) -> dict[str, Any]:
        return {}

    def get_traceback_frame_variables(self, request: Any, tb_frame: Any) -> Any:
        return ()


class PlaceReporter(ExceptionReporter):
    """Reports the exception's class and the lines of code, innermost last."""

    def get_traceback_data(self) -> dict[str, Any]:
        return {"exception_type": self._kind(), "places": self._places()}

    def get_traceback_text(self) -> SafeString:
        return mark_safe("\n".join([self._kind(), *self._places()]))  # noqa: S308  (plain text)

    def get_traceback_html(self) -> SafeString:
        places = format_html_join("", "<li>{}</li>", ((place,) for place in self._places()))
        return format_html("<!doctype html><title>{0}</title><h1>{0}</h1><ol>{1}</ol>", self._kind(), places)

    def _kind(self) -> str:
        return self.exc_type.__name__ if self.exc_type else "Error"

    def _places(self) -> list[str]:
        frames = traceback.extract_tb(self.tb)
        return [f"{frame.filename}, line {frame.lineno}, in {frame.name}" for frame in frames]
