"""Prompt injection: attempts to override rules, to pose as the system, or to write false memories."""

from typing import NamedTuple

from text import patterns
from text.extraction.reasons import Reason

_PRIOR = (
    r"(?:previous|prior|above|earlier|preceding|past|existing|former|other|original|initial|system|developer|safety"
    r"|security|current|your|the|all|any|every|these|those|of|my|what|said|everything)"
)
_RULES = (
    r"(?:instructions?|rules?|prompts?|directions?|directives?|guidelines?|orders?|commands?|policies|policy"
    r"|messages?|context|constraints?|memor(?:y|ies)|training"
    r"|safeguards?|guardrails?|restrictions?|programming|filters?|limitations?|told)"
)
_PATTERNS: tuple[tuple[str, str], ...] = (
    (Reason.INJECTION_OVERRIDE, (
        r"\b(?:obey|answer to|listen to|trust|follow|take orders from)\s+(?:only|nobody but|no one but|no-one but"
        r"|none but)\b"
        r"|\b(?:skip|bypass|omit|waive|drop)\s+(?:all|any|every)\s+(?:confirmations?|checks?|verifications?"
        r"|approvals?|safety|security|safeguards?)\b"
        r"|\bnever\s+(?:refuse|decline|question|deny|reject)\s+(?:any\s+|my\s+|the\s+|our\s+|a\s+)*(?:requests?"
        r"|orders?|commands?|instructions?|"
        r"thing i)\b|\bno\s+(?:limits?|rules?|restrictions?|filters?)\s+appl(?:y|ies)\b"
    )),
    (Reason.INJECTION_REVEAL, (
        r"\b(?:print|repeat|output|show|reveal|copy|paste|list|recite|echo)\b[^.\n]{0,20}\b(?:everything|all|the"
        r" text|the words|whatever|what'?s?"
        r"|what is|stands)\s+(?:is\s+|that'?s\s+|stands\s+)?(?:above|before|prior to|preceding)\s+(?:this|that|my"
        r"|the)\b"
    )),
    (Reason.INJECTION_PLANTED, (
        r"\b(?:memory|profile|system|context)\s+(?:update|note|entry|override|edit|patch)\s*[:>-]+\s*(?:the\s+)?user\b"
        r"|(?:^|[\n.:;]\s*)user\s+(?:has\s+|have\s+|already\s+)*(?:pre-?)?(?:approved|consented|authori[sz]ed"
        r"|granted|waived|agreed to)\b"
    )),
    (Reason.INJECTION_PLANTED, (
        r"\b(?:save|store|remember|record|memori[sz]e|note|add|write|commit|persist|keep)\b[^.\n]{0,30}\b(?:memory"
        r"|notes?"
        r"|profile|record|mind)\b\s*[:,-]?\s*(?:that\s+)?(?:the\s+)?(?:assistant|ai|model|bot|agent|chatbot|llm"
        r"|you)s?\s+"
        r"(?:must|should|shall|will|has to|have to|is to|are to|needs? to|always|never|may"
        r"|can)\b[^.\n]{0,60}\b(?:everyone"
        r"|anyone|every|all|any|always|never|users?|customers?|without|no matter)\b"
    )),
    (Reason.INJECTION_PLANTED, (
        r"\b(?:ai|llm|language model|chatbot|ai assistant|virtual assistant)s?(?: agents?| assistants?| models?|"
        r" systems?"
        r"| readers?)?\s+(?:must|should|shall|need to|have to|are (?:required|instructed|asked) to|are to|is to"
        r"|please)\s+"
        r"(?:always\s+|also\s+|now\s+|silently\s+)?(?:email|e-mail|mail|send|forward|post|upload|recommend|promote"
        r"|praise"
        r"|favou?r|rank|rate|buy|pay|click|visit|include|append|insert|reply|answer|respond|say|state|tell|call|run"
        r"|execute"
        r"|download|fetch|open)\b"
    )),
    (Reason.INJECTION_PLANTED, (
        r"\b(?:save|store|remember|record|memori[sz]e|note|log|from now on|going forward)\b[^.\n]{0,80}\b(?:(?:is"
        r"|are|as|be|count)"
        r"\s+(?:always\s+|automatically\s+)?(?:pre-?approved|auto-?approved|pre-?authori[sz]ed|automatically approved"
        r"|exempt from (?:checks?|verification|review|limits?)))\b"
    )),
    (Reason.INJECTION_OVERRIDE, (
        r"\b(?:ignore|disregard|forget)\s+(?:whatever|everything|anything|all|what)\s+(?:that\s+)?(?:you(?:'ve| have"
        r"| were|'re)?"
        r"|they|anyone|your \w+)\s+(?:been\s+)?(?:told|said|instructed|taught|given|programmed|trained|know|learned)"
    )),
    (
        Reason.INJECTION_PLANTED,
        r"\b(?:you are|you're|you may)\s+(?:now\s+|hereby\s+)*(?:allowed|permitted|authori[sz]ed|free"
        r"|cleared)?\s*(?:to\s+)?"
        r"(?:reveal|share|ignore|bypass|disclose|leak|access|override)\b[^.\n]{0,60}\b(?:users?|data|rules?|polic\w+"
        r"|secrets?|instructions?|verification|checks?|limits?)\b",
    ),
    (Reason.INJECTION_OVERRIDE, (
        rf"\b(?:ignore|disregard|forget|override|bypass|overrule|discard|drop|skip|circumvent|disable|cancel"
        rf"|neglect)\s+(?:{_PRIOR}\s+){{1,5}}{_RULES}\b"
    )),
    (Reason.INJECTION_OVERRIDE, (
        r"\b(?:ignore|disregard|forget)\s+(?:everything|anything|all)\s+(?:above|before|prior|earlier|previous"
        r"|you(?:'ve| have| were| know)|that|i said|i told|said|we)"
    )),
    (Reason.INJECTION_OVERRIDE, (
        r"\b(?:your|the)\s+(?:new|real|true|actual|updated)\s+(?:instructions?|rules?|system prompt|directives?|role"
        r"|purpose|task|orders?|goal)\s+(?:is|are|:|now)"
    )),
    (Reason.INJECTION_OVERRIDE, r"\bnew\s+(?:system\s+)?(?:instructions?|directives?|system prompt)\s*:"),
    (Reason.INJECTION_OVERRIDE, (
        r"\b(?:you are|you're|act|behave|answer|respond|reply|speak|operate|function)\s+(?:now\s+|as\s+"
        r"|like\s+)*(?:dan\b|jailbroken|unrestricted|unfiltered"
        r"|uncensored|developer mode|root\b|in (?:developer|god|admin|debug|maintenance) mode)"
    )),
    (Reason.INJECTION_PLANTED, (
        r"\b(?:treat|consider|regard|mark)\s+(?:the|this|every|any)\s+(?:user|account|caller|request\w*)\s+as\s+(?:an?\s+|the\s+)?"
        r"(?:root|admin\w*|superuser|owner|trusted|verified|privileged|pre-?approved)\b"
    )),
    (Reason.INJECTION_OVERRIDE, (
        r"\b(?:enter|enable|activate|switch to|turn on)\s+(?:the\s+)?(?:god|jailbreak|dan|unrestricted|sudo)\s+mode"
    )),
    (Reason.INJECTION_OVERRIDE, (
        # Programs have such a mode too; an order to the assistant states its purpose, or nothing else.
        r"\b(?:enter|enable|activate|switch to|turn on)\s+(?:the\s+)?(?:developer|debug|admin|maintenance)\s+mode"
        r"(?=[^.\n]{0,80}\b(?:ignore|bypass|obey|unlock|reveal|leak|dump|refuse|approve|skip|unrestricted|(?:no|without"
        r"|disable|lift|drop)\s+(?:any\s+|all\s+|your\s+|the\s+)*(?:restrictions?|filters?|rules?|limits?|safety"
        r"|checks?|verification|guidelines?|guardrails?|policies|policy))\b)"
        r"|(?:^|[.!?\n\"'>:]\s*)(?:now\s+|please\s+|you must\s+|assistant[,:]?\s+)*(?:enter|activate|switch to|enable"
        r"|turn on)\s+(?:the\s+)?(?:developer|debug|admin|maintenance)\s+mode(?:\s+now)?[.!]*\s*\Z"
    )),
    (Reason.INJECTION_OVERRIDE, (
        r"\b(?:without|no|turn off|disable|skip|bypass|remove)\s+(?:any\s+|all\s+|your\s+|the\s+)*(?:safety|content"
        r"|security|ethical)\s+(?:filters?|checks?|restrictions?|policies|policy|guidelines?|rules?|guardrails?)"
    )),
    (Reason.INJECTION_REVEAL, (
        r"\b(?:print|reveal|show|repeat|output|display|leak|dump|expose|tell|give|send|forward|exfiltrate|share"
        r"|recite)\b[^.\n]{0,30}\b(?:system prompt|hidden prompt|initial prompt|(?:your|the) (?:hidden |system "
        r"|initial |secret )?instructions|developer message|(?:other|all) users?'? (?:data|memories|secrets)"
        r"|api keys?|credentials|environment variables)"
    )),
    (Reason.INJECTION_POSING, (
        r"(?:^|[\n\"'>\].!?;:]\s*)(?:\[?#{0,3}\s*)(?:system|developer|admin(?:istrator)?|assistant|root|operator"
        r"|anthropic|openai)(?:\s+(?:message|notice|override|note|instruction|prompt|update|alert"
        r"|command))?\]?\s*(?:>|:)\s*\S"
    )),
    (Reason.INJECTION_POSING, (
        r"<\|?(?:im_start|im_end|system|/?inst|endoftext|assistant)\b|\[/?(?:inst|system)\]|<<sys>>|</?(?:system"
        r"|instructions?|user_?info|memory|important|admin)>|#{2,}\s*(?:system|instruction)"
    )),
    (Reason.INJECTION_PLANTED,
        r"\b(?:assistant|ai|model|bot|agent|chatbot|llm|claude|chatgpt|gpt|gemini|copilot|you)\s+(?:must|should"
        r"|shall|will|has to|is to|is required to|are required to|needs? to)\s+(?:now\s+|always\s+|also\s+"
        r"|immediately\s+|silently\s+)*"

                          r"(?:save|store|remember|record|memori[sz]e|note|log|treat|believe|assume|approve|wire"
                          r"|transfer|send|forward|email|grant|delete|exfiltrate|trust|skip)\b[^.\n]{0,60}\b(?:user"
                          r"|that|all|every|any|refunds?|payments?|admin|access|as|to)\b"),
    (Reason.INJECTION_PLANTED, (
        r"\b(?:save|store|remember|record|memori[sz]e|note|add|write|commit|persist)\b[^.\n]{0,30}\b(?:to|in|into"
        r"|as)\s+(?:your\s+|the\s+|its\s+|long[- ]term\s+|permanent\s+|a\s+)*(?:long[- ]term |persistent "
        r"|permanent )?memory\b[^.\n]{0,60}\b(?:the user|user (?:is|has|wants|prefers|approved)|admin|approved"
        r"|authori[sz]ed|trusted)"
    )),
    (Reason.INJECTION_PLANTED, (
        r"\b(?:save|store|remember|record|memori[sz]e|note|log)\s+(?:that\s+|this:?\s+|the fact that\s+)?(?:the"
        r"|this)\s+user\s+(?:is|has|wants|prefers|approved|agreed|authori[sz]ed|consented|now|always|granted|likes"
        r"|hates|lives|follows|trusts|should)\b"
    )),
    (Reason.INJECTION_PLANTED, (
        r"\bthe user\s+(?:has\s+|have\s+|now\s+|already\s+)*(?:is an? (?:admin|administrator|root|superuser"
        r"|developer|owner)|has (?:admin|root|full|unlimited)|approved|authori[sz]ed|pre-?approved|consents?"
        r"|consented|granted|waived|agreed to)\b"
    )),
    (Reason.INJECTION_PLANTED, (
        r"\b(?:ai|llm|language model|assistant|agent|chatbot|bot|model)s?\b[^.\n]{0,40}\b(?:reading|summari[sz]ing"
        r"|processing|parsing|seeing|scanning|indexing|visiting)\b[^.\n]{0,60}\b(?:must|should|shall|will|need to"
        r"|have to|please|are to|remember|recommend|ignore|say|rate)\b"
    )),
    (Reason.INJECTION_PLANTED, (
        r"(?:^|[\n\"'>.!?:]\s*)(?:dear |hey |hello |attention |note to |note for |to )?(?:the )?(?:ai|assistant|llm"
        r"|chatbot|ai assistant|language model|ai model|agent|claude|chatgpt|gpt|gemini"
        r"|copilot)s?\s*[,:;-]+\s*(?:please |always |now |you must |from now on |permanently |silently "
        r"|immediately )*(?:store|save|remember|memori[sz]e|record|ignore|forget|approve|treat|add|write|note|log"
        r"|send|forward|grant|mark|rate|recommend|trust|disregard|obey|skip|transfer|delete)\b"
    )),
    (Reason.INJECTION_PLANTED, (
        r"\b(?:every|all|any|future)\b[^.\n]{0,40}\b(?:refunds?|payments?|requests?|transfers?|purchases?"
        r"|transactions?|orders?|claims?|invoices?)\b[^.\n]{0,40}\b(?:pre-?approved|auto-?approved"
        r"|automatically approved|without (?:checks?|verification|confirmation|approval))\b"
    )),
    (Reason.INJECTION_OVERRIDE, (
        r"\b(?:pretend|act as if|assume|imagine)\b[^.\n]{0,30}\b(?:rules?|instructions?|guidelines?|restrictions?"
        r"|polic(?:y|ies)|filters?|limits?)\b[^.\n]{0,20}\b(?:don'?t|do not|no longer|never) (?:exist|apply|matter"
        r"|count)"
    )),
    (Reason.INJECTION_PLANTED, (
        r"\b(?:save|store|remember|record|memori[sz]e|note)\s+(?:that\s+|this:?\s+)?(?:i'?m|i am|this user is"
        r"|the user is|we are)\s+(?:an?\s+|the\s+|your\s+|now\s+)*(?:system\s+)?(?:admin(?:istrator)?|root|superuser"
        r"|owner of this system|developer of this (?:bot|model|assistant))\b"
    )),
    (Reason.INJECTION_PLANTED, (
        r"\b(?:(?:tell|convince|instruct|order|make)\s+(?:the\s+|your\s+)?(?:assistant|ai|model|bot"
        r"|agent)\s+to)\s+(?:ignore|forget|save|store|remember|send|approve|skip|bypass|delete)\b"
    )),
    (Reason.INJECTION_PLANTED, (
        r"\b(?:i am|i'm|treat me as|consider me|grant me|give me|make me|assume i am|assume i'm|as)\s+(?:an?\s+"
        r"|the\s+|your\s+|now\s+)*(?:system\s+)?(?:admin(?:istrator)?|root|superuser|developer|creator"
        r"|owner)(?:\s+(?:user|access|rights|privileges|permissions?|mode))?\b[^.\n]{0,60}\b(?:skip|bypass|ignore"
        r"|override|without (?:checks?|confirmation|verification|asking)|no (?:verification|questions|checks)|unlock"
        r"|all permissions|full access|unrestricted|disable|obey)"
    )),
    (Reason.INJECTION_PLANTED, (
        r"\b(?:grant|give)\s+(?:me|this user|the user|everyone)\s+(?:full\s+|all\s+|unrestricted\s+|permanent\s+"
        r"|root\s+)*(?:admin|administrator|root|superuser|full|unrestricted)\s+(?:access|rights|privileges"
        r"|permissions)"
    )),
    (Reason.INJECTION_PLANTED,
        r"\b(?:from (?:now|here|today) on(?:wards?)?|from this (?:moment|point)(?: on)?|always|remember"
        r"|in (?:all )?future)\b"
        r"[^.\n]{0,60}\b(?:you have no (?:restrictions|rules"
        r"|limits|filters)|no (?:rules|restrictions|safety|limits) apply|safety (?:rules|checks"
        r"|policies)? ?(?:do not|don't|no longer) apply|never refuse|can'?t refuse|must not refuse"

                          r"|do anything now|without (?:any )?(?:restrictions|filters|verification|limits)"
                          r"|skip (?:all |any |every |the )?(?:verification|confirmation|security|safety|permission"
                          r"|approval|auth\w*)(?: checks?| steps?)?|approve (?:all|any"
                          r"|every)\b[^.\n]{0,20}\b(?:refund|payment|transfer|request|purchase|transaction))"),
    (Reason.INJECTION_PLANTED, (
        r"\b(?:send|forward|post|upload|email|exfiltrate|leak)\b[^.\n]{0,40}\b(?:conversation|chat|history|memories"
        r"|data|secrets?|credentials|contacts|everything)\b[^.\n]{0,40}\bto\s+(?:https?://|\S+@|attacker|evil)"
    )),
)  # fmt: skip
_ORDERS = patterns.compile("|".join(f"(?P<i{i}>{pattern})" for i, (_, pattern) in enumerate(_PATTERNS)))
_HINT = patterns.compile(
    r"you are|you're|you may|instruction|rules?\b|prompt|memor|ignore|disregard|override|bypass|system|assistant"
    r"|\bmode\b|admin|the user"
    r"|this user|obey|memory|confirmation|refuse|above|orders|trust|root|refus|verification|restrict|<\||\[inst"
    r"|guardrail|safety"
    r"|superuser|exfiltrat|polic|approved|restrict|\bai\b|llm|chatbot|agent|chatgpt|claude|skip|approve|developer"
    r"|everything|forget"
)
# "Ignore my last message" retracts a message; it does not order to break rules.
_TAKING_BACK = patterns.compile(
    r"\b(?:ignore|disregard|forget|skip|cancel)\s+(?:that|this|it|my (?:last|previous|earlier) (?:message|question"
    r"|comment|note|mail|email|request|one)|what i (?:just )?(?:said|wrote|asked))\b"
)
_QUOTED = patterns.compile(r'"[^"]{0,2000}(?:"|\Z)')


class Order(NamedTuple):
    start: int
    end: int
    reason: str


def find_order(plain: str, low: str) -> Order | None:
    """The span that an injected order spoils: the quotation around it, else everything from the start of its line."""
    if not _HINT.search(low):
        return None
    for match in _ORDERS.finditer(low):
        if _TAKING_BACK.match(match[0]) and not patterns.search(r"instructions?|rules?|prompt|polic|memor", match[0]):
            continue
        reason = _PATTERNS[int((match.lastgroup or "i0")[1:])][0]
        for quotation in _QUOTED.finditer(plain):
            if quotation.start() <= match.start() < quotation.end():
                return Order(quotation.start(), quotation.end(), reason)
        return Order(match.start(), len(plain), reason)
    return None
