from typing import Any

from django.apps import AppConfig

from apps.audit.actions import AuditAction


class WebConfig(AppConfig):
    name = "apps.web"
    verbose_name = "Console pages"

    def ready(self) -> None:
        from allauth.account.signals import user_logged_in as signed_in_here
        from django.contrib.auth.signals import user_logged_in
        from django.utils import timezone

        from apps.accounts import devices, sessions
        from apps.apikeys import login_throttle

        def begin(request: Any, user: Any, **_: Any) -> None:
            """Runs after a complete sign-in: a second factor, if there is one, was already checked."""
            sessions.begin(request, now=timezone.now())
            devices.remember(request, user)

        def note(user: Any, **_: Any) -> None:
            login_throttle.note(user.pk, AuditAction.SESSION_OPEN, now=timezone.now())

        user_logged_in.connect(begin, weak=False, dispatch_uid="web.begin_session")
        signed_in_here.connect(note, weak=False, dispatch_uid="web.note_session")
