"""Reasons for a decision about a piece of text, other than simply storing it."""

from enum import StrEnum, auto


class Reason(StrEnum):
    """Values appear in the API, in statistics and in the audit of decisions; they contain no user content.

    docs/extraction.md lists them; a test compares the two.
    """

    # discarded_low_signal
    NOT_USER_TURN = auto()
    TOO_SHORT = auto()
    FILLER = auto()
    CODE_ONLY = auto()
    ABOUT_THE_TALK = auto()
    HEADING = auto()
    NOTHING_SAID = auto()
    NOT_SAID = auto()
    UNLIKELY = auto()
    # discarded_transient
    TRANSIENT = auto()
    # discarded_redundant
    NEAR_DUPLICATE = auto()
    # discarded_policy
    SECRET_API_KEY = auto()
    SECRET_BANK_ACCOUNT = auto()
    SECRET_CARD_NUMBER = auto()
    SECRET_GOVERNMENT_NUMBER = auto()
    SECRET_PASSWORD = auto()
    SECRET_PRIVATE_KEY = auto()
    SECRET_RECOVERY_CODE = auto()
    SECRET_TOKEN = auto()
    SECRET_WALLET = auto()
    SECRET_OR_ORDER = auto()
    INJECTION_OVERRIDE = auto()
    INJECTION_PLANTED = auto()
    INJECTION_POSING = auto()
    INJECTION_REVEAL = auto()
    ERASED = auto()
    REJECTED_IN_REVIEW = auto()
    REVIEW_FULL = auto()
    # duplicate, merged, revived
    ALREADY_INGESTED = auto()
    SAME_TEXT = auto()
    SAME_VALUE = auto()
    ECHO = auto()
    # pending
    LESS_TRUSTED = auto()
    INSTRUCTION = auto()
    LOW_CONFIDENCE = auto()
    POLICY = auto()
    # created
    TOO_COSTLY = auto()
