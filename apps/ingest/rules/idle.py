"""What is not asserted: questions, hypotheses, fiction, sarcasm, other people's claims, one-off commands."""

from apps.ingest.rules.cues import cues
from apps.ingest.rules.lexicon import OWN_THINGS, listed
from text import patterns

_HYPOTHETICAL = cues(
    r"\b(?:i|we)(?:'d| would) (?:totally |definitely |probably |happily |gladly |never )+(?:move|buy|quit|live"
    r"|retire|marry|go|join|sell|emigrate)\b",
    r"\b(?:i|we)(?:'m|'ve| am| have)? (?:often |always |sometimes |just |still |kinda |do )*wonder(?:ing|ed)?"
    r" (?:what|if|whether|how|why|about)\b",
    r"\bnot (?:\w+ )?(?:sure|certain|decided)(?: yet| at all| about)* (?:if|whether)\b|\b(?:dream(?:ing|t|ed)?"
    r"|fantasi[sz]\w+) (?:about|of)\b",
    r"\b(?:i|we|he|she|they) (?:could|might|may) (?:\w+ally|perhaps|maybe|possibly|conceivably|eventually) [a-z]+\b",
    r"\b(?:i|we) (?:might|may) (?:just |even |also |still |well )*(?!not\b|only\b|never\b|no\b|be allowed)[a-z]{3,}\b",
    r"^(?:so |and |but |ok |well |hmm+,? |tbh,? |even )*if (?!there'?s a choice|possible|given|i get to|i have to|i"
    r" can)"
    r".{3,80}(?:\b(?:i|we|he|she|they|it|that|you)(?:'d| would| could| might)|\b(?:would|could|might|wouldn'?t))\b",
    r"\bin an? (?:ideal|perfect|better|different|parallel|alternate) (?:world|life|universe|timeline)\b",
    r"\b(?:i|we)(?:'d| would) (?:kill|die|give (?:anything|a lot|my)|pay good money) (?:for|to)\b",
    r"\b(?:had|were) (?:i|we) (?:\w+ ){1,8}(?:i|we)(?:'d| would)\b",
    r"\b(?:i|we) (?:could|can) (?:totally |really |easily |almost )?(?:see|imagine|picture) (?:myself|ourselves|us"
    r"|me)\b",
    r"\b(?:if|as if|even if|what if|unless)\s+(?:i|we|my \w+|he|she|they|you|someone|somebody|one|there|it"
    r"|[a-z]+)\s+(?:(?:ever|just|suddenly|actually|really|all|both|somehow|also|only)\s+)*(?:were|was to|had|lived"
    r"|worked|moved|could|was|wanted|would|bought|got|became|went|took|quit"
    r"|switched|joined|started|ate|used|decided|sold|married|spoke|owned)\b",
    r"^(?:so |and |but |ok |well |hey |now )*(?:suppose|supposing|imagine|pretend|assume|assuming|let'?s (?:say"
    r"|pretend|assume|imagine|suppose)|say (?:i|we|my)\b|hypothetically|what if|picture this|in a world"
    r"|in theory|just hypothetically|hypothetical)",
    r"^(?:might|could|may|perhaps i'?ll|maybe i'?ll) (?:also |just |even )*(?:get|buy|try|go|move|learn|start|take"
    r"|do|have|be|switch|quit|sell|see)\b",
    r"\bone of these days\b",
    r"^(?:so |and |but |ok |hmm+,? )*if (?:i|we|he|she|they|my \w+) (?:\w+ )?(?:won|had|\w+ed)\b.{0,80}\b(?:i'd"
    r"|we'd|would|could|might)\b",
    r"\b(?:hypothetical(?:ly)?|purely theoretical|in an alternate|for the sake of argument)\b",
    r"\b(?:i|we)(?:'d| would)\s+(?:probably |maybe |definitely |totally |never )?(?:be|have|go|move|live|buy|need"
    r"|take|become|switch|quit)\b.{0,80}\bif\b",
    r"\b(?:i|we|he|she|they)\s+(?:might|may|could)\s+(?:just |one day |also |even |still |possibly |eventually "
    r"|well |as well |want to |someday )*(?:move|switch|buy|get|try|go|become|start|quit|learn|change|take|join"
    r"|sell|consider|have|be|do|end up|look|use|adopt|leave|marry|need|want|pick|visit|apply|drop|give|migrate"
    r"|rewrite|invest|travel|study|retire|hire|open|build)\b",
    r"^(?:so |and |but |well |hmm*,? |idk,? |tbh,? )*(?:maybe|perhaps|possibly|could go either way|not convinced"
    r"|either way)\b",
    r"\b(?:maybe|perhaps) (?:we|i) (?:should|could|might|will|can)\b",
    r"\b(?:one day|some ?day|at some point) *[.!]*$",
    r"\bmaybe (?:i|we|one day|someday|next year|later|at some point|it'?s time|a )",
    r"\b(?:i'?m|we'?re|im|i am|we are|been|was|kind of|sort of|half)\s+(?:just |still |kinda |also |vaguely "
    r"|idly |half |seriously )*(?:thinking (?:about|of)|considering|toying with|tempted|wondering|daydreaming"
    r"|fantasi[sz]ing|contemplating|debating|mulling|pondering|on the fence|undecided|torn)\b",
    r"^(?:been )?(?:thinking (?:about|of)|considering|toying with|wondering|tempted to|debating|mulling)\b",
    r"\b(?:who knows|we'll see|some ?day maybe|one day maybe|in another life|if only|i wish|wish i)\b",
    r"\b(?:would be (?:nice|fun|cool|great) to|would love to .{0,40}(?:some ?day|one day)|dream(?:ing)? of)\b",
    r"\b(?:my dream|dreamt|dreamed|i (?:could|should) probably|not sure (?:if|whether)|haven'?t decided)\b",
    r"\b(?:no idea (?:if|whether)|what would happen|could be (?:fun|nice|cool|worth))\b",
)
_FICTION = cues(
    r"\b(?:you|u)(?:'re| are|(?:'ll| will)? (?:be|play)) [a-z]{3,} and (?:i'?m|i am|i'?ll be) (?:your|the|a|an)\b"
    r"|\b(?:you|u)(?:'re| are|(?:'ll| will)? (?:be|play)) (?:the|a|an|my) [\w ]{2,30}(?:,| and) (?:i'?m|i am|i'?ll be"
    r"|i play|me)\b",
    r"\b(?:pretend|imagine|role-?play|act as|act like|play the (?:role|part)|you are (?:now )?an? )\b",
    r"\b(?:you'?re (?:now )?an? (?!great|good|life|star|legend|bit|little|assistant|big|huge|really))\b",
    r"\b(?:let'?s play|be my dungeon|stay in character|in character as)\b",
    r"\b(?:write|tell|continue|finish|draft|make up|invent|compose|give me|need|generate"
    r"|create)\b.{0,30}\b(?:story|poem|novel|scene|dialogue|dialog|fairy ?tale|limerick|haiku|screenplay"
    r"|script where|song|lyrics|chapter|fan ?fic\w*|backstory|monologue|character)\b",
    r"\b(?:in|for) (?:the|my|a|this|our) (?:\w+ )?(?:novel|story|book i'?m writing|screenplay|game|campaign"
    r"|fanfic|comic|short story|d&d|dnd|play|manuscript|script|plot|fiction)\b",
    r"\b(?:my|the|our|main) (?:\w+ )?(?:character|protagonist|hero|heroine|villain|narrator|wizard|paladin|bard"
    r"|rogue|elf|dwarf|antagonist|npc|persona)\b",
    r"^(?:once upon a time|the (?:knight|dragon|wizard|king|princess|pirate|vampire|detective|hero))\b",
    r"\b(?:in|during) (?:my|the|a) dream\b",
    r"\b(?:had|have) (?:a|this|the) (?:\w+ )?dream\b",
    r"\b(?:picture|envision) (?:a|an|this|that|the|yourself)\b",
    r"\bi'?m an? (?:customer|patient|client|user|student|guest|tourist) (?:who|that|calling|and you)\b",
    r"\b(?:interview|roleplay|quiz) me\b",
    r"\b(?:lorem ipsum|placeholder text|dummy (?:text|data)|sample (?:user|data|text|persona))\b",
    r"\b(?:example (?:user|persona|sentence)|for example,? (?:a|the) user)\b",
)
_SARCASM = cues(
    r"\bmy (?:absolute )?favou?rite (?:kind|sort|way|part|type) (?:of|to) (?:start|spend|end|a |an |the )?(?:morning"
    r"|day|evening"
    r"|monday|weekend|night|surprise|news)\b",
    r"^(?:oh |well )*(?:great|wonderful|fantastic|lovely|perfect|brilliant|awesome|super|nice"
    r"|marvell?ous)[,.! ]+.*\b(?:won'?t"
    r"|doesn'?t|didn'?t|isn'?t|can'?t) (?:\w+ )?(?:start|work|open|load|boot|connect|turn|charge|run|flush|lock"
    r"|close|even)\b",
    r"^(?:ugh|oh|great|wonderful|fantastic|lovely|perfect|brilliant|awesome|super|nice|marvell?ous|amazing"
    r"|just great|how nice|joy)[,!. ]+(?:wonderful|great|fantastic|lovely|perfect|brilliant|marvell?ous|super"
    r"|another|the|my|our|it|now|so|yet)\b.*\b(?:again|cancel\w+|broken?|down|late|another|jammed|crash\w*|fail\w*"
    r"|lost|stuck|delayed|dead|overjoyed|thrilled|delighted|ecstatic|leak\w*|died|missed|flat)\b",
    r"^(?:oh|wow|great|yay|fantastic|wonderful|lovely|perfect|brilliant|awesome|joy|nice)[,.! ]+(?:(?:great|yay"
    r"|joy|look|and|just|yet)[,.! ]+)*(?:another|yet another|one more|more|even more) ",
    r"^(?:oh|ah|wow|well|yeah|yay|ha|haha|lol|ok|okay|great|sure|so)?[\s,.]*(?:(?:oh|yeah|yes|wow|great|sure"
    r"|fantastic|wonderful|lovely|brilliant|awesome|perfect|nice|super|just|cool)[\s,.]+){0,3}(?:oh (?:great"
    r"|sure|yeah|joy|wonderful|fantastic|lovely|perfect|good|yes|brilliant|nice|goody|wow|please)"
    r"|yeah,? (?:right|sure|because)|sure,? (?:because|let'?s|why not|jan|right|i)|just (?:what i|great|perfect"
    r"|wonderful|brilliant|lovely|fantastic)|because (?:that|of course|obviously|who doesn'?t)|as if (?:i|we"
    r"|that)|what a (?:surprise|shock|joy|treat|delight)|how (?:wonderful|lovely|delightful|nice|original"
    r"|surprising|convenient)|love (?:that|it when|how) |i just (?:love|adore) (?:it )?(?:when|how)"
    r"|thanks a (?:lot|bunch|million),? |nothing says|nothing (?:beats|like) (?:a (?:broken|late)|another|being"
    r"|waiting|sitting|spending|paying|debugging)|who doesn'?t love|big surprise|shocker"
    r"|right,? because|because (?:i'?m|i am) (?:such|so|clearly|totally))",
    r"\b(?:such a|so very|totally|clearly|obviously) (?:morning person|expert|genius|natural)\b",
    r"(?:^|\s)/s\b",
    r"\byeah right\b",
    r"\bnot\s*!+$",
    r"\beye ?roll\b",
    r"\bsaid no one ever\b",
    r"\bbecause (?:i'?m|i am|we'?re|that'?s) (?:such|so|clearly|totally|obviously) (?:a|an|the)?\b",
    r"\bi (?:just|really|so|absolutely) (?:love|adore|enjoy) (?:it when |how |being (?:woken|stuck|ignored|paged"
    r"|yelled)|waiting|another|these endless|spending hours|debugging at|monday|getting (?:paged|woken|spam)"
    r"|sitting in traffic|paying|filling)",
    r"\bmy favou?rite thing (?:ever|in the world)\b.{0,30}(?:traffic|taxes|queue|meeting|waiting)",
    r"\bcan'?t wait (?:to|for) (?:another|yet another|more|sit|spend|fill|do my taxes)",
    r"🙄",
)
_OTHERS_CLAIM = cues(
    r"^(?:so |oh |well )*(?:apparently|supposedly|allegedly|reportedly|rumou?r)\b(?!.{0,12}\b(?:i|i'm|we|we're|my"
    r"|our)\b)",
    r"\b(?!i\b|we\b)[a-z'-]+ (?:was|were|is|are|kept|keeps) (?:\w+ly )?(?:bragging|boasting|ranting|gossiping|joking"
    r"|claiming|preaching)\b",
    r"\b(?:reckons?|reckoned) (?!i\b|we\b)[a-z'-]+",
    r"\b(?!i\b|we\b)[a-z'-]+ (?:always |often |once )?(?:used to|loves to|likes to|liked to|loved to|would always)"
    r" (?:say|tell"
    r"|claim|joke|preach)\b",
    r"\b(?!i\b|we\b|also\b|still\b|always\b|just\b|not\b|never\b|really\b)[a-z'-]+ (?:\w+ly |also |still |always "
    r"|once |just )?(?:claims?|claimed|swears|swore|reckons|reckoned"
    r"|alleges|alleged|brags|bragged|boasts|boasted|preaches|rants|jokes|joked)"
    r"(?: (?:that|to)\b| (?:the|a|an|all|his|her|their|he|she|it|they|every\w*|nobody|coffee|this|my|our|i|we|you)\b)",
    r"\bi was like\b|\b(?:he|she|they) (?:was|were|is|are|goes|go) like\b",
    r"\b(?:keeps?|kept) (?:telling|saying|claiming|insisting|repeating)\b",
    r"\b(?:ad|advert|advertisement|commercial|brochure|leaflet|label|packaging|poster|slogan|vendor|salesman|seller)s? "
    r"(?:promised?|promises|claims?|says?|said|boasts?)\b",
    r"\bsome (?:of (?:my|our|the) |of them )?\w+ (?:think|say|believe|claim|argue|swear|insist|reckon)\b|\b(?:says?"
    r"|said|claims?|reckons?|thinks?|believes?|swears?) (?:that )?(?:the (?:earth|world|government|moon|media)"
    r"|people|everyone|nobody|they|humans|all \w+s)\b",
    r"\b(?:people|they|some|everyone|everybody|folks|experts|scientists|researchers|critics|reddit|twitter"
    r"|the internet|wikipedia|chatgpt|google|the (?:\w+ ){0,2}(?:article|blog|post|forum|book|podcast|video"
    r"|documentation"
    r"|docs|ad|email|mail|newsletter|review|report|paper|study|news|brochure|flyer|website|site|listing"
    r"|salesman|salesperson|vendor|recruiter|author|speaker|guy|caller|tweet|headline|job ad|comment|tutorial"
    r"|horoscope)|an? (?:article|blog|post|forum|book|podcast|video|study|guy|ad|tweet|stranger|commenter"
    r"|redditor|influencer|youtuber|recruiter|salesman|vendor|paper|survey|random \w+)|(?:some|this) (?:guy"
    r"|article|blog|post|stranger|influencer|person|random \w+|tweet|video|study|youtuber)|someone|somebody"
    r"|my horoscope|rumou?r(?: has it)?|rumou?rs|word)\s+(?:(?:on|in|at|from|who"
    r"|i \w+) [\w' ]{1,30}? ?)?(?:\w+ly |also |always |still |keep |keeps |just |recently )*(?:says?|said"
    r"|claims?|claimed|wrote|writes|told|reckons?|believes?|thinks?|argues?|argued|suggests?|insists?|insisted"
    r"|recommends?|swears?|states?|stated|mentioned|posted|tweeted|has it|is that|asked|saying|claiming)\b",
    r"\b(?:my|our|the|a|one) (?:neighbou?rs?|hairdresser|taxi driver|driver|barber|uncle|horoscope|feed"
    r"|guy at [\w ]{2,20}|woman at [\w ]{2,20}|user|customer|commenter|colleague|coworker|co-worker|friend"
    r"|classmate|flatmate|aunt)(?: on [\w ]{2,20}| at [\w ]{2,20}| from [\w ]{2,20})? (?:claims?|claimed"
    r"|reckons?|insists?|wrote|swears|heard|believes|bets)(?! by)",
    r"\b(?:allegedly|supposedly|apparently,? (?:people|they|some))\b",
    r"\b(?:according to (?:the|an?|some|my (?:horoscope|feed|uncle|barber)|reddit|wikipedia|this))\b",
    r"\b(?:i(?:'ve)? (?:heard|read|saw) (?:that|somewhere|on (?:reddit|twitter|x|facebook|the|some|a (?:blog"
    r"|forum|site|website))|in (?:the|a|an)|about|an? (?:article|post|blog|study|story|rumou?r|paper|thread"
    r"|headline|report)|people))\b",
    r"\b(?:rumou?r has it|word is|they say|it is said|it's said|reportedly)\b",
)
_QUOTE = patterns.compile(r'"(?P<said>[^"]*)(?:"|\Z)|(?<!\w)\'[^\'\n]{20,}\'(?!\w)')
_QUOTE_LENGTH = 12  # a shorter one is a name and no sentence
_REPORTING = cues(
    r"\b(?:he|she|they|[a-z]+) (?:goes|went|was like|is like|were like|(?:keeps|kept|started) (?:saying|telling))\b",
    r"\b(?:mean|meant|means|mutter\w*|shout\w*|yell\w*|brag\w*|announc\w*|declar\w*|whisper\w*|joked?|promis\w+)\b",
    r"\b(?:says?|said|saying|wrote|writes|told|claims?|claimed|tweeted|posted|texted|asked|replied|mail(?:ed)?)\b",
    r"\b(?:email(?:ed)?|message[ds]?|quote|quoted|slogan|motto|line|lyrics?|subject|text|sentence|phrase)\b",
    r"\b(?:paragraph|headline|post|comment|translate|summari[sz]e|proofread|rephrase|rewrite|check|correct)\b",
    r"\b(?:reads?|review|article|ad|listing|reply to|respond to|answer)\b",
)

_WH = patterns.compile(
    r"(?:(?:so|and|but|ok|okay|well|hey|hi|hmm+|btw|also|now|sorry|wait|oh|anyway|actually|honestly|please"
    r"|quick question|question|just curious|out of curiosity)[\s,:.-]+)*"
    r"(?:(?:what|where|when|why|who|whom|whose|which|how)(?:'s|'re|'d)?\s+(?:is|are|was|were|do|does|did|can|could"
    r"|should|would|will|has|have|had|might|am|exactly|else|about|come|to|much|many|long|often|far|old|big|good|well"
    r"|hard|likely)\b|(?:who|which|whose)\s+(?!i\b|we\b|my\b|is why)\w+|(?:what|where|when|why|who|how)'s\b"
    r"|what (?:kind|type|sort|time|day|year|colou?r|size|percentage|part|if|a\b)|what (?!i\b|we\b|my\b|a\b)\w+ (?:is"
    r"|are|was|were|do|does|did|can|could|should|would|will|has|have)\b|why (?!i\b|we\b)\w+"
    r"|whats\b|hows\b|wheres\b|whos\b|any (?:idea|ideas|tips|advice|suggestions|thoughts|chance|recommendations|good"
    r"|news|update)\b|(?:did|had|have|was|were) (?:you|i|we|they|he|she|it|anyone|anybody|someone)\b|(?:do|does|is"
    r"|are|can|could|should|would|will|has|may|might|am|isn'?t|aren'?t|don'?t|doesn'?t|didn'?t|won'?t|wouldn'?t"
    r"|shouldn'?t|couldn'?t|haven'?t)\s+(?:you|i|we|it|they|he|she|there|this|that|the|my|our|your|these|those|any"
    r"|anyone|someone|people)\b|is [a-z]+ (?:[a-z]+ )?(?:nice|good|bad|safe|worth|expensive|cheap|possible|better|ok"
    r"|okay|legal|healthy|open|free|true|normal|hard|easy|dangerous|popular|real|big|far|warm|cold)\b|should (?:i"
    r"|we)\b)"
)
_COMMAND_VERBS = (
    "translate|summari[sz]e|explain|describe|write|rewrite|rephrase|reword|paraphrase|proofread|draft|fix|correct"
    "|show|list|give|tell|help|find|generate|create|make|build|convert|check|compare|calculate|compute|debug|run"
    "|rerun|execute|open"
    "|close|search|look|google|look up|browse|play|print|read|define|analy[sz]e|review|refactor|implement|add|remove"
    "|delete|rename|move|copy|paste|update|edit|change|format|sort|count|plot|draw|sketch|design|suggest|recommend"
    "|brainstorm|outline|continue|expand"
    "|shorten|simplify|elaborate|clarify|repeat|retry|undo|redo|revert|go|try|start|stop|pause|resume|restart"
    "|wait(?=\\s+(?:for|until|till|a|an|here|with|up|before|one)\\b|[.!]*$)"
    "|solve|guess|spell|pronounce|extract|parse|test|deploy|commit|push|merge|pick|choose|rank|rate|estimate|answer"
    "|reply|respond|pretend|imagine|act|let"
    "|send|share|export|import|download|upload|install|turn|set|put|get|take|walk|teach|quiz|ask|order|book|plan"
    "|schedule|cancel|compose|polish|improve|optimi[sz]e|verify|validate|inspect|scan|see|view|press|click|type"
    "|select|enter|submit|save|load|clear|reset|swap|replace|switch|insert|append|break|split|combine|cite|quote"
    "|mention|use|do|cook|sing|tl;?dr"
)
_COMMAND = patterns.compile(
    r"(?:(?:so|and|but|ok|okay|well|hey|hi|now|then|also|please|pls|plz|kindly|just|first|next|actually|anyway"
    r"|alright|great|thanks|cool|yes|no|btw)[\s,:.!-]+)*"
    rf"(?:(?:can|could|would|will) (?:you|u) (?:please |pls |just |also |maybe |quickly )*|i(?:'d"
    rf"| would) like you to |i (?:want|need) you to |let'?s |help me (?:to )?|go ahead and "
    rf"|be so kind and )?(?:quickly |briefly |now |again )?(?:{_COMMAND_VERBS})\b(?!:)"
)

# What an encyclopaedia knows, and nobody needs to be told again.
_GENERAL = cues(
    r"\b\d[\d.,]* (?:met(?:er|re)s|feet|km|kilomet(?:er|re)s|miles|light years) (?:high|tall|long|deep|wide|away"
    r"|above)\b|\bthe (?:sky|grass|sea|ocean|sun|earth|moon|universe|speed of) (?:is|was|are)\b",
    r"\b(?:capital of|(?:largest|tallest|longest|deepest|fastest|oldest|smallest|highest) \w+|invented)\b",
    r"\b(?:discovered)\b",
    r"\b(?:(?:was|were) (?:first )?(?:created|founded|written|released|published|developed|designed|built"
    r"|introduced|painted|composed) (?:by|in))\b",
    r"\b(?:in the world|in 1[0-9]{3}|planets?|sea level|boils|freezes at|century|world war|president of)\b",
    r"\b(?:population of)\b",
    r"\b(?:is a (?:type|kind|form|programming|functional|statically|dynamically|compiled|country|city|species"
    r"|mammal|fruit|planet))\b",
    r"\b(?:consists of|powerhouse|photosynthesis|speed of light|theorem|mammals?|species|civilization|empire)\b",
    r"\b(?:olympics|world cup|orbits?|known for|\w+ wrote [\w ]{2,30} (?:in|around) \d{3,4})\b",
    r"\b(?:the (?:pacific|atlantic|earth|moon|sun|nile|amazon|sahara)\b|weather forecast)\b",
    r"\b(?:is|are) (?:just|basically|essentially|simply|technically|really just) (?:an? |the )?[a-z]+ (?:that|which"
    r"|with|made|for|of)\b",
    r"^[a-z]{3,}s are (?:all )?[a-z]+(?:s|gi)[.!]*$",
    # Of its kind and of nobody: "the heart has …", "dolphins sleep …", "water boils …".
    r"^(?:fun fact[:,]? |did you know |actually,? )*(?:(?:the |an? )?(?:human |average |adult )?(?:heart|brain|liver"
    r"|lungs?"
    r"|kidneys?|skin|body|blood|stomach|cell|atom|molecule|electron|dna|galaxy|[a-z]+ (?:war|revolution|empire|ocean"
    r"|desert))"
    r"|(?:all |most |adult |wild )?(?:cells|atoms|molecules|electrons|stars|galaxies|sunlight|gravity|light|sound"
    r"|water|ice|air"
    r"|oxygen|iron|gold|salt|glass|trees|plants|flowers|birds|fish|whales|dolphins|sharks|elephants|lions|tigers"
    r"|bears|cats"
    r"|dogs|bees|ants|spiders|snakes|humans|people|penguins|cows|horses|pigs|mice|rats|frogs|snails|bats|owls|wolves"
    r"|monkeys|apes|koalas|kangaroos|camels|giraffes"
    r"|octopuses|butterflies|insects|mosquitoes|mammals|reptiles|viruses|bacteria|vaccines|vitamins|antibiotics"
    r"|magnets|diamonds|metals"
    r"|otters|seals|spiders|planets|dinosaurs|romans|greeks|egyptians)) (?:is|are|has|have|had|was"
    r"|were|can|do"
    r"|does|boils?|freez\w+|melts?|sleeps?|lives?|eats?|weighs?|contains?|travels?|flows?|grows?|moves?|reflects?"
    r"|conducts?"
    r"|expands?|pumps?)\b",
    r"\b(?:stands for (?:hyper|cascading|structured|random|central))\b",
)


def is_general_knowledge(low: str) -> bool:
    return _GENERAL.search(low) is not None


def is_hypothetical(low: str) -> bool:
    return _HYPOTHETICAL.search(low) is not None


_IDLE = patterns.compile(
    r"\bin an? (?:ideal|perfect|better|different|parallel|alternate) (?:world|life|universe|timeline)\b"
    r"|\b(?:may or may not|might or might not)\b|\b(?:had|were) (?:i|we) (?:\w+ ){1,8}(?:i|we)(?:'d| would)\b|"
    r"^(?:so |and |but |well |hmm*,? |idk,? |tbh,? |or )*(?:maybe|perhaps|possibly)\b|\b(?:maybe|perhaps) (?:we"
    r"|i) (?:should|could|might|can)\b"
)


def is_idle_thought(low: str) -> bool:
    """ "Maybe I should …" is no plan, whatever verb follows."""
    return _IDLE.search(low) is not None


def fiction_start(low: str) -> int | None:
    """Where a story, a game or an invented person begins."""
    found = _FICTION.search(low)
    return found.start() if found else None


def is_sarcasm(low: str) -> bool:
    return _SARCASM.search(low) is not None


# What somebody else would have the user do. Who may give orders, or looks after the user, is taken at their word.
_ADVICE = patterns.compile(
    r"\b(?P<who>[\w'-]+) (?:(?:still|also|always|really|just|keeps|now) )*(?:(?P<opinion>thinks?|thought|thinking"
    r"|reckons?|believes?|feels|felt|hopes|hoped|wishes|suggests?|suggested|recommends?|recommended|advises|advised"
    r"|insists"
    r"|figures)|(?P<saying>says?|said|saying|told (?:me|us)|tells (?:me|us))) (?:that )?(?:i|we) (?P<how>should"
    r"|shouldn'?t|ought to|could|might|need to|must|have to|had better|'d better|would)\b"
)
_TAKEN_AT_THEIR_WORD = listed(
    "i we you doctor gp physio physiotherapist surgeon dentist dermatologist cardiologist vet nurse midwife therapist"
    " specialist pharmacist lawyer solicitor notary accountant adviser advisor court judge police hr it legal ops"
    " infosec compliance landlord landlady insurer insurance bank school teacher coach contract law union regulator"
    " visa and employer"
)
_GIVES_ORDERS = listed(
    "boss manager supervisor lead director customer client wife husband partner mum mom dad mother father girlfriend"
    " boyfriend"
)


# "The waiter told us …": a stranger's word, unless it binds ("the lease says no pets").
_REPORTED = patterns.compile(
    r"\b(?:the|a|an|some|this|that) (?P<who>[a-z]+) (?:\w+ly |also |just )?(?:told (?:me|us|everyone)|says?|said"
    r"|promise[sd]?|predict(?:s|ed)?"
    r"|assured (?:me|us))\b|\b(?P<sure>my \w+|he|she|they|[a-z]+) (?:is|are|was|were) (?:\w+ly )?(?:convinced"
    r"|adamant|persuaded|of the opinion)\b"
)
_BINDING_PAPERS = listed(
    "lease agreement policy manual rules rule sign guideline guidelines spec team board committee clinic hospital"
)


_MEANT = patterns.compile(r"\b(?:says?|mentions?|writes?) .{1,30}\b(?:they|we|i|he|she|it) (?:mean|means|is|refers?)\b")


def is_others_claim(low: str) -> bool:
    if _MEANT.search(low):
        return False  # "when someone says HQ they mean …" tells what a name is for
    if _OTHERS_CLAIM.search(low) is not None:
        return True
    told = _REPORTED.search(low)
    if told and (told["who"] or told["sure"]) not in _TAKEN_AT_THEIR_WORD | _GIVES_ORDERS | _BINDING_PAPERS:
        return True
    advice = _ADVICE.search(low)
    if advice is None or advice["who"] in _TAKEN_AT_THEIR_WORD:
        return False
    return advice["opinion"] is not None or advice["who"] not in _GIVES_ORDERS


def is_quotation(low: str) -> bool:
    """Mostly a quoted text that somebody else wrote, or that the user wants worked on."""
    quote = next((q for q in _QUOTE.finditer(low) if q["said"] is None or len(q["said"]) >= _QUOTE_LENGTH), None)
    if quote is None:
        return False
    around = low[: quote.start()] + low[quote.end() :]
    return _REPORTING.search(around) is not None or len(quote[0]) > 0.6 * len(low)


_OWN_WORLD = patterns.compile(
    r"(?:(?:and|but|also|so|btw|fyi|note|remember)[\s,:]+)*(?:the|this|these|each|every|all|both) (?:[\w-]+ ){0,2}?(?:"
    + "|".join(sorted(OWN_THINGS, key=len, reverse=True))
    + r")s?\b(?! (?:is|are|was|were) (?:so|really|very|great|nice|bad|good|awful|amazing|terrible|boring|fine|ok)\b)"
)


def is_of_own_world(low: str) -> bool:
    """ "The boiler needs descaling", "the staging api has no pagination": a definite thing of one's house or work."""
    return _OWN_WORLD.match(low) is not None


def is_question(low: str) -> bool:
    return low.rstrip(" )\"'").endswith("?") or _WH.match(low) is not None


def opens_as_question(low: str) -> bool:
    return _WH.match(low) is not None


_RATHER_HAVE = patterns.compile(r"give me .{2,40} (?:over .{2,30}|any ?(?:day|time)|every time)\b")


def is_command(low: str) -> bool:
    """What the assistant is told to do; "give me stout over lager any day" tells a taste."""
    return _COMMAND.match(low) is not None and _RATHER_HAVE.match(low) is None
