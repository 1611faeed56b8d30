"""Clock times in a clause."""

from datetime import time

from text import patterns
from text.dates.expressions import DAYNAME, MONTH
from text.dates.number_words import MINUTES, NUMBERS

_HOUR = "(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_MINUTE = "(?:" + "|".join(MINUTES).replace("-", "[- ]") + ")"
_MERIDIEM = r"[ap]\.?m\b"
CLOCK = patterns.compile(
    r"(?:(?:\bat|@|\bby|\bfrom|\baround|\buntil|,|\bto)\s*)?\b(?:(?P<h>[01]?\d|2[0-3])(?::|\."
    rf"|h)(?P<m>[0-5]\d)\s*(?P<ap>{_MERIDIEM})?|(?P<h2>1[0-2]|0?[1-9])\s*(?P<ap2>{_MERIDIEM})"
    r"|(?P<noon>noon|midday|midnight)\b"
    rf"|half\s+(?:past\s+)?(?P<half>{_HOUR}|1[0-2]|[1-9])\b"
    rf"|(?P<beside_m>quarter|{_MINUTE})\s+(?P<beside>past|to)\s+(?P<beside_h>{_HOUR}|1[0-2]|[1-9])\b"
    r"|(?P<oclock>1[0-2]|[1-9])\s*o'?clock"
    # In words only where what follows makes it a time: "six am", "nine in the morning", "eight sharp".
    rf"|(?P<word>{_HOUR})(?:[- ](?P<word_m>{_MINUTE}))?\s*(?:(?P<word_ap>{_MERIDIEM})|\bo'?clock\b|\bsharp\b"
    r"|\b(?=in\s+the\s+(?:morning|afternoon|evening)\b|at\s+night\b)))"
)
# What may follow an hour; any other word is what the number counts, or the name of a street: "at 14 Banyo Road".
_STREET = (
    r"\s+(?:(?!(?:on|in|at|by|near|with|from)\b)[\w'-]+\s+){1,3}"
    r"(?:street|road|rd|lane|avenue|ave|close|drive|crescent|terrace)\b"
)
_AFTER_HOUR = (
    rf"(?=\s*(?:[.!?;:)/-](?!\d)|$|,(?!\d|{_STREET})"
    r"|(?:and|but|so|or|in|on|to|till|until|for|with|tonight|tomorrow|tmrw|yesterday|this|next|today|at|from|by|of|if"
    r"|when|as|then|because|cos|since|unless|after|before|every|each|not|now|again|please|pls|sharp|ish|prompt|latest"
    r"|instead|rather|though|there|here|over|down|up|via|re|about|w|i|i'm|i'll|we|we'll|we're|he|she|they|you|it|it's"
    r"|that|which|the|my|our|his|her|hours|hrs|local|cet|utc|gmt|bst)\b"
    rf"|(?:{DAYNAME}|{MONTH}|[0-3]?\d(?:st|nd|rd|th)?\s+(?:of\s+)?{MONTH})))"
)
_BARE_HOUR = patterns.compile(
    rf"\bat\s+(?:(?P<h>1\d|2[0-3]|[1-9])|(?P<word>{_HOUR})(?:[- ](?P<word_m>{_MINUTE}))?)\b{_AFTER_HOUR}"
)
_PRICED = patterns.compile(
    r"\b(?:sells?|selling|sold|buy|bought|price[ds]?|costs?|rates?|trad(?:es?|ed|ing)|shares?|stock|valued|interest|gpa"
    r"|average|score[ds]?|version|stands?|stood|cheap|fuel|petrol|diesel|eur|usd|offer|wages?|earns?|pays?|paid|bottles?"
    r"|an? (?:hour|week|month))\b|[€$£]"
)
_COUNTS = patterns.compile(
    r"\s*(?:[€$£%]|(?:each|per|an?|euros?|eur|dollars?|usd|pounds?|quid|percent|kg|km|mm|cm|m|metres?|litres?)\b)"
)
_PART_OF_DAY = patterns.compile(
    r"\s*(?:(?P<morning>in\s+the\s+morning)|in\s+the\s+(?:afternoon|evening)|(?P<night>at\s+night))\b"
)
_LATE = patterns.compile(r"\b(?:tonight|evening|night|dinner|drinks)\b")
_EARLY = patterns.compile(r"\b(?:morning|breakfast|a\.?m)\b")


def clock_time(low: str, *, with_day: bool) -> time | None:
    """The first clock time.  with_day: the clause names a day, so "at 6" and "at six" are times too."""
    for found in CLOCK.finditer(low):
        if found["noon"]:
            return time(0 if found["noon"] == "midnight" else 12)
        if found["half"]:
            return time(_of_the_day(_number(found["half"]), low, found.end()), 30)
        if found["beside"]:
            minute = 15 if found["beside_m"] == "quarter" else _minute(found["beside_m"])
            hour = _number(found["beside_h"])
            return _beside(_of_the_day(hour, low, found.end()), minute if found["beside"] == "past" else -minute)
        if found["oclock"]:
            return time(_of_the_day(int(found["oclock"]), low, found.end()))
        meridiem = (found["ap"] or found["ap2"] or found["word_ap"] or "")[:1]
        if found["word"]:
            hour, minute = NUMBERS[found["word"]], _minute(found["word_m"])
        else:
            hour, minute = int(found["h"] or found["h2"]), int(found["m"] or 0)
        if found["h"] and "." in found[0] and not meridiem and not (with_day and _is_time(low, found)):
            continue  # 3.50 is a price
        if meridiem:
            hour = hour % 12 + (12 if meridiem == "p" else 0)
        elif found["word"] or len(found["h"]) < 2:  # 03:15 is in the night, 3:15 in the afternoon
            hour = _of_the_day(hour, low, found.end())
        return time(hour, minute)
    bare = _BARE_HOUR.search(low) if with_day else None
    return (
        time(_of_the_day(_number(bare["h"] or bare["word"]), low, bare.end()), _minute(bare["word_m"]))
        if bare
        else None
    )


def _is_time(low: str, found: patterns.Match) -> bool:
    """Whether hours and minutes with a dot are no price: "at 10.30", but not "sold at 3.50" or "at 3.50 each"."""
    return found[0].startswith(("at", "@")) and not (
        _PRICED.search(low, max(0, found.start() - 40), found.start()) or _COUNTS.match(low, found.end())
    )


def _number(hour: str) -> int:
    return int(hour) if hour.isdigit() else NUMBERS[hour]


def _minute(word: str | None) -> int:
    return MINUTES[word.replace(" ", "-")] if word else 0


def _beside(hour: int, minutes: int) -> time:
    """So many minutes after the hour; before it, if they are negative."""
    past_midnight = (60 * hour + minutes) % (24 * 60)
    return time(past_midnight // 60, past_midnight % 60)


def _of_the_day(hour: int, low: str, end: int) -> int:
    """ "At 6 in the morning", "tonight at eight": what follows decides between am and pm, else a time of day anywhere.

    Otherwise "at 3" is in the afternoon, and "at 9" in the morning.  end: of the time in ``low``.
    """
    part = _PART_OF_DAY.match(low, end)
    if part is not None:
        is_before_noon = part["morning"] or (part["night"] and hour in (12, 1, 2, 3, 4))
        return hour % 12 + (0 if is_before_noon else 12) if hour <= 12 else hour
    if _LATE.search(low) and 5 <= hour <= 11:
        return hour + 12
    is_afternoon = 1 <= hour <= 6 and not _EARLY.search(low)
    return hour + 12 if is_afternoon else hour % 24
