"""Detects turns and sentences without content: filler, greetings, thanks, remarks about the conversation."""

from text import patterns
from text.extraction.lexicon import listed

MIN_CHARS = 10
_SAYS_SOMETHING = 4  # least number of letters in a script without spaces

# The contract's two-word test; a chatter sentence uses these words and a few more.
SMALL_WORDS = listed(
    "hi hello hey hiya yo sup howdy greetings morning evening afternoon night good gm gn bye goodbye cya later see"
    " you yes yeah yep yup ya no nope nah ok okay k kk okey sure fine right cool great"
    " nice perfect awesome thanks thank thx ty tysm cheers ta please pls plz sorry oops what why how when where who"
    " which huh hm hmm hmmm um uh er oh ah aha wow lol lmao rofl haha hahaha hehe"
    " ha heh xd the a an and or but so well um alright indeed agreed exactly correct true done go got it that this"
    " there here me too very much really again more wait stop continue next test"
    " testing ping anyone there cool beans"
)
CHATTER = SMALL_WORDS | listed(
    "everyone all team guys folks buddy mate friend my dear today tonight welcome back is are was be i i'm im am"
    " you're your hope hoping doing going well weekend week day have had has a great lovely wonderful nice good"
    " appreciated appreciate lot lots so super amazing brilliant excellent fantastic love helpful help makes sense"
    " gotcha understood noted roger sounds looks works fair enough point bet"
    " np problem worries worry never mind nvm don't dont no not just bit little moment minute second sec hang on"
    " hold one let's lets move start begin carry keep going thats that's whats what's up bro dude man"
    " omg wtf ugh yay woo hooray phew whew damn dang yikes oof meh eh idk dunno tbh imo i'll ill we'll try check out"
    " look now then anyway later tomorrow soon talk speak chat take care cu ttyl new"
)
_WORD = patterns.compile(r"[^\W_]+(?:['.-][^\W_]+)*")
# Scripts written without spaces: "one word" has no meaning in them.
_UNSPACED = patterns.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\U00020000-\U0002f"
    r"fff]"
)

_AMUSED = patterns.compile(
    r"(?:(?:ha(?:ha)+h?|hehe|lol|lmao|rofl|omg|oh|aww*|wow|ok(?:ay)?|yeah|yes|and|so|xd|thanks)\b[\s,.!:)-]*)*"
    r"(?:(?:that|this|it|you|ur|the (?:last|first) one|that (?:one|joke|line|story))\s+"
    r"(?:(?:really|just|totally|always|actually|seriously|again)\s+)*(?:made (?:me|us) (?:laugh|smile|giggle|chuckle"
    r"|grin|snort|lol|cry|feel better)|made my (?:day|morning|evening|week)|cracked me up|crack me up|cheered me up"
    r"|got me|killed me)|(?:i'?m|i am|i was) (?:still )?(?:laughing|giggling|dying|crying))"
    r"(?:\s+(?:so|really|out|loud|a lot|again|hard|too|today|now|laughing))*[\s,.!:)]*"
    r"(?:(?:ha(?:ha)+h?|hehe|lol|lmao|xd|thanks|thank you)\b[\s,.!:)]*)*"
)


_TAKING_BACK = patterns.compile(
    r"(?:scratch (?:that|this)|never ?mind(?:[\s,.!-]+(?:i|found|got|figured|solved|fixed|works|it|that|this|out"
    r"|sorted|now|myself|all|good))*|(?:please |just |oh |sorry,? )*(?:ignore|disregard|forget|strike|skip"
    r"|cancel|drop) what (?:i|you) (?:just |once )?(?:said|wrote|told|mentioned|asked|typed) (?:about|on|regarding"
    r"|earlier|before)\b[^,;:]*$"
    r"|(?:please |just |oh |sorry,? )*(?:ignore|disregard|forget|strike|skip"
    r"|cancel|drop) "
    r"(?:that|this|it|what|my (?:last|previous|earlier)|the (?:last|previous)))\b(?!.{0,40}\b(?:rule|limit|plan|ban"
    r"|warnings?)\b)"
    r"(?:[\s,.!-]*(?:ignore|disregard|forget|i|what|wrote|said|just|typed|sent|asked|message|question|thing|one"
    r"|about|it|that"
    r"|earlier|before|above|please|last|my|the|line|part|comment|sorry|wrong|chat|window|thread)\b)*[\s,.!]*$"
)
_WORKED = patterns.compile(
    r"(?:ok|okay|yes|yep|yeah|great|nice|cool|perfect|ah|oh|wow|hey)?[\s,.!]*(?:that|this|it)(?: one)? (?:finally "
    r"|really |totally |actually |just )*"
    r"(?:worked|helped|works|helps|did it|did the trick|fixed it|solved it)(?:[\s,.!]*(?:a treat|like a (?:charm|dream)"
    r"|wonders|perfectly|cheers|thanks?|thx|ty|a lot"
    r"|so much|now|great|perfect"
    r"|nicely|well|fine|again|mate|lol|for me|really))*[\s.!]*$"
)
_MISDIRECTED = patterns.compile(
    r"(?:oops|sorry|whoops|ah|oh|ups|my bad|apologies)?[\s,.!]*(?:that was (?:meant )?for|wrong|not the right) "
    r"(?:the )?(?:window|chat|tab|thread|person|channel|conversation|file|link|paste|copy|button|bot|someone"
    r"|another)\b[^,;]{0,30}$"
)


_COMPLAINT = patterns.compile(
    r"(?:no|nope|ugh|hm+|well|but|hey|sorry)?[\s,.!]*(?:(?:that|this|it)(?:'s| is| was| isn'?t| wasn'?t) (?:really "
    r"|exactly |at all "
    r"|still |not |just |even |quite )*what (?:i|we) (?:asked|meant|wanted|said|needed|mean|want)\b|you(?:'ve|"
    r" have)? (?:totally "
    r"|completely |just |clearly |still |again )*(?:misunderst\w+|misread|ignored|forgot|missed|didn'?t (?:answer"
    r"|read|listen)|got "
    r"(?:me|that|it|this) wrong)|i (?:just |already |literally |only |never )*(?:asked|told|said|meant|wanted|typed)"
    r" (?:you|for"
    r"|about|that|it|so)\b(?=[\w\s,]{0,24}[.!]*$))"
)


# Greetings and thanks in other languages than English, each the first word or words of a sentence.
_COURTESY = patterns.compile(
    r"(?:ok(?:ay)?[\s,.!]+)?"
    r"(?:danke|vielen dank|guten (?:morgen|tag|abend)|gute nacht|hallo|tschüss|bis (?:bald|später)"
    r"|merci|bonjour|bonsoir|bonne (?:nuit|journée)|salut|à (?:bientôt|demain)"
    r"|(?:muchas )?gracias|hola|buen[oa]s (?:días|tardes|noches)|hasta (?:luego|mañana)"
    r"|(?:muito )?obrigad[oa]|valeu|olá|bo[ma] (?:dia|tarde|noite)|até (?:logo|amanhã)"
    r"|bedankt|dank (?:je|u)|goede(?:morgen|navond|middag)|hoi|doei|tot (?:straks|morgen)"
    r"|(?:mille )?grazie|ciao|buon(?:giorno|asera|anotte)|dziękuję|dzięki|cześć|dzień dobry"
    r"|tack|hej|god (?:morgon|natt)"
    r"|teşekkür\w*|merhaba|günaydın|kiitos|hei|köszönöm|szia|děkuji|díky|ahoj|mulțumesc|cảm ơn|xin chào"
    r"|спасибо|привет|здравствуй\w*|добр\w+ (?:утро|день|вечер)|дякую|привіт|ευχαριστώ|γεια|καλημέρα"
    r"|شكرا|مرحبا|السلام عليكم|תודה|שלום|धन्यवाद|नमस्ते|감사\w*|고마\w*|안녕\w*)(?![\w'’])"
    r"|ありがとう|おはよう|こんにちは|こんばんは|谢谢|謝謝|你好|早上好|ขอบคุณ|สวัสดี"
)
_COURTEOUS_WORDS = 7
_COURTEOUS_CHARS = 50


def is_courtesy(low: str) -> bool:
    """Whether a short sentence in another language than English begins with a greeting or thanks."""
    said = low.strip()
    is_short = len(said) <= _COURTEOUS_CHARS and len(said.split()) <= _COURTEOUS_WORDS
    return is_short and _COURTESY.match(said) is not None


def is_about_the_exchange(low: str) -> bool:
    """Whether it is about the messages: "scratch that", "sorry, wrong window", "that's not what I asked"."""
    return any(told.match(low) is not None for told in (_TAKING_BACK, _MISDIRECTED, _COMPLAINT, _WORKED))


def is_filler(text: str) -> bool:
    """The contract's filler test: no letters, at most one word, or exactly two function words."""
    found = _WORD.findall(text[:400])
    lettered = [word for word in found if any(c.isalpha() for c in word)]
    if not lettered:
        return True
    if _UNSPACED.search(text):
        return False
    return len(found) <= 1 or (len(found) == 2 and all(word.lower() in SMALL_WORDS for word in found))


def is_chatter(low: str) -> bool:
    """Whether a sentence consists only of greetings, thanks, laughter and the like."""
    if len(low) <= 120 and _AMUSED.fullmatch(low.strip()):
        return True
    found = _WORD.findall(low[:400])
    return len(found) <= 24 and all(word in CHATTER for word in found) and not _UNSPACED.search(low)


def is_unspaced(text: str) -> bool:
    """Whether it is in a script without spaces: ten characters of Chinese say as much as forty of English."""
    return _UNSPACED.search(text) is not None and sum(c.isalpha() for c in text) >= _SAYS_SOMETHING
