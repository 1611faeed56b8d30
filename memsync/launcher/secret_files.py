"""The home's secrets and key file: created on the first run, and only read afterwards."""

import secrets
from pathlib import Path
from typing import Any

from memsync import instance
from memsync.launcher.embedded import roles
from memsync.launcher.embedded.errors import UnusableDirectory


def make_secrets(home: Path) -> dict[str, Any]:
    """The home's secrets, created on the first run.  If a cluster exists without them, they were lost: an error."""
    path, kek = home / instance.SECRETS_FILE, home / instance.KEK_FILE
    own_kek = keeps_own_kek()
    missing = [file.name for file in (path, *([kek] if own_kek else [])) if not file.exists()]
    if missing and (home / "postgres" / "data").exists():
        raise UnusableDirectory(
            f"{home} holds a database but not {' and '.join(missing)}, without which it cannot be read: "
            "restore what is missing from your backup. Nothing was changed."
        )
    try:
        found = instance.read(path)
    except ValueError as error:
        raise UnusableDirectory(
            f"{path} is damaged, and the database cannot be read without it: restore it from your backup. "
            "Nothing was changed."
        ) from error
    if not found:
        found = write_secrets(home, f"dep_{secrets.token_hex(8)}")
    if own_kek and not kek.exists():
        from apps.adapters.kms.local import LocalKeyring  # imported on the first run only: it loads the cipher

        LocalKeyring.create(kek)
    return found


def keeps_own_kek() -> bool:
    """Whether the key-encryption key is a file of the home, because no other provider is configured."""
    return not (instance.given("KMS_BACKEND") or instance.given("KMS_OPTIONS"))


def write_secrets(home: Path, deployment_id: str) -> dict[str, Any]:
    """Write new secrets for a home without any."""
    made = {
        "SECRET_KEY": secrets.token_urlsafe(48),
        "DEPLOYMENT_ID": deployment_id,
        "passwords": roles.new_passwords(),
    }
    instance.write(home / instance.SECRETS_FILE, made)
    return made
