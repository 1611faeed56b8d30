"""What is not asserted: questions, hypotheses, fiction, sarcasm, other people's claims, one-off commands."""

import re

_HYPOTHETICAL = re.compile(
    r"\b(?:if|as if|even if|what if|unless)\s+(?:i|we|my \w+|he|she|they|you|someone|somebody|one|there|it|[a-z]+)\s+(?:were|was to|had|lived|worked|moved|could|was|wanted|would|bought|got|became|went|took|quit|switched|joined|started|ate|used|decided|sold|married|spoke|owned)\b"
    r"|^(?:so |and |but |ok |well |hey |now )*(?:suppose|supposing|imagine|pretend|assume|assuming|let'?s (?:say|pretend|assume|imagine|suppose)|say (?:i|we|my)\b|hypothetically|what if|picture this|in a world|in theory|just hypothetically|hypothetical)"
    r"|\b(?:hypothetical(?:ly)?|purely theoretical|in an alternate|for the sake of argument)\b"
    r"|\b(?:i|we)(?:'d| would)\s+(?:probably |maybe |definitely |totally |never )?(?:be|have|go|move|live|buy|need|take|become|switch|quit)\b.{0,80}\bif\b"
    r"|\b(?:i|we|he|she|they)\s+(?:might|may|could)\s+(?:just |one day |also |even |still |possibly |eventually |well |as well |want to |someday )*(?:move|switch|buy|get|try|go|become|start|quit|learn|change|take|join|sell|consider|have|be|do|end up|look|use|adopt|leave|marry|need|want|pick|visit|apply|drop|give|migrate|rewrite|invest|travel|study|retire|hire|open|build)\b"
    r"|^(?:so |and |but |well |hmm+,? |idk,? |tbh,? )*(?:maybe|perhaps|possibly)\b|\bmaybe (?:i|we|one day|someday|next year|later|at some point|it'?s time|a )|\b(?:i'?m|we'?re|im|i am|we are|been|was|kind of|sort of|half)\s+(?:just |still |kinda |also |vaguely |idly |half |seriously )*(?:thinking (?:about|of)|considering|toying with|tempted|wondering|daydreaming|fantasi[sz]ing|contemplating|debating|mulling|pondering|on the fence|undecided|torn)\b"
    r"|^(?:been )?(?:thinking (?:about|of)|considering|toying with|wondering|tempted to|debating|mulling)\b"
    r"|\b(?:who knows|we'll see|some ?day maybe|one day maybe|in another life|if only|i wish|wish i|would be (?:nice|fun|cool|great) to|would love to .{0,40}(?:some ?day|one day)|dream(?:ing)? of|my dream|dreamt|dreamed|i (?:could|should) probably|not sure (?:if|whether)|haven'?t decided|no idea (?:if|whether)|what would happen|could be (?:fun|nice|cool|worth))\b"
)
_FICTION = re.compile(
    r"\b(?:pretend|imagine|role-?play|act as|act like|play the (?:role|part)|you are (?:now )?an? |you'?re (?:now )?an? (?!great|good|life|star|legend|bit|little|assistant|big|huge|really)|let'?s play|be my dungeon|stay in character|in character as)\b"
    r"|\b(?:write|tell|continue|finish|draft|make up|invent|compose|give me|need|generate|create)\b.{0,30}\b(?:story|poem|novel|scene|dialogue|dialog|fairy ?tale|limerick|haiku|screenplay|script where|song|lyrics|chapter|fan ?fic\w*|backstory|monologue|character)\b"
    r"|\b(?:in|for) (?:the|my|a|this|our) (?:\w+ )?(?:novel|story|book i'?m writing|screenplay|game|campaign|fanfic|comic|short story|d&d|dnd|play|manuscript|script|plot|fiction)\b|\b(?:my|the|our|main) (?:\w+ )?(?:character|protagonist|hero|heroine|villain|narrator|wizard|paladin|bard|rogue|elf|dwarf|antagonist|npc|persona)\b"
    r"|^(?:once upon a time|the (?:knight|dragon|wizard|king|princess|pirate|vampire|detective|hero))\b|\b(?:in|during) (?:my|the|a) dream\b|\b(?:lorem ipsum|placeholder text|dummy (?:text|data)|sample (?:user|data|text|persona)|example (?:user|persona|sentence)|for example,? (?:a|the) user)\b"
)
_SARCASM = re.compile(
    r"^(?:oh|ah|wow|well|yeah|yay|ha|haha|lol|ok|okay|great|sure|so)?[\s,.]*(?:(?:oh|yeah|yes|wow|great|sure|fantastic|wonderful|lovely|brilliant|awesome|perfect|nice|super|just|cool)[\s,.]+){0,3}"
    r"(?:oh (?:great|sure|yeah|joy|wonderful|fantastic|lovely|perfect|good|yes|brilliant|nice|goody|wow|please)|yeah,? (?:right|sure|because)|sure,? (?:because|let'?s|why not|jan|right|i)|just (?:what i|great|perfect|wonderful|brilliant|lovely|fantastic)|because (?:that|of course|obviously|who doesn'?t)|as if (?:i|we|that)|what a (?:surprise|shock|joy|treat|delight)|how (?:wonderful|lovely|delightful|nice|original|surprising|convenient)|love (?:that|it when|how) |i just (?:love|adore) (?:it )?(?:when|how)|thanks a (?:lot|bunch|million),? |nothing (?:says|beats|like)|who doesn'?t love|big surprise|shocker|right,? because|because (?:i'?m|i am) (?:such|so|clearly|totally))"
    r"|\b(?:such a|so very|totally|clearly|obviously) (?:morning person|expert|genius|natural)\b|(?:^|\s)/s\b|\byeah right\b|\bnot\s*!+$|\beye ?roll\b|\bsaid no one ever\b|\bbecause (?:i'?m|i am|we'?re|that'?s) (?:such|so|clearly|totally|obviously) (?:a|an|the)?\b|\bi (?:just|really|so|absolutely) (?:love|adore|enjoy) (?:it when |how |being (?:woken|stuck|ignored|paged|yelled)|waiting|another|these endless|spending hours|debugging at|monday|getting (?:paged|woken|spam)|sitting in traffic|paying|filling)"
    r"|\bmy favou?rite thing (?:ever|in the world)\b.{0,30}(?:traffic|taxes|queue|meeting|waiting)|\bcan'?t wait (?:to|for) (?:another|yet another|more|sit|spend|fill|do my taxes)|🙄"
)
_OTHERS_CLAIM = re.compile(
    r"\b(?:people|they|some|everyone|everybody|folks|experts|scientists|researchers|critics|reddit|twitter|the internet|wikipedia|chatgpt|google|the (?:article|blog|post|forum|book|podcast|video|documentation|docs|ad|email|mail|newsletter|review|report|paper|study|news|brochure|flyer|website|site|listing|salesman|salesperson|vendor|recruiter|author|speaker|guy|caller|tweet|headline|job ad|comment|tutorial|horoscope)|an? (?:article|blog|post|forum|book|podcast|video|study|guy|ad|tweet|stranger|commenter|redditor|influencer|youtuber|recruiter|salesman|vendor|paper|survey|random \w+)|(?:some|this) (?:guy|article|blog|post|stranger|influencer|person|random \w+|tweet|video|study|youtuber)"
    r"|someone|somebody|my horoscope|rumou?r(?: has it)?|rumou?rs|word)\s+(?:(?:on|in|at|from|who|i \w+) [\w' ]{1,30}? ?)?(?:\w+ly |also |always |still |keep |keeps |just |recently )*(?:says?|said|claims?|claimed|wrote|writes|told|reckons?|believes?|thinks?|argues?|argued|suggests?|insists?|insisted|recommends?|swears?|states?|stated|mentioned|posted|tweeted|has it|is that|call(?:s|ed)?|asked|saying|claiming)\b"
    r"|\b(?:allegedly|supposedly|apparently,? (?:people|they|some)|according to (?:the|an?|some|reddit|wikipedia|this)|i(?:'ve)? (?:heard|read|saw) (?:that|somewhere|on|in|about|a|an|people)|rumou?r has it|word is|they say|it is said|it's said|reportedly)\b"
)
_QUOTE = re.compile(r'"[^"]{12,}"?')
_REPORTING = re.compile(r"\b(?:says?|said|saying|wrote|writes|told|claims?|claimed|tweeted|posted|texted|asked|replied|mail(?:ed)?|email(?:ed)?|message[ds]?|quote|quoted|slogan|motto|line|lyrics?|subject|text|sentence|phrase|paragraph|headline|post|comment|translate|summari[sz]e|proofread|rephrase|rewrite|check|correct|reads?|mean|means|review|article|ad|listing|reply to|respond to|answer)\b")

_WH = re.compile(
    r"(?:(?:so|and|but|ok|okay|well|hey|hi|hmm+|btw|also|now|sorry|wait|oh|anyway|actually|honestly|please|quick question|question|just curious|out of curiosity)[\s,:.-]+)*"
    r"(?:(?:what|where|when|why|who|whom|whose|which|how)(?:'?s|'?re|'?d)?\s+(?!a |an |ever\b)(?:(?:is|are|was|were|do|does|did|can|could|should|would|will|to|about|much|many|long|often|far|come|if|else|kind|type|sort|the|my|your|our|i|we|you|s|exactly|time|day|year|one|ones|of|\w+) ?)"
    r"|whats\b|hows\b|wheres\b|whos\b|any (?:idea|ideas|tips|advice|suggestions|thoughts|chance|recommendations|good|news|update)\b|(?:do|does|did|is|are|was|were|can|could|should|would|will|has|have|had|may|might|am|isn'?t|aren'?t|don'?t|doesn'?t|didn'?t|won'?t|wouldn'?t|shouldn'?t|couldn'?t|can'?t|haven'?t)\s+(?:you|i|we|it|they|he|she|there|this|that|the|my|our|your|these|those|any|anyone|someone|people)\b)"
)
_COMMAND_VERBS = (
    "translate|summari[sz]e|explain|describe|write|rewrite|rephrase|reword|paraphrase|proofread|draft|fix|correct|show|list|give|tell|help|find|generate|create|make|build|convert|check|compare|calculate|compute|debug|run|rerun|execute|open"
    "|close|search|look|google|look up|browse|play|print|read|define|analy[sz]e|review|refactor|implement|add|remove|delete|rename|move|copy|paste|update|edit|change|format|sort|count|plot|draw|sketch|design|suggest|recommend|brainstorm|outline|continue|expand"
    "|shorten|simplify|elaborate|clarify|repeat|retry|undo|redo|revert|go|try|start|stop|pause|resume|restart|wait|solve|guess|spell|pronounce|extract|parse|test|deploy|commit|push|merge|pick|choose|rank|rate|estimate|answer|reply|respond|pretend|imagine|act|let"
    "|send|share|export|import|download|upload|install|turn|set|put|get|take|walk|teach|quiz|ask|order|book|plan|schedule|cancel|compose|polish|improve|optimi[sz]e|verify|validate|inspect|scan|see|view|press|click|type|select|enter|submit|save|load|clear|reset|swap|replace|switch|insert|append|break|split|combine|cite|quote|mention|use|do|cook|sing|tl;?dr"
)
_COMMAND = re.compile(
    r"(?:(?:so|and|but|ok|okay|well|hey|hi|now|then|also|please|pls|plz|kindly|just|first|next|actually|anyway|alright|great|thanks|cool|yes|no|btw)[\s,:.!-]+)*"
    rf"(?:(?:can|could|would|will) (?:you|u) (?:please |pls |just |also |maybe |quickly )*|i(?:'d| would) like you to |i (?:want|need) you to |let'?s |help me (?:to )?|go ahead and |be so kind and )?(?:quickly |briefly |now |again )?(?:{_COMMAND_VERBS})\b"
)
_ASIDE = re.compile(r"\s+(?:- |, )?(?:what|how|which|where|when|why|who|can|could|should|would|is|are|do|does|did|may|might|any|will|am)\b[^?]*\?")


def is_hypothetical(low: str) -> bool:
    return _HYPOTHETICAL.search(low) is not None


def is_fiction(low: str) -> bool:
    return _FICTION.search(low) is not None


def is_sarcasm(low: str) -> bool:
    return _SARCASM.search(low) is not None


def is_others_claim(low: str) -> bool:
    return _OTHERS_CLAIM.search(low) is not None


def is_quotation(low: str) -> bool:
    """Mostly a quoted text that somebody else wrote, or that the user wants worked on."""
    quote = _QUOTE.search(low)
    if quote is None:
        return False
    around = low[: quote.start()] + low[quote.end() :]
    return _REPORTING.search(around) is not None or len(quote[0]) > 0.6 * len(low)


def is_question(low: str) -> bool:
    return low.rstrip(" )\"'").endswith("?") or _WH.match(low) is not None


def opens_as_question(low: str) -> bool:
    return _WH.match(low) is not None


def is_command(low: str) -> bool:
    return _COMMAND.match(low) is not None
