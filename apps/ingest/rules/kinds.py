"""The type of a statement: one table of cues per type, asked in the order of precedence.

instruction, constraint, task, decision, relation, entity, event, preference, fact. A state that is over is an event
and never a current fact; an event without a readable date keeps no date; a relation of a thing to itself is a fact
(the three corrections of the typed-memory seed).
"""

from typing import NamedTuple

from apps.ingest.rules.cues import cues
from apps.ingest.rules.lexicon import BOSS, KIN, LANGUAGES, PET, REPORTEE, SOCIAL
from text import patterns


def _any(names: frozenset[str]) -> str:
    return "(?:" + "|".join(sorted(map(patterns.escape, names), key=len, reverse=True)) + ")"


_LANGUAGE = _any(LANGUAGES)
_OUTPUT = (
    r"(?:answers?|repl(?:y|ies)|responses?|messages?|explanations?|summar(?:y|ies)|outputs?|code(?: blocks?"
    r"| samples?| examples?| snippets?)?|snippets?|diffs?|commit messages?|emails? (?:you|drafts)|drafts?"
    r"|bullet(?:ed)?(?: point)?(?: list)?s?|emojis?|exclamation marks?|smileys|markdown|tables?|headings?|headers"
    r"|jargon|small talk"
    r"|apolog\w+|disclaimers?|sources?|citations?|references?|links?|units|metric|imperial|celsius|fahrenheit"
    r"|kilomet(?:er|re)s"
    r"|tone|formal|informal|casual|first name|british|american|uk spelling|us spelling|type hints?|docstrings?"
    r"|comments?|tests?|snake_case|camelcase|tl;?dr|paragraphs?|sentences?|words|concise|brief|short|verbose|terse"
    r"|24[- ]?h(?:our)?|date format|iso dates?|plain (?:text|english|language)|oxford comma|passive voice"
    r"|semicolons?|em[- ]?dash\w*|footnotes?|step[- ]by[- ]step|one[- ]liners?)"
)
_STANDING = (
    r"(?:from here on(?: out)?|throughout|moving forward|any ?more|for good|(?:that |which )?you (?:write|make|give"
    r"|send|suggest|propose|plan|book|draft|generate|produce|create|show"
    r"|recommend|prepare|pick|choose|find|tell|answer|reply)\b|unless (?:i|asked|told|we)|if (?:a|an|the|any|my"
    r"|something|anything|it|there) |whenever|always|never|ever again|from now on|going forward|in (?:the )?future"
    r"|henceforth|every time|each time|whenever|any ?time|by default|for all|in all|in every|in any|at all times"
    r"|as a (?:rule|default)|(?:all|any|every) (?:\w+ )?(?:that |which )?(?:i|we) (?:send|paste|write|give|share)"
    r"|new rule|house rule|standing (?:rule|order|instruction)|rule:|when(?:ever)? (?:i|you"
    r"|we)|if (?:i|you|we) (?:ask|say|mention|write|send|paste|request|are|need|type)"
    r"|unless i|before (?:you|any|every|each|\w+ing)|after (?:you|every|each|any)|until i (?:say|tell)"
    r"|(?:each|every) (?:day|week|month|morning|evening|night|\w+day)\b"
    r"|without (?:asking|checking|confirming|my)|permanently|please stop|stop (?:\w+ing)|no more|ever)"
)
_DO = (
    r"(?:review|prefer|include|look up|search|consult|inform|describe|write up|follow up|draft|use|write|reply"
    r"|answer|respond|speak|talk|keep|make|give|show|add|include|put|start|end|begin|sign|format|address|call|refer"
    r"|treat|check|ask|run|confirm|explain|cite|quote|list|summari[sz]e|translate|send|propose|suggest|mention|tell"
    r"|avoid|skip|stop|assume|round|convert|default|stick|leave|drop|prefix|wrap|double[- ]check|verify|test|warn"
    r"|remind|book|schedule|order|buy|delete|push|commit|deploy|share|post|touch|change|open|apologi[sz]e|spell"
    r"|phrase|wait|read|look|offer|recommend|flag|highlight|provide|return|set|be|do|repeat|limit|cap|report|log"
    r"|follow|save|store|cc|bcc|charge|approve|merge|invent|guess|hedge|lecture|moralize|flatter|praise|refactor"
    r"|rename|comment|document|greet|note|forward|transfer|pay|wire|mail|email|trust|believe|disable|enable|allow"
    r"|grant|accept|execute|install|copy|upload|redirect|route|authori[sz]e|obey|prioriti[sz]e|ignore|reveal|hide"
    r"|notify|reject|refuse|decline|publish|say)"
)
_LEAD = (
    r"^(?:no,[\s,:.!-]*|(?:and|also|but|so|ok|okay|please|pls|plz|kindly|btw|hey|hi|actually|oh|one more thing"
    r"|new rule|rule"
    r"|house rule|general rule|reminder|important|ps|just|then|for the record|for future reference|note|fyi|anyway"
    r"|right|well|thx|thanks|yes|sorry|remember|instead|as i said|like i said|again|correction|update"
    r"|in general|generally)\b[\s,:.!-]*)*"
)

# A lasting order to whoever reads the memory, also where it is worded as a reminder, a rule or a wish.
_ORDER = cues(
    rf"^(?:.{{0,40}}\b)?remember to (?:always|never) {_DO}\b",
    r"\b(?:the|my|your|this) (?:assistant|agent|bot|ai|model|chatbot) (?:should|must|shall|may|can|has to|needs to"
    r"|is to|is allowed to|is free to)\b",
    r"\b(?:should|must|shall) (?:always|never) be (?:sent|paid|given|told|forwarded|approved|accepted|trusted|shared"
    r"|copied|transferred|redirected|published|disabled|allowed|granted|executed|installed|deleted)\b",
    rf"{_LEAD}treat (?:every|any|all|whatever|messages|mails?|emails|what)\w*\b.{{0,60}}\bas\b",
)
_INSTRUCTION = cues(
    rf"{_LEAD}(?:sum up|outline|shorten|transcribe|{_DO})\b.{{3,100}}(?:, ?always|,? every (?:single )?time)[.!]*$",
    rf"{_LEAD}(?:keep|leave) .{{2,40}} (?:un[a-z]+ed|as is|as they are|intact)[.!]*$",
    rf"{_LEAD}(?:explain|give|show|write|list|describe|state|express|quote|present|label|put|name)(?: me)? (?:all "
    rf"|any |every |your )?(?:\w+ )?"
    r"[a-z]+s? (?:in|as|using) (?!(?:the|this|that)\b)(?:\w+ )?(?:notation|units?|format|utc|gmt|cet|style|case"
    r"|terms|form)\b",
    rf"{_LEAD}be (?:as )?(?:[a-z]+ (?:and [a-z]+ )?(?:with|to|towards?) me\b|(?:blunt|brutal|honest|direct|gentle"
    rf"|strict|patient|critical"
    r"|sceptical|skeptical|precise|kind)\b(?! (?:about|when) (?:this|it)))",
    # Whatever is forbidden the assistant: "don't hand me links …", "quit calling me buddy", "never guess at …".
    rf"{_LEAD}(?:don'?t|do not|dont|never|stop|quit|avoid)(?: ever| just)* (?!let\b|forget|get me\b|make me laugh"
    rf"|worry|ask me (?:why|how"
    rf"|what)|(?:eat|drink|drive|smoke|like|want|need|have|own|care|mind|speak|know|think|believe|understand|see"
    rf"|remember|use|been|had"
    rf"|seen|done|mix|confus|mistak)\w*\b)(?:[a-z]+ )(?:me|us|my|our|any|anything|up|at|out|in|on|with|to|about"
    rf"|links?|words?|long|so many"
    rf"|too many|more than) (?!(?:it|this|that)[.!]*$)\w",
    r"\bi(?:'d| would) (?:really |so )?(?:appreciate|like|love|prefer|be (?:grateful|glad|happy)) (?:it )?(?:if"
    r"|when) you(?:'d| would)? (?!could (?:help"
    r"|explain|tell|show|give|check|look)|help|can\b)[a-z]+",
    r"\bi wish you(?:'d| would) (?:stop|always|never|not|just)\b|\bit (?:really )?(?:helps|bothers|annoys"
    r"|bugs) me (?:if|when) you\b",
    rf"{_LEAD}(?:please )?(?:use|quote|express|stick to|work in|calculate in|think in) .{{2,50}}\b(?:when(?:ever)?"
    rf"|if) (?:it'?s|it is|there'?s|we|i|you"
    rf"|talking|discussing|the topic)\b",
    rf"{_LEAD}let me \w+ (?:\w+ )?before you\b|{_LEAD}(?:show|include|give|spell out) (?:me )?(?:your|the"
    rf"|all) .{{2,40}}\b(?:when(?:ever)?|every time|always)\b",
    # Wishes and duties addressed to the assistant: "it'd be great if you …", "you're to …", "no need to …".
    rf"{_LEAD}(?:it|that)(?:'d| would) be (?:\w+ )?(?:great|good|nice|lovely|helpful|ideal|best|better|useful"
    rf"|handy) if you"
    rf"(?:'d| would| could|'ll| always| never)*\b.{{3,120}}\b{_STANDING}\b",
    rf"{_LEAD}(?:you'?re|you are) (?:always |never |not |only )*to (?!be (?:sure|honest|blame)\b)(?:{_DO})\b",
    rf"{_LEAD}(?:there'?s |you have |i see )?no need to (?:be \w+|greet|thank|apologi[sz]e|praise|flatter|hedge|lecture"
    rf"|sugar ?coat|summari[sz]e|{_DO}\b.{{0,60}}\b{_STANDING})\b",
    rf"{_LEAD}i(?:'d| would)? (?:want|need|expect|like|prefer) (?:it if )?you (?:to )?(?:always |never |not )*[a-z]+ "
    rf"(?:\w+ ){{0,3}}?(?:any(?:thing|one|body| [a-z]+)?|every(?:thing|one)?|all|when(?:ever)?|if|before|unless) "
    rf"(?:that |of )?(?:i|my|we|our|it|it'?s|the|a|an|there|something|someone|which|costs?|looks?|is|are|above|over"
    rf"|below)\b",
    rf"{_LEAD}(?:keep|leave) .{{2,40}} out of (?:it|(?:your|all|any|every|the|my) .{{2,30}})[.!]*$",
    rf"{_LEAD}(?:talk|speak|write|reply|respond) (?:to|with) me (?:like|as if|as though|as) (?:i'?m|i am|i were|a"
    rf"|an)\b",
    rf"{_LEAD}(?:only |just |at most |no more than |max(?:imum)? )*(?:a single|one|two|three|four|five|\d+)"
    rf" (?:\w+ )?\w+ (?:at a time|at once|per (?:answer|reply|response|message))\b",
    rf"{_LEAD}(?:put|give|show|tell|lead with|start with|state|say)(?: me)? (?:the |your |a )?(?:\w+ ){{0,2}}(?:answer"
    rf"|conclusion|summary|result|verdict|version|numbers?|gist|point|short one)(?: first| up ?front| at the top)\b",
    r"\b(?:when(?:ever)?|every time|any ?time) you (?:compare|explain|answer|reply|respond|write|list|show"
    r"|summari[sz]e"
    r"|suggest|recommend|quote|book|draft|code|format|translate|cite|describe|present|calculate|mention|give me"
    r"|send me)"
    r"\b(?! (?:me )?(?:it|this|that)[.!]*$)",
    rf"{_LEAD}(?:can you |could you |would you |will you )?(?:please )?(?:speak|talk|write|answer|reply|chat)(?: to me"
    rf"| with me)?(?: only| always)?(?: in)? {_LANGUAGE}\b.{{0,30}}\b(?:with me|to me|on (?:mon|tues|wednes|thurs|fri"
    rf"|satur|sun)days|on weekends|on weekdays|every|always|when(?:ever)?|unless)\b",
    rf"{_LEAD}(?:use|it'?s) (?:she/her|he/him|they/them|xe/xem|(?:fe)?male pronouns|\w+ pronouns)\b",
    rf"{_LEAD}refer to (?:me|him|her|them|(?:my|our|the) [\w ]{{2,30}}?) (?:by|as|with|using)(?! (?:when|if)\b)",
    rf"{_LEAD}(?:please )?refrain from \w+ing\b",
    rf"{_LEAD}you (?:don'?t (?:need|have) to|do not (?:need|have) to|needn'?t|can (?:skip|drop|leave out|stop"
    rf"|assume)|may"
    rf" (?:skip|drop|assume)) (?!worry|know\b|be (?:sorry|afraid)|do (?:it|that|this|anything)|answer (?:that|this)"
    rf"|thank)\w+",
    rf"{_LEAD}(?:whenever|every time|each time|any ?time) (?:i|we|you|someone|somebody"
    rf"|my \w+) .{{3,60}}?, (?:please |always |then"
    rf" |just )*(?!(?:i|we|it|he|she|they|you|my|our|the|there|that|this|an?|people|his|her|its|everyone|nobody)\b"
    rf"|i'|we'|it')[a-z]+ ",
    rf"{_LEAD}(?:please )?(?:don'?t|do not|never) [a-z]{{3,20}}(?: (?:things|it|anything|stuff|words|answers))?"
    rf" (?:for|with|to|at|on) me\b"
    r"(?! (?:today|now|yet|again))",
    rf"{_LEAD}(?:from (?:now|here|this point|today|this day) on(?:wards?)?|going forward|henceforth|in (?:the"
    rf" )?future|starting (?:now|today))"
    r"[,:]? (?!.{0,80}\b(?:i|we|my|our|i'?m|i'?ll|we'?re|we'?ll|he|she|they|his|her|their)\b)[a-z]",
    rf"{_LEAD}you (?:should|must|have to|need to|can|may|shall)(?: also| always| never| only| please)* (?!see\b"
    rf"|know\b|try\b|read\b|be\b|have\b"
    r"|help\b|tell\b|give\b|show\b|excuse\b|believe\b|trust\b|understand\b)[a-z]+ me\b",
    rf"{_LEAD}drop the (?:greetings?|pleasantries|formalities|small talk|disclaimers?|emojis?|jargon|intro\w*)",
    rf"{_LEAD}(?:you can |we can |feel free to |let'?s |please )*(?:keep (?:on )?|carry on |continue |go on |start )"
    rf"(?:reply|answer|respond|writ|speak|talk|chatt?|communicat)ing\b.{{0,20}}\b{_LANGUAGE}\b",
    rf"{_LEAD}(?:you can |we can |you may |feel free to |let'?s |please )+(?:go|switch|change|return|revert) (?:back"
    rf" |over )?to "
    rf"(?:using |speaking |writing (?:in )?)?{_LANGUAGE}\b",
    rf"{_LEAD}(?:speak|talk|write|reply|answer|use) (?:to me |with me )?(?:only |always |just )?(?:in )?{_LANGUAGE}"
    rf" (?:with|to|when|for all)\b",
    r"\b(?:i don'?t|i do not|i'?d rather not|i hate|i dislike|i can'?t stand) (?:like |want |enjoy )?(?:being|to be)"
    r" (?:called|addressed)\b",
    rf"{_LEAD}(?:short|brief|concise|detailed|long|polite|formal|casual)(?:er)? {_OUTPUT}\b(?=.{{0,30}}\b(?:please"
    rf"|pls|always|only|from)\b|[.!]*$)",
    rf"{_LEAD}(?:please )?(?:don'?t|do not|never) (?:ever )?(?!let\b|forget|worry|know|think|mind|get\b|want|need"
    rf"|have|like|care|understand|remember|sweat|bother|panic|ask me why)(?:{_DO})\b(?!.{{0,60}}\b(?:this time|yet"
    rf"|right now|today|this one|for now|just now|it|that|them)\b[.!]*$)",
    rf"{_LEAD}(?:every|each|all|your|any) (?:of )?(?:your |my |the )?(?:\w+ )?{_OUTPUT} (?:should|must|needs? to"
    rf"|has to|have to|shall|ought to|may|can)\b",
    rf"{_LEAD}(?:a )?(?:rule|request|wish|guideline|preference) for you\b|{_LEAD}(?:{_OUTPUT}|british spelling"
    rf"|american spelling)(?: only| always| please| everywhere)?[.!]*$",
    rf"{_LEAD}(?:can you |could you |would you |will you |you (?:should|must|need to|have to|can|may|are to"
    rf"|shall) |i(?:'d| would) like you to |i (?:want|need|expect) you to |make sure (?:to |you |that you )"
    rf"|be sure to |try to |feel free to )?(?:please |pls )?(?:always|never|don'?t ever|only ever|from now on,?"
    rf"|going forward,?|in future,?|in the future,?|by default,?|whenever possible,?|every time,?) (?:please "
    rf"|you )?(?:\w+ ){{0,2}}?{_DO}\b",
    rf"{_LEAD}(?:can you |could you |would you |will you |you (?:should|must|need to|have to|are to|can|may"
    rf"|shall) |you'?re supposed to |you are supposed to |you(?:'ll| will) |i(?:'d| would) like (?:you to "
    rf"|every |all |each |any )|i (?:want|need|expect) (?:you to |every |all |each |any )|i'd (?:rather"
    rf"|prefer) you |i (?:would )?prefer (?:that |if |it if )?you |make sure (?:to |you |that you )|be sure to "
    rf"|try to |let'?s )?(?:please |pls |just |only |not |all )*{_DO}\b.{{0,160}}\b{_STANDING}\b",
    rf"{_LEAD}(?:whenever|every time|each time|any ?time|when|if|before|after|for|in|unless|as soon as"
    rf"|on)\b.{{3,90}}(?:[,:-] |\b(?:please|then|you (?:should|must|can|need to)|always|never|don'?t"
    rf"|do not) )(?:please |then |you (?:should|must|can|need to) |always |never |don'?t |do not |just "
    rf"|first )*(?:{_DO}|don'?t|do not)\b(?! later)",
    rf"{_LEAD}(?:please |pls )?stop (?:\w+ing)\b(?! (?:the|my) (?:car|train|process|server))",
    rf"{_LEAD}(?:do not|don'?t|dont|never|stop|avoid|quit|no need to|refrain from|please no|no more|skip|drop"
    rf"|leave out|cut|enough with) (?:the |using |use |with |adding |add |writing |write |giving |give "
    rf"|putting |put |including |include |sending |me |any |all |your |so many |these |so much |too many |ever "
    rf"|starting |start |ending |end |repeating |repeat |calling |call |saying |say |making |make |long |being "
    rf"|be )*(?:{_OUTPUT}|apologi[sz]ing|apologi[sz]e|sorry|(?:me|my) \w+ing|sir|madam|ma'am|mr|mrs|ms"
    rf"|me (?:sir|mate|dear|by)|greetings?|compliments?|praise|flattery|hedging|preamble|filler|buzzwords"
    rf"|suggest\w*|recommend\w*|assum\w*|remind\w*|lectur\w*|ask\w*)\b",
    rf"{_LEAD}(?:keep|make|give|use|write|format|structure|put|show|include|add|reply|answer|respond|speak|talk"
    rf"|be|stay|stick|limit|prefer|present|return|sign|end|start|begin|spell"
    rf"|cite) (?!(?:that|this|these|it|the (?:second|first|last|next"
    rf"|previous)) )(?:\w+ ){{0,4}}?{_OUTPUT}\b(?!.{{0,40}}\b(?:this (?:one|time|text|mail|email|paragraph|function"
    rf"|file|question|code)|just (?:this|for) (?:once|now)|for (?:this|him|her|my|a|the)|about|of the|below"
    rf"|above|following|next)\b)",
    r"\b(?:every|all|each|any) \w+(?: \w+)? (?:that )?you (?:write|make|give|send|suggest|propose|plan|draft"
    r"|generate|produce|create|show|recommend|prepare)\b.{0,40}(?::|\b(?:should|must|to|needs?|has|have|in|with"
    r"|include)\b)",
    r"^(?:for|in) (?:all|every|any|each) .{2,40}\byou (?:write|make|give|send|draft|plan|suggest|generate"
    r"|produce)\b",
    rf"{_LEAD}(?:dates?|times?|prices?|amounts?|numbers|units|distances|temperatures|names|code|lists|sums) (?:as"
    rf"|in|with) .{{2,30}}\b(?:please|pls|always|never|only)\b",
    rf"{_LEAD}(?:can you |could you |would you |will you |please )+(?:please )?(?:always|never|stop|from now on"
    rf"|by default|in future)\b",
    rf"{_LEAD}no (?:flattery|sugar ?coating|small talk|jargon|fluff|waffle|filler|preamble|disclaimers?|buzzwords"
    rf"|puns|jokes|emojis?|apologies|bullet points|spoilers|lecturing|lectures|intro\w*|pleasantries"
    rf"|compliments)\b",
    rf"{_LEAD}(?:show|give|list|display|quote|express|state|use) (?:me )?(?:the )?(?:temperatures?|distances"
    rf"|prices?|dates?|times?|amounts|measurements|weights|sums|sizes|currenc\w+|euros?|dollars"
    rf"|pounds) .{{0,30}}(?:\bin\b|\bas\b|\bfor all\b|\balways\b)",
    rf"{_LEAD}back to {_LANGUAGE}\b",
    rf"{_LEAD}(?:always )?(?:reply|answer|respond|write|speak|talk|communicate|continue|chat)(?: to me| with me"
    rf"| me| back| everything)? (?:only |always |exclusively |just )?in {_LANGUAGE}\b(?!.{{0,30}}\b(?:this|once"
    rf"|for (?:a|my|him|her|the))\b)",
    rf"{_LEAD}(?:use |speak |write )?{_LANGUAGE} (?:only|please|from now on|is (?:fine|ok|okay|better)|again)\b",
    rf"{_LEAD}(?:let'?s )?(?:switch|go) (?:back )?to {_LANGUAGE}\b",
    rf"\b(?:switch|go|back|change) (?:back )?to (?:replying|answering"
    rf"|writing)? ?(?:in )?{_LANGUAGE} (?:from now on|please|again|now)",
    rf"{_LEAD}(?:just |always |please |you can |you may |feel free to )*(?:call|address) me\b",
    rf"{_LEAD}(?:my )?(?:preferred )?(?:pronouns are|pronouns:)",
    rf"{_LEAD}(?:no|zero|fewer|less|more|shorter|longer) (?:more )?{_OUTPUT}\b(?!.{{0,30}}\b(?:on|in (?:the|our"
    rf"|my) (?:repo|project|code ?base|service|lib))\b)(?: (?:please|pls|in|ever|when|anymore|unless|at|for me"
    rf"|from)\b|[.!]*$)",
    rf"{_LEAD}{_OUTPUT} (?:only|please|pls|first|always|preferred)\b",
    rf"\bfrom now on\b(?!.{{0,40}}\b(?:i'?m|i am|we|i'?ll|my|i)\b)(?=.{{0,80}}\b(?:{_DO}|{_OUTPUT}|{_LANGUAGE})\b)",
    rf"\b{_OUTPUT} (?:is|are) (?:fine|ok|okay|welcome|allowed|great|good|better|too \w+)(?: again| now"
    rf"| from now on)?\b",
    rf"\b{_LANGUAGE} is (?:fine|ok|okay) (?:again|from now|now)\b",
    rf"\b(?:you (?:should|must|have to|need to|are not to|shouldn'?t|mustn'?t|can'?t|don'?t have to"
    rf"|don'?t need to|may|can)|i (?:want|need|expect|like|prefer|would like|'d like|would prefer) (?:you|your"
    rf"|all your|the) (?:to|replies|answers|responses|explanations|code|summaries"
    rf"|output))\b.{{0,120}}\b(?:{_OUTPUT}|{_STANDING}|{_LANGUAGE})\b",
    rf"{_LEAD}(?:ask|check with|confirm with|run it by|consult|warn|tell|notify|alert) me (?:first|before|if|when"
    rf"|every|each|prior)\b",
    rf"{_LEAD}(?:check|run|read|look at|verify|test|lint|confirm)\b.{{1,60}}\b(?:before|first,? then|prior to"
    rf"|whenever|every time)\b",
)
_CONSTRAINT = cues(
    r"\b(?:caps?|limits?|restricts?|confines?) (?:us|me|it|them|everyone|everybody|you|each \w+) (?:at|to)\b"
    r"|\bthe (?:cap|limit|ceiling|maximum) on "
    r"[a-z ]{2,30} (?:is|are|was|has|went)\b|\b(?!i\b|we\b)[a-z]+ (?:must |may )?never (?:leaves?|enters?|exceeds?"
    r"|goes? (?:above|over|below|out))\b",
    r"\b(?:is|are|am|'m|'re)(?: not|n'?t) (?:\w+ly )?(?:allowed|permitted)\b",
    # What somebody is not to do, and how much of something there may be at most.
    r"\b(?:not|never|only|n't) (?:really |actually |currently |yet )?(?:supposed|permitted|meant|licen[cs]ed|cleared"
    r"|insured|authori[sz]ed|entitled|qualified|certified) (?:to|for)\b",
    r"\b(?!i\b|you\b)\w+ (?:is|are)(?:n'?t| not|nt) to (?!be (?:sure|blame|confused)\b|my\b|our\b|your\b)[a-z]+",
    r"\b(?:limited|restricted|capped|confined) to (?:\w+ )?(?:\d|an?\b|one|two|three|four|five|six|seven|eight|nine|ten"
    r"|eleven|twelve|twenty|thirty|only|the\b)",
    r"\b(?:won'?t|doesn'?t|don'?t|will not|does not|do not|can'?t|cannot|can not|couldn'?t) (?!think|know|believe|see"
    r"|imagine|understand|care|want|like)(?:\w+ ){1,3}(?:more than|over|above|beyond|past) (?:[€$£]? ?\d|an?\b|one|two"
    r"|three|four|five|six|seven|eight|nine|ten|twelve|half)",
    r"\b(?:nobody|no one|none|no [a-z]+)\b.{0,30}\b(?:is|are|gets?|be) (?:ever )?(?:let|admitted|given access)\b",
    r"\b(?:tenancy|lease|contract|agreement|policy|terms|warranty|licen[cs]e|permit|bylaws?|by-laws?|regulations?"
    r"|regs|rules?|charter|statutes?|deed|visa|guidelines|manual|council|school|airline|insurer|landlord|landlady"
    r"|trust|venue) (?:clearly |explicitly )?(?:says?|states?|stipulates?|specif(?:y|ies)|means?|insists? on"
    r"|wants?|gives us|allows? (?:us|me)) (?:that )?(?:there'?s )?(?:no\b|not\b|only\b|max|at most|we (?:can'?t"
    r"|mustn'?t"
    r"|may not)|i (?:can'?t|mustn'?t|may not))",
    r"\b(?:only (?:have|has|had|got|get)|(?:have|has) only(?: got)?)(?: got)? (?:[€$£] ?\d|\d[\d.,]* ?(?:k|euros?"
    r"|pounds?"
    r"|dollars?|quid|minutes|hours|days))(?!.{0,20}\bago\b)",
    r"\bno (?:deeper|higher|faster|heavier|longer|larger|bigger|older|younger|wider|taller|closer|lower|shorter|louder"
    r"|hotter|colder) than\b",
    r"\b(?:it'?s|is|are|that'?s) (?:\w+ly )?(?:illegal|unlawful|against (?:the|our|their|my) (?:law|rules?|policy|code"
    r"|terms|contract|regulations?|bylaws?|religion|faith)|a breach of|not legal)\b",
    rf"{_LEAD}no (?!luck|idea|clue|problem|worries|need|point|way|wonder|doubt|reason|news|answer|reply|time|one\b"
    rf"|more\b"
    rf"|longer\b|sign|chance|matter|change|sleep|joke|offen[cs]e|emojis?|jargon|bullets?)(?:[a-z-]+ ){{1,4}}(?:without"
    rf"|before|after|past|until|unless|under|inside|beyond|near) (?!(?:today|tonight|tomorrow|lunch|all)\b)\w",
    r"[,(] ?(?:it'?s )?(?:(?:a|an|the|our|their) )?(?:\w+ )?(?:rules?|regs|regulations?|law|policy|requirements?"
    r"|bylaws?)"
    r"[.!)]*$",
    r"\b(?:because of|due to|under|by order of|as per|owing to) (?:the |our |their |local |new )?(?:\w+ )?(?:regs"
    r"|regulations?|law|laws|rules|policy|licen[cs]ing|bylaws?|court order|insurance terms)\b",
    r"\bneeds? (?:at least |a minimum of )?(?:\d[\d.,]*|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|twenty|thirty) ?\w+ (?:between|of rest|of notice|in between|off between|notice|clearance)\b",
    r"\bno [a-z-]+(?: [a-z-]+)?(?: (?:is|are))? (?:allowed|permitted|tolerated|accepted)\b",
    r"\b(?!i\b|we\b|you\b)[a-z-]+ (?:have|has) to be (?:on|in|at|under|kept|held|worn|leashed|accompanied|registered"
    r"|announced|supervised)\b",
    r"\b(?:don'?t|doesn'?t|do not|does not|won'?t) (?:get|have|receive|be given) (?:any )?(?:access|permission"
    r"|rights|clearance)\b",
    r"\b(?:nothing|nobody|none|no \w+(?: \w+)?|neither) (?:of (?:it|this|that|them|us) )?(?:may|can|must|should|is"
    r" to|are to|shall) (?:ever )?"
    r"(?:be|leave|go|enter|run|cross|touch|exceed|access)\b",
    r"\b(?:doesn'?t|don'?t|won'?t|does not|do not|will not|didn'?t) (?:allow|permit|(?<!don't )let (?:me|us|anyone"
    r"|people"
    r"|visitors|staff)|accept (?!that\b|it\b|responsibility))",
    r"\b(?:barred|banned|exempt|excluded|prohibited|disqualified) from\b|\b(?:can'?t|cannot|must not|may not"
    r"|mustn'?t) be \w+(?:ed|et|en|ung|old|ut)\b",
    r"(?<!\bi )(?<!\bwe )(?<!also )\b(?:requires?|needs?|demands?|takes?) (?:at least|\d+|two|three|four|a minimum"
    r"|written|prior|parental"
    r"|explicit|legal|approval|consent|permission|sign-?off|clearance|supervision|a permit|a licen[cs]e"
    r"|an? (?:\w+ )?(?:approval|signature|permit|licen[cs]e|certificate|chaperone|escort))\b(?= (?:people|person"
    r"|\w+s?\b|from|before|by|for|of|in|to|$)|[.,!]|$)(?!.{0,10}\b(?:minutes|hours|seconds|days|years|to (?:find|fix"
    r"|understand)))",
    r"\b(?:have|has|had|need|needs) to (?:stay|stick|remain) (?:on|with|at|below|under|within)\b.{0,60}\b(?:because"
    r"|due|until|customers?|vendor|contract|legacy|support)\b|\b(?:cardiologist|doctor|physio|surgeon|dentist|vet"
    r"|lawyer|hr|boss|landlord|court|judge)(?:'s|s'?) (?:orders|rules|instructions)\b",
    r"\b(?:(?:prohibit|forbid|ban|disallow|outlaw|restrict)(?:s|ded|ned|ed)?|forbade)\b",
    r"\b(?:(?:only|just|no more than|at most|max(?:imum)?|not more than|up to) (?:\w+ ){1,3}(?:may|can"
    r"|are allowed|is allowed|fit|per (?:person|day|week|month|user|team|household)))\b",
    r"\b(?:may only|can only|must only|may (?:not|never))\b",
    r"\b(?:(?:contractually|legally|morally) (?:bound|obliged|required|not)|bound to|handles? at most)\b",
    r"\b(?:(?:at most|max(?:imum)?(?: of)?) [€$£]?\d[\d.,]*)\b",
    r"\b(?:(?:\d[\d.,]*|hundred|thousand) ?(?:k|€|\$|£|euros?|dollars?|pounds?|kg|kilos?|people|hours|minutes|mb"
    r"|gb)? (?:tops|max|at most|and not a cent more|and no more|is the limit|is my limit|is our limit"
    r"|or less))\b",
    r"\b(?:(?:keep|stay|remain|hold) (?:\w+ ){0,4}(?:below|under|within|beneath|above) (?:[€$£] ?)?\d[\d.,]*)\b",
    r"\b(?:must(?: not|n'?t)? be (?:combined|shared|mixed|used|kept|stored|worn|paid|left|exposed|opened|touched"
    r"|signed|encrypted|approved|reviewed))\b",
    r"\b(?:no-?go (?:area|zone))\b",
    r"\b(?:(?:surgeon|doctor|gp|physio|cardiologist|dentist|nurse|vet|midwife|lawyer|insurer|landlord) (?:says"
    r"|said|insists)(?: that)? (?:no|i (?:can'?t|must|may|should)|not to|to avoid))\b",
    r"\b(?:(?:school|company|house|club|airline|hotel|hospital|building|store|shop|office|lab|gym) (?:policy"
    r"|rules?|regulations?))\b",
    r"\b(?:(?:we|you|they|nobody|no one|anyone|employees|staff|users|customers|guests|visitors|vendors"
    r"|contractors|it|which|that|this|she|he|kids|students|tenants|dogs|pets|everyone|everything|all \w+"
    r"|(?!i\b|really\b|still\b|also\b|just\b|now\b|[a-z]+ly\b)[a-z_-]+s?|data)\s+(?:(?:can ?not|can'?t|cant)(?!"
    r" (?:wait|find|believe|remember|tell|see|decide"
    r"|figure|understand|seem|complain|afford|sleep|stand|bear|stop|recall|imagine|help|agree|log|connect"
    r"|reproduce|open|hear|make it|come|get (?:it|this|enough|over))\b)|must(?: not|n'?t)?|may not"
    r"|shall(?: not)?|(?:are|is|was|were)(?: not|n'?t) (?:allowed|permitted|supposed)|(?:is|are|were|was"
    r"|be) (?:not |only )?(?:allowed|permitted) (?:to|in|on|at|for|only)|(?:is|are) (?:strictly |absolutely "
    r"|legally |not )?(?:forbidden|prohibited|banned|off[- ]limits|disallowed|mandatory|compulsory|required"
    r"|obligatory|capped|frozen|restricted|limited (?:to|by)|subject to)))\b",
    r"\b(?:not allowed to|not permitted to|no longer allowed|forbidden|prohibited|banned from|off[- ]limits)\b",
    r"\b(?:strictly no|legally (?:required|obliged|binding|not)|by law|required by|contractually)\b",
    r"\b(?:contract (?:says|forbids|requires|does not|doesn'?t)|under (?:an )?nda|nda\b|non[- ]compete)\b",
    r"\b(?:compliance (?:says|said|rule|requires|forbids|won'?t|does)|doctor'?s orders)\b",
    r"\b(?:doctor (?:says|said|told me|forbade|has forbidden|wants me))\b",
    r"\b(?:on (?:medical|doctor'?s) (?:advice|orders)|gdpr|hipaa|pci|security (?:policy|says|requires|forbids))\b",
    r"\b(?:legal (?:says|said|requires|won'?t let|told us)|policy (?:is|says|forbids|requires|prohibits))\b",
    r"\b(?:capped at|cap of|(?:hard|strict|upper|absolute) (?:limit|cap|deadline|maximum|ceiling|no))\b",
    r"\b(?:not (?:a (?:cent|penny|euro|dollar) )?(?:more than|over|above|exceed(?:ing)?)|no more than|at most)\b",
    r"\b(?:max(?:imum)? (?:is|of|[\w-]+ (?:is|for|on|of|per)|[\w-]+ [\w-]+ (?:is|for)))\b",
    r"\b(?:(?:limit|ceiling|cap) (?:is|of|on|for))\b",
    r"\b(?:(?:nobody|no one|noone) (?:may|can|is|touches|gets|goes|enters|merges|deploys|pushes|uses|works|leaves"
    r"|talks|edits|changes|opens|sees|else))\b",
    r"\b(?:must (?:not )?(?:exceed|stay|remain|be|run|fit|have|keep|support|leave|never|always|use|go|cost|pass"
    r"|work|contain|include|come|end|start|happen|take))\b",
    r"\b(?:mustn'?t|(?:won'?t|can'?t|cannot) (?:exceed|go (?:over|above|beyond)|spend more))\b",
    r"\b(?:nothing (?:above|over|that costs)|up to a (?:maximum|limit))\b",
    r"\b(?:(?:code|merge|deploy|change|hiring|feature) freeze|frozen until)\b",
    r"\b(?:only (?:runs?|works?|supports?|fits?|accepts?|allows?) (?:on|with|up to|in|to)?)\b",
    r"\b(?:stuck on (?:python|java|node|version|v?\d))\b",
    r"\b(?:has to (?:keep|stay|remain|support|run|fit|be|work|use|comply|pass|come))\b",
    r"\b(?:have to (?:keep supporting|stay (?:under|below|within|on|in)|comply|remain|use|support|be (?:approved"
    r"|signed|encrypted|reviewed|stored|logged)))\b",
    r"\b(?:needs? to (?:stay|remain|fit|be) (?:under|below|within|in(?! the (?:post|mail))|on|compatible"
    r"|inside))\b",
    r"\b(?:within (?:a )?budget|(?:must|has to|have to) be (?:approved|signed|encrypted|reviewed|in))\b",
    r"\bi (?:can ?not|can'?t|cant|must(?:n'?t| not)|may not|shouldn'?t|am not supposed to|'m not supposed to"
    r"|have to avoid|need to avoid|must avoid|am not allowed|'m not allowed|am only allowed"
    r"|'m only allowed)(?: \w+ly)? (?:eat|have|drink|lift|drive|fly|take|use|travel|consume|wear|sit"
    r"|stand (?:for|up|long)|touch|work (?:more|on|over|after|before|past|in|for)|do (?:any )?(?:on|night"
    r"|weekend|heavy)|leave the|be exposed|digest|tolerate|go (?:near|above|over)|run|install|spend|accept"
    r"|share|discuss|sign|sublet|keep|own|any)\b",
    r"\b(?:doctor|physio|surgeon|cardiologist|dentist|gp|dietitian|nutritionist|midwife|lawyer|landlord|insurer"
    r"|insurance|court|judge|employer|contract|lease|visa|law|vet|school|union|regulator|customer|client"
    r"|auditors?|hr|it|legal|ops|infosec|licen[cs]e) (?:says|said|told (?:me|us)|insists|ordered|requires?"
    r"|forbids?|forbade|prohibits?|doesn'?t (?:allow|permit|let)|won'?t (?:allow|let)|does not (?:allow|permit)"
    r"|only (?:allows?|lets?|permits?)|limits?|bans?|banned|restricts?|has banned|demands?|mandates?"
    r"|wants? (?:me|us) to (?:avoid|stay))\b",
    rf"{_LEAD}no (?:deploy\w*|releases?|merg\w+|push\w*|meetings?|calls|alcohol|caffeine|gluten|dairy|lactose"
    rf"|nuts|peanuts|pork|meat|sugar|salt|shellfish|pets|smoking|dogs|shoes|cats|visitors|guests|noise"
    rf"|weekend \w+|overtime|external \w+|third[- ]party \w+|gpl\w*|open ports|personal data|customer data|pii"
    rf"|new dependencies|downtime|breaking changes|heavy lifting|lifting|driving|flights?|flying|running"
    rf"|travel\w*|screens?|phones?|sweets|red meat|grapefruit|impact \w+|subletting|parties|drilling|loud \w+"
    rf"|code changes|schema changes|contractors|expenses|hiring|purchases)\b",
    r"\b(?:is|are|'s) (?:a )?(?:hard requirement|non[- ]negotiable|strict requirement|must[- ]have|deal ?breaker"
    r"|mandatory|compulsory|obligatory|required by \w+)\b",
    r"\b(?:ops|team|house|company|building|school|family|lab|office|club|hr|security|legal) (?:rule|policy|ban)\b",
    r"\b(?:minimum|maximum) (?:age|height|weight|order|notice|stay|spend|budget) (?:is|of)\b",
    r"\b(?:notice period|curfew)\b",
    r"\b(?:is|are|be) (?:all |now )?allowed (?:again|any|on any|until|till|after|before|in|at|from|now|up to|only)\b",
    r"\b(?:lifted|removed|dropped|relaxed|scrapped|revoked|ended|waived|abolished|withdrew|repealed) (?:the|our"
    r"|that|their|its)(?: \w+){0,3} (?:rule|ban|freeze|limit|cap|restriction|requirement|policy|embargo|curfew"
    r"|moratorium)\b",
    r"\b(?:rule|ban|freeze|limit|cap|restriction|requirement|policy|embargo|curfew)(?: on [\w ]{2,30})? (?:is|was"
    r"|has been|got|'s) (?:lifted|gone|over|removed|dropped|revoked|withdrawn|history|cancelled|canceled"
    r"|relaxed|scrapped|waived|off)\b",
)
_TASK = cues(
    r"\b(?:still|yet) (?:has |have |needs? )?to be [a-z]+\b",
    r"\bi (?:said|told [a-z]+(?: [a-z]+)?|agreed|swore)(?: that)? (?:i|we)(?:'d| would|'ll|'ve to) (?!be\b|like|love"
    r"|never|have\b)[a-z]+",
    r"^(?!.*\byou\b).*\b(?:asap|a\.s\.a\.p|as soon as possible|before i forget|first thing (?:tomorrow|on monday))\b",
    r"\bdue (?:end of|mid"
    r"|early|late|monday|tuesday|wednesday"
    r"|thursday|friday|saturday|sunday|tomorrow|tonight|eod|eom)\b",
    r"\b(?:they|he|she|my \w+|the \w+|[a-z]+) (?:wants?|needs?|asked|expects?|told|begged|reminded) (?:me"
    r"|us) to (?!be\b|know|avoid|stay|think"
    r"|stop|tell|say|believe|go\b|come\b)[a-z]+ (?!it\b|that\b|this\b)\w",
    r"\b(?:i|we)'ve to (?!be\b)[a-z]+|\b(?:been|keep|kept) meaning to [a-z]+|\b(?:get|got"
    r"|getting) (?:a)?round to \w+ing\b",
    r"\bneeds? (?:someone|somebody|(?:an? |the )(?:plumber|electrician|volunteer|builder|lawyer|vet|handyman"
    r"|locksmith)) "
    r"(?:to|for) [a-z]+",
    r"\b(?:my|our|the|his|her|their|this|that|[a-z]+'s) \w+(?: \w+)? (?:wants?|needs?|is overdue|are overdue|could do"
    r" with)(?: \w+ly)? (?:a |an )?(?!(?:\w*thing|spring|string|ring|king|evening|morning|meeting|training|parking"
    r"|building)\b)\w+ing\b(?! up to\b)",
    r"\b(?:i|we)?\s?(?:could|can) do with (?!an?\b|some|more|the\b|your)\w+ing\b",
    r"\b(?:put|jot|write|note) (?:it )?down (?:that )?(?:i|we)\b.{0,6}\b(?:to|need|must|should|have)\b",
    r"\b(?:i|we)(?:'ve| have)? (?:also |already )?(?:promised|offered|volunteered) (?:[a-z'-]+ ){0,3}?"
    r"(?:to (?!be\b)[a-z]+|(?:that )?(?:i|we)(?:'d| would|'ll| will) (?!be\b)[a-z]+)",
    r"\b(?:wants?|needs?|expects?|is waiting for) (?:its|his|her|their|the|my|our) .{2,40} (?:back )?by (?:the"
    r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday|next|end|tomorrow|\d|january|february|march|april"
    r"|may|june|july|august|september|october|november|december)\b",
    r"\b(?:(?:nudge|ping|poke|remind|prod|alert|notify|text|tell) me (?:in|on|at|tomorrow|tonight|next|about|when"
    r"|to|before|again)\b)",
    r"\b(?:(?:to|on|onto) (?:my (?:to-?dos?|to-?do list|task list|tasks|shopping list|list|agenda|backlog"
    r"|checklist)|the (?:to-?do list|task list|shopping list|backlog))\b)",
    r"\b(?:(?:i|we|i've|we've|i'm|i am) (?:still )?(?:got to|got yet to|yet to|due to)\b)",
    r"\b(?:get back to \w+ (?:about|on|with|by|before))",
    r"\b(?:(?:someone|somebody|one of us) (?:has to|needs to|must|should)\b|\b(?:is|'s|are) on me\b)",
    r"\b(?:needs? (?:its|his|her|their|a|an|the|new|some) (?:\w+ ){1,4}(?:put|done|changed|replaced|fixed|checked"
    r"|cleaned|serviced|renewed|repaired|fitted|by|before|soon)\b)",
    r"\b(?:needs? (?:\w+ing) (?:by|before|soon|this|next|on)\b|remind (?:me|us)|reminder (?:to|for|about|that))",
    r"\b(?:to-?do\b|to do:|don'?t let (?:me|us|it|this|that) (?:forget|slip|miss))",
    r"\b(?:(?:remember|don'?t forget|not forget|dont forget) to\b)",
    r"\b(?:(?:ping|nudge|poke|alert|notify|wake|prod) me (?:on|at|about|when|in|tomorrow|next|if|to|before|again"
    r"|after|by|every|this))",
    r"\b(?:follow(?:ing)? up (?:with|on|about)|action item|on my (?:list|plate|to-?do))",
    r"\b(?:add (?:it |this |that )?to my (?:list|to-?dos?|tasks?|calendar))",
    r"\b(?:put (?:it |this |that |.{2,30} )?(?:on|in) my (?:list|calendar|to-?dos?|diary|agenda)|bucket list)",
    r"\b(?:note to self\b|(?:i|we) (?:still )?(?:owe)\b)",
    r"\b(?:(?:haven'?t|have not|hasn'?t|has not) (?:yet )?(?:answered|replied|paid|sent|booked|called|renewed"
    r"|submitted|finished|returned|filed|signed|ordered|cancelled|canceled|written back|gotten back|scheduled"
    r"|reviewed|fixed|updated|migrated|invited|thanked|bought|picked|collected|registered)\b)",
    r"\b(?:(?:i|we)(?:'ve| have| 've)? (?:still |really |also |finally )*(?:got to|gotta|have to|need to|needs to"
    r"|must|ought to|should|had better|'d better|promised to|am supposed to|'m supposed to|'re supposed to"
    r"|are supposed to|have yet to|am meant to|'m meant to|are due to) (?:still |also |finally |really "
    r"|remember to |go |not forget to )*(?!know\b|understand\b|ask you|help\b|some\b|advice\b|a (?:hand|hint"
    r"|summary|recipe|script|function|regex|way|bit|good|coffee|nap|break)|see\b|admit\b|say\b|be (?:honest"
    r"|able|careful|clear|sure)|think\b|remember\b(?! to)|find out how|learn how|avoid|use (?:the"
    r"|a) (?:bathroom|loo)|stay|keep supporting|support\b|comply|wear|take (?:\d|my (?:insulin|medication|meds"
    r"|pills))|go now|run\b(?! (?:the|a|an|it|to|some|errands))|leave now|work\b|eat\b|sleep\b|pee\b|your\b"
    r"|you\b|more\b|less\b|it\b|this\b|that\b|to\b)[a-z]{2,})",
    r"\b(?:(?:needs|need) to be (?:done|finished|sent|paid|posted|submitted|filed|renewed|returned|booked|signed"
    r"|fixed|replaced|shipped|in (?:the )?(?:post|mail)|ready|picked up|dropped off|handed in|cancelled"
    r"|canceled|cleaned|reviewed|updated|ordered|delivered|rotated|changed|called|collected|repaired|approved"
    r"|migrated|merged|closed|serviced|watered|fed))",
    r"\b(?:(?:still|yet) (?:to be done|to do|need(?:s|ed)? to|waiting to be|has to be|have to|must|gotta))",
    r"\b(?:must (?:not forget|remember))",
    r"\b(?:(?:has|have) to be (?:done|paid|sent|filed|submitted|returned|renewed|finished|handed in|in by"
    r"|delivered|shipped|picked up|collected|booked|signed)\b)",
    r"\b(?:(?:is|are|comes?"
    r"|falls?) due (?:on|by|in|next|this|tomorrow|at|before|the))",
    r"\b(?:due (?:date"
    r" )?(?:on|by|this|next|tomorrow)\b|(?:make sure|ensure) (?:i|we) )",
    r"\b(?:(?:book|schedule|set up|arrange|order|buy|pay|renew|cancel|call|email|mail|text|pick up|drop off"
    r"|submit|send|return|file|finish|collect|water|fix|replace|sign|write|post|ship|prepare|get|check in"
    r"|register|apply|repair|clean|confirm|invite|wrap)\b(?=.{0,60}\b(?:by (?:monday|tuesday|wednesday|thursday"
    r"|friday|saturday|sunday|tomorrow|tonight|the|next|end|eod|january|february|march|april|may|june|july"
    r"|august|september|october|november|december|\d)|before (?:monday|tuesday|wednesday|thursday|friday"
    r"|saturday|sunday|the|next|we|i|christmas|january|february|march|april|may|june|july|august|september"
    r"|october|november|december|\d))))",
    r"\b(?:(?:ticket|issue|jira) [a-z]+-\d+\b)",
    r"\b(?:(?:haven'?t|have not|hasn'?t|didn'?t|did not) (?:yet )?(?:paid|sent|booked|called|replied|answered"
    r"|renewed|submitted|finished|returned|filed|signed|ordered|cancelled|canceled|pay|send|book|call|reply"
    r"|answer|renew|submit|finish|return|file|sign|order|cancel|written back|gotten back)\b.{0,40}\byet\b)",
    r"\b(?:(?:forgot|forget) to (?:pay|send|book|call|reply|renew|submit|return|file|buy|order|cancel|sign))",
    r"\b(?:(?:open|outstanding|pending|remaining|left to do|still to do)\s*:|to be done by|deadline for me)",
)
_TASK_COMMAND = cues(
    r"\b(?:someone|somebody|one of us) (?:must|has to|needs to|should|ought to)\b",
    rf"{_LEAD}(?!(?:with|from|into|over|under|after|before|since|until|about|for|both|all|half|see|like|than|near"
    rf"|off|not|was|got|had|has|is|did|made"
    rf"|met|sold|ran|built|left|took|gave|lost|won|on|in|at|by|of|to|or|if|as|when|while)\b)(?!\w*(?:ed|ing"
    rf"|s)\b)[a-z]{{3,}} (?:the|my|our|his|her|their"
    rf"|some|[a-z]+'s) .{{2,60}}\b(?:before|by) (?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|tomorrow|tonight|next"
    rf"|the (?:\d|end|weekend)|noon|eod|\d)",
    r"^(?:and |also )*to (?!be\b|me\b|my\b|the\b|us\b|you\b|your\b|an?\b|our\b|his\b|her\b|do with\b)[a-z]{2,12}"
    r" .{2,80}\b(?:by|before|on"
    r"|tomorrow|tonight|next|this (?:week|weekend|month))\b",
    rf"{_LEAD}(?:still )?(?:need|have|got|gotta|must|ought|should)(?: still| also"
    rf"| really)*(?: to)? (?:not forget to )?(?:pick|get|buy|call|book|send|pay|renew|finish|submit|return|file"
    rf"|fix|sign|order|cancel|write|email|mail|text|clean|collect|drop|bring|take|check|update|review|schedule"
    rf"|prepare|pack|register|apply|replace|repair|migrate|rotate|water|feed|wash|install|print|reply|respond"
    rf"|ask|tell|talk|meet|visit|find|hire|move|sort|organi[sz]e|arrange|plan|confirm|invite|order|upgrade"
    rf"|deploy|merge|refactor|rewrite|document|test|back up|set up|follow up|hand in|do|make|go to|see the"
    rf"|see a)\b",
    rf"{_LEAD}(?:must|gotta|got to|have to|need to|ought to|had better|better|should(?: really)?)(?: still| also"
    rf"| really"
    rf"| definitely| finally)* (?:not forget|remember|(?!be\b|have\b|not\b|admit|say\b|agree|confess|go\b|run\b|dash"
    rf"|leave\b|sleep|eat\b|pee\b|rest\b|stay\b|avoid|exceed|never|always|i\b|we\b|you\b|work\b)[a-z]{{3,}}) "
    rf"(?!(?:that|this|it)[.!]*$)\w",
    rf"{_LEAD}(?:need|want|require) (?:an? |some |the |my |our |new |to )(?!help|advice|ideas?\b).{{2,60}}\b(?:by"
    rf"|before"
    rf"|until|in time for) \w",
    rf"{_LEAD}(?:ring|phone|call|email|e-mail|mail|text|visit|see|meet|buy|order|pay|fetch|water|feed|book|cancel"
    rf"|renew|return|submit|send|collect|clean|fix|wash|mow|print|pick up|drop off|hand in|sign up|chase"
    rf"|check on)\b.{{3,70}}\b(?:today|tonight|tomorrow|(?:on |by |before |this |next )?(?:mon|tues|wednes"
    rf"|thurs|fri|satur|sun)day|(?:this|next|by the) (?:week|weekend|month)|by (?:noon|the \d|\d)|on the \d)",
    rf"{_LEAD}(?:don'?t|dont|do not) (?:let me )?forget\s*[:,-]",
    rf"{_LEAD}(?:book|reserve|schedule|buy|order|pay|call|email|text|send|pick up|cancel|renew|return|submit"
    rf"|water|collect|post|arrange|set up|confirm)\b.{{3,80}}\b(?:on|by|before|at|for|this|next|tomorrow"
    rf"|tonight) ?(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may"
    rf"|june|july|august|september|october|november|december|tomorrow|tonight|next|the \d|\d|week|weekend|month)",
    rf"{_LEAD}(?:can you |could you |would you |will you |please |pls )*(?:remind|ping|nudge|alert|notify|wake)\b",
    rf"{_LEAD}(?:to-?do|task|reminder|action item|homework|errand)s?\s*[:-]",
    rf"{_LEAD}(?:remember|don'?t forget|dont forget) (?:to\b|(?:mum|mom|dad|the|my|our|about"
    rf"|it'?s)\b.{{0,40}}(?:birthday|anniversary|card|present|appointment|gift)\b)",
)
_DECISION = cues(
    r"\b(?:i|we)(?:'m| am|'re| are) (?:finally |now |just )*(?:shutting|winding|ending|giving up|packing in|pulling"
    r"|parting with) ",
    r"^(?:(?:so|ok|okay|and|right|well|finally|definitely|defo)[\s,:]+)*not (?:taking|going back|doing|buying"
    r"|renewing|selling|using|signing|accepting"
    r"|moving|switching|hiring|applying|attending|bothering with|having)\b(?!.*\b(?:today|tonight|now|well|great"
    r"|it)\b)",
    r"^(?:i |we |they )?(?:picked|chose|selected|took|went for) .{2,40} (?:over|instead of|rather than)\b",
    r"\b(?:i'?m|we'?re|i am|we are|i'?ve|we'?ve|i|we|they|[a-z]+) (?:have |has )?(?:so |totally |finally "
    r"|officially |just |now |both |all |since )*"
    r"(?:plumped (?:for|on)|elected to|vetoed|nixed|ditched|binned|axed|dropped the|ruled out|called off|backed out"
    r"|pulled out|pulled the plug"
    r"|walked away from|signed off|said (?:yes|no) to|given up on|committed to|decided|hiring|appointed|ratified"
    r"|adopted the|abandoned"
    r"|done with (?!(?:this|that|it|the (?:test|build|draft|report|first|dishes)))|through with)\b",
    r"\b(?:gave it to|went in favou?r|got the nod|gets the nod|won the vote|the vote went)\b",
    r"\b(?:i|we|they|he|she) (?:have |'ve )?ended up (?:\w+ing|with)\b",
    r"\b(?:minds?'?s? (?:is |are )?(?:finally )?made up|full stop|end of (?:story|discussion)|no going back)[.!]*$",
    r"^(?:(?:so|ok|okay|and|right|well|yep|finally|officially|also)[\s,:]+)*(?:dropping|binning|scrapping|ditching"
    r"|axing"
    r"|shelving|keeping|skipping|cutting|retiring|sunsetting|postponing|abandoning|ruling out|turning down|cancell?ing"
    r"|sticking with|sticking to|going for|going with|settling (?:on|for)|opting for) (?!an? eye|it\b|me\b|up\b"
    r"|you\b)\w",
    r"\b(?:i|we)(?:'ll| will|'m|'re| are| am) (?!you|not sure)\w+ (?:.{2,40} )?(?:rather than|instead of)\b",
    r"\bit'?s (?:going to be |gonna be )?(?:the |a |an )?.{2,40} (?:that )?(?:we'?re|i'?m|we'?ll"
    r"|i'?ll) (?:be )?(?:buying|getting"
    r"|taking|going|choosing|having|picking|using|booking|get|take|use|go)\b",
    r"^(?:(?:so|ok|okay|and|finally|just|we'?ve|i'?ve|in the end|after all|update:?)[\s,:]+)*(?:picked|chose|chosen"
    r"|selected|opted"
    r"|decided|settled|plumped|voted|agreed) (?:the |on |for |with |to |against |that |not )",
    r"^(?:(?:so|ok|okay|and|finally)[\s,:]+)*(?:going|went|gone) (?:for|with) |^(?:it'?s |all |now )*(?:settled"
    r"|decided|agreed|final"
    r"|confirmed|sorted|done deal)\s*[:-]\s",
    r"\b(?:i|we|they|he|she|board|team|committee|jury|council|family) (?:\w+ly )?(?:said (?:yes|no) to|went (?:for"
    r"|with) (?:the|a|an|our|plan|option|number|[a-z]+ (?:instead|over|rather))|gave .{2,30} the (?:go-?ahead"
    r"|green light))\b",
    r"\b(?:after all\b(?!.{0,10}\?)|in the end,? (?:we|i)|(?:we|i) .{2,60} in the end|off the table)",
    r"\b(?:out of the question now)",
    r"\b(?:(?:we|i)(?:'ll| will|'re|'m)? (?:stay(?:ing)?|stick(?:ing)?|remain(?:ing)?) (?:with|on))",
    r"\b(?:turned .{2,40} down\b|turning .{2,40} down\b)",
    r"\b(?:(?:i|we)(?:'m| am|'re| are) (?:fixing|locking|committing|closing|opting|splitting|naming|calling it"
    r"|selling|keeping|quitting|dropping out|cancelling|canceling|accepting|declining|rejecting|leaving the) )",
    r"\b(?:no more \w+(?: \w+)? for (?:me|us))",
    r"\b(?:(?:i|we)(?:'ve| have) (?:chosen|picked|decided|made|settled|opted|agreed|committed|concluded|resolved"
    r"|landed|gone (?:with|for)))",
    r"\b(?:is (?:out|in), |(?:is|are) out[,;.] )",
    r"\b(?:(?:i|we|they|he|she|team|board|committee|family|council|management|my \w+|the \w+|everyone"
    r"|[a-z]+)(?:'ve| have| has|'s)? (?:all |both |finally |just |now |jointly |already |also |officially "
    r"|unanimously |eventually |collectively |ultimately |definitely |formally |together )*(?:decided|voted"
    r"|agreed|chose|chosen|opted|settled (?:on|for)|picked|selected|went (?:with|for (?!a\b|the (?:run|walk)))"
    r"|gone (?:with|for)|resolved|concluded|committed|landed on|signed off on|green-?lit|ruled out"
    r"|ruled against|called off|shelved|scrapped|rejected|turned down|accepted (?:the|an|his|her|their)"
    r"|passed on|made (?:the|a|our|up (?:my|our)) (?:decision|call|mind|choice)))",
    r"\b(?:decided (?:on|to|that|against|not|we|i)|decision(?: (?:is|was|made|taken|on))?\s*:?)",
    r"\b(?:final (?:call|decision|answer|verdict|choice|say)|final:|made up (?:my|our|their|his|her) minds?)",
    r"\b(?:(?:it'?s|its|that'?s|is|are|all) (?:now )?(?:settled|decided|final|agreed|a done deal|official))",
    r"\b(?:verdict|opted (?:for|out|to|against)|settled (?:on|for)|going (?:ahead )?with\b)",
    r"\b(?:(?:we'?ll|i'?ll|we will|i will|we'?re|i'?m|we are|i am) (?:definitely |now |just |officially "
    r"|all )*(?:go(?:ing)? (?:ahead )?with|go(?:ing)? for|stick(?:ing)? (?:with|to)|tak(?:e"
    r"|ing) the (?:\w+ ){0,3}(?:offer|job|position|flat|apartment|deal|role|house|plan|contract|option|one"
    r"|place|blue|red)|dropping|drop|scrapping|sunsetting|deprecating|adopting|adopt|skipping|cancell?ing"
    r"|turning down|passing on|not (?:renewing|extending|doing|going|using|buying|taking|selling|hiring|moving"
    r"|switching|migrating|shipping|attending|applying|upgrading|pursuing|continuing|having|getting|launching"
    r"|supporting|accepting|signing|building|rewriting)))",
    r"\b(?:(?:we|i) (?:won'?t|will not) be (?:renewing|extending|doing|going|using|buying|taking|selling|hiring"
    r"|moving|switching|migrating|attending|upgrading|continuing|supporting|needing))",
    r"\b(?:not (?:renewing|extending) (?:the|our|my|it|with))",
    r"\b(?:(?:i|we) (?:won'?t|will not) (?:renew|extend|sign|upgrade|pursue|switch|migrate|take the|accept)\b)",
    r"\b(?:let'?s (?:go|stick|stay) with|we'?re staying (?:with|on))",
    r"\b(?:per (?:today'?s|yesterday'?s|the|our|this|last) [\w' ]{0,30}(?:meeting|review|vote|call|discussion"
    r"|standup|sync|retro|board))",
    r"\b(?:the (?:plan|choice|pick|winner) (?:is|will be|fell))",
    r"\b(?:(?:have|has|got) (?:been )?(?:decided|agreed|settled|chosen|approved|signed off|rejected))",
    r"\b(?:approved (?:the|our|my|a)\b)",
    r"\b(?:(?:is|are|was|were|got|been) (?:approved|rejected|shelved|scrapped|called off|greenlit|green-lit"
    r"|ruled out|axed|chosen|selected|voted|agreed)\b)",
    r"\b(?:(?<=\w )it is(?: then)?[.!]*$|that settles it|no more debating|we have a (?:winner|decision))",
    r"\b(?:in favou?r of|instead of going|closed the (?:vote|poll|debate))",
    r"\b(?:vote(?:d)? (?:is in|came|was|for|against|to)|conclusion\s*:)",
)
_DECISION_NOT = patterns.compile(
    r"\b(?:haven'?t|have not|hasn'?t|not yet|yet to|can'?t|couldn'?t|didn'?t|before we|until we|once we|still|to be"
    r"|if we|need to|trying to|help me|has to be|should we|should i|when (?:i|we)) (?:been |yet |really "
    r"|to )*(?:decided?|agreed?|settled?|picked?|pick|choose|chosen)\b"
)

_PERSON_ROLE = _any(
    KIN
    | SOCIAL
    | BOSS
    | REPORTEE
    | frozenset(
        {
            "right hand",
            "successor",
            "predecessor",
            "counterpart",
            "contact",
            "account manager",
            "go-to",
            "point of contact",
            "buddy",
            "emergency contact",
            "scrum master",
            "project manager",
            "advisor",
            "adviser",
            "recruiter",
            "guarantor",
            "next of kin",
        }
    )
)
_RELATION = cues(
    r"\b(?:co-?)?(?:supervises|manages|mentors|coaches|teaches|trains|tutors|leads|employs|represents|line-manages"
    r"|looks after"
    r"|treats) (?:me|us|my (?:son|daughter|kids?|wife|husband|team|mum|mom|dad))\b",
    r"\b(?:look after|looking after|responsible for|supervis\w+|manag\w+|mentor\w*) (?:[a-z]+ ){0,2}(?:juniors"
    r"|reports|interns"
    r"|apprentices|trainees|graduates|students|engineers|people|nurses|developers|designers|analysts)\b",
    rf"\b(?:my|our) (?:\w+ )?{_PERSON_ROLE} is an? (?:\w+ )?(?:woman|man|guy|lady|chap|bloke|person|girl|fellow)"
    rf" (?:called|named)\b",
    r"\bshares? (?:an?|the|my|our|his|her) [\w -]{2,30} with (?!you\b|me\b[.!]*$|us\b[.!]*$|the\b)\w",
    r"\b(?:i|we|he|she|they|who|[a-z]+) (?:now |only |directly |both )*answers? to (?!that\b|this\b|it\b|(?:the|my"
    r"|your|a"
    r"|an) (?:question|problem|name|riddle|issue)|name|nobody|your\b|everything)(?:the |my |our |her |his )?[a-z]",
    rf"\b(?:my|our) (?:\w+ )?{_PERSON_ROLE} [a-z]+ (?:looks after|takes care of|minds|walks|cleans|babysits|handles"
    rf"|teaches"
    rf"|coaches|tutors|helps)\b",
    rf"\b(?:is|are|was|becomes?|became) (?:the |a )?{_PERSON_ROLE} (?:of|to) (?:my|our|his|her|their) ",
    r"\b(?:co-?(?:chair|lead|run|host|manage|parent|edit|author|own|founded|wrote|organi[sz]e)s?"
    r"|have been with [a-z]+ for|(?:been|going out|living) together|is dating)\b",
    r"\b(?:'s (?:deputy|boss|wife|husband|partner|sister|brother|son|daughter|mother|father|assistant|successor"
    r"|mentor|godfather|godmother|friend|manager|lead|cousin|landlord|doctor|teacher|coach|boyfriend"
    r"|girlfriend|twin|stand-in|replacement|ex) is [a-z])",
    r"\b(?:(?:took|taken|takes|taking) over (?:from|as))",
    r"\b(?:(?:is|was|are|will be|as) (?:the |our )?(?:successor|deputy|replacement|stand-in|second in command))",
    r"\b(?:(?:and (?!(?:i|we|also|just|now)\b)[a-z]+|together|jointly) (?:run|own|manage|lead|founded|started|bought"
    r"|share|organi[sz]e|rent"
    r"|write|host)s?\b)",
    r"\b(?:(?:run|own|manage|lead|organi[sz]e|rent|write|host)s? (?:the |our |a )?(?:\w+ ){1,3}together)",
    r"\b(?:share (?:custody|an? (?:flat|office|house|desk|car)))",
    r"\b(?:sit(?:s)? on the (?:board|committee|council|jury)|(?:replaced|replaces|succeeds|succeeded) \w+ as)",
    r"\b(?:reports? (?:directly |now |in )?(?:in)?to\b|reporting to\b|(?:is|are|was|am|'s|'m) managed by)",
    r"\b(?:(?:is|are|'s) (?:run|led|headed|owned|supervised|mentored|coached|chaired|maintained|written|authored"
    r"|employed|represented|taught|founded) by)",
    r"\b(?:(?:i|we|he|she|they|[a-z]+) (?:now |also |currently |jointly |directly )*(?:manages?|leads?"
    r"|supervises?|mentors?|coaches|heads(?: up)?|oversees?|line-manages?|runs? (?:the|our"
    r"|a) (?:\w+ ){0,2}(?:team|squad|group|department|chapter|guild|org|unit|crew|division|office|branch)"
    r"|own(?:s)? (?:the|half|a (?:third|stake|share|flat|house|boat))|co-?owns?|co-?founded|founded|authored"
    r"|maintains?|created|co-?wrote|wrote) (?!to\b|a lot|that|it\b|this|time|my time|well|without|with\b|fine"
    r"|up\b|down\b|expectations|anger|stress))",
    r"\b(?:(?:works?|working|worked|work) (?:closely |together |directly |mostly |side by side |a lot )*(?:with"
    r"|alongside|under|for (?:[a-z]+'s team))\b(?! (?:python|java|react|kids|data|the api|wood|computers"
    r"|numbers|excel|clients|customers|people|animals|patients|postgres|sql|this|it|my hands|children)))",
    r"\b(?:work together|pair(?:ing|ed)? (?:up )?with|share an office with)",
    r"\b(?:(?:is|are|am|'m|'re|'s) (?:now |also |currently |both |all )*(?:on|in|part of|a member of|members of"
    r"|member of) (?:the |our |my |a |[a-z]+'s )(?:[\w-]+ ){0,3}(?:team|squad|group|board|committee"
    r"|department|org|crew|club|choir|band|guild|chapter|tribe|union|council|jury|faculty|staff|league"
    r"|orchestra))",
    r"\b(?:member of|belongs? to (?!me)|joined (?:the |our |my |us\b|forces))",
    r"\b(?:(?:is|are|'s|am|'m) (?:happily |now |also )*(?:married|engaged|related) to)",
    r"\b(?:(?:moved|transferred|went|switched|promoted"
    r"|reassigned) (?:over )?(?:from .{2,30} )?(?:in)?to (?:the |our )?(?:\w+ ){0,2}(?:team|squad|group"
    r"|org|department|division|data|sales|marketing|platform|infra|hr|finance|legal|ops|support|security"
    r"|product|design|research)\b)",
    rf"\b(?:(?:is|are|was|'s) (?:now |also |actually |both |still |currently )*(?:my|our|his|her|their"
    rf"|[a-z]+'s) (?:new |old |older |younger |oldest |youngest |elder |little |big |twin |half[- ]|step ?"
    rf"|best |oldest |current |main |direct |own |family |late |future |closest |immediate "
    rf"|former )*{_PERSON_ROLE}\b)",
    rf"\b(?:(?:my|our) (?:new |current |older |younger |little |big |eldest |oldest |youngest |twin |half[- ]"
    rf"|direct |best |family |future |main |two |three |immediate )*{_PERSON_ROLE}(?: at [\w ]+| here"
    rf"| now)*(?: is| are|'s name is|s are|s' names are|s? names are|'s called| is called| is named| are called"
    rf"|:)(?: now| called| named| actually| still)? (?!\w+ing\b|(?:a|an|the|not|in|at|on|very|so|really|also"
    rf"|from|my|our|coming|going|getting|turning|back|away|out|here|sick|ill|nice|great|vegan|vegetarian"
    rf"|allergic|always|never|visiting|moving|asking|too|pregnant|off|leaving|based|about|only|just|still|\d+"
    rf"|with|good|bad|happy|angry|mad|upset|tired|busy|right|wrong|new|old|diabetic|married|retired|german"
    rf"|french|english|deaf|blind|dead|asleep|awake|abroad|single|divorced|engaged|famous|huge|tiny|tall|short|old"
    rf"|young|small|big"
    rf"|\w+(?:ive|ful|ous|ic|ist|er|ian|able|ible|less|ish)\b|\w+ed\b|afraid|worried|lactose|gluten|over|under|for"
    rf"|to)\b)[a-z])",
    r"\b(?:(?:is|are|was|'s) [\w-]+(?: [\w-]+)?'s (?:boss|manager|lead|wife|husband|partner|sister|brother|son"
    r"|daughter|mother|father|mum|mom|dad|assistant|intern|mentor|deputy|friend|cousin|boyfriend|girlfriend"
    r"|line manager|supervisor|colleague|roommate|landlord|doctor|aunt|uncle|niece|nephew|twin|fiancee?)\b)",
    r"\b(?:(?:is|are) (?:siblings|cousins|sisters|brothers|twins|married|colleagues|related|roommates|flatmates"
    r"|dating|a couple|best friends|co-?founders)\b)",
    r"\b(?:(?:is|was|'s) (?:the )?(?:head|lead|manager|director|owner|founder|co-?founder|author|maintainer"
    r"|chair|president|ceo|cto|cfo|boss|landlord|mayor|captain|principal|editor) (?:of|at|for) \w+)",
    r"\b(?:jointly own|(?:own|bought) .{2,40} (?:together|jointly|with my \w+)|(?:is|are|'s) dating\b)",
    r"\b(?:(?:i|we) have (?:a |an |two |three |four |one |\d )?(?:\w+ )?(?:sisters?|brothers?|sons?|daughters?"
    r"|kids|children|siblings) (?:called|named))",
    r"\b(?:(?:our|my) team is (?:me|made up|[a-z]+,)|(?:is|are) under me\b|in charge of)",
)
_ENTITY = cues(
    r"\b(?:don'?t|do not|never|not (?:to )?(?:be )?) ?(?:mix(?:ed)? up|confused?|mistake|conflate) .{2,40} (?:and"
    r"|with|for) ",
    r"\b(?:when|if|whenever) (?:someone|anyone|anybody|somebody|people|they|we|you|he|she|my \w+|everyone) (?:says?"
    r"|writes?"
    r"|mentions?|talks? about) .{1,40}\b(?:means?|meant|refers?|it'?s|that'?s)\b",
    r"\bthe [\w .&'-]{2,30} (?:that )?(?:i|we) (?:keep |always |often |sometimes )?(?:mention(?:ing)?"
    r"|talk(?:ing)? about"
    r"|refer(?:ring)? to|call) (?:is|are|'s)\b",
    r"^(?:project |operation |the |codename )?['\"]?[\w .&-]{2,30}['\"]?\s+=\s+(?:the|our|my|a|an)\b",
    r"['\"][\w .&-]{2,30}['\"] (?:means?|stands for|refers to|is short for|=)|^(?:project|operation|codename"
    r"|programme|program) [\w-]+ is (?:the|our|a|an)\b",
    r"^['\"][\w .&-]{2,30}['\"] (?:is|are|means?|=|refers|stands)\b",
    r"^[a-z0-9-]{2,12} (?:=|stands for|means|is short for) ",
    r"\b(?:(?:when|if|whenever) (?:i|we) (?:write|say|mention|talk about|type|refer to"
    r"|use) .{1,40}(?:i'?m (?:talking|referring)|we'?re (?:talking|referring)|it means|that means|that'?s|it'?s"
    r"|i mean|we mean|think of))",
    r"\b(?:used to be (?:called|named|known)|formerly (?:known|called|named)|renamed (?:to|from|as))",
    r"\b(?:(?:call|refer to) (?:my|our|the) [\w ]{2,30} (?:as )?(?!when|if|on|at|in|back)[a-z]+ (?:not|instead))",
    r"\b(?:code ?names?|codenamed|code-named|(?:is |are |was )?short for|stands? for|acronym|aka|a\.k\.a\.?)",
    r"\b(?:also known as|known as)",
    r"\b(?:(?:also |better |usually |often |still |sometimes |internally |formerly |always )?(?:goes|go|went"
    r"|going) by\b)",
    r"\b(?:nick ?names?d?|alias(?:es)?\b|abbreviat\w+|refers? to|referring to|not to be confused with)",
    r"\b(?:no relation|different (?:person|people|company|one) (?:from|than|called|named))",
    r"\b(?:(?:the )?same (?:person|company|thing|project|repo|team|guy|customer|client|place|product|system"
    r"|service|app|people|woman|man|human|entity|account|building))",
    r"\b(?:two different (?:people|persons|projects|companies|things|alex\w*|\w+s)|there are two \w+s?\b)",
    r"\b(?:(?:is|are) (?:two|both|one and the same)|one and the same|namesakes?|maiden name|stage name|pen name)",
    r"\b(?:pet name|screen name|working title|internal(?:ly)? (?:name|called|known|we call))",
    r"\b(?:(?:we|i|people|some|everyone|they|folks|you)(?:'ll| will| still| also| just| all| always| sometimes"
    r"| usually| both| often)* (?:call|calls|refer to|nicknamed|named|dubbed) (?!me\b|you\b|back|in sick"
    r"|it a day|the (?:dentist|doctor|plumber|bank|police)|my|on\b|for\b|every|each|once|when|and\b|at\b"
    r"|off\b)[\w' ]{1,40})",
    r"\b(?:(?:is|are|was|'s) (?:what|how) (?:we|i|people|they|everyone) (?:call|say|mean|refer))",
    r"\b(?:when(?:ever)? i (?:say|write|mention|talk about|type|speak of|refer to) .{1,60}(?:mean"
    r"|i'?m talking about|it'?s|that'?s|it is|referring|is the))",
    r"\b(?:by ['\"]?[\w -]{1,30}['\"]? i (?:always |usually )?mean|i mean (?:the|our|my) )",
    r"\b(?:means? (?:the|our|my) [\w -]{2,40}(?:team|repo|service|project|app|system|office|meeting|company|house"
    r"|car|client|customer|product|server|cluster))",
    r"\b(?:(?:is|are|'s) (?:the|our|an?) (?:\w+ )?(?:internal |project |working |old |new |pet |nick |short "
    r"|other |team'?s? )*(?:name|nickname|code ?name|abbreviation|acronym|alias|shorthand|term|label"
    r"|codeword) (?:for|of))",
    r"\b(?:(?:called|named) .{2,30} (?:internally|for short)|shorthand for|=\s*\w|(?:is|are) called\b)",
    r"\b(?:named after)",
    r"\b(?:is|'s|are) (?:our|my|the family'?s?|his|her|their) (?:\w+ ){0,2}(?:dog|cat|puppy|kitten|rabbit|hamster"
    r"|parrot|horse|tortoise|golden retriever|labrador|poodle|beagle|dachshund|border collie|german shepherd"
    r"|terrier|corgi|husky|spaniel|retriever|boat|car|van|campervan|robot|printer|server|repo|staging server"
    r"|sailboat|project|side project|product|client|customer|startup|company|team|app|tool|library|service"
    r"|guinea pig|budgie|internal \w+)\b",
)
_PAST_STATE = cues(
    r"\b(?:had|kept|owned|used|rented|ran|ate|drank|drove|was|were) .{2,40}\b(?:when|while) (?:i|we) (?:still"
    r" )?(?:lived|worked|studied|were|was)\b",
    r"\b(?:i|we|he|she|they)(?:'d| had) been .{2,60}\b(?:before|until|till|when|for)\b",
    r"\b(?:was|were|ran|had|kept|held|used|paid|wore|taught|rode|led|sang|went|did|sat|[a-z]{3,}ed)"
    r" .{0,60}\b(?:until|till|up to) "
    r"(?:last|i|we|he|she|they|my|the (?!end|next|\d|first|summer|winter)|it|recently|(?:19|20)\d\d|january|february"
    r"|march|april|may|june"
    r"|july|august|september|october|november|december|about|\w+ (?:years?|months?|weeks?)"
    r" ago)\b(?<!will)(?!.{0,20}\bnext\b)",
    r"\b(?:was|were) (?:in|at|on|with|an?|the|our|my|his|her|based|located|located) .{2,40}\bbefore (?:the|we|i|he"
    r"|she|they|our|my|that|it)\b",
    r"^(?:and |but |well |also |actually )*(?:was|were|had been|been) an? .{2,60}\b(?:once|for|until|till|before|in"
    r" (?:19|20)\d\d|not (?:now"
    r"|any ?more)|no (?:more|longer)|back then)\b",
    r"^before (?:this|that|then|my current|joining|moving|becoming|i (?:moved|joined|became))\b.{0,40}\b(?:i|we|he"
    r"|she|they) (?:was|were"
    r"|worked|lived|had|did|ran|taught|used)\b",
    r"\b(?:used to (?!it\b|the\b|that\b|being\b)|formerly|once (?:worked|lived|was|owned|studied|had|played|ran))",
    r"\b(?:(?:i|we|he|she|they|my \w+) (?:had been|were|was) (?!born|just|going|wondering|thinking|hoping|told"
    r"|given|asked|diagnosed|promoted|hired|allergic|vegan|vegetarian|not|never|able|supposed|looking|trying"
    r"|about|so\b|too\b|very|really|happy|sad|there|right|wrong)(?!.{0,40}\bso (?:i|we)\b))",
    r"\b(?:back (?:when|in the day|then))",
    r"\b(?:(?<!have )(?<!has )(?<!'ve )(?<!have always )(?:lived|worked|studied|taught|served|rented|owned|played"
    r"|practi[sc]ed|stayed|drove|smoked|spent) .{0,60}\b(?:until|till|for (?:\w+ )?(?:years|months|a (?:year"
    r"|while|decade|summer|semester))|from \d{4}|between \d{4}|before|in (?:19|20)\d\d|back in|as a (?:kid"
    r"|child|student)|growing up))",
    r"\b(?:grew up|no longer|not .{1,40} any ?more|(?:don'?t|doesn'?t|do not|does not) .{1,50} any ?more|ex-)",
    r"\b(?:former\b|previously|when i (?:was|lived|worked|studied))",
    r"\b(?:i (?:lived|worked|studied|taught|served|interned|rented) (?:in|at|for|with|as|under|there)\b)",
)
_VERB_PAST = (
    r"(?:was|were|been|got) (?:promoted|hired|fired|laid off|born|diagnosed|robbed|burgled|married|elected|accepted"
    r"|rejected|admitted|discharged|vaccinated|operated on|in (?:an? )?(?:accident|hospital)|told|invited|awarded"
    r"|cancelled|canceled|delayed|postponed|released|launched|stolen|broken into|approved|sold|moved|evacuated"
    r"|appointed|transferred|made redundant|at (?:the|a) \w+|on (?:holiday|vacation|leave|the news|tv))|had (?:a|an"
    r"|my|our|his|her|the|to|surgery|twins|covid|dinner|lunch|guests|two|three)|did (?:a|an|the|my|our|some|two"
    r"|three)|went|got|ran|met|saw|came|left(?![- ](?:hand|side|wing|foot|over|hip|knee|leg|arm|ear|eye|shoulder"
    r"|ankle|wrist|lung|kidney|breast|thumb))|bought|sold|made|took|gave|found"
    r"|lost|won|wrote|broke|built|caught|fell|flew|grew|held|kept|led|paid|put|quit|sent|spent|spoke|taught|hired"
    r"|drove|ate|drank|became|began|began|swam|rode"
    r"|rented|retired|finished|graduated|launched|shipped|released|moved|joined|started|signed|visited|attended"
    r"|completed|passed|failed|deployed|migrated|closed|opened|celebrated|married|adopted|crashed|injured|sprained"
    r"|fractured|received|earned|cancelled|canceled|renewed|switched|upgraded|installed|presented|published"
    r"|submitted|interviewed|applied|promoted|fired|resigned|enrolled|booked|ordered|travel(?:l)?ed|hiked|climbed"
    r"|raced|competed|performed|played|cooked|baked|painted|planted|repaired|replaced|fixed|hosted|organi[sz]ed"
    r"|arrived|departed|landed|returned|completed|turned|defended|merged|raised|acquired|relocated|emigrated"
    r"|immigrated|donated|stopped|ended|proposed|underwent|recovered|delivered|born|diagnosed|hospitali[sz]ed"
    r"|operated|vaccinated|laid off|delayed|postponed|rescheduled|pushed back|happened|tested|talked|worked|walked"
    r"|called (?:me|us|him|her|them|the|my|our|in\b|off|on\b|back|round)|asked|voted|rolled"
)
_EVENT = cues(
    r"\b(?:isn'?t|is not|aren'?t|no longer|not) (?:on|in|with|at|part of|a member of|working (?:on|at|for|with))"
    r" .{2,40}\b"
    r"(?:any ?more|any longer|now)\b",
    rf"(?:^|\b(?:i|we|he|she|they|it|who|and|just|finally|also|then|(?!(?:has|have|had|been|the|a|an|my|our|his"
    rf"|her|to|be|is|are|get|gets|of|in|on|at|for|with|your|their|this|that|no|not)\b)[a-z]+|my \w+|our \w+"
    rf"|the \w+|last \w+|ago,?|yesterday,?)(?:'ve| have| has|'s|'d| had)? )(?!got (?:a|an|two|three|four|five"
    rf"|\d+|no|my own|many|lots|some|kids|one) (?!new|promotion|offer|letter|job|call|mail|email|raise|ticket"
    rf"|message)|had been)(?:just |finally |also |already |recently |once |both |all |actually |only |even "
    rf"|first |then |now |successfully |officially |completely )*(?:{_VERB_PAST})\b",
    r"\b(?:appointment|meeting|interview|wedding|concert|conference|exam|flight|surgery|operation|party"
    r"|birthday party|trip|holiday|vacation|workshop|webinar|launch|release|go-live|demo|review|deadline"
    r"|check-?up|visit|funeral|graduation|anniversary|marathon|race|match|game|recital|kick-?off|offsite"
    r"|all-?hands|retro|audit|hearing|move|delivery|inspection|viewing|rehearsal|class|course|lesson|tournament"
    r"|festival|dinner|reunion|ceremony|maternity leave|parental leave|sabbatical|outage"
    r"|incident)\b.{0,60}\b(?:is|are|'s|on|at|starts?|begins?|scheduled|booked|set|planned|takes place|moved"
    r"|rescheduled|postponed|coming up|next|this|tomorrow)\b",
    r"\b(?:i'?m|im|we'?re|i am|we are|he'?s|she'?s|they'?re|is|are|my \w+ is|[a-z]+ is) (?:also |both |all "
    r"|finally |officially )*(?:flying|travel(?:l)?ing|going|moving|visiting|getting married|having (?:surgery"
    r"|a baby|twins|an operation|guests|a party)|expecting|attending|starting|leaving|launching|releasing"
    r"|shipping|running (?:the|a) \w+|speaking at|presenting|hosting|meeting|seeing (?:the|a|my)|taking (?:the"
    r"|a|my) (?:exam|trip|train|flight|week|day|month)|arriving|due|off to|on (?:holiday|vacation|leave"
    r"|parental leave|maternity leave|sabbatical)|retiring|graduating|defending|closing on|migrating|joining"
    r"|signing|coming|staying|giving birth|away (?:from|on|until)|out of office)\b",
    r"\b(?:got (?:married|engaged|divorced|promoted|fired|laid off|hired|a new|my|the|our|an offer|accepted"
    r"|rejected|moved|hit|stolen|robbed|vaccinated|burgled|sick|covid|a dog|a cat|injured))\b",
    r"\b(?:passed away|gave birth|was born|were born|had (?:a |an |my |our |surgery|his |her ))\b",
    r"\b(?:broke (?:my|his|her|up|down)|went (?:to|on|live|down|out|through|back|for|viral|bankrupt))\b",
    r"\b(?:took place|turned \d+|(?:first|last) (?:day|time|met|trip))\b",
)
# Who likes what: any word may be the subject, so it is asked only where one of the verbs stands at all.
_LIKING_WORD = patterns.compile(
    r"prefer|hate|lov|like|enjoy|loath|detest|ador|despis|avoid|favou?r|stand|bear|care|mind|want"
)
_LIKING = cues(
    r"\b(?:(?:i|we|he|she|they|my \w+|(?!(?:sounds|looks|feels|seems|tastes|smells|something|anything|things?|stuff"
    r"|just|would|nothing|is|are|was|were|be|act|more|look|sound|feel|seem)\b)[a-z]+|and|but|also|still|really"
    r"|honestly|always|generally|usually|strongly"
    r"|much|definitely|personally)(?:'d| would|'ll)? ?(?:\w+ly |do |really |just |still |always |also "
    r"|absolutely |quite |kinda |sorta |never |usually |much |now |very much |so |far |rather )*(?:prefers?"
    r"|hates?|loves?|likes?(?! (?:this|that)\b[.!]*$)|enjoys?|dislikes?|loathes?|detests?|adores?|despises?"
    r"|avoid(?:s)?|favou?rs?|can'?t stand|cannot stand|can'?t bear|don'?t (?:like|enjoy|love|care for|mind"
    r"|want)|doesn'?t (?:like|enjoy|care for|mind)|do not like|does not like|didn'?t like)\b)",
)
_PREFERENCE = cues(
    r"^.{2,30} over .{2,30}, ?(?:every (?:single )?time|always|any ?day|hands down|no contest)[.!]*$"
    r"|\bnever (?:really |much )?(?:liked|loved|cared for"
    r"|enjoyed|took to|warmed to|got on with)\b|\bbrings? (?:me|us) (?:such |so much )?(?:joy|peace|comfort)\b",
    r"^(?:nothing|no|only|just|always) .{2,40} for (?:me|us)(?:,? (?:thanks|please|ta))?[.!]*$"
    r"|\bmore at home (?:with|in|on)\b|\bcould (?:listen to|watch"
    r"|eat|drink|play|talk about) .{2,40}\ball night\b|^.{2,30} over .{2,30}, that'?s (?:me|us)\b"
    r"|\bgo(?:es)? (?:wild|mad|crazy|nuts) for\b",
    r"\b(?:can'?t|cannot|couldn'?t|won'?t|wouldn'?t) (?:abide|tolerate (?!lactose|gluten|dairy)|touch (?!it\b"
    r"|that\b)|go near|stomach|be doing with)\b"
    r"|\b(?:relish|savou?rs?|cherish\w*|dread|resent|crave|gravitate|lean(?:s|ing)? towards?|steers? clear of"
    r"|drawn to|lives? for|mad about"
    r"|nuts about|averse to|squeamish|allergic to (?:meetings|small talk|mornings|hype|jargon|nonsense))\b",
    r"^(?:and |but )*ideally\b|\bin an ideal (?:week|day|world|setup)\b|\bi(?:'m| am) (?:best|better|happier"
    r"|happiest) (?:with|in|at|off|when)\b",
    r"\b(?:i|we)(?:'d| would) (?:much |far |rather )*sooner \w|\b(?:does|did"
    r"|do)(?:es)?(?: absolutely)? nothing for (?:me|us)\b"
    r"|\b(?:leaves? (?:me|us) cold|doesn'?t do it for me|not for me)\b|^give me .{2,40} (?:over|any ?day|every time)\b",
    r"\b(?:can'?t|cannot|never) get enough of\b|\b(?:quite|really|rather|always|much) fancy \w|\bthe (?:less|more"
    r"|fewer|smaller"
    r"|bigger|simpler|quieter|spicier|darker|stronger|shorter) .{0,30}\bthe better\b",
    r"\b(?:i|we)(?:'d| would|'ll) (?:always |much |far |rather )*(?:go for|pick|choose|take|opt for"
    r"|have) .{2,50}\b(?:every"
    r" time|any ?day|over\b|given the choice|if i (?:can|could|have))",
    r"\b(?:only|always|all the way|every time) for (?:me|us)\b|\bover .{2,30} for (?:me|us)\b",
    r"^(?:more (?:of )?|very much |definitely |total |such )*(?:an? )?[a-z-]+(?: [a-z-]+)? (?:person|lover|drinker"
    r"|type|fan)"
    r"(?: here| through and through|,? not (?:an? )?[a-z -]+)?[.!]*$",
    r"\b(?:i'?m|we'?re|i am) (?:happiest|most comfortable|at my best|most productive|more comfortable|calmest)\b",
    r"^(?!it\b|this\b|that\b|he\b|she\b|they\b|you\b|the (?:weather|wifi|traffic|build))[a-z'-]+(?: [a-z'-]+){0,2}"
    r" (?:is|are|tastes?|smells?) (?:\w+ly |just |so |really |pretty )*(?:disgusting|delicious|gross|yummy|vile"
    r"|revolting"
    r"|overrated|underrated|gorgeous|hideous|rank|yuck|foul)[.!]*$",
    r"\bcould (?:eat|drink|watch|listen to|read|play|live on|wear) .{2,40}\b(?:every ?day|all day|forever|every"
    r" night|for ever|any ?time|24/7)\b",
    r"\bnothing (?:beats|tops|compares to|better than) \w|^rather .{2,40} than\b",
    r"^(?:really |just |absolutely |honestly |personally |also |still )*(?:can'?t (?:stand|bear)|cannot (?:stand"
    r"|bear)|loves?"
    r"|hates?|enjoy|dislikes?|detest|loathe|adore|despise|prefer)\s+(?!(?:it|this|that|you|them|these|those|ur"
    r"|your)\b)\w",
    r"\bi(?:'d| would) (?:always |sooner |rather )?(?:choose|take|pick|have) .{2,40} over\b|\b(?:can'?t|cannot"
    r"|never could|couldn'?t) (?:warm to|get into|get used to|get on with|abide|resist|deal with)\b"
    r"|\bthat'?s how (?:i|we) (?:like|take|prefer|want|drink|eat)\b|\bdoesn'?t agree with me\b|\bwhenever possible\b"
    r"|\b(?:milder|spicier|quieter|warmer|cooler|simpler) is better\b",
    r"\b(?:prefer(?:s|red|ence|ably|ring)?\b|fond of)",
    r"\b(?:(?:not |never |no )?(?:really |much |a big |a huge |a massive |a real |the biggest |such a "
    r"|a )*(?:fan of|fans of))",
    r"\b(?:(?:big|huge|massive|lifelong) (?:\w+ )?(?:fan|fans)\b|favou?rites?\b)",
    r"\b(?:(?:i|i'?d|we'?d|would|'d|he'd|she'd) (?:much |far |always )?rather\b)",
    r"\b(?:rather (?:have|get|take|not|be|use)\b)",
    r"\b(?:(?:i'?m|im|i am|he'?s|she'?s|is|are|we'?re|really|am|very|super|not|quite|been) (?:really |very |big "
    r"|super |so |totally |more |much |not |always |quite |a bit |mostly |never )*(?:into|keen on|crazy about"
    r"|allergic to (?:meetings|small talk)|obsessed with|partial to|more of an? \w+(?: \w+)? (?:person|guy|girl"
    r"|type)|a sucker for|hooked on|addicted to|sick of|tired of|fed up with|picky|a (?:\w+ ){0,2}(?:person"
    r"|lover|guy|girl|hater|enthusiast|addict|nerd|geek|buff|freak|owl|bird|lark))\b)",
    r"\b(?:(?:works?|work) (?:best|better) for me|suits? me)",
    r"\b(?:my (?:thing|style|taste|cup of tea|jam|go-to|preferred|pet peeve|guilty pleasure|comfort food|usual"
    r"|default|preference))",
    r"\b(?:(?:not )?my cup of tea|swear(?:s)? by|gives? me (?:the creeps|headaches|joy))",
    r"\b(?:drives? me (?:nuts|crazy|mad))",
    r"\b(?:(?:makes?|leaves?) me (?:feel|sick|claustrophobic|uncomfortable|happy|anxious|nauseous|sleepy|nervous))",
    r"\b(?:(?:dark|light) (?:mode|theme)s? (?:please|everywhere|only|always|all the way))",
    r"\b(?:(?:over|rather than|instead of) (?:spaces|tabs|dark|light))",
    r"\b(?:tastes? (?:like|awful|great|horrible|disgusting)|(?:window|aisle|middle) seats?)",
    r"\b(?:please,? (?:no )?(?:dark|light)|night owl|early bird|morning person|evening person)",
    r"\b(?:(?:can'?t|couldn'?t) live without|least favou?rite|hate it when)",
    r"\b(?:i (?:always|usually|typically|normally|mostly|generally) (?:take|choose|pick|order|go for|get|buy|opt"
    r"|drink|eat|sit|book|fly|wear|listen|read|watch))",
    r"\b(?:sweet tooth|soft spot|pet peeve|no sugar|with (?:oat|soy|almond) milk)",
    r"\b(?:too (?:sweet|spicy|loud|bright|salty) for me|i take (?:it|my (?:coffee|tea|steak|eggs)) )",
    r"\b(?:i'?d take (?:the )?\w+ over)",
    r"\b(?:(?:is|are|'s) (?:\w+ly |just |so |the most |such |really |way |far |a bit )*(?:an? )?(?:abomination"
    r"|overrated|underrated|disgusting|gross|delicious|yummy|heaven|insufferable|unbearable|my favou?rite"
    r"|revolting|vile|the best|the worst|divine|awful|boring|too (?:sweet|spicy|salty|bitter|loud|bright"
    r"|strong))(?: \w+){0,3}(?: (?:if you ask me|imo|imho|to me|for me|in my (?:opinion|book))))",
    r"\b(?:(?:beats?|trumps) (?:everything|anything|all))",
    r"\b(?:(?:bores?|annoys?|irritates?|stress(?:es)?|exhausts?|scares?|calms?|relax(?:es)?|delights?"
    r"|depress(?:es)?|thrills?|disgusts?) (?:me|us)\b)",
    r"\b(?:(?:i|we) find .{2,50} (?:exhausting|boring|annoying|relaxing|fun|tedious|stressful|ugly|beautiful"
    r"|calming|confusing|tiring|distracting|delicious|disgusting|easier|nicer|better|too \w+)\b)",
    r"\b(?:(?:is|are|'s) (?:an? )?(?:no-?go|deal ?breaker|must|turn-?off|guilty pleasure|nightmare"
    r"|torture) (?:for|to) (?:me|us))",
    r"\b(?:over .{2,40} any ?(?:day|time)|my ideal \w+)",
    r"\b(?:(?:i|we) (?:usually|always|mostly|normally|typically|generally|often) (?:go|opt|settle|choose"
    r"|pick) for)",
    r"\b(?:(?:never|not) (?:been |really )*(?:keen|big|much|fond|one for)\b)",
    r"\b(?:not (?:really |exactly |much of )?an? (?:\w+ )?(?:person|fan|lover|drinker|eater|reader|early riser))",
    r"\b(?:the more .{2,20} the better|(?:nothing|none) (?:spicy|too spicy|sweet)\b)",
    r"\b(?:(?:spicy|sweet|salty|bitter|sour) (?:food|things) (?:is|are))",
)


class Kind(NamedTuple):
    type: str
    reason: str


def kind_of(said: str, low: str, *, has_date: bool) -> Kind | None:
    """The type that the clause's own words give it, or None where nothing tells: then it is at best a fact.

    said: the clause as it stands, lower case; low: the same without openers such as "btw" and "remember that".
    """
    opened = said != low  # without an opener both are the same text, and asked once
    if _ORDER.search(low) or (opened and _ORDER.search(said)):
        return Kind("instruction", "instruction")
    if _TASK_COMMAND.search(said) or (opened and _TASK_COMMAND.search(low)):
        return Kind("task", "task")
    if _INSTRUCTION.search(low):
        return Kind("instruction", "instruction")
    if _CONSTRAINT.search(low):
        return Kind("constraint", "constraint")
    if _TASK.search(said) and not _EXPECTING.search(low):
        return Kind("task", "task")
    if _DECISION.search(low) and not _DECISION_NOT.search(low):
        return Kind("decision", "decision")
    if _PAST_STATE.search(low) and not _still_true(low) and not _RENAMED.search(low):
        return Kind("event", "past_state")
    if _ENTITY.search(low) and not _is_kin_called(low):
        return Kind("entity", "entity")
    if _RELATION.search(low):
        return Kind("relation", "relation")
    liked = _LIKING_WORD.search(low) is not None and _LIKING.search(low) is not None
    if (liked or _PREFERENCE.search(low)) and not _LIKE_TO.search(low):
        return Kind("preference", "preference")
    if _EVENT.search(low) and not _HABIT.search(low):
        return Kind("event", "event")
    if has_date and _SCHEDULED.search(low):
        return Kind("event", "scheduled")
    return None


_LIKE_TO = patterns.compile(
    r"\b(?:i|we)(?:'d| would) (?:really )?(?:like|love|prefer) (?:to|you to|if you)\b|\bwould like to\b"
)
_SCHEDULED = patterns.compile(
    r"\b(?:is|are|'s|on|at|from|until)\b|\b(?:have|has|'ve|having|got) (?:an?|my|our|the|another|two|his|her|their)\b"
    r"|\b(?:was|were|got|been) (?:\w+ly )?[a-z]{2,}(?:ed|en|ilt|ought|aught|orn|old|ade|un|ut|et)\b"
)
_STILL_TRUE = patterns.compile(
    r"\bbeen .{2,60}\bfor .{2,30}\b(?:now|already)\b|\b(?:is|are|'s) (?!(?:no|not)\b).{2,50}\b(?:until|till) (?:the "
    r"|end |\d|next|january"
    r"|february|march|april|may|june|july|august|september|october|november|december)"
    r"|"
    r"\b(?:have|has|'ve|'s) been\b.{0,60}\bsince\b|\bsince (?:i|we) was\b"
)
_KIN_CALLED = patterns.compile(
    rf"\b(?:my|our|his|her)\s+(?:\w+ )?{_any(KIN | PET | SOCIAL)}(?:'s name)?(?: is|'s| was)? (?:called|named)\b"
    rf"|\b(?:have|got|adopted) an? (?:\w+ )?{_any(PET)} (?:called|named)\b"
)


# "My wife's due in May" is no duty of hers.
_EXPECTING = patterns.compile(
    r"\b(?:i'?m|i am|she(?:'s| is)|(?:wife|partner|girlfriend|sister|daughter|cousin|baby|twins)(?:'s| is| are)?) due\b"
)
# What comes round is a property: "honey gets extracted every August".
_HABIT = patterns.compile(
    r"^(?!.*\b(?:was|were|had|did|went|until|next|will|[a-z]{2,}(?<!g)(?<!t)ed (?:every|each))\b).*\b(?:is|are|gets?"
    r"|goes|takes?|meets?|comes?"
    r"|happens?|runs?|has|have|do|does)\b.*\b(?:every|each) (?:other |second |single )?(?:day|week|month|year"
    r"|morning|evening|night"
    r"|spring|summer|autumn|winter|weekend|[a-z]+day|january|february|march|april|may|june|july|august|september"
    r"|october|november"
    r"|december)\b"
)
_RENAMED = patterns.compile(r"\b(?:used to be|formerly|previously) (?:called|named|known)\b")


def _still_true(low: str) -> bool:
    return _STILL_TRUE.search(low) is not None


def _is_kin_called(low: str) -> bool:
    return _KIN_CALLED.search(low) is not None


def is_past_state(low: str) -> bool:
    return _PAST_STATE.search(low) is not None and not _still_true(low)
