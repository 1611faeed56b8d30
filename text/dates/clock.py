"""Clock times in a clause."""

from datetime import time

from text import patterns
from text.dates.number_words import NUMBERS

CLOCK = patterns.compile(
    r"(?:(?:\bat|@|\bby|\bfrom|\baround|\buntil|,|\bto)\s*)?\b(?:(?P<h>[01]?\d|2[0-3])(?::|\."
    r"|h)(?P<m>[0-5]\d)\s*(?P<ap>[ap]\.?m\b)?|(?P<h2>1[0-2]|0?[1-9])\s*(?P<ap2>[ap]\.?m)\b"
    r"|(?P<noon>noon|midday|midnight)\b|(?P<half>half\s+(?:past\s+)?(?P<half_h>one|two|three|four|five|six|seven"
    r"|eight|nine|ten|eleven|twelve|\d{1,2}))\b"
    r"|(?P<oclock>1[0-2]|[1-9])\s*o'?clock)"
)
_BARE_HOUR = patterns.compile(
    r"\bat\s+(?P<h>1\d|2[0-3]|[1-9])(?=[\s,.!?;)]|$)(?!\s*(?:%|percent|km|kg|euros?|dollars?|years?|mph|people"
    r"|[.,]\d))"
)
_LATE = patterns.compile(r"\b(?:tonight|evening|night|dinner|drinks)\b")
_EARLY = patterns.compile(r"\b(?:morning|breakfast|a\.?m)\b")


def clock_time(low: str, *, with_day: bool) -> time | None:
    for found in CLOCK.finditer(low):
        if found["noon"]:
            return time(0 if found["noon"] == "midnight" else 12)
        if found["half"]:
            word = found["half_h"]
            hour = int(word) if word.isdigit() else NUMBERS[word]
            return time(_of_the_day(hour, low) % 24, 30)
        if found["oclock"]:
            return time(_of_the_day(int(found["oclock"]), low))
        hour, minute = int(found["h"] or found["h2"]), int(found["m"] or 0)
        meridiem = (found["ap"] or found["ap2"] or "")[:1]
        if found["h"] and "." in found[0] and not meridiem:
            continue  # 3.50 is a price
        if meridiem:
            hour = hour % 12 + (12 if meridiem == "p" else 0)
        elif len(found["h"] or "00") < 2 and _LATE.search(low):
            hour = _of_the_day(hour, low)
        return time(hour, minute)
    bare = _BARE_HOUR.search(low) if with_day else None
    return time(_of_the_day(int(bare["h"]), low)) if bare else None


def _of_the_day(hour: int, low: str) -> int:
    """ "Tonight at eight", "at 6 in the morning": a time of day decides between am and pm."""
    if _LATE.search(low) and 5 <= hour <= 11:
        return hour + 12
    return hour if _EARLY.search(low) else _afternoon(hour)


def _afternoon(hour: int) -> int:
    """The default half of the day: "at 3" is in the afternoon, "at 9" in the morning."""
    return hour + 12 if 1 <= hour <= 6 else hour
