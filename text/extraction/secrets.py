"""Finds what must never be stored: credentials, card and government numbers, recovery codes.

Every pattern is bounded, so a megabyte of text costs linear time.  The patterns contain no real secret's text.
"""

from bisect import bisect_right

from text import patterns
from text.extraction import code
from text.extraction.credentials import is_word_list, looks_password, looks_secret
from text.extraction.lexicon import listed
from text.extraction.literals import (
    is_dummy,
    is_expression,
    is_placeholder,
    is_sample,
    looks_configured,
    looks_real,
)
from text.extraction.numbers import IBAN, Secret, find_numbers, is_iban
from text.extraction.reasons import Reason

# Known shapes: vendor keys, tokens, private keys. The shape alone is enough.
_SHAPES: tuple[tuple[str, str], ...] = (
    (Reason.SECRET_PRIVATE_KEY, r"\bPuTTY-User-Key-File-\d"),
    (Reason.SECRET_PRIVATE_KEY, r"\bAGE-SECRET-KEY-1[A-Z0-9]{20,80}"),
    (Reason.SECRET_API_KEY, r"\b(?:A3T[A-Z0-9]|AKIA|ASIA|AGPA|AIDA|AROA|ANPA|ABIA|ACCA)[A-Z0-9]{12,20}\b"),
    (Reason.SECRET_API_KEY, r"\b(?:gh[pousr]_[A-Za-z0-9]{16,255}|github_pat_[A-Za-z0-9_]{20,255})"),
    (
        Reason.SECRET_API_KEY,
        r"\bglpat-[A-Za-z0-9_.-]{16,100}|\bgl(?:ptt|dt|rt|soat|cbt|imt|agent)-[A-Za-z0-9_-]{16,100}",
    ),
    (Reason.SECRET_API_KEY, r"\b(?:sk|pk|rk|whsec)_(?:live_|test_|prod_)?[A-Za-z0-9]{16,255}"),
    (Reason.SECRET_API_KEY, r"\bsk-(?:ant-|proj-|or-|svcacct-|admin-|lf-)?[A-Za-z0-9_-]{16,300}"),
    (
        Reason.SECRET_API_KEY,
        r"\bxox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,255}|\bxapp-\d-[A-Za-z0-9-]{10,255}",
    ),
    (Reason.SECRET_API_KEY, r"\bhooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]{20,120}"),
    (
        Reason.SECRET_API_KEY,
        (
            r"\bdiscord(?:app)?\.com/api/webhooks/\d{10,25}/[\w-]{20,100}"
            r"|\b[MNO][A-Za-z\d_-]{23,27}\.[\w-]{6}\.[\w-]{27,40}"
        ),
    ),
    (Reason.SECRET_API_KEY, r"\bAIza[0-9A-Za-z_-]{30,45}|\bya29\.[0-9A-Za-z_-]{20,300}|\bGOCSPX-[\w-]{20,40}"),
    (
        Reason.SECRET_API_KEY,
        r"\bSG\.[\w-]{16,32}\.[\w-]{16,64}|\bkey-[0-9a-f]{32}\b|\b[0-9a-f]{32}-us\d{1,2}\b",
    ),
    (Reason.SECRET_API_KEY, r"\b(?:AC|SK)[0-9a-f]{32}\b"),
    (
        Reason.SECRET_API_KEY,
        (
            r"\bnpm_[A-Za-z0-9]{30,60}|\bpypi-[A-Za-z0-9_-]{16,300}|\bdckr_pat_[\w-]{20,60}|\bhf_[A-Za-z0-9]{20,60}"
            r"|\brubygems_[0-9a-f]{30,60}"
        ),
    ),
    (
        Reason.SECRET_API_KEY,
        (
            r"\bdo[por]_v1_[0-9a-f]{32,80}|\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{24,40}|\bsq0(?:atp|csp)-[\w-]{20,60}"
            r"|\bEAAC?[A-Za-z0-9]{40,300}"
        ),
    ),
    (
        Reason.SECRET_API_KEY,
        (
            r"\b(?:hv[sbr]|s|b)\.[A-Za-z0-9_-]{24,200}\b|\bdapi[0-9a-f]{32}\b|\bPMAK-[0-9a-f-]{30,80}|\blin_(?:api"
            r"|oauth)_[A-Za-z0-9]{30,80}"
        ),
    ),
    (
        Reason.SECRET_API_KEY,
        (
            r"\bntn_[A-Za-z0-9]{30,60}|\bsecret_[A-Za-z0-9]{30,60}|\bfigd_[\w-]{30,60}|\bATATT3[\w=-]{20,300}"
            r"|\bpat[A-Za-z0-9]{14}\.[0-9a-f]{40,80}"
        ),
    ),
    (
        Reason.SECRET_API_KEY,
        (
            r"\bsntry[su]_[\w=+/-]{20,300}|\bNRAK-[A-Z0-9]{20,40}|\bglc_[\w=+/-]{20,200}|\bglsa_[\w]{20,60}"
            r"|\bgsk_[A-Za-z0-9]{20,80}|\bpplx-[A-Za-z0-9]{20,80}"
        ),
    ),
    (
        Reason.SECRET_API_KEY,
        (
            r"\br8_[A-Za-z0-9]{20,60}|\bxai-[A-Za-z0-9]{20,120}|\btskey-[\w-]{10,80}|\bsbp_[0-9a-f]{30,60}"
            r"|\brnd_[A-Za-z0-9]{20,60}|\bms_(?:live|test|prod|dev)_[A-Za-z0-9]{12,80}"
        ),
    ),
    (Reason.SECRET_API_KEY, r"\b\d{8,10}:AA[\w-]{32,36}\b"),
    (
        Reason.SECRET_API_KEY,
        (
            r"\bAccountKey=[A-Za-z0-9+/=]{20,100}|\bSharedAccessSignature=[^\s;]{10,300}|[?&](?:sig"
            r"|X-Amz-Signature)=[\w%/+-]{20,200}"
        ),
    ),
    (Reason.SECRET_TOKEN, r"\beyJ[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{8,4000}(?:\.[A-Za-z0-9_-]{0,2000})?"),
    (
        Reason.SECRET_TOKEN,
        (r"\b[Bb]earer\s+[A-Za-z0-9._~+/-]{16,2000}=*|\b[Aa]uthorization:\s*[Bb]asic\s+[A-Za-z0-9+/=]{8,500}"),
    ),
    (Reason.SECRET_PASSWORD, r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{0,64}:[^\s/@]{3,128}@[\w.-]{1,200}"),
    (
        Reason.SECRET_WALLET,
        r"\b(?:xprv|yprv|zprv)[1-9A-HJ-NP-Za-km-z]{50,120}\b|\b[5KL][1-9A-HJ-NP-Za-km-z]{50,51}\b",
    ),
)
_SHAPE = patterns.compile("|".join(f"(?P<s{i}>{pattern})" for i, (_, pattern) in enumerate(_SHAPES)))
# A cheap test that runs first: without one of these no format can match.
_SHAPE_HINT = patterns.compile(r"[A-Za-z0-9_+/=-]{16}|://[^\s@]{0,200}@|PRIVATE KEY|PuTTY-User|xox|[Bb]earer|[Bb]asic ")

_KEY_BEGINS = patterns.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY")
_KEY_ENDS = patterns.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")

# A word for a secret, then a value that is not prose: "password is …", "pin: …", "the wifi code is …".
_NAMED = patterns.compile(
    r"\b(?P<what>pass\s?words?|pass\s?wor?ds?|pass\s?phrase|pass\s?code|passwd|pwd?|pw|p/w|credentials?|creds"
    r"|log-?in(?: there| details| data| info)?|secret(?: key)?|api[ _-]?key"
    r"|(?:access|auth|api|deploy|bearer|session|refresh|security|personal access|bot)[ _-]?(?:key|token|secret)"
    r"|token|client[ _-]?secret|master key|encryption key|license key"
    r"|(?:wi-?fi|wlan|door|alarm|gate|safe|garage|vault|unlock|lock|entry|access|sim|card|bank|atm|phone|debit"
    r"|credit|tablet|laptop)?\s?(?:pin|puk)(?: code| number)?"
    r"|(?:door|alarm|gate|safe|garage|vault|unlock|lock|padlock|locker|entry|access|security|keypad|wi-?fi|wlan)"
    r"\s?(?:code|combination|combo)"
    r"|(?:codes?|combinations?|combos?)(?= (?:for|to|of) (?:the |my |our )?(?:\w+ )?(?:door|gate|garage|alarm|safe"
    r"|lock|building|entrance"
    r"|locker|shed|house|flat|office|keypad|vault|bike|lobby|elevator|lift|cellar|key ?box|suitcase|phone|card"
    r"|app)\b)|(?:recovery|backup|back-up|2fa|two[- ]factor|mfa|otp|one[- ]time|verification|authenticator|reset"
    r"|emergency)\s?(?:codes?|keys?|phrase|words|seeds?|pass(?:word|code)?|token)"
    r"|(?:seed|mnemonic)(?:\s?phrase|\s?words)?|security (?:answer|question)|cvc2?|cvv2?|otp|tan)"
    r"(?P<for>(?:\s+(?:for|to|on|of|at|from)\s+(?:(?:the|my|our|this)\s+)?[\w.@'-]{1,40}(?:\s(?!is\b|are\b"
    r"|was\b)[\w.@'-]{1,30}){0,3})|\s+there)?"
    r"(?P<quote>[\"'`*]{0,2})\s*(?P<link>(?:(?:(?:is|are|was|'s|to|now|still|currently|changed to|set to"
    r"|should be|stays|remains|just)\b|='?s\b|=|:|->|→)[\s:=>]*){1,3}|\s)"
    r"(?:\*\*(?!\*))?[\s\"'`(<\[]{0,3}(?P<value>[^\s\"'`<>]{3,200})",
    patterns.IGNORECASE,
)
_WORDS_AS_SECRET = patterns.compile(
    r"\b(?:seed|recovery|backup|mnemonic|secret)\s?(?:phrase|words)\s*(?:is|are|:|="
    r"|-)?\s*(?P<value>(?:[a-z]{3,8}[\s,]+){5,24}[a-z]{3,8})",
    patterns.IGNORECASE,
)
_PASSWORD_PROSE = patterns.compile(
    r"\b(?:password|passphrase|passwort|pass\s?code|contraseña|mot de passe|wachtwoord|senha|pwd)[\"'`*]{0,2}\s*"
    r"(?P<link>(?:is|es|ist|est|to)\s|:|=>|={1,3}|→)(?:\*\*(?!\*))?\s*(?:now\s+|still\s+)?[\"'`]?"
    r"(?P<value>[^\s\"'`,;]{3,120})",
    patterns.IGNORECASE,
)
# A name that ends like that of a secret: DB_PASSWORD=…, "smtp.token": …
_ASSIGNED = patterns.compile(
    r"(?<![\w.-])(?P<what>[a-z][\w.-]{0,60}?(?:(?:[_.-]|(?<=[a-z])(?=P))(?:pass(?:word|wd|phrase)?|pwd|pw)"
    r"|[_.-]?(?:token|secret|(?:api|access|auth|secret|encryption|private)[_-]?key)))"
    r"[\"'`\]*]{0,3}\s*(?P<link>=>|:=|={1,3}|:)\s*[\"'`]?(?P<value>[^\s\"'`<>]{3,200})",
    patterns.IGNORECASE,
)
_USED_AS = patterns.compile(
    r"\b(?:use|using|used|set|with|picked|chose|took)\s+[\"'`]?(?P<value>(?=[^\s\"'`]*\d)[^\s\"'`]{4,100})[\"'`]?"
    r"\s+as\s+(?:the|my|our|its|a)\s+(?:new\s+|[\w-]{1,20}\s+)?(?:password|passcode|passphrase|pin)\b",
    patterns.IGNORECASE,
)
_ON_COMMAND_LINE = patterns.compile(
    r"\s(?:-u|--user)[ =][\"']?[\w.@-]{1,60}:(?P<value>[^\s\"'`]{4,120})|\s-p(?=[^\s\d])(?P<value2>[^\s\"'`]{6,120})",
)
_LOGIN_PAIR = patterns.compile(
    r"\b(?:pass|pwd|pw|kennwort|passwort)\s*[:=]\s*(?P<pass>[^\s,;]{4,100})"
    r"|(?<!/)\b(?:log-?in|log in with|sign in with|account|credentials?|creds|user(?:name)?|admin)\b[^\n]{0,40}?"
    r"(?:(?:is|are|with|:|=|as)\s*|[^\S\n]*)(?P<user>[\w.@+-]{2,60})[^\S\n]*(?:/|:|\bpw\b|\bpass\b|\band\b|\|)[^\S\n]*"
    r"(?P<value>(?!//)(?=[^\s]*\d)(?=[^\s]*[A-Za-z])(?=[^\s]*[^\w\s])[^\s,]{6,100})"
    # An email address, then the password beside it: "me@host / Otter!Lake42".
    r"|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}[^\S\n]*[/|:][^\S\n]+"
    r"(?P<beside>(?!https?:)(?=[^\s]*\d)(?=[^\s]*[A-Za-z])(?=[^\s]*[!?*#&$%^~+=_@])[^\s,]{7,100})",
    patterns.IGNORECASE,
)
_GOVERNMENT = patterns.compile(
    r"\b(?:(?:social security|social insurance|national insurance|national id|passport|tax(?:payer)?(?: id"
    r"| identification)?|driver'?s? licen[cs]e|driving licen[cs]e|licen[cs]e"
    r"|identity card|id card|personal id|citizen|residence permit|visa|health insurance|insurance|medicare|nhs"
    r"|aadha?ar|pan|ssn|sin|nino|ni|tin|itin|nie|dni|nif|bsn|cpf|cnpj"
    r"|curp|pesel|personnummer|steuer-?id|steuer(?:liche)?\s?identifikationsnummer|sozialversicherungsnummer"
    r"|codice fiscale|account|bank account|routing|iban|sort code)"
    r"\s?(?:no\.?|number|num|nr\.?|id|#|code)?|my social)\s*(?:is|:|=|-|was|'s"
    r"|,)?\s*(?:now\s+)?(?P<value>[A-Z]{0,5}[ -]?(?=[A-Z0-9 ./-]{0,24}\d)[A-Z0-9][A-Z0-9./-]{3,24}(?:\s[A-Z0-9]"
    r"{2,6}){0,6})",
    patterns.IGNORECASE,
)
_GOVERNMENT_LOOSE = frozenset(
    {"account", "insurance", "health insurance", "licence", "license", "citizen", "pan", "visa", "sin", "tin", "ni"}
)
_HINT = patterns.compile(
    r"pass|pw|cred|log-?in|secret|key|token|pin\b|puk\b|code|combo|combination|seed|mnemonic|otp|tan\b|cvc|cvv"
    r"|social|licen|number"
    r"|\bid\b|\bno\b|iban|contrase|mot de|wachtwoord|senha|sign in|user|admin|account|\bnr\b"
    r"|\s-[pu]|--user|nhs|ssn|nino|aad|steuer|passport|dni|bsn|cpf|pesel|personnummer|codice|sort|routing|nif|nie\b"
    r"|tin\b|sin\b|vault|@[\w.-]{1,80}\s*[/|:]\s"
)
_HINT_IN_ANY_CASE = patterns.compile(_HINT.pattern, patterns.IGNORECASE)
# Every card number, one-time code and government number has at least six digits.
_SIX_DIGITS = patterns.compile(r"(?:\D*\d){6}")


def find_secrets(plain: str) -> list[Secret]:
    """Secrets in folded text, in order; the spans may overlap."""
    found: list[Secret] = []
    text = _Text(plain)
    if _SHAPE_HINT.search(plain):
        for match in _SHAPE.finditer(plain):
            reason = _SHAPES[int((match.lastgroup or "s0")[1:])][0]
            if not _is_blank_form(text, match):
                found.append(Secret(match.start(), match.end(), reason))
    if "PRIVATE KEY" in plain:
        found += _private_keys(plain)
    found += [Secret(m.start(), m.end(), Reason.SECRET_BANK_ACCOUNT) for m in IBAN.finditer(plain) if is_iban(m[0])]
    if _SIX_DIGITS.match(plain):
        found += find_numbers(plain)
    if _may_name(plain):
        found += _named(text)
    return sorted(found)


def _may_name(plain: str) -> bool:
    """Whether the text contains a word that names a secret.

    Ignoring case takes four times as long as searching lower-case text.  For non-ASCII text the results would differ.
    """
    found = _HINT.search(plain.lower()) if plain.isascii() else _HINT_IN_ANY_CASE.search(plain)
    return found is not None


class _Text:
    """The text and its code regions, which are computed once, when first needed."""

    def __init__(self, plain: str) -> None:
        self.plain = plain
        self._code: list[tuple[int, int]] | None = None

    def in_code(self, at: int) -> bool:
        if self._code is None:
            self._code = code.regions(self.plain)
        place = bisect_right(self._code, (at, len(self.plain))) - 1
        return place >= 0 and at < self._code[place][1]

    def is_given(self, start: int, end: int, *, symbol: bool) -> bool:
        """Whether plain[start:end] can be a real secret, in prose or in code.

        symbol: it follows ":" or "=", as in code, not "is".
        """
        plain, value = self.plain, self.plain[start:end]
        if is_placeholder(value):
            return False
        in_code = self.in_code(start)
        if (symbol or in_code) and is_expression(plain, start, end, in_code=in_code):
            return False
        if not symbol and value[-1] in "([" and plain[end : end + 1] in ("'", '"'):
            return False
        if not in_code:
            return True
        if plain[start - 1] in "\"'`" or not _CONFIG_LINE.fullmatch(plain, _line_start(plain, start), end):
            return looks_real(value)
        return looks_configured(value)


_CONFIG_LINE = patterns.compile(r"\s*(?:export\s+|set\s+|env\s+|-e\s+|-\s+|#\s*)?[\w.-]{1,60}\s*[:=]\s*[^\s;]+")


def _line_start(plain: str, at: int) -> int:
    return max(plain.rfind("\n", max(0, at - 200), at) + 1, at - 200, 0)


def _is_blank_form(text: _Text, match: patterns.Match) -> bool:
    """Whether a key format or URL holds words in place of the secret: "sk-your-key-here"."""
    said = match[0]
    if "://" in said:
        user, _, word = said.partition("://")[2].rpartition("@")[0].partition(":")
        if is_placeholder(word) or is_dummy(word) or word.lower() in _GENERIC:
            return True
        return text.in_code(match.start()) and (word == user or is_sample(word))
    if said[:6].lower() == "bearer" and not any(c.isdigit() for c in said) and _WORDY_TOKEN.search(said[7:]):
        return True
    return is_placeholder(said) or is_dummy(said)


_WORDY_TOKEN = patterns.compile(r"[_-]|token|auth|cred", patterns.IGNORECASE)
_GENERIC = listed("password passwd pass pwd yourpassword mypassword your_password my_password")


def _private_keys(plain: str) -> list[Secret]:
    """Private keys, each from its BEGIN line to its END line, or to the end of the text."""
    found: list[Secret] = []
    end = 0
    for begin in _KEY_BEGINS.finditer(plain):
        if begin.start() < end:
            continue
        closing = _KEY_ENDS.search(plain, begin.end())
        end = closing.end() if closing else len(plain)
        found.append(Secret(begin.start(), end, Reason.SECRET_PRIVATE_KEY))
    return found


def _named(text: _Text) -> list[Secret]:
    plain = text.plain
    found: list[Secret] = []
    for match in _NAMED.finditer(plain):
        link = match["link"].strip()
        if match["quote"] and not link:
            continue
        if looks_secret(match["value"], explicit=bool(link), what=match["what"].lower()) and text.is_given(
            *match.span("value"), symbol=_is_symbol(link)
        ):
            found.append(Secret(match.start(), match.end(), _reason(match["what"])))
    found += [
        Secret(m.start(), m.end(), Reason.SECRET_PASSWORD)
        for m in _PASSWORD_PROSE.finditer(plain)
        if looks_password(m["value"], plain, m.end()) and text.is_given(*m.span("value"), symbol=_is_symbol(m["link"]))
    ]
    found += [
        Secret(m.start(), m.end(), _reason(m["what"]))
        for m in _ASSIGNED.finditer(plain)
        if looks_secret(m["value"], explicit=True, what=m["what"].lower())
        and text.is_given(*m.span("value"), symbol=True)
    ]
    for match in (*_USED_AS.finditer(plain), *_ON_COMMAND_LINE.finditer(plain)):
        value = match[match.lastgroup or "value"]
        if match.re is _USED_AS or looks_real(value):
            found.append(Secret(match.start(), match.end(), Reason.SECRET_PASSWORD))
    found += [
        Secret(m.start(), m.end(), Reason.SECRET_RECOVERY_CODE)
        for m in _WORDS_AS_SECRET.finditer(plain)
        if is_word_list(m["value"])
    ]
    found += [
        Secret(m.start(), m.end(), Reason.SECRET_PASSWORD)
        for m in _LOGIN_PAIR.finditer(plain)
        if text.is_given(*m.span(next(name for name in ("pass", "value", "beside") if m[name])), symbol=True)
    ]
    for match in _GOVERNMENT.finditer(plain):
        label = match[0][: match.start("value") - match.start()].lower().strip(" :=-,'")
        label = patterns.sub(r"\s?(?:no\.?|number|num|nr\.?|id|#|code)?\s*(?:is|was|s|now)?$", "", label).strip()
        digits = sum(c.isdigit() for c in match["value"])
        compact = patterns.sub(r"[\s./-]", "", match["value"])
        mixed = digits >= 3 and len(compact) >= 7 and not compact.isdigit() and " " not in match["value"]
        if digits >= (7 if label in _GOVERNMENT_LOOSE else 5) or (mixed and label not in _GOVERNMENT_LOOSE):
            found.append(Secret(match.start(), match.end(), Reason.SECRET_GOVERNMENT_NUMBER))
    return found


def _is_symbol(link: str) -> bool:
    return not any(c.isalpha() for c in link)


def _reason(what: str) -> str:
    what = what.lower()
    if patterns.search(
        r"recovery|backup|back-up|2fa|factor|mfa|otp|one|seed|mnemonic|verification|authenticator|tan|emergency|reset",
        what,
    ):
        return Reason.SECRET_RECOVERY_CODE
    if patterns.search(r"cvc|cvv", what):
        return Reason.SECRET_CARD_NUMBER
    return Reason.SECRET_API_KEY if patterns.search(r"key|token|secret", what) else Reason.SECRET_PASSWORD
