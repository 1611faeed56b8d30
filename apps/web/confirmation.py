"""Confirmation pages: what a page says and asks before a change."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class Paragraph(NamedTuple):
    """A paragraph of a page.  style: its CSS classes."""

    text: str
    style: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """What ``web/confirm.html`` shows: a heading, an explanation, one button and a link back.

    title: of the browser's window.  button: its label; without one the page only leads back.  action: the address of
    the form; empty for the page's own.  fields: hidden ones of the form.  errors: why the form was refused.  width: a
    CSS class, ``narrow`` or ``medium``.
    """

    title: str
    heading: str
    body: Iterable[Paragraph] = ()
    button: str = ""
    is_danger: bool = False
    action: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    errors: Iterable[str] = ()
    back_url: str
    back_label: str = "Cancel"
    width: str = "narrow"
