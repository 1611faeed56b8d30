"""Telephone numbers that a statement gives for a person or place, which are no secrets."""

from typing import Final

from text import patterns
from text.sentences import fold, lower, sentences

# 7 to 15 digits, in groups; not one long run, as keys and account numbers are.
_NUMBER: Final = patterns.compile(
    r"(?:\+\d{1,3}[ .-]?)?(?:\(\d{1,5}\)[ .-]?)?\d{2,6}(?:[ .-]\d{2,6}){1,4}\b|\+?\d{7,11}\b"
)
_LEAST_DIGITS: Final = 7
_CONTACT: Final = patterns.compile(
    r"\b(?:tele)?phones?\b|\b(?:mobile|cell|landline|whatsapp|fax|tel|number|extension|switchboard)\b"
    r"|\b(?:call|ring|text|reach|dial|message|contact)\b"
)
_SECRET: Final = patterns.compile(
    r"\b(?:pin|pins|pass\w*|codes?|cards?|accounts?|iban|sort|cvv|cvc|ssn|social|security|licen[cs]e|tax|insurance|tokens?"
    r"|keys?|login|log-in|unlocks?|safe|alarm|otp|mfa|2fa|verif\w+|credit|debit|bank|routing|serial|seed|secret|door|gate"
    r"|lock(?:er)?|vault|entry|keypad|combination|box|garage|membership|policy|booking|reference|send|forward|transfer|ignore|instructions?)\b"
)
_NEAR: Final = 60  # characters before a number in which what it is stands
_MASK: Final = "listed"  # "My number is listed" says nothing that a reader takes for a secret


def without_telephone_numbers(text: str) -> str:
    """The text with each telephone number given as such replaced by a word; all other characters keep their places.

    A number counts if a word of telephoning stands shortly before it, and none of secrets there or in its sentence.
    """
    plain = fold(text)
    low, letters = lower(plain), list(text)
    for start, end in sentences(plain):
        for number in _NUMBER.finditer(low, start, end):
            before = max(0, number.start() - _NEAR)
            is_long = sum(map(str.isdigit, number[0])) >= _LEAST_DIGITS
            if (
                is_long
                and _CONTACT.search(low, before, number.start())
                and not _SECRET.search(low, min(before, start), end)
            ):
                size = number.end() - number.start()
                letters[number.start() : number.end()] = _MASK.ljust(size)[:size]
    return "".join(letters)
