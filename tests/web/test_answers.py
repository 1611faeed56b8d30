"""What every answer carries, and what an error page must not say.  Each test names what an attacker would try."""

import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.http import HttpRequest, HttpResponse
from django.test import Client, override_settings
from django.urls import path
from django.views import debug
from gunicorn.http import errors

from apps.accounts.models import User
from apps.outbox.tasks import drain
from memsync import urls
from memsync.admin_site import POLICY
from memsync.celery import ArgumentRefused, app
from memsync.web_worker import QuietWorker

SAID = "xylophone-diary"
EVERYWHERE = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def fail(request: HttpRequest) -> HttpResponse:
    heard = request.GET.get("said", "") + SAID
    raise RuntimeError(f"cannot go on with {heard}")


def read(request: HttpRequest) -> HttpResponse:
    return HttpResponse(f"{len(request.FILES)} files")


urlpatterns = [path("admin/fails", fail), path("admin/reads", read), path("fails", fail), *urls.urlpatterns]


@pytest.fixture
def browser() -> Iterator[Client]:
    with override_settings(ROOT_URLCONF=__name__):
        yield Client(raise_request_exception=False)


@pytest.mark.django_db(databases="__all__")
@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/health", 200),
        ("/docs", 200),
        ("/openapi.json", 200),
        ("/memory/1", 401),
        ("/nowhere", 404),
        ("/fails", 500),
        ("/admin/", 302),
        ("/admin/login/", 302),
        ("/admin/nowhere", 302),
        ("/admin/fails", 500),
        ("/static/memsync/favicon.svg", 200),
        ("/static/nowhere.js", 404),
    ],
)
def test_every_answer_has_the_headers(browser: Client, path: str, status: int) -> None:
    answer = browser.get(path)
    answer.close()

    assert answer.status_code == status
    assert {name: answer.get(name) for name in EVERYWHERE} == EVERYWHERE
    assert "frame-ancestors 'none'" in answer["Content-Security-Policy"]
    assert "camera=()" in answer["Permissions-Policy"]
    if not path.startswith("/static/memsync"):
        assert "no-store" in answer["Cache-Control"]


@pytest.mark.django_db(databases="__all__")
def test_wrong_host_is_refused_with_the_headers_and_not_quoted(browser: Client) -> None:
    answer = browser.get("/health", headers={"host": f"{SAID}.example.org"})

    assert answer.status_code == 400
    assert {name: answer.get(name) for name in EVERYWHERE} == EVERYWHERE
    assert SAID not in answer.content.decode()


def test_nobody_outside_the_admin_evaluates_or_styles_inline(browser: Client) -> None:
    for page in ("/docs", "/admin/login/", "/app/sign-in"):
        assert "unsafe" not in browser.get(page)["Content-Security-Policy"], page


def test_nobody_in_the_admin_evaluates_strings_or_runs_inline_scripts() -> None:
    """The theme styles elements one by one, and no more; what is in its style sheets is known by hashes."""
    unsafe = [rule for rule, sources in POLICY.items() if any("unsafe" in source for source in sources)]

    assert unsafe == ["style-src-attr"]
    assert POLICY["script-src"] == ["'self'"]
    alpine = Path(str(finders.find("unfold/js/alpine/alpine.js")))
    assert alpine.is_relative_to(settings.BASE_DIR / "memsync"), "the theme's own build of Alpine is found first"


@pytest.mark.django_db(databases="__all__")
@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("path", ["/admin/fails", "/fails", f"/nowhere/{SAID}", f"/admin/nowhere/{SAID}"])
def test_no_error_page_shows_locals_settings_paths_or_bodies(browser: Client, path: str, debug: bool) -> None:
    with override_settings(DEBUG=debug):
        answer = browser.post(f"{path}?said={SAID}", {"diary": SAID}, headers={"x-diary": SAID})

    shown = answer.content.decode()
    assert answer.status_code >= 400 or not shown  # the admin asks a stranger to sign in first
    assert SAID not in shown
    assert "Traceback" not in shown
    assert str(settings.BASE_DIR) not in shown


@pytest.mark.django_db(databases="__all__")
@pytest.mark.parametrize("path", ["/admin/fails", "/app/nowhere"])
def test_error_page_says_its_language(browser: Client, path: str) -> None:
    assert '<html lang="en"' in browser.get(path).content.decode()


@pytest.mark.django_db(databases="__all__")
def test_error_page_shows_the_id_of_the_request(browser: Client) -> None:
    answer = browser.get("/admin/fails")

    assert f"request <code>{answer['X-Request-ID']}</code>" in answer.content.decode()


@pytest.mark.django_db(databases="__all__")
@pytest.mark.parametrize(
    ("path", "page"),
    [
        ("/", "/app/"),
        ("/app", "/app/"),
        ("/app/t/acme/", "/app/t/acme"),
        ("/app/t/acme/keys/?state=past", "/app/t/acme/keys?state=past"),
    ],
)
def test_browser_is_sent_to_the_page_that_an_address_means(browser: Client, path: str, page: str) -> None:
    sent = browser.get(path, headers={"accept": "text/html,*/*"})

    assert (sent.status_code, sent.get("Location")) == (302, page)
    assert browser.get(path, headers={"accept": "application/json"}).status_code == 404
    assert browser.get("/app/nowhere/", headers={"accept": "text/html"}).status_code == 404


def test_django_s_own_report_would_show_them() -> None:
    """The guard is needed: this is what stands in it without ours."""
    assert SAID in report_by(debug.ExceptionReporter)


def test_report_holds_class_and_places_only() -> None:
    report = report_by(debug.get_exception_reporter_class(HttpRequest()))

    assert "RuntimeError" in report
    assert "in fail" in report
    assert SAID not in report


def report_by(reporter: Any) -> str:
    request = HttpRequest()
    request.META = {"SERVER_NAME": "testserver", "SERVER_PORT": "80", "HTTP_X_DIARY": SAID}
    request.GET = {"said": SAID}  # type: ignore[assignment]
    with override_settings(DEBUG=True):
        try:
            fail(request)
        except RuntimeError as error:
            made = reporter(request, type(error), error, error.__traceback__)
            return str(made.get_traceback_html()) + str(made.get_traceback_text())
    return ""


def test_cookies_are_bound_to_the_host_where_tls_is_used() -> None:
    prefixed = settings.SESSION_COOKIE_NAME.startswith("__Host-")

    assert prefixed is settings.SESSION_COOKIE_SECURE
    assert settings.SESSION_COOKIE_HTTPONLY


LONG_FORM = (
    b'--x\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n' + b"d" * 3_000_000 + b"\r\n--x--\r\n"
)


@pytest.mark.django_db(databases="__all__")
def test_nobody_can_have_a_file_put_on_the_disk(browser: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a file was made")

    monkeypatch.setattr("django.core.files.uploadedfile.tempfile.NamedTemporaryFile", refuse)
    somebody = User.objects.create_user("ana@acme.example", "correct horse battery staple")
    browser.force_login(somebody, backend="django.contrib.auth.backends.ModelBackend")

    answer = browser.generic("POST", "/admin/reads", LONG_FORM, content_type="multipart/form-data; boundary=x")

    assert (answer.status_code, answer.content) == (200, b"0 files")


@pytest.mark.django_db(databases="__all__")
@pytest.mark.parametrize("path", ["/admin/reads", "/app/sign-in"])
def test_long_form_of_a_stranger_is_refused_and_not_read(path: str, browser: Client) -> None:
    answer = browser.generic("POST", path, LONG_FORM, content_type="multipart/form-data; boundary=x")

    assert answer.status_code == 413
    assert "too large" in answer.content.decode()


# -- what never reaches Django -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.InvalidHeader(SAID), 400),
        (errors.InvalidHeaderName(SAID), 400),
        (errors.InvalidRequestLine(SAID), 400),
        (errors.InvalidRequestMethod(SAID), 400),
        (errors.LimitRequestLine(1, 2), 414),
        (errors.LimitRequestHeaders(SAID), 431),
        (errors.UnsupportedTransferCoding(SAID), 501),
        (errors.InvalidResponseHeader(SAID), 500),
        (RuntimeError(SAID), 500),
    ],
)
def test_refusals_of_the_web_server_quote_nothing(
    error: Exception, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    answer = refused_by_the_web_server(error)

    assert answer.startswith(f"HTTP/1.1 {status} ")
    assert SAID not in answer
    assert "X-Content-Type-Options: nosniff" in answer
    assert [record.getMessage() for record in caplog.records] == ["a request did not reach the application"]


def refused_by_the_web_server(error: Exception) -> str:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        request = SimpleNamespace(uri=f"/{SAID}", method="GET")
        QuietWorker.handle_error(SimpleNamespace(), request, ours, ("127.0.0.1", 1), error)  # type: ignore[arg-type]
        return theirs.recv(65_536).decode()


# -- what lies in the broker -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        {"args": ["x" * 65]},
        {"kwargs": {"text": "x" * 65}},
        {"kwargs": {"x" * 65: 1}},
        {"args": [[{"deep": ["x" * 65]}]]},
        {"args": [b"bytes"]},
    ],
)
def test_task_arguments_longer_than_an_id_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ArgumentRefused) as refused:
        app.send_task("outbox.drain", **arguments)

    assert "xxx" not in str(refused.value)


def test_nor_does_a_task_s_own_call_take_them() -> None:
    with pytest.raises(ArgumentRefused):
        drain.apply_async(kwargs={"text": "x" * 65})


def test_message_does_not_repeat_its_arguments_in_its_headers() -> None:
    with app.connection_for_write() as connection:
        queue = connection.SimpleQueue("looked-at")
        app.send_task("outbox.drain", kwargs={"subject_id": 4711}, queue="looked-at")
        message = queue.get(timeout=2)
        message.ack()
        queue.close()

    assert (message.headers["argsrepr"], message.headers["kwargsrepr"]) == ("-", "-")
    assert "4711" not in str(message.headers)
