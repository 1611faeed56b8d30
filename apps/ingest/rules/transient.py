"""States that are true only now or today."""

from apps.ingest.rules.cues import cues
from apps.ingest.rules.lexicon import MOODS, UNFINISHED_STATES
from text import patterns

_MOOD = "|".join(sorted(map(patterns.escape, MOODS), key=len, reverse=True))
_STATE = "|".join(sorted(map(patterns.escape, UNFINISHED_STATES), key=len, reverse=True))
_NOW = (
    r"(?:right now|rn|atm|at the moment|today|tonight|currently|this morning|this afternoon|this evening|for now"
    r"|at present|presently|all day|already|again|still|since (?:this morning|yesterday|last night)|lol|ugh|lately)"
)
_ABOUT_SELF = r"(?:(?:i'?m|im|i am|we'?re|we are|i feel|feeling|i'?ve been|been|i was|am|i'm feeling|i am feeling)\s+)"

# Verbs of what one is doing just now, where the "I'm" is left out: "popping out to …", "sat in a lay-by".
_DOING = (
    r"(?:popping|nipping|heading|dashing|rushing|running|waiting|sitting|sat|standing|stood|queu\w+|lying|walking"
    r"|eating|cooking"
    r"|watching|feeding|charging|boarding|shopping|grabbing|making|getting|finishing|washing|listening|parked|stuck"
    r"|hiding|changing"
    r"|putting|just)"
)
_TRANSIENT = cues(
    r"\b(?:hang on|bear with me|back (?:shortly|soon)|be right there|(?:one|two) ticks?)[\s.!]*$",
    rf"^(?:{_MOOD})\b(?: as \w+)? (?:this (?:morning|afternoon|evening)|today|tonight)[\s.!]*$",
    r"^no (?:signal|reception|wifi|wi-fi|internet|service|bars|network|power|electricity"
    r"|hot water)\b(?!.*\b(?:allowed|ever|policy)\b)",
    rf"^(?:so |really |very |quite |a bit |super )*(?:{_MOOD})\b(?: (?:about|for|after|because"
    rf"|with) .{{2,30}})?[\s.!]*$",
    r"\b(?:is|are|'s|'re) (?:\w+ly |still |just |all )*(?:updating|installing|syncing|squabbling|arguing|fighting"
    r"|yelling|howling|leaking"
    r"|smoking|whistling|misbehaving|overflowing)\b(?!.*\b(?:every|always|whenever)\b)",
    rf"^(?:just |still |currently |now |only |quickly )*{_DOING} (?:out|off|over|up|down|back|home|in|on|at|by"
    rf"|outside|under|behind"
    rf"|near|the|a|my|some|dinner|lunch|breakfast|ready|around|between)\b(?!.*\b(?:until|till|every|by) (?:[a-z]+day"
    rf"|the|\d|next))",
    r"\b(?:can'?t|cannot) (?:really |properly )?(?:talk|chat|type)(?=[,.;]|$)",
    r"\bin (?:a|an|such a) (?:really |very |bit of a )?(?:foul|bad|great|terrible|good|weird|strange|rotten|awful"
    r"|funny|lousy|grumpy"
    r"|filthy) mood\b",
    r"\b(?:playing|acting) up\b|\bon the (?:blink|fritz)\b",
    r"\b(?:i'?ve got|i have|got|have|having) (?:a|an|this|such a) (?:splitting|pounding|banging|raging|bad|awful"
    r"|terrible"
    r"|killer|thumping|nasty) (?:head|headache|hangover|migraine|cold|cramp|cough|day|night|morning|evening|week)\b",
    r"\bas we speak\b|\bwon'?t stop (?:\w+ing)\b|\b(?:can|could) (?:barely|hardly) (?:hear|see|move|think|breathe|stand"
    r"|walk|type|talk|keep|focus|feel|sit)\b",
    r"\b(?:meeting|call|appointment|train|bus|class|lesson|shift|flight|standup|interview"
    r"|guests?) (?:starts? )?in (?:like |about"
    r" )?(?:\d+|five|ten|fifteen|twenty|thirty|a few|a couple of|half an) ?(?:min|mins|minutes?|hour|h)\b",
    r"\b(?:kids?|baby|everyone|wife|husband|dog|cat|toddler|son|daughter)(?:'s|s) (?:finally |just "
    r"|still )*(?:asleep|awake"
    r"|napping|in bed|crying|screaming)\b",
    r"^(?:the )?(?:wind|sun|rain|snow|fog|heat|weather|sky|sea|tide|traffic|smoke|heating|music)(?: is|'s"
    r"|s) (?:\w+ )?(?:up|out|down"
    r"|in|blowing|shining|coming|falling|rolling|picking|getting|clearing)\b.{0,30}$",
    r"\b(?:sun|wind|rain|smoke|sand|light|glare|hair) (?:is|'s) (?:in|all over) my (?:eyes?|face|hair)\b",
    r"\b(?:zoom|slack|chrome|firefox|safari|excel|word|outlook|phone|laptop|mac|pc|tablet|screen|keyboard|mouse|mic"
    r"|camera|browser|app|editor|ide"
    r"|printer|bluetooth|video|audio|sound|stream|game|vpn) (?:just )?(?:keeps?|is|'s) (?:\w+ly )?(?:freezing"
    r"|crashing|hanging|lagging|stuttering"
    r"|buffering|disconnecting|rebooting|restarting|dropping|glitching|cutting out|dying|jamming|overheating)\b",
    r"\b[a-z]+'s (?:barking|crying|screaming|sleeping|napping|ringing|beeping|knocking|snoring|howling|meowing"
    r"|whining)\b",
    r"\bi'?m (?:just |still |currently )?(?:queu(?:e)?ing|waiting|standing|sitting|lying|parked|shopping|strolling)"
    r" (?:at|in|on|by|outside)\b",
    r"\b(?:can'?t|cannot|can barely|couldn'?t) (?:hear|see|feel|focus|concentrate|think|breathe|move) (?:anything|a"
    r" thing|straight|properly|you"
    r"|my \w+|right|well|much|at all)\b",
    r"\bit'?s? (?:is )?(?:\w+ly |still |so )?(?:raining|snowing|pouring|hailing|drizzling|thundering"
    r"|storming)\b(?!.*\b(?:always|every"
    r"|often|a lot)\b)",
    r"\b(?:i'?ll|i will|we'?ll|we will|gonna|going to|i'?m) (?:be )?(?:offline|away|afk|out|busy|unavailable"
    r"|unreachable|gone"
    r"|in a (?:meeting|call)|on a call) (?:for|until|till|in) (?:about |the next |the rest of the |an? |another "
    r"|half )*(?:\d+ )?"
    r"(?:minutes?|mins?|hours?|hrs?|bit|while|sec|moment|day|today|lunch|tonight|later|noon|\d+)\b",
    rf"^(?:(?:ugh|man|god|wow|oh|omg|sigh|argh|ok|btw|so|and|sorry|lol|hey|well|tbh|honestly)[\s,.]+)*(?:kinda|kind"
    rf" of|a bit|bit"
    rf"|slightly|rather|quite|pretty|super|totally|so|too|really|very|feeling|still|just|a little|sorta|mega|sooo*"
    rf"|properly)"
    rf"(?: (?:really|very|so|too|bit|a bit|little))* (?:{_MOOD})(?:[\s,]+(?:tbh|lol|today|tonight|again|now|rn"
    rf"|though|haha|af"
    rf"|honestly|atm|man|ngl|actually|already|and|{_MOOD}))*[\s.!]*$",
    r"^(?:it'?s |way |just |far |ugh,? |man,? )*too (?:hot|cold|tired|loud|noisy|bright|dark|early|late|hungry"
    r"|sleepy|sick"
    r"|busy|lazy|drunk|hungover|stressed|wet|windy) (?:to|for)\b",
    r"\b(?:machine|printer|lift|elevator|escalator|toilet|dishwasher|fridge|vending machine|copier|scanner|kettle"
    r"|boiler"
    r"|heating|wifi|router|air ?con|ac|projector|microwave|tap|doorbell) (?:is|are|'s) (?:\w+ly |once )?(?:out of"
    r" (?:order"
    r"|service|action|paper|ink|toner)|on the blink|on strike|bust|jammed|playing up|leaking|dead|kaputt?)\b",
    r"\b(?:is|are|'s|keeps?) (?:\w+ly )?(?:eating|hogging|chewing|using|taking|burning|maxing|draining) (?:up "
    r"|through |out )?"
    r"(?:all |half |most |too much |a lot )*(?:of )?(?:my |the |our )?(?:ram|memory|cpu|disk|battery|bandwidth"
    r"|cores?|swap"
    r"|patience|time)\b",
    r"\b(?:gotta|got to|have to|need to|must) (?:run|go|dash|leave|bounce|jump|head out|hop off)(?= now\b|[,.!]|$)",
    r"\b(?:bus|taxi|train|uber|cab|food|delivery|pizza|plumber|guests|tram|ride|lift) (?:is|are|'s) (?:here|coming"
    r"|waiting|at the door|leaving|outside)\b",
    r"^(?:half )?asleep\b|\bfeeling (?:a bit |a little |so |really |very |kinda |rather |quite )*(?:down|low|meh|off"
    r"|weird|sick|better|great|good|bad|blue|lazy|rough|fuzzy|foggy|tired|lonely|homesick|under the weather)\b",
    r"\bit'?s (?:only |about |almost |over )?\d{1,2} ?(?:degrees|°c?|celsius)(?: in| out| here| today|\b)",
    r"\b(?:is|are|'s) (?:going|acting|being) (?:crazy|nuts|mad|weird|wild|bonkers|haywire|slow|funny|difficult)\b",
    r"\b(?:one|just a|a) (?:moment|sec|second|minute)(?: please)?[.! ]*$|\b(?:not at|away from|back at|left) (?:my"
    r"|the) (?:desk|keyboard|computer)\b",
    r"^(?:currently |still |just )?(?:on|at|in) (?:the|a|my) [\w' ]{2,20} (?:with [\w ]{2,20} )?(?:atm|rn|right now"
    r"|now)\b|^i'?m at the (?!end|moment|start|beginning|top)[\w' ]{2,20}$|\b(?:are|is) (?:drilling|hammering"
    r"|shouting|partying|honking|singing|jackhammering|mowing|playing music)\b",
    r"\b(?:brb|afk|bbl|gtg|g2g|bbiab|omw|otw|ttyl)\b",
    r"\b(?:can'?t|cannot) (?:really |properly )?(?:talk|type|chat|speak|look|check|reply|write) (?:right )?(?:now"
    r"|much|properly|yet)\b",
    r"\b(?:talk|speak|chat|more|ask me) later\b",
    r"\b(?:can'?t|cannot|couldn'?t) find my\b",
    r"^(?:\w+ )?(?:stuck|trapped) (?:in|behind|at|on|under)\b",
    r"\bon hold with\b",
    r"^(?:currently |still |just )?(?:watching|waiting|queueing|queuing|listening|rebooting|boarding|commuting"
    r"|walking|packing|cooking|charging|restarting|reinstalling|sitting|lying|standing) (?:for|the|a|in|on|at"
    r"|to|my|some|home|out)\b",
    r"^(?:currently |still |just )?(?:rebooting|boarding|commuting|restarting)\b",
    r"\b(?:is|are|'s) (?:out of (?:order|service|action)|jammed|broken|closed|down|packed|full|out|sick|off|gone"
    r"|late|delayed|cancelled|canceled|blocked|empty|frozen|stuck|crowded|quiet|loud|cold|hot|flooded"
    r"|offline) (?:today|tonight|right now|rn|atm|again|at the moment|now|this (?:morning|afternoon|evening))\b",
    r"\bit'?s? ?(?:is )?(?:\w+ly |so |really )?(?:boiling|freezing|roasting|sweltering|chilly|stuffy|stifling"
    r"|icy) (?:in|here|out|on|at)\b",
    r"\brush hour\b",
    r"\bjust (?:parked|landed|boarded|left|arrived|sat|ordered|ate|checked in)\b",
    r"\bbe (?:there|home|back) (?:in|at|by|soon)\b",
    r"\bi'?m (?:in|at) [\w' ]{2,30} (?:until|till) (?:tonight|tomorrow|later|lunch|noon|the evening)\b",
    r"\b(?:i'?m |currently |still |now )driving\b(?! (?:an?|for|lorries|trucks|buses|taxis|vans)\b)",
    r"\babout to (?:die|start|leave|go|run out|crash|finish|close|hop|jump|walk|drive|fall asleep)\b",
    r"\b(?:kids?|baby|everyone|wife|husband|dog|cat|toddler|son|daughter) (?:is|are|finally|just) (?:asleep|awake"
    r"|napping|in bed|quiet|crying|screaming|fell asleep|woke up)\b",
    r"\bworking (?:from|at|in|out of) [\w' ]{2,30} (?:today|this (?:morning|afternoon|week))\b",
    r"\bback in (?:a |an )?(?:\d{1,2}\b|few|five|ten|sec|bit|min|moment|couple|half|hour|minute|twenty|thirty)\b",
    r"\bbe right back\b",
    r"\b(?:running|gonna be|going to be|i'll be) (?:\d+ min\w* |a bit |a little |\w+ minutes )?late\b",
    r"\bon my way\b",
    r"\b(?:i'll|i will|will) be (?:right )?back\b",
    r"\bstepping (?:out|away)\b",
    r"\bheading (?:out|home|to (?:bed|lunch|the gym|a meeting))\b",
    r"\b(?:about to|off to) (?:board|eat|sleep|bed|leave|lunch|head|take off|land|step)\b",
    rf"{_ABOUT_SELF}(?:just |so |really |very |too |a bit |a little |super |pretty |kinda |totally |absolutely "
    rf"|still |quite |all |completely |rather |feeling |bit |dead |sooo+ |extremely "
    rf"|currently )*(?:{_MOOD})(?=\s*(?:$|[,.;!?):-]|(?:and|so|but|today|tonight|now|rn|atm|right|at the moment"
    rf"|lol|again|this|after|because|from|haha|btw|already|too|ugh|cause|cuz|rn|as hell|af|man|dude|all day"
    rf"|finally|here|since (?:this|yesterday|last|lunch)|tbh|honestly|of (?:this|it|these)|about (?:this|the|it"
    rf"|today)|in|on|at|until)\b))",
    r"^(?:(?:ugh|man|god|wow|oh|omg|sigh|argh|ok|btw|so|and|sorry|lol|hey|currently|just|really|very|feeling"
    r"|still|too)[\s,.]+)*(?:so |too |really |pretty |feeling |super )?(?:tired|exhausted|sleepy|knackered"
    r"|hungry|starving|bored|hungover|stressed|swamped|freezing|shattered)\b",
    r"\b(?:battery|phone|laptop|tablet|headphones|mouse|earbuds|watch|charge)\b.{0,20}\b(?:at|is|on|down to|has"
    r"|under|below)?\s*(?:\d{1,2} ?%|(?:\d{1,2} percent|dead|dying|almost (?:dead|empty)|charging|low)\b)",
    r"\b\d{1,2} ?% battery\b",
    rf"\b(?:build|ci|pipeline|tests?|server|site|website|wifi|wi-fi|internet|network|vpn|connection|staging|prod"
    rf"|production|database|db|deploy\w*|app|api|page|printer|laptop|computer|branch|cluster|container|docker"
    rf"|service|signal|traffic|line|queue|train|bus|flight|tram|job|runner|kettle|coffee machine|elevator|lift"
    rf"|slack|github|jira|zoom|screen|camera|mic|power|heating|router|process|script|compile|migration|query"
    rf"|install\w*|download|upload|import|export|backup|job|mail server|login|dashboard|reception|bluetooth"
    rf"|projector|cache|disk|cpu|memory|ram|fan|fans)\b(?: is| are|'s|s| seems?| looks?| keeps?| just| has been"
    rf")?\s+(?:really |so |super |a bit |completely |totally |currently |still |being |all |very "
    rf"|pretty |just |kind of |back |gone |now |again |only |terribly |at )*(?:{_STATE}"
    rf"|\d{{1,3}} ?%)\b(?! (?:every|each|on (?:sun|mon|tue|wed|thu|fri|sat)|until|by default|at night))",
    r"\b(?:it'?s|its|it is|still|been)\s+(?:\w+ly |so |really |still |pretty |too |super )*(?:raining|snowing"
    r"|pouring|hailing|sunny|cloudy|foggy|windy|freezing|boiling|hot|cold|humid|storming|drizzling|dark|late"
    r"|warm|loud|noisy|quiet) ?(?:here|outside|out|today|in here|now|again|tonight|lol|out there|and|,|\.|!|$)",
    r"\b(?:stuck|blocked|waiting|sitting|standing|working) (?:on|at|in|for|behind) (?:line \d+|traffic|a (?:red"
    r"|queue|line|meeting|call|train|bus|lobby|waiting room|cafe|café)|the (?:train|bus|tram|queue|line|airport"
    r"|gate|plane|lobby|metro|subway|tube|dentist|doctor|waiting room|station|bug|build|ci|tests?|bathroom"
    r"|kettle|elevator|lift|review|delivery|plumber|bakery|cafe|café|couch|sofa|kitchen|garden|balcony"
    r"|office today)|it\b|this (?:bug|error|line|test|step|one))",
    r"\b(?:currently|now|just|am|i'?m|im|we'?re|still|sitting|sat)\s+(?:sitting |stuck |standing |waiting |just "
    r"|still |now |currently )*(?:on|in|at) (?:the|a|my|an) (?:train|bus|tram|plane|airport|gate|car|taxi|cab"
    r"|uber|ferry|metro|subway|tube|queue|line|lobby|meeting|call|gym|dentist|doctor's|doctors|supermarket|shop"
    r"|store|station|waiting room|hotel|cafe|café|pub|bar|kitchen|bath|shower|garden|park|library|lift|elevator"
    r"|phone|toilet|loo|couch|sofa|platform|conference call|standup|stand-up|checkout|beach|hairdresser"
    r"|barber)\b",
    r"^(?:(?:ok|so|hey|sorry|just|currently|now|still|btw|and|hi|oh)[\s,]+)*(?:on|in|at|having|eating|making"
    r"|grabbing|getting|taking|cooking|boarding|waiting|walking|driving|charging|sitting|lying|watching"
    r"|listening) (?:the|a|my|an|some|for)? ?(?:train|bus|tram|plane|airport|gate|car|taxi|cab|meeting|call"
    r"|lunch|dinner|breakfast|coffee|tea|shower|nap|break|snack|queue|bed|traffic|lobby|phone|flight|standup"
    r"|food|walk|the dog|sofa|couch|breather|smoke|gym|dentist|kids|uber|pasta|bath|tv|a movie|music)\b",
    r"\bhaving (?:lunch|dinner|breakfast|a coffee|a snack|coffee|a break|a nap|a rough|a bad|a great|a good"
    r"|a slow|a long|an off)\b",
    r"\b(?:i'?m|im|i am|we'?re|we are|he'?s|she'?s|they'?re|my \w+ is|my \w+'s)\s+(?:\w+ )?(?:in|at|from|on|near"
    r"|off|home|out|away|wfh|working from|sick|visiting)\b[^.;]{0,40}\b(?:today|tonight|rn|right now|atm"
    r"|at the moment|this (?:morning|afternoon|evening)|for the day|until tonight|till tonight|for an hour"
    r"|until lunch)\b",
    r"^(?:just )?(?:working from home|wfh|off sick|out sick|home office|no (?:run|gym|training|lunch|coffee|swim"
    r"|walk|yoga|meetings|school|class|classes))\b[^.;]{0,30}\b(?:today|tonight|this (?:morning|afternoon"
    r"|evening))\b",
    r"\b(?:wifi|wi-fi|internet|connection|signal|reception|network|traffic|weather|hotel|music|coffee|food|queue"
    r"|line|bus|train|room|seat|view) (?:here|there|out here|in here|outside|at this \w+)? ?(?:is"
    r"|are) (?:\w+ly |so |really |pretty |super )*(?:terrible|awful|horrible|bad|slow|loud|great|nice|amazing"
    r"|lovely|good|cold|hot|dreadful|insane|crazy|packed|full)\b",
    r"\bso no (?:run|gym|training|walk|swim|bike|ride|barbecue|bbq|picnic|yoga|beach|football|tennis|cycling)\b",
    rf"\b(?:i |we |my \w+ )(?:have|has|'ve got|got) (?:a |an |my |some )?(?:\w+ )?(?:headache|migraine|cold|fever"
    rf"|hangover|sore throat|stomach ache|stomachache|toothache|cramp|hiccups|runny nose|brain fog|deadline"
    rf"|meeting|call|cough|guests?)\b[^.;]{{0,24}}\b{_NOW}\b",
    r"^(?:my |the )?(?:head|neck|shoulders?|back|tummy|belly|stomach|tooth|teeth|jaw|ears?|knees?|hips?|ankles?|foot"
    r"|feet|legs?|eyes?|throat|arms?|wrists?|hands?) (?:hurts|hurt|is killing me"
    r"|aches|are killing me|is pounding)\b(?!.*\b(?:always|every|whenever|since)\b)",
    r"\b(?:didn'?t sleep|slept (?:badly|terribly|poorly|like|only|\d)|no sleep|barely slept|can'?t sleep)\b",
    r"\b(?:need|want|could use|craving) (?:a |an |some |more |my )*(?:coffee|caffeine|nap|break|beer|drink|snack"
    r"|sleep|weekend|holiday|vacation)\b",
    r"\b\w+ (?:is|are) (?:barking|crying|screaming|sleeping|napping|ringing|beeping|boiling|loading|compiling"
    r"|knocking|calling|vacuuming|drilling|cooking|rebooting|charging|melting)\b(?!.*\b(?:always|every"
    r"|whenever)\b)",
    r"\b(?:phone|doorbell|door|alarm|kettle|oven|timer)(?:'s| is|s)? (?:ringing|going off|boiling|beeping"
    r"|at the door)\b",
    r"\bsomeone(?:'s| is) at the door\b",
    r"\b(?:two|three|four|five|several|some|a few|\d+|all|most|half the|the) (?:\w+ )?(?:tests?|builds?|checks?"
    r"|jobs?|pods?|specs?) (?:are |is |still |just |keep |currently )*(?:fail(?:ing|ed)?|red|broken|passing"
    r"|green|flaky|crashing)\b",
    r"^(?:(?:ugh|man|ok|so|btw|and|sorry|hey|well|oh)[\s,]+)*(?:currently|right now|atm|rn|at the moment"
    r"|just now)\b(?!.{0,12}\b(?:work|live|living|based|studying|learning|reading|using|on|employed|enrolled"
    r"|training|pregnant|renting|leading|managing|taking|we use|we run)\b)",
    r"\b(?:rn|right now|atm|at the moment|just now|this very moment|this second)\s*[.!)lol ]*$",
    r"\bjust (?:woke up|got up|got home|got back|arrived|landed|finished (?:lunch|dinner|breakfast|eating|work)"
    r"|had (?:lunch|dinner|breakfast|a coffee)|ate|sat down|logged (?:in|on)|parked|missed (?:the|my) (?:train"
    r"|bus))\b",
    r"\b(?:my|the) (?:code|program|script|app|function|query|test|build|computer|laptop|internet) (?:keeps?|just"
    r"|won'?t|doesn'?t|isn'?t|is not|does not) (?:crash\w*|work\w*|start\w*|compil\w*|respond\w*|load\w*|run\w*"
    r"|hang\w*|freez\w*|fail\w*|boot\w*|connect\w*)",
)
# A binding limit or a habit is not a passing state, whatever else the words look like.
_LASTING = cues(
    r"\b(?:always|every|each|usually|generally|permanently|whenever|never|for good|from now on|from today)\b",
    r"\b(?:as of|since (?:19|20)\d\d)\b",
    r"\b(?:until (?:the |next )?(?:\d{1,2}(?:st|nd|rd|th)|\d{4}|january|february|march|april|may|june|july|august"
    r"|september|october|november|december|end|summer|winter|spring|autumn|further))\b",
    r"\bwhen (?:i|we)(?:'m|'re| am| are)\b",
    r"\b(?:these days|most (?:days|mornings|nights)|chronic(?:ally)?|diagnosed|by default)\b",
    r"\b(?:on (?:mon|tues|wednes|thurs|fri|satur|sun)days|for (?:\w+ )?(?:weeks|months|years))\b",
)


# Where or in what state one is, said without a verb: "at the vet's with the dog", "hands full, type later".
_FRAGMENT = patterns.compile(
    r"(?:(?:ugh|ok|so|sorry|hey|btw|lol|still|just|currently|back|only|now)[\s,]+)*(?:"
    r"(?:on|in|at|under|near|outside|inside|between) (?:the|an?|my|our|some|traffic|transit|class|meetings|hold)\b"
    r"(?!.{0,30}\b(?:diet|budget|board|pill|list|committee|team|council|rota|squad|plan|tier|spectrum|relationship"
    r"|wheelchair|band"
    r"|choir|union|hurry to|future|past|meantime|end|world|long run|case|event|same|first place|other hand|way)\b)"
    r"|(?!(?:during|morning|evening|nothing|anything|something|everything|building|using|bring|king|ring|string"
    r"|wedding|meeting"
    r"|training|running costs|feeling like)\b)[a-z]{2,}ing\b"
    r"|(?:hands?|head|brain|inbox|arms|plate|house|phone|battery) (?:full|empty|fried|dead|gone|melting|exploding)\b"
    r"|(?:so |totally |completely |absolutely |utterly )*(?:wiped|worn|burnt|stressed|zonked|spaced|chilled|wound"
    r"|done|beat|cooked|wrecked"
    r"|drenched|buried|toast|spent|gutted|frazzled|parched|famished|peckish|poorly|covered|clouded)\b"
    r"|.{2,30}\b(?:later|brb|bbl)[.!]*$)"
)
_FINITE = patterns.compile(
    r"\b(?:is|are|am|was|were|has|have|had|do|does|did|can|could|must|should|will|would|may|need|needs|get|gets|got"
    r"|please|pls|never"
    r"|always|only ever|[a-z]+day|tomorrow|by|before|because|since|until|till|if|when|whenever|instead|rather|than"
    r"|settled|for me"
    r"|from now|\d{2,}|i|we|you|he|she|they)\b|n't\b|'(?:re|ll|m|ve|d) "
)


def is_fragment(low: str) -> bool:
    """A few words without a verb of their own, about the place or the shape one is in."""
    return (
        len(low) <= 80
        and _FRAGMENT.match(low) is not None
        and _FINITE.search(low) is None
        and _LASTING.search(low) is None
    )


_MOMENTARY = patterns.compile(
    r"\b(?:is|are|'s|'re|am|'m|was|feels?|looks?) [^.;]{2,50}\b(?:today|tonight|this (?:morning|afternoon|evening)"
    r"|right now)"
    r"\s*[.!)]*$"
)


def is_momentary(low: str) -> bool:
    """A state with "today" at its end; only asked where nothing else was found in the clause."""
    return _MOMENTARY.search(low) is not None and _LASTING.search(low) is None


_INTERJECTION = patterns.compile(
    r"(?:(?:ugh+|argh+|man|god|wow|oh|omg|ouch|sigh|damn|dang|geez|jeez|yikes|ok|okay|so|and|sorry|hey|well|btw"
    r"|lol)\b[\s,.!:-]*)+"
)
_STATE_TODAY = patterns.compile(
    rf"\b(?:is|are|'s|am|'m) (?:so |really |very |too |all |super |kinda |a bit |absolutely )*(?:{_MOOD}"
    rf"|{_STATE})\b[^.;]{{0,20}}\b(?:today|tonight"
    r"|this (?:morning|afternoon|evening)|right now)\s*[.!)]*$"
)


def is_state_of_today(low: str) -> bool:
    """ "The office is freezing this morning" tells how things are; "the concert is this evening" tells when."""
    return _STATE_TODAY.search(low) is not None and _LASTING.search(low) is None


def is_transient(low: str) -> bool:
    opened = _INTERJECTION.match(low)
    if opened and opened.end() < len(low):
        low = low[opened.end() :]
    return _TRANSIENT.search(low) is not None and _LASTING.search(low) is None
