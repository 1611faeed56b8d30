"""One pattern out of a table of cues, a line for each group of phrases that tell the same."""

import re


def cues(*phrases: str) -> re.Pattern[str]:
    return re.compile("|".join(phrases))
