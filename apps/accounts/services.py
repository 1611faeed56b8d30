"""Making people who sign in, and giving them new passwords."""

import secrets

from django.db import transaction

from apps.accounts.models import User


def make_operator(email: str) -> str:
    """An operator with this address and a new password, which is returned; one who exists gets the new password.

    Their sessions end: Django's are bound to the password's hash.
    """
    password = secrets.token_urlsafe(15)
    email = User.objects.normalize_email(email).lower()
    with transaction.atomic():
        user = User.objects.select_for_update().filter(email=email).first()
        if user is None:
            User.objects.create_superuser(email, password, full_name="Operator")
        else:
            user.set_password(password)
            user.save(update_fields=["password"])
    return password
