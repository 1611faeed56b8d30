"""Session backend that stores the SHA-256 of session keys, so that reading the table does not reveal a usable session.

The key in the cookie has 32 random letters and digits, about 165 bits, and needs no key stretching.
"""

import hashlib
from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.base import CreateError, SessionBase, UpdateError
from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from apps.accounts.models import BrowserSession


class SessionStore(SessionBase):
    """Like Django's database backend, except that it stores the digest of the key."""

    def exists(self, session_key: str) -> bool:
        return BrowserSession.objects.filter(digest=digest_of(session_key)).exists()

    def load(self) -> dict[str, Any]:
        rows = BrowserSession.objects.filter(digest=digest_of(self.session_key or ""), expires_at__gt=Now())
        row = rows.first()
        if row is None:
            self._session_key = None
            return {}
        return dict(self.decode(row.data))

    def create(self) -> None:
        while True:
            self._session_key = self._get_new_session_key()  # type: ignore[attr-defined]  # not in the stubs
            try:
                self.save(must_create=True)
            except CreateError:
                continue
            self.modified = True
            return

    def save(self, must_create: bool = False) -> None:
        if self.session_key is None:
            return self.create()
        data = self._get_session(no_load=must_create)  # type: ignore[attr-defined]  # the same
        person_id = data.get(SESSION_KEY)
        kept = {
            "user_id": int(person_id) if person_id else None,
            "data": self.encode(data),
            "expires_at": self.get_expiry_date(),
        }
        digest = digest_of(self.session_key)
        if must_create:
            try:
                with transaction.atomic():
                    BrowserSession.objects.create(digest=digest, created_at=Now(), **kept)
            except IntegrityError as error:
                raise CreateError from error
        elif not BrowserSession.objects.filter(digest=digest).update(**kept):
            raise UpdateError  # it was ended meanwhile, and is not recreated
        return None

    def delete(self, session_key: str | None = None) -> None:
        named = session_key if session_key is not None else self.session_key
        if named is not None:
            BrowserSession.objects.filter(digest=digest_of(named)).delete()

    @classmethod
    def clear_expired(cls) -> None:
        BrowserSession.objects.filter(expires_at__lt=Now()).delete()


def digest_of(session_key: str) -> bytes:
    return hashlib.sha256(session_key.encode(errors="replace")).digest()
