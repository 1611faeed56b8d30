"""Confirmation pages: what a page shows before a change is made."""

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

    title: title of the browser window.  button: its label; without one the page only links back.  action: the address
    of the form; empty for the page's own address.  fields: hidden fields of the form.  errors: why the form was
    refused.  width: a CSS class, ``narrow`` or ``medium``.
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
