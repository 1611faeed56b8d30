"""Keyed hashes for finding memories, under the identity key of their space.  Made only in this module.

They do not change when data keys rotate.  When the identity key is replaced, they are recomputed from the ciphertexts
beside them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from apps.core.plaintext import Plaintext
from apps.crypto.services import SpaceCipher
from apps.memories.types import TYPES
from text.terms import normalised


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupValues:
    """The values behind a memory's keyed hashes, beyond its text and key.  Encrypted with the memory.

    voice: the speaker, as in the digest of the text.  actor: the speaker's name that recall filters by.  value: the
    value in its slot; None without a slot.  once: set if the public id is for this statement alone.
    typed: of a typed memory, the type that its public id is of.  context: what else than its key its slot is of.
    category, workspace, messages: its labels on an agent platform; every memory made there has a category.  messages:
    ids of the messages that it is from.
    """

    voice: str = ""
    actor: str | None = None
    session: str | None = None
    value: str | None = None
    once: str = ""
    typed: str = ""
    context: str = ""
    category: str = ""
    workspace: str = ""
    messages: Sequence[str] = ()


def text_mac(cipher: SpaceCipher, text: Plaintext, *, voice: str) -> bytes:
    """The keyed digest of a text as stated by its speaker."""
    return cipher.identity_mac("text", voice, normalised(text.reveal()))


def slot_mac(cipher: SpaceCipher, type_: str, key: str, *, project_id: int | None) -> bytes:
    """As ``slot_in_group``, for a built-in type."""
    return slot_in_group(cipher, TYPES[type_].group or "", key, project_id=project_id)


def slot_in_group(cipher: SpaceCipher, group: str, key: str, *, project_id: int | None, context: str = "") -> bytes:
    """The slot in which a new memory replaces an older one: of a group of types, a key and a project, if any.

    context: what else it is of, if anything.
    """
    return cipher.identity_mac("slot", group, str(project_id or ""), key, *([context] if context else []))


def value_mac(cipher: SpaceCipher, value: str) -> bytes:
    return cipher.identity_mac("value", value)


def public_id(
    cipher: SpaceCipher, type_: str, key: str | None, text: Plaintext, handles: LookupValues, *, project_id: int | None
) -> str:
    """The public id of a memory.  It is keyed, so that an id seen in a log confirms no guess of the content."""
    content = handles.value or normalised(text.reveal())
    canonical = orjson.dumps([content, str(project_id or ""), handles.once]).decode()
    return cipher.public_id(type_, key or "", canonical)


def typed_public_id(
    cipher: SpaceCipher, type_: str, key: str | None, content: Plaintext, *, project_id: int | None, context: str = ""
) -> str:
    """The public id of a typed memory: of its type, its project, topic key and context, and its content.

    content: canonical JSON (seed-systems T4).
    """
    topic = f"{project_id or ''}\x00{key or ''}"
    return cipher.public_id(type_, f"{topic}\x00{context}" if context else topic, content.reveal())


def message_token(cipher: SpaceCipher, message: str) -> int:
    """The keyed token of a message that a memory is from."""
    return cipher.filter_token("message", message)
