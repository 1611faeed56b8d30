"""Patterns of the forms in which dates are written, and a cheap test for whether a text may contain one."""

from text import patterns
from text.dates.number_words import HOLIDAYS, MONTHS, ORDINALS, SEASONS, WEEKDAYS

MONTH = "(?:" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b\.?"
DAYNAME = "(?:" + "|".join(sorted(WEEKDAYS, key=len, reverse=True)) + r")\b"
_NUMBER = r"(?:\d{1,3}|a couple(?: of)?|couple of|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_ORDINAL = r"(?:[0-3]?\d)(?:st|nd|rd|th)"
_ORDINAL_WORD = "(?:" + "|".join(sorted(ORDINALS, key=len, reverse=True)).replace("-", "[- ]") + r")\b"
_THROUGH = rf"(?:-|to|until|till|through|and)\s?(?:the\s)?{_ORDINAL}\b"  # "to the 9th"
_YEAR = r"(?:19|20)\d\d"

# The cheap test comes first: most clauses contain nothing that could be a date.
MAY_HOLD = patterns.compile(
    r"\d|\b(?:"
    + "|".join(MONTHS)
    + "|"
    + "|".join(WEEKDAYS)
    + "|"
    + "|".join(SEASONS)
    + "|"
    + "|".join(ORDINALS)
    + r"|christmas|xmas|halloween|valentine's"
    r"|new year'?s|boxing|to(?:day|night|morrow)|yesterday|ago|week|weekend|fortnight|month|year|quarter|noon"
    r"|midnight|morning|night"
    r"|eom|eod|eow|tmrw|tmr|day|days|weeks|months|years|used|formerly|recently|kid|child|younger|back|decade|hours?"
    r"|minutes?|mins|eventually"
    r"|childhood|once|while)\b"
)

FORMS = patterns.compile(
    r"\b(?=\w)(?:"  # where a word begins, and not where one ends: each form begins with a letter or a digit
    rf"(?P<iso>(?P<iso_y>{_YEAR})-(?P<iso_m>[01]?\d)-(?P<iso_d>[0-3]?\d))"
    r"|(?P<num>(?P<num_a>[0-3]?\d)(?:"
    r"\.(?P<dot_b>[0-3]?\d)(?:\.(?P<dot_y>(?:20)?\d\d)\b|\.?(?=[\s,;!?]|$))"
    r"|/(?P<slash_b>[0-3]?\d)(?:/(?P<slash_y>(?:20)?\d\d)\b|/?(?=[\s,;!?]|$))))"
    rf"|(?P<dm>(?:the\s+)?(?P<dm_d>[0-3]?\d)(?:st|nd|rd|th)?(?:\s?(?:-|to|until|till"
    rf"|through|and)\s?(?:the\s)?(?P<dm_to>[0-3]?\d)(?:st|nd|rd"
    rf"|th)?)?(?:\s+of)?\s+(?P<dm_m>{MONTH})(?:,?\s+(?:of\s+)?(?P<dm_y>{_YEAR}))?)"
    rf"|(?P<wdm>(?:the\s+)?(?P<wdm_d>{_ORDINAL_WORD})(?:\s(?:to|until|till|through|and)\s(?:the\s)?{_ORDINAL_WORD})?\s+of\s+"
    rf"(?P<wdm_m>{MONTH})(?:,?\s+(?:of\s+)?(?P<wdm_y>{_YEAR}))?)"
    # "You may first" and "march second" are no dates.
    rf"|(?P<mwd>(?!(?:may|march)\s(?!the\b))(?P<mwd_m>{MONTH})\s+(?:the\s+)?(?P<mwd_d>{_ORDINAL_WORD})(?:,?\s+(?:of\s+)?(?P<mwd_y>{_YEAR}))?)"
    rf"|(?P<md>(?P<md_m>{MONTH})\s+(?:the\s+)?(?P<md_d>[0-3]?\d)(?:st|nd|rd|th)?(?![\d:%]|\s?(?:am"
    rf"|pm)\b)(?:\s?-\s?[0-3]?\d)?(?:,?\s+(?:of\s+)?(?P<md_y>{_YEAR}))?)"
    rf"|(?P<ago>(?P<ago_n>{_NUMBER}|(?:a\s+)?few|several|some)\s+(?P<ago_u>minute|min|hour|day|week|fortnight|month"
    rf"|year|decade)s?\s+(?P<ago_w>ago|back|from\s+now|earlier|since\s+(?:i|we|my|our|he|she|they|the)\b))"
    rf"|(?P<wo>(?:on\s+)?{DAYNAME},?\s+(?:the\s+)?(?P<wo_d>{_ORDINAL}\b|{_ORDINAL_WORD})(?!\s+(?:of\s+)?{MONTH}))"
    rf"|(?P<in>(?:with)?in\s+(?:about\s+)?(?P<in_n>{_NUMBER}|(?:a\s+)?few)\s+(?P<in_u>minute|min|hour|day|week"
    rf"|fortnight|month|year)s?(?:'\s+time)?)\b"
    rf"|(?P<end>(?:the\s+)?end\s+(?:of\s+(?:the\s+|this\s+)?|(?!may\b|march\b)(?={MONTH}))(?P<end_w>next\s+week|next\s+month|week|month|year"
    rf"|{MONTH})(?:\s+(?P<end_y>{_YEAR}))?|(?P<eox>eo[dmwy])\b)"
    r"|(?P<beyond>(?:the\s+)?(?P<beyond_u>week|month|year|day|weekend)\s+(?P<beyond_w>before\s+last|after\s+next"
    r"|before\s+yesterday|after\s+tomorrow))"
    r"|(?P<rel>(?P<rel_w>(?<!the )last|this|next|coming|past|previous)\s+(?P<rel_u>week-?end|week|month|year|quarter"
    r"|spring"
    r"|summer|autumn|fall|winter|night|morning|afternoon|evening)\b(?:\s+(?:on\s+)?(?P<rel_day>" + DAYNAME + r"))?)"
    rf"|(?P<nth>(?:the\s+)?(?P<nth_n>first|second|third|fourth|last|1st|2nd|3rd|4th)\s+(?P<nth_d>{DAYNAME})\s+(?:of"
    rf"|in)\s+"
    rf"(?:(?P<nth_rel>next|this|last)\s+month|(?P<nth_m>{MONTH})(?:\s+(?P<nth_y>{_YEAR}))?))"
    rf"|(?P<wk>(?P<wk_n>a|one|two)\s+(?:weeks?|(?P<wk_f>fortnight))\s+(?:on|from|come|this)\s+(?P<wk_d>{DAYNAME}|today|tomorrow)"
    rf"|(?P<wk_d2>{DAYNAME})"
    r"\s+week\b)"
    rf"|(?P<wd>(?:(?P<wd_w>last|this|next|coming|past"
    rf"|previous)\s+)?(?P<wd_n>{DAYNAME})(?P<wd_after>\s+after\s+next\b)?(?P<wd_last>\s+(?:last"
    rf"|before\s+last)\s+week)?(?:\s+(?P<wd_week>next\s+week))?)"
    rf"|(?P<mon>(?P<mon_w>last|this|next|coming|past|early|mid|late|in|to|since|until|till|by|before|after|from|of"
    rf"|for|during|around|about|come|through|is(?!\s+may\b)|the\s+start\s+of|beginning\s+of)[\s-]+(?:early\s+|mid[\s-]?"
    rf"|late\s+)?(?P<mon_n>{MONTH})(?!\s+(?:the\s+)?(?:[0-3]?\d(?:st|nd|rd|th)?(?![\d:])|{_ORDINAL_WORD}))(?:,?\s+(?:of\s+)?(?P<mon_y>{_YEAR}))?)"
    rf"|(?P<my>(?P<my_n>{MONTH})\s+(?:of\s+)?(?P<my_y>{_YEAR}))"
    rf"|(?P<q>q(?P<q_n>[1-4])(?:\s*(?:of\s+)?(?P<q_y>{_YEAR}))?)"
    rf"|(?P<season>(?:in\s+|the\s+|since\s+|this\s+)*(?P<season_n>spring|summer|autumn"
    rf"|winter)(?:\s+(?:of\s+)?(?P<season_y>{_YEAR}))?)"
    rf"|(?P<year>(?:in|since|of|from|until|by|during|back\s+in|early|late|mid)\s+(?:early\s+|late\s+"
    rf"|mid[\s-])?(?P<year_n>{_YEAR})(?![-/.:]\d|\s*(?:eur|euro|usd|dollar|kg|km)))"
    r"|(?P<day>day\s+before\s+yesterday|day\s+after\s+tomorrow|yesterday|today|tonight|tomorrow|tmrw|tmr|the\s+weekend)"
    # "The 24th", "on 10th", "24th to 26th".
    rf"|(?P<ord>(?:(?:(?:on\s+)?the|on|by|from|until|till|before)\s+|(?={_ORDINAL}\s?{_THROUGH}))"
    rf"(?P<ord_d>{_ORDINAL})\b(?!(?:\s?{_THROUGH})?(?:\s+of)?\s+{MONTH})(?!\s+(?:time|floor|street|century|grade|anniversary"
    rf"|birthday|place|of\s+(?!the\b)|edition|version|row|avenue)))"
    # Without a month an ordinal needs a context: "by the tenth", but not "by the tenth lesson".
    rf"|(?P<wod>(?:on|by|until|till|before|come|(?:after|from|is|was|it's|for)(?!\s+the\s+(?:first|second|third)\b))\s+the\s+"
    rf"(?P<wod_d>{_ORDINAL_WORD})"
    r"(?=\s*(?:$|[.,;:!?)]|\b(?:and|at|in|with|to|as|so|or|no|but|because|instead|if|when|some|between|from|not|which|that|i|we"
    r"|he|she|they|it)\b)))"
    r"|(?P<hol>" + "|".join(sorted(HOLIDAYS, key=len, reverse=True)) + r")"
    r"|(?P<fuzzy>(?:(?:many|some|a\s+few|few|several)\s+)?(?:years|months|weeks|ages|decades)\s+(?:ago|back)"
    r"|a\s+(?:long\s+)?(?:while|time)\s+(?:ago|back)|long\s+ago"
    r"|used\s+to|formerly|back\s+in\s+the\s+day|the\s+other\s+day|recently|(?:as|when\s+i\s+was)\s+(?:a\s+)?(?:kid"
    r"|child|teen|teenager|younger|young|little)"
    r"|in\s+my\s+(?:twenties|thirties|teens|youth|childhood|[2-5]0s)|growing\s+up|in\s+(?:the\s+)?(?:19|20)?[5-9]0s"
    r"|back\s+then|previously|in\s+the\s+past|before\s+all\s+this)"
    r")"
)  # fmt: skip
RECURRING = patterns.compile(
    rf"\b(?:first|second|third|fourth|last) {DAYNAME} (?:of|in) (?:each|every|the) (?:month|quarter|year)\b"
    rf"|\b(?:every|each|any|most|all|per)\s+(?:other\s+|second\s+|single\s+)?(?:{DAYNAME}|day|week|month|year"
    rf"|morning|evening|night|quarter|weekend|{MONTH})"
    rf"|\b{DAYNAME}\s+(?:mornings|afternoons|evenings|nights)\b|\b(?:of|on)\s+an?\s+{DAYNAME}"
    rf"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days\b|\b(?:weekly|daily|nightly|hourly|monthly|yearly|annually"
    rf"|weekdays|weekends)\b"
)
