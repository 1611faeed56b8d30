"""Read the files of a directory on the server.

A tenant reaches only the directories that CONNECTOR_FOLDERS gives it.  Every directory is opened relative to its parent
without following links, so that no symbolic link and no ``..`` leads out, even if the tree changes meanwhile.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from django.conf import settings

from apps.connectors.found import FoundObject, FoundObjects, SourceFailed, SourceRefused
from apps.ingest.objects import GivenObject
from apps.projects.scope import Scope
from apps.sources.sealing import ObjectName

DEEPEST: Final = 20  # directories
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def check_folder(scope: Scope, path: str) -> tuple[str, PurePosixPath]:
    """The allowed directory that contains the path, and the path inside of it.  Raises SourceRefused."""
    wanted = PurePosixPath(path)
    if ".." in wanted.parts or not wanted.is_absolute():
        raise SourceRefused
    for entry in settings.CONNECTOR_FOLDERS:
        tenant, _, root = entry.partition(":")
        if tenant in ("*", scope.tenant.name) and root and wanted.is_relative_to(root):
            return root, wanted.relative_to(root)
    raise SourceRefused


def read_folder(scope: Scope, path: str, *, connector_id: int) -> FoundObjects:
    """The files in the directory and below it, by path, without hidden ones.  Raises SourceRefused, SourceFailed."""
    root, inner = check_folder(scope, path)
    opened = _open_directory(root, inner)
    return FoundObjects(objects=_files(opened, connector_id), is_complete=True)


def _open_directory(root: str, inner: PurePosixPath) -> int:
    try:
        # The operator's own path may contain links.
        opened = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for part in inner.parts:
            outer = opened
            try:
                opened = os.open(part, _DIRECTORY, dir_fd=outer)
            finally:
                os.close(outer)
    except OSError:
        raise SourceFailed("folder_unreadable") from None
    return opened


def _files(opened: int, connector_id: int) -> Iterator[FoundObject]:
    for path, content in _walk(opened, PurePosixPath()):
        name = ObjectName(kind="file", external_id=str(path), connector_id=connector_id)
        yield FoundObject.already_read(GivenObject(name=name, content=content, title=path.name, filename=path.name))


def _walk(opened: int, path: PurePosixPath) -> Iterator[tuple[PurePosixPath, bytes]]:
    """Path and content of each file below an open directory, which is closed at the end."""
    try:
        for name in sorted(os.listdir(opened)):
            if name.startswith("."):
                continue
            kind = os.stat(name, dir_fd=opened, follow_symlinks=False).st_mode
            if stat.S_ISDIR(kind) and len(path.parts) < DEEPEST:
                yield from _walk(os.open(name, _DIRECTORY, dir_fd=opened), path / name)
            elif stat.S_ISREG(kind):
                yield path / name, _content(name, opened)
    except OSError:
        raise SourceFailed("folder_unreadable") from None
    finally:
        os.close(opened)


def _content(name: str, directory: int) -> bytes:
    """At most one byte more than an upload may have, so that a longer file is refused as one is."""
    with os.fdopen(os.open(name, _FILE, dir_fd=directory), "rb") as file:
        return file.read(settings.MAX_UPLOAD_BYTES + 1)
