"""States that are true only now or today."""

import re

from apps.ingest.rules.lexicon import MOODS, UNFINISHED_STATES

_MOOD = "|".join(sorted(map(re.escape, MOODS), key=len, reverse=True))
_STATE = "|".join(sorted(map(re.escape, UNFINISHED_STATES), key=len, reverse=True))
_NOW = r"(?:right now|rn|atm|at the moment|today|tonight|currently|this morning|this afternoon|this evening|for now|at present|presently|all day|already|again|still|since (?:this morning|yesterday|last night)|lol|ugh|lately)"
_ABOUT_SELF = r"(?:(?:i'?m|im|i am|we'?re|we are|i feel|feeling|i'?ve been|been|i was|am|i'm feeling|i am feeling)\s+)"

_TRANSIENT = re.compile(
    r"\b(?:brb|afk|bbl|gtg|g2g|bbiab|omw|otw)\b"
    r"|\bback in (?:a |an )?(?:\d+|few|five|ten|sec|bit|min|moment|couple|half|hour|minute|twenty|thirty)\b|\bbe right back\b|\b(?:running|gonna be|going to be|i'll be) (?:\d+ min\w* |a bit |a little |\w+ minutes )?late\b|\bon my way\b|\b(?:i'll|i will|will) be (?:right )?back\b|\bstepping (?:out|away)\b|\bheading (?:out|home|to (?:bed|lunch|the gym|a meeting))\b|\b(?:about to|off to) (?:board|eat|sleep|bed|leave|lunch|head|take off|land|step)\b"
    rf"|{_ABOUT_SELF}(?:just |so |really |very |too |a bit |a little |super |pretty |kinda |totally |absolutely |still |quite |all |completely |rather |feeling |bit |dead |sooo+ |extremely |currently )*(?:{_MOOD})\b(?! (?:with|of being|for a|about my|at (?!the moment)))"
    rf"|^(?:(?:ugh|man|god|wow|oh|omg|sigh|argh|ok|btw|so|and|sorry|lol|hey|currently|just|really|very|feeling|still|too)[\s,.]+)*(?:so |too |really |pretty |feeling |super )?(?:tired|exhausted|sleepy|knackered|hungry|starving|bored|hungover|stressed|swamped|freezing|shattered)\b"
    r"|\b(?:battery|phone|laptop|tablet|headphones|mouse|earbuds|watch|charge)\b.{0,20}\b(?:at|is|on|down to|has|under|below)?\s*(?:\d{1,2} ?%|\d{1,2} percent|dead|dying|almost (?:dead|empty)|charging|low)\b|\b\d{1,2} ?% battery\b"
    rf"|\b(?:build|ci|pipeline|tests?|server|site|website|wifi|wi-fi|internet|network|vpn|connection|staging|prod|production|database|db|deploy\w*|app|api|page|printer|laptop|computer|branch|cluster|container|docker|service|signal|traffic|line|queue|train|bus|flight|tram|job|runner|kettle|coffee machine|elevator|lift|slack|github|jira|zoom|screen|camera|mic|power|heating|router|process|script|compile|migration|query|install\w*|download|upload|import|export|backup|job|mail server|login|dashboard|reception|bluetooth|projector|cache|disk|cpu|memory|ram|fan|fans)\b(?: is| are|'s|s| seems?| looks?| keeps?| just| has been| went| got)?\s+(?:really |so |super |a bit |completely |totally |currently |still |being |all |very |pretty |just |kind of |back |gone |now |again |only |terribly |at )*(?:{_STATE}|\d{{1,3}} ?%)\b(?! (?:every|each|on (?:sun|mon|tue|wed|thu|fri|sat)|until|by default|at night))"
    r"|\b(?:it'?s|its|it is|still|been)\s+(?:\w+ly |so |really |still |pretty |too |super )*(?:raining|snowing|pouring|hailing|sunny|cloudy|foggy|windy|freezing|boiling|hot|cold|humid|storming|drizzling|dark|late|warm|loud|noisy|quiet) ?(?:here|outside|out|today|in here|now|again|tonight|lol|out there|and|,|\.|!|$)"
    r"|\b(?:stuck|blocked|waiting|sitting|standing|working) (?:on|at|in|for|behind) (?:line \d+|traffic|a (?:red|queue|line|meeting|call|train|bus|lobby|waiting room|cafe|café)|the (?:train|bus|tram|queue|line|airport|gate|plane|lobby|metro|subway|tube|dentist|doctor|waiting room|station|bug|build|ci|tests?|bathroom|kettle|elevator|lift|review|delivery|plumber|bakery|cafe|café|couch|sofa|kitchen|garden|balcony|office today)|it\b|this (?:bug|error|line|test|step|one))"
    r"|\b(?:currently|now|just|am|i'?m|im|we'?re|still|sitting|sat)\s+(?:sitting |stuck |standing |waiting |just |still |now |currently )*(?:on|in|at) (?:the|a|my|an) (?:train|bus|tram|plane|airport|gate|car|taxi|cab|uber|ferry|metro|subway|tube|queue|line|lobby|meeting|call|gym|dentist|doctor's|doctors|supermarket|shop|store|station|waiting room|hotel|cafe|café|pub|bar|kitchen|bath|shower|garden|park|library|lift|elevator|phone|toilet|loo|couch|sofa|platform|conference call|standup|stand-up|checkout|beach|hairdresser|barber)\b"
    r"|^(?:(?:ok|so|hey|sorry|just|currently|now|still|btw|and|hi|oh)[\s,]+)*(?:on|in|at|having|eating|making|grabbing|getting|taking|cooking|boarding|waiting|walking|driving|charging|sitting|lying|watching|listening) (?:the|a|my|an|some|for)? ?(?:train|bus|tram|plane|airport|gate|car|taxi|cab|meeting|call|lunch|dinner|breakfast|coffee|tea|shower|nap|break|snack|queue|bed|traffic|lobby|phone|flight|standup|food|walk|the dog|sofa|couch|breather|smoke|gym|dentist|kids|uber|pasta|bath|tv|a movie|music)\b"
    r"|\bhaving (?:lunch|dinner|breakfast|a coffee|a snack|coffee|a break|a nap|a rough|a bad|a great|a good|a slow|a long|an off)\b"
    rf"|\b(?:i'?m|im|i am|we'?re|we are|he'?s|she'?s|they'?re|my \w+ is|my \w+'s)\s+(?:\w+ )?(?:in|at|from|on|near|off|home|out|away|wfh|working from|sick|visiting)\b[^.;]{{0,40}}\b(?:today|tonight|rn|right now|atm|at the moment|this (?:morning|afternoon|evening)|for the day|until tonight|till tonight|for an hour|until lunch)\b"
    r"|^(?:just )?(?:working from home|wfh|off sick|out sick|home office|no (?:run|gym|training|lunch|coffee|swim|walk|yoga|meetings|school|class|classes))\b[^.;]{0,30}\b(?:today|tonight|this (?:morning|afternoon|evening))\b|\bso no (?:run|gym|training|walk|swim|bike|ride|barbecue|bbq|picnic|yoga|beach|football|tennis|cycling)\b"
    rf"|\b(?:i |we |my \w+ )(?:have|has|'ve got|got) (?:a |an |my |some )?(?:\w+ )?(?:headache|migraine|cold|fever|hangover|sore throat|stomach ache|stomachache|toothache|cramp|hiccups|runny nose|brain fog|deadline|meeting|call|cough|guests?)\b[^.;]{{0,24}}\b{_NOW}\b"
    r"|^(?:my |the )?(?:head|back|tummy|stomach|tooth|feet|legs|eyes|throat|arm|wrist) (?:hurts|hurt|is killing me|aches|are killing me|is pounding)\b(?!.*\b(?:always|every|whenever|since)\b)|\b(?:didn'?t sleep|slept (?:badly|terribly|poorly|like|only|\d)|no sleep|barely slept|can'?t sleep)\b|\b(?:need|want|could use|craving) (?:a |an |some |more |my )*(?:coffee|caffeine|nap|break|beer|drink|snack|sleep|weekend|holiday|vacation)\b"
    r"|\b\w+ (?:is|are) (?:barking|crying|screaming|sleeping|napping|ringing|beeping|boiling|loading|compiling|knocking|calling|vacuuming|drilling|cooking|rebooting|charging|melting)\b(?!.*\b(?:always|every|whenever)\b)|\b(?:phone|doorbell|door|alarm|kettle|oven|timer)(?:'s| is|s)? (?:ringing|going off|boiling|beeping|at the door)\b|\bsomeone(?:'s| is) at the door\b"
    r"|\b(?:two|three|four|five|several|some|a few|\d+|all|most|half the|the) (?:\w+ )?(?:tests?|builds?|checks?|jobs?|pods?|specs?) (?:are |is |still |just |keep |currently )*(?:fail(?:ing|ed)?|red|broken|passing|green|flaky|crashing)\b"
    rf"|^(?:(?:ugh|man|ok|so|btw|and|sorry|hey|well|oh)[\s,]+)*(?:currently|right now|atm|rn|at the moment|just now)\b(?!.{{0,12}}\b(?:work|live|living|based|studying|learning|reading|using|on|employed|enrolled|training|pregnant|renting|leading|managing|taking|we use|we run)\b)"
    r"|\b(?:rn|right now|atm|at the moment|just now|this very moment|this second)\s*[.!)lol ]*$"
    r"|\bjust (?:woke up|got up|got home|got back|arrived|landed|finished (?:lunch|dinner|breakfast|eating|work)|had (?:lunch|dinner|breakfast|a coffee)|ate|sat down|logged (?:in|on)|parked|missed (?:the|my) (?:train|bus))\b|\b(?:my|the) (?:code|program|script|app|function|query|test|build|computer|laptop|internet) (?:keeps?|just|won'?t|doesn'?t|isn'?t|is not|does not) (?:crash\w*|work\w*|start\w*|compil\w*|respond\w*|load\w*|run\w*|hang\w*|freez\w*|fail\w*|boot\w*|connect\w*)"
)
# A binding limit or a habit is not a passing state, whatever else the words look like.
_LASTING = re.compile(
    r"\b(?:always|every|each|usually|generally|permanently|whenever|never|for good|from now on|from today|as of|since (?:19|20)\d\d|until (?:the |next )?(?:\d|january|february|march|april|may|june|july|august|september|october|november|december|end|summer|winter|spring|autumn|further)"
    r"|these days|most (?:days|mornings|nights)|chronic(?:ally)?|diagnosed|by default|on (?:mon|tues|wednes|thurs|fri|satur|sun)days|for (?:\w+ )?(?:weeks|months|years))\b"
)


def is_transient(low: str) -> bool:
    return _TRANSIENT.search(low) is not None and _LASTING.search(low) is None
