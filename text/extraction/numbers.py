"""Numbers that must never be stored: cards, government ids, bank accounts, and one-time codes."""

from typing import NamedTuple

from text import patterns
from text.extraction.reasons import Reason


class Secret(NamedTuple):
    start: int
    end: int
    reason: str


_DIGITS = patterns.compile(r"(?<![\w.+-])(?:\d[ -]?){12,18}\d(?![\w-])")
_CARD_GROUPS = patterns.compile(r"(?<!\d)(?:\d{4}[ -]\d{4}[ -]\d{4}[ -]\d{4}|\d{4}[ -]\d{6}[ -]\d{5}|\d{13,19})(?!\d)")
_CARD_WORDS = patterns.compile(
    r"\b(?:card|visa|master\s?card|amex|american express|cvc|cvv|exp(?:iry|ires|\.)?|debit|credit)\b",
    patterns.IGNORECASE,
)
_SENT_CODE = patterns.compile(
    r"\b(?:otp|(?:2fa|verification|one[- ]time|sms|login|log-in|sign-?in|confirmation|authenticator) (?:code"
    r"|password|pin)|mtan|tan)\b"
    r"[^.\n\d]{0,30}?(?<!\d)(?P<value>\d{3}[ -]?\d{3,5})(?![\d%])",
    patterns.IGNORECASE,
)
_NINO_NAMED = patterns.compile(
    r"\b(?:ni|nino|national insurance)(?: no\.?| number| nr\.?)?\s*(?:is|:|=|-)?\s*[A-Z]{2}\s?\d{2}\s?\d{2}\s?\d{2}"
    r"\s?[A-Z]\b",
    patterns.IGNORECASE,
)
_EXPIRY_WITH_CODE = patterns.compile(
    r"\b(?:0?[1-9]|1[0-2])\s?/\s?(?:20)?\d\d\b[^\n]{0,20}\b(?:cvc|cvv|security code)\D{0,5}\d{3,4}\b",
    patterns.IGNORECASE,
)
_SSN = patterns.compile(r"(?<![\w-])(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])")
IBAN = patterns.compile(r"\b[A-Z]{2}\d{2}(?:\s?[A-Z0-9]{4}){2,7}(?:\s?[A-Z0-9]{1,4})?\b")
_NINO = patterns.compile(r"\b[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]\s?\d{2}\s?\d{2}\s?\d{2}\s?[A-D]\b")
_AADHAAR = patterns.compile(r"(?<!\d)[2-9]\d{3} \d{4} \d{4}(?! ?\d)")


def find_numbers(plain: str) -> list[Secret]:
    found: list[Secret] = []
    for match in (*_CARD_GROUPS.finditer(plain), *_DIGITS.finditer(plain)):
        digits = patterns.sub(r"\D", "", match[0])
        grouped = (
            patterns.fullmatch(r"\d{4}[ -]\d{4}[ -]\d{4}[ -]\d{4}|\d{4}[ -]\d{6}[ -]\d{5}", match[0].strip())
            is not None
        )
        near = plain[max(0, match.start() - 40) : match.end() + 40]
        if _passes_luhn(digits) or (grouped and _CARD_WORDS.search(near)):
            found.append(Secret(match.start(), match.end(), Reason.SECRET_CARD_NUMBER))
    found += [Secret(m.start(), m.end(), Reason.SECRET_CARD_NUMBER) for m in _EXPIRY_WITH_CODE.finditer(plain)]
    found += [Secret(m.start(), m.end(), Reason.SECRET_RECOVERY_CODE) for m in _SENT_CODE.finditer(plain)]
    for pattern in (_SSN, _NINO, _NINO_NAMED):
        found += [Secret(m.start(), m.end(), Reason.SECRET_GOVERNMENT_NUMBER) for m in pattern.finditer(plain)]
    found += [Secret(m.start(), m.end(), Reason.SECRET_GOVERNMENT_NUMBER) for m in _AADHAAR.finditer(plain)]
    return found


def _passes_luhn(digits: str) -> bool:
    if not 13 <= len(digits) <= 19 or len(set(digits)) < 3 or digits[0] not in "23456":
        return False
    total = 0
    for place, digit in enumerate(reversed(digits)):
        number = int(digit) * (2 if place % 2 else 1)
        total += number - 9 if number > 9 else number
    return total % 10 == 0


def is_iban(value: str) -> bool:
    """Whether the ISO 13616 check digits are valid; letters count as 10 to 35."""
    compact = patterns.sub(r"\s", "", value)
    for length in range(min(34, len(compact)), 14, -1):
        moved = compact[4:length] + compact[:4]
        if int("".join(str(int(c, 36)) for c in moved)) % 97 == 1:
            return True
    return bool(patterns.match(r"(?:DE|FR|ES|IT|NL|GB|AT|CH|BE|PT|IE|PL)\d{2}", compact)) and len(compact) >= 15
