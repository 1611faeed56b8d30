"""Keyed hashes by which a memory is found again, under the identity key of its space: made here, and only here.

They stay the same while data keys rotate.  When the identity key itself is replaced they are recomputed from what is
sealed beside them.
"""

from dataclasses import dataclass

import orjson

from apps.core.plaintext import Plaintext
from apps.crypto.services import SpaceCipher
from apps.memories.types import TYPES
from text.terms import normalised


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupValues:
    """What a memory's handles stand for, beyond its text and key.  Sealed with it.

    voice: who said it, as the text's digest has it.  actor: the name that recall asks for.  value: what its slot
    holds; None for a memory without one.  once: set where the public id is for this statement alone.
    """

    voice: str = ""
    actor: str | None = None
    session: str | None = None
    value: str | None = None
    once: str = ""


def text_mac(cipher: SpaceCipher, text: Plaintext, *, voice: str) -> bytes:
    """The digest of a text as said by its speaker."""
    return cipher.identity_mac("text", voice, normalised(text.reveal()))


def slot_mac(cipher: SpaceCipher, type_: str, key: str, *, project_id: int | None) -> bytes:
    """As ``slot_in_group``, of a type that is built in."""
    return slot_in_group(cipher, TYPES[type_].group or "", key, project_id=project_id)


def slot_in_group(cipher: SpaceCipher, group: str, key: str, *, project_id: int | None) -> bytes:
    """Which older row a new one replaces: a slot belongs to a group of types and to a project, where there is one."""
    return cipher.identity_mac("slot", group, str(project_id or ""), key)


def value_mac(cipher: SpaceCipher, value: str) -> bytes:
    return cipher.identity_mac("value", value)


def public_id(
    cipher: SpaceCipher, type_: str, key: str | None, text: Plaintext, handles: LookupValues, *, project_id: int | None
) -> str:
    """Keyed, so that an id seen in a log confirms no guess."""
    content = handles.value or normalised(text.reveal())
    canonical = orjson.dumps([content, str(project_id or ""), handles.once]).decode()
    return cipher.public_id(type_, key or "", canonical)
