"""Read a turn by rules alone: what to keep, what to refuse and why. No model, no database, no clock."""

from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from apps.ingest.rules import code, filler, idle, injection, language, roles, transient
from apps.ingest.rules import secrets as credentials
from apps.ingest.rules.finding import Decision, Finding
from apps.ingest.rules.keys import Claim, Clause, claims_of, constraint_claim, instruction_claim, signature
from apps.ingest.rules.kinds import Kind, is_past_state, kind_of
from apps.ingest.rules.subjects import EXPLICIT, lead_end, subject_of
from apps.memories import dates
from text import patterns
from text.budget import TooCostly, checkpoint, without
from text.letters import kept
from text.sentences import Span, clauses, fold, lower, sentences, trimmed

LONG_TEXT = 2_000  # above this a text is a document and is kept whole
TOO_COSTLY = "too_costly"  # kept unread
_WORD = patterns.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_BINDING = frozenset({"instruction", "task", "constraint", "decision"})  # asserted, whatever the mood of the verb
_PASSING = frozenset({"", "event", "preference"})  # may turn out to be a state of the moment
_SET_BY_ORDER = ("user.name", "user.preferred_name", "editor.", "ui.theme", "travel.seat")
_SLOTLESS = frozenset({"event", "decision", "task", "entity"})
_FIRST_PERSON = patterns.compile(r"\b(?:i|i'm|im|i've|ive|i'll|i'd|me|my|mine|myself|we|we're|we've|our|ours|us)\b")
# "Haven't owned a TV in years": the "I" is left out.
_ELIDED = patterns.compile(
    r"(?:haven'?t|hadn'?t|never|always) (?:been|had|owned|learn\w+|tried|eaten|used|seen|liked|got|drunk|touched"
    r"|driven|smoked|worn|flown|lived)\b|been (?:an?|the|with|at|in|on) "
    r"|(?:don'?t|didn'?t) (?:own|eat|drink|drive|smoke|speak|like|believe in)\b|been \w+ing\b"
)
_THIRD_PARTY = patterns.compile(
    r"\b(?:says|said|told me|thinks|claims|apparently|heard|seems to|i think|i believe|probably|supposedly)\b"
)
_OLD_NEW = patterns.compile(
    r"\b(?:now|no longer|any ?more|since|from now|instead|new|switched|moved|changed|currently|these days)\b"
)
_BAN = patterns.compile(
    r"\b(?:can'?t|cannot|can not|mustn'?t|must not|may not|not allowed|forbidden|banned|prohibited)\b"
)
_TURNED_DOWN = patterns.compile(r"\b(?:can|could|would|will) you\b")


class _Refusal(NamedTuple):
    decision: Decision
    reason: str


class _Reading(NamedTuple):
    """What one clause says, before its span is settled."""

    span: Span
    refusal: _Refusal | None
    kind: Kind | None
    claims: list[Claim]
    when: dates.When | None
    explicit: bool
    no_verb: bool = False
    asks: bool = False

    @property
    def strong(self) -> bool:
        return self.refusal is None and (bool(self.claims) or self.kind is not None)


def read_turn(
    text: str, *, role: str = "user", now: datetime, keep_whole: bool = False, min_chars: int = filler.MIN_CHARS
) -> list[Finding]:
    """What the turn holds, in the order of the text; at least one finding, and never an exception.

    now: the time of the turn, with a zone; dates are told in it.
    keep_whole: the caller asked to remember this, so one finding spans the trimmed text; policy still refuses.
    min_chars: a shorter text is low signal.

    Where a budget is open (``text.budget``) and spent before all is read, the text is kept as it is, ``too_costly``;
    policy is asked of it first all the same, whatever that costs.
    """
    with kept():
        with without():
            who = roles.speaker(text, role)
            plain = fold(text)
            whole = trimmed(plain, who.start, len(plain))
            if who.start == 0 and not who.is_user:
                return [_refused(trimmed(plain, 0, len(plain)), "discarded_low_signal", "not_user_turn")]
            low = lower(plain)
            if not who.is_user:
                planted = _planted(text, role, plain, low, whole.start)
                decision: Decision = "discarded_policy" if planted else "discarded_low_signal"
                return [_refused(whole, decision, planted or "not_user_turn")]
            bad = _forbidden(plain, low)
        try:
            return _read(plain, low, whole, bad, now=now, keep_whole=keep_whole, min_chars=min_chars)
        except TooCostly:
            return [_unread(whole) if not bad else _refused(whole, "discarded_policy", bad[0].reason)]


def _read(
    plain: str, low: str, whole: Span, bad: "list[_Bad]", *, now: datetime, keep_whole: bool, min_chars: int
) -> list[Finding]:
    checkpoint()
    if not bad:
        if whole.end - whole.start < min_chars and not language.filler_exempt(plain):
            return [_refused(whole, "discarded_low_signal", "too_short")]
        if filler.is_filler(plain[whole.start : whole.end]):
            return [_refused(whole, "discarded_low_signal", "filler")]
    if keep_whole:
        return [_as_one(plain, low, whole, now)] if not bad else [_refused(whole, "discarded_policy", bad[0].reason)]
    if whole.end - whole.start > LONG_TEXT:
        return _document(plain, low, whole, bad)
    return _Turn(plain, low, whole, bad, now).findings()


def _unread(whole: Span) -> Finding:
    return Finding(
        start=whole.start,
        end=whole.end,
        decision="keep",
        reason=TOO_COSTLY,
        source_strength=0.8,
        extractor_confidence=0.5,
    )


def policy_refusal(text: str) -> str:
    """Why policy refuses the text of a user's turn as a whole, as ``read_turn`` does that keeps it whole; or empty."""
    with kept(), without():
        plain = fold(text)
        low = lower(plain)
        who = roles.speaker(text, "user")
        if not who.is_user:
            return _planted(text, "user", plain, low, trimmed(plain, who.start, len(plain)).start)
        bad = _forbidden(plain, low)
        return bad[0].reason if bad else ""


def _planted(text: str, role: str, plain: str, low: str, start: int) -> str:
    """Why policy refuses a pasted line: its label is no disguise, what follows it may be one.  Empty if it does not."""
    if planted := _forbidden(plain[start:], low[start:]):
        return planted[0].reason
    poses = roles.split_label(text)[0] in roles.POSING_LABELS and role.strip().lower() in roles.USER_LABELS
    return "injection_posing" if poses else ""


class _Bad(NamedTuple):
    start: int
    end: int
    reason: str


def _forbidden(plain: str, low: str) -> list[_Bad]:
    """Secrets and planted orders, wherever they stand; a secret's text said again elsewhere counts as well."""
    found = [_Bad(*secret) for secret in credentials.find_secrets(plain)]
    order = injection.find_order(plain, low)
    if order is not None:
        found.append(_Bad(*order))
    return sorted(found)


def _refused(span: Span, decision: Decision, reason: str, *, redacted: bool = False) -> Finding:
    return Finding(
        start=span.start,
        end=span.end,
        decision=decision,
        reason=reason,
        source_strength=0.3,
        extractor_confidence=0.9,
        redacted=redacted,
    )


def _document(plain: str, low: str, whole: Span, bad: list[_Bad]) -> list[Finding]:
    """A long text is one memory, less the lines that policy refuses."""
    if code.is_code_only(plain[whole.start : whole.end]):
        return [_refused(whole, "discarded_low_signal", "code_only")]
    found: list[Finding] = []
    begin = whole.start
    for piece in [*bad, _Bad(whole.end, whole.end, "")]:
        checkpoint()
        line = Span(max(begin, plain.rfind("\n", 0, piece.start) + 1, _sentence_start(plain, piece.start)), piece.end)
        before = trimmed(plain, begin, min(line.start, piece.start) if piece.reason else whole.end)
        if before.end - before.start >= filler.MIN_CHARS:
            found.append(
                Finding(
                    start=before.start,
                    end=before.end,
                    decision="keep",
                    reason="document",
                    source_strength=0.8,
                    extractor_confidence=0.6,
                    redacted=bool(bad),
                )
            )
        if piece.reason:
            end_of_line = plain.find("\n", piece.end, piece.end + 400)
            stop = min(whole.end, end_of_line if end_of_line >= 0 else piece.end)
            if stop > begin:
                found.append(
                    _refused(
                        trimmed(plain, max(begin, line.start), max(stop, piece.end)), "discarded_policy", piece.reason
                    )
                )
            begin = max(begin, stop, piece.end)
    return found


def _sentence_start(plain: str, at: int) -> int:
    return max(plain.rfind(". ", max(0, at - 400), at) + 1, at - 400)


def _as_one(plain: str, low: str, whole: Span, now: datetime) -> Finding:
    """The whole text as one memory; type, key and date come from the sentence that tells most."""
    best: Finding | None = None
    for finding in _Turn(plain, low, Span(whole.start, min(whole.end, whole.start + LONG_TEXT)), [], now).findings():
        if finding.decision == "keep" and (best is None or _telling(finding) > _telling(best)):
            best = finding
    if best is None:
        return Finding(start=whole.start, end=whole.end, decision="keep", reason="explicit", extractor_confidence=0.8)
    return replace(best, start=whole.start, end=whole.end, reason="explicit")


def _telling(finding: Finding) -> tuple[bool, bool, float]:
    return (finding.key is not None, finding.type != "fact", finding.extractor_confidence)


class _Turn:
    """One turn while it is read; remembers who was spoken of last, for "she chairs the board"."""

    def __init__(self, plain: str, low: str, whole: Span, bad: list[_Bad], now: datetime) -> None:
        self.plain, self.low, self.whole, self.bad, self.now = plain, low, whole, bad, now
        self.fiction = len(plain)  # a story, once begun, goes on to the end of the turn
        self.last_person = ""
        self.last_thing = ""

    def findings(self) -> list[Finding]:
        plain, low, whole = self.plain, self.low, self.whole
        text = low[whole.start : whole.end]
        if not self.bad:
            if code.is_code_only(plain[whole.start : whole.end]):
                return [_refused(whole, "discarded_low_signal", "code_only")]
            if language.is_foreign(text):
                return [self._foreign()]
        pieces = sentences(plain, whole.start, whole.end) or [whole]
        fiction = idle.fiction_start(text)
        self.fiction = len(plain) if fiction is None else whole.start + fiction
        found: list[Finding] = []
        for sentence in pieces:
            checkpoint()
            found += self._sentence(sentence)
        return found or [_refused(whole, "discarded_low_signal", "nothing_said")]

    def _foreign(self) -> Finding:
        text = self.low[self.whole.start : self.whole.end]
        if language.is_pleasantry(text):
            return _refused(self.whole, "discarded_low_signal", "filler")
        if language.is_question(text):
            return _refused(self.whole, "discarded_low_signal", "question")
        return Finding(
            start=self.whole.start,
            end=self.whole.end,
            decision="keep",
            reason="other_language",
            value=signature(text),
            source_strength=0.9,
            extractor_confidence=0.6,
        )

    def _sentence(self, sentence: Span) -> list[Finding]:
        spoilt = [bad for bad in self.bad if bad.start < sentence.end and bad.end > sentence.start]
        if spoilt:
            return self._beside_secret(sentence, spoilt)
        low = self.low[sentence.start : sentence.end]
        refusal = self._refuse_sentence(sentence, low)
        if refusal:
            return [_refused(sentence, *refusal)]
        parts = clauses(self.plain, sentence)
        question = low.rstrip(" )\"'").endswith("?")
        if question or (len(parts) > 1 and any(idle.opens_as_question(self.low[p.start : p.end]) for p in parts)):
            return self._question(sentence, parts)
        readings = self._joined([self._read(part) for part in parts]) if len(parts) > 1 else []
        if not readings:
            readings = [self._read(sentence)]
        return [finding for reading in readings for finding in self._finish(reading)]

    def _beside_secret(self, sentence: Span, spoilt: list[_Bad]) -> list[Finding]:
        """The clause with the secret is refused; a clause before it may stay if it says something by itself."""
        found: list[Finding] = []
        first = min(bad.start for bad in spoilt)
        reason = spoilt[0].reason
        start = sentence.start
        for part in clauses(self.plain, Span(sentence.start, max(sentence.start, min(first, sentence.end)))):
            if part.end >= first - 1 or part.end <= start:
                break
            kept = [finding for finding in self._finish(self._read(part)) if finding.decision == "keep"]
            if not kept or first - part.end < 3:
                break
            found += [replace(finding, redacted=True) for finding in kept]
            start = part.end
        rest = trimmed(self.plain, start, sentence.end)
        return [*found, _refused(rest, "discarded_policy", reason)]

    def _refuse_sentence(self, sentence: Span, low: str) -> _Refusal | None:
        if filler.is_chatter(low):
            return _Refusal("discarded_low_signal", "filler")
        if filler.is_about_the_exchange(low):
            return _Refusal("discarded_low_signal", "about_the_talk")
        if low.startswith("```"):
            return _Refusal("discarded_low_signal", "code_only")
        if sentence.end > self.fiction:
            return _Refusal("discarded_low_signal", "fiction")
        if idle.is_sarcasm(low):
            return _Refusal("discarded_low_signal", "sarcasm")
        if idle.is_quotation(low):
            return _Refusal("discarded_low_signal", "quoted")
        return None

    def _question(self, sentence: Span, parts: list[Span]) -> list[Finding]:
        """A question may carry a fact ("as a diabetic, may I …") or be an order or a task in disguise."""
        low = self.low[sentence.start : sentence.end]
        kind = kind_of(low, low, has_date=False)
        if kind is not None and kind.type in ("instruction", "task") and idle.is_command(low):
            return self._finish(self._read(sentence))
        if kind is not None and kind.type in ("instruction", "task") and _TURNED_DOWN.search(low):
            return self._finish(self._read(sentence))
        found: list[Finding] = []
        for part in _fact_parts(self.plain, self.low, parts):
            reading = self._read(part)
            given = _GIVEN.match(self.low[part.start : sentence.end]) or _LASTING_VERB.match(
                self.low, part.start, part.end
            )
            if reading.strong or (reading.refusal is None and given):
                found += self._finish(reading._replace(explicit=True))
        kept = [finding for finding in found if finding.decision == "keep"]
        return kept or [_refused(sentence, "discarded_low_signal", "question")]

    def _joined(self, readings: list[_Reading]) -> list[_Reading]:
        """Split only where both sides say something of their own; what says nothing stays with its neighbour."""
        groups: list[list[_Reading]] = []
        for reading in readings:
            if groups and not (
                reading.strong and any(r.strong for r in groups[-1]) and _separate(groups[-1], reading, self.plain)
            ):
                groups[-1].append(reading)
            else:
                groups.append([reading])
        merged: list[_Reading] = []
        for group in groups:
            while len(group) > 1 and _is_ballast(group[-1]):
                group = group[:-1]
            while len(group) > 1 and (_is_ballast(group[0]) or _RETRACTS.fullmatch(self.low, *group[0].span)):
                group = group[1:]
            merged.append(group[0] if len(group) == 1 else self._merged(group))
        return merged

    def _merged(self, group: list[_Reading]) -> _Reading:
        """The clauses read as one; where that hides a claim, the claim of the clause that makes it counts."""
        whole = self._read(Span(group[0].span.start, group[-1].span.end))
        told = [r for r in group if r.refusal is None and r.claims and not r.claims[0].general]
        if (
            told
            and (not whole.claims or whole.claims[0].general or _of_another(whole.claims[0], told[0].claims[0]))
            and (whole.kind is None or whole.kind.type not in ("task", "entity"))
        ):
            return whole._replace(claims=told[0].claims, refusal=None)
        return whole

    def _read(self, span: Span) -> _Reading:
        checkpoint()
        plain, low = self.plain, self.low
        start = lead_end(low, *span)
        start = start if start < span.end else span.start
        body = low[start : span.end]
        explicit = EXPLICIT.search(low, span.start, min(span.end, start + 20)) is not None
        when = dates.find(body, self.now)
        kind = kind_of(low[span.start : span.end], body, has_date=when is not None)
        if kind is not None and kind.type == "task" and (when is None or when.precision == "day"):
            when = dates.find(body, self.now, assume_today=True)
        subject = subject_of(plain, low, start, span.end, last_person=self.last_person, last_thing=self.last_thing)
        words = frozenset(_WORD.findall(body))
        clause = Clause(plain, low, start, span.end, subject, words)
        refusal = self._refuse_clause(low[span.start : span.end], body, kind)
        claims = self._claims(clause, kind) if refusal is None or refusal.reason == "one_off_command" else []
        pardoned = refusal and claims and claims[0].type == "preference" and not claims[0].many_valued
        if pardoned:
            refusal = None  # "use tabs here" states how things are to be, and for good
        known = bool(claims) and not claims[0].general
        if refusal is None and kind is None and not known and transient.is_momentary(body):
            refusal = _Refusal("discarded_transient", "transient")
        if (
            pardoned  # else it was asked before
            and refusal is None
            and kind is None
            and transient.is_transient(low[span.start : span.end])
            and not _OLD_NEW.search(body)
        ):
            refusal = _Refusal("discarded_transient", "transient")
        if subject.key not in ("", "user"):
            if subject.is_person:
                self.last_person = subject.key
            else:
                self.last_thing = subject.key
        if (
            claims
            and claims[0].key.startswith("user.")
            and claims[0].key.endswith(("reports_to", ".name"))
            and claims[0].value
            and claims[0].key != "user.name"
        ):
            self.last_person = claims[0].value
        return _Reading(
            span,
            refusal,
            kind,
            claims,
            when,
            explicit,
            no_verb=body.startswith(("no ", "not ", "also known", "also called")),
            asks=_TURNED_DOWN.search(body) is not None,
        )

    def _claims(self, clause: Clause, kind: Kind | None) -> list[Claim]:
        type_ = kind.type if kind else ""
        if type_ in ("task", "entity"):
            return []
        found = claims_of(clause)
        if type_ == "instruction":
            kept = [claim for claim in found if claim.key.startswith(_SET_BY_ORDER)]
            order = None if kept else instruction_claim(clause.low, clause.start, clause.end)
            return [order] if order else kept
        if type_ == "constraint" and (not found or found[0].general):
            limit = constraint_claim(clause.low, clause.start, clause.end)
            return [limit] if limit else found
        if type_ == "constraint" and _BAN.search(clause.low, clause.start, clause.end):
            # What must not be is no: the claim that it is so goes against it.
            return [claim._replace(value="no") if claim.value == "yes" else claim for claim in found]
        return found

    def _refuse_clause(self, low: str, body: str, kind: Kind | None) -> _Refusal | None:
        """low: the whole clause; body: without its opener. First reason that holds."""
        type_ = kind.type if kind else ""
        if filler.is_chatter(low):
            return _Refusal("discarded_low_signal", "filler")
        if idle.is_others_claim(low):
            return _Refusal("discarded_low_signal", "others_claim")
        if idle.is_idle_thought(low) or (type_ not in _BINDING and idle.is_hypothetical(low)):
            return _Refusal("discarded_low_signal", "hypothetical")
        if type_ in _PASSING and (transient.is_transient(low) or transient.is_state_of_today(low)):
            return _Refusal("discarded_transient", "transient")
        if type_ in ("", "preference") and transient.is_fragment(low):
            return _Refusal("discarded_transient", "fragment")
        if type_ not in ("instruction", "task") and (idle.opens_as_question(low) or idle.opens_as_question(body)):
            return _Refusal("discarded_low_signal", "question")
        if type_ not in _BINDING and not _FIRST_PERSON.search(low) and idle.is_general_knowledge(low):
            return _Refusal("discarded_low_signal", "general_knowledge")
        if type_ not in _BINDING and idle.is_command(low):
            return _Refusal("discarded_low_signal", "one_off_command")
        return None

    def _finish(self, reading: _Reading) -> list[Finding]:
        span = reading.span
        if reading.refusal:
            return [_refused(span, *reading.refusal)]
        low = self.low[span.start : span.end]
        known = reading.kind is not None or any(not claim.general for claim in reading.claims)
        if not known and not reading.explicit:
            weak = self._refuse_weak(low, reading)
            if weak:
                return [_refused(span, *weak)]
        return _keep(reading, low)

    def _refuse_weak(self, low: str, reading: _Reading) -> _Refusal | None:
        """Without any cue a sentence must at least be about the user's own world."""
        if filler.is_acknowledgement(low):
            return _Refusal("discarded_low_signal", "acknowledgement")
        if filler.is_about_the_talk(low):
            return _Refusal("discarded_low_signal", "about_the_talk")
        if idle.is_command(low):
            return _Refusal("discarded_low_signal", "one_off_command")
        body = _WORD.findall(low)
        if reading.claims or (dates.is_recurring(low) and not idle.is_general_knowledge(low)):
            return None
        if len(body) < 4 and not reading.when and not _LASTING_VERB.match(low):
            return _Refusal("discarded_low_signal", "too_few_words")
        if reading.when is not None and reading.when.at is not None:
            return None
        told = _FIRST_PERSON.search(low) or _ELIDED.match(low) or idle.is_of_own_world(low)
        if not told and not (_SPECIFIC.search(low) and not idle.is_general_knowledge(low)):
            return _Refusal("discarded_low_signal", "general")
        return None


# "Sorry, I meant 4.7 %, the rate is 4.7 %": the second half says it all.
_RETRACTS = patterns.compile(
    r"(?:(?:sorry|oops|no|wait|correction|my mistake|typo|actually)[\s,:.!-]*)*(?:i meant? [^,;]{1,30})?"
)
_BALLAST = frozenset({"question", "hypothetical", "others_claim"})


def _of_another(one: Claim, other: Claim) -> bool:
    """The same attribute and value, but of somebody else: the whole was read with the wrong subject."""
    return one.key != other.key and one.value == other.value and one.key.endswith(other.key.rpartition(".")[2])


def _is_ballast(reading: _Reading) -> bool:
    """A clause that need not be stored with its neighbour: the question after a fact, the idle "maybe"."""
    return reading.refusal is not None and (
        reading.refusal.reason in _BALLAST or (reading.refusal.reason == "one_off_command" and reading.asks)
    )


def _separate(group: list[_Reading], reading: _Reading, plain: str) -> bool:
    """Whether the clause states something else than what came before: another key, or another type."""
    before = [r for r in group if r.strong][-1]
    if before.kind and reading.kind and before.kind.type == reading.kind.type == "decision":
        return False
    if reading.no_verb or plain[before.span.end : before.span.end + 1] == ":":
        return False
    if before.kind is None and before.claims[0].general and reading.kind and reading.kind.type == "decision":
        return False
    if (
        before.kind
        and before.kind.type in _BINDING
        and reading.kind is None
        and (not reading.claims or reading.claims[0].general)
    ):
        return False
    if before.claims and reading.claims:
        # "I no longer live in Graz, I live in Leeds now": one thing is over, the other is so.
        return before.claims[0].key != reading.claims[0].key or (_is_over(before) and not _is_over(reading))
    if bool(before.claims) != bool(reading.claims):
        return True
    return (before.kind.type if before.kind else "") != (reading.kind.type if reading.kind else "") or bool(
        reading.when and before.when
    )


def _is_over(reading: _Reading) -> bool:
    return reading.kind is not None and reading.kind.reason == "past_state"


def _fact_parts(plain: str, low: str, parts: list[Span]) -> list[Span]:
    """The parts of a question that assert: "as a nurse" and "my son is four" in "…, what would you read?"."""
    found = []
    for part in parts:
        text = low[part.start : part.end].rstrip()
        if text.endswith("?") or idle.opens_as_question(text) or idle.is_hypothetical(text):
            given = _GIVEN.match(text)
            opening = given or patterns.match(
                r"(?:as an? [\w -]{3,40}|being an? [\w -]{3,40}|since (?:i|we|my) [^,?]{3,60}|given (?:that )?(?:i"
                r"|we|my)[^,?]{3,60}|with my [^,?]{3,40}|i'?m an? [^,?]{3,40}|my [^,?]{5,60}),",
                text,
            )
            if opening and not idle.opens_as_question(text):
                found.append(Span(part.start, part.start + opening.end() - (opening is not given)))
            else:
                found += [Span(part.start + m.start(), part.start + m.end("who")) for m in _LIKE_ME.finditer(text)]
            continue
        found.append(part)
    return found


# "Can someone with a pacemaker like me …": the user is one of them.
_LIKE_ME = patterns.compile(
    r"\b(?P<who>(?:someone|somebody|anyone|anybody|people|a person|patients?) (?:with|on|who (?:has|have|is|are"
    r"|takes?))"
    r" [^,?]{3,40}?) like"
    r" (?:me|myself|us)\b"
)


def _keep(reading: _Reading, low: str) -> list[Finding]:
    kind, when = reading.kind, reading.when
    claims = reading.claims
    type_ = (
        kind.type
        if kind
        else ("event" if when is not None and not claims and when.at is not None and not _states(low) else "fact")
    )
    if claims and when is not None and when.at is not None and _TO_COME.search(low) and claims[0].key.endswith(_HELD):
        type_, claims = "event", []  # it is not so yet
    forced = claims[0].type if claims else None
    if (
        claims
        and claims[0].general
        and when is not None
        and when.at is not None
        and type_ in ("fact", "event")
        and (not _DATED_ATTRIBUTE.search(claims[0].key) or _ONCE.search(low))
        and not _STATE_UNTIL.search(low)
    ):
        type_, claims = "event", []  # "the kick-off is next Tuesday" happens once
    if forced and (
        type_ not in ("decision", "constraint", "instruction") or (forced == "fact" and type_ == "constraint")
    ):
        type_ = forced
    elif claims and type_ == "event" and not (kind and kind.reason == "past_state") and not claims[0].closed:
        type_ = "fact"  # the start of a state is kept as the state, with its date
    elif claims and type_ == "relation" and not forced and claims[0].key.endswith((".employer", ".location", ".role")):
        type_ = "relation" if claims[0].key.endswith(".role") else "fact"
    if kind and kind.type == "event" and kind.reason == "past_state" and when is None:
        when = dates.When(None, "approximate")
    if type_ == "event" and when is None:
        when = dates.When(None, "unknown")
    strength = 0.7 if _THIRD_PARTY.search(low) else 0.95
    confidence = 0.9 if claims and type_ != "decision" else 0.85 if kind else 0.6
    base = Finding(
        start=reading.span.start,
        end=reading.span.end,
        decision="keep",
        reason=(kind.reason if kind else "keyed" if claims else "about_user"),
        type=type_,
        value=unkeyed_value(low, when),
        event_at=when.at if when else None,
        event_precision=when.precision if when else None,
        event_range=when.range if when else None,
        source_strength=strength if claims or kind else min(strength, 0.9),
        extractor_confidence=confidence,
    )
    if not claims or claims[0].loose:
        return [base]
    if type_ in _SLOTLESS:
        return (
            [replace(base, closes=(claims[0].key, claims[0].value if claims[0].closed or type_ == "event" else None))]
            if type_ != "task"
            else [base]
        )
    found = []
    for claim in claims:
        if claim.closed:
            found.append(
                replace(base, type="event" if type_ in ("fact", "event") else type_, closes=(claim.key, claim.value))
            )
        else:
            found.append(replace(base, key=claim.key[:64], value=claim.value, many_valued=claim.many_valued))
    return found[:4]


_DATED_ATTRIBUTE = patterns.compile(
    r"(?:date|deadline|birthday|anniversary|time|schedule|expiry|window|born|until|day|warranty|renewal|version)"
    r"(?:_(?:of|for)_\w+)?$"
)
# "I'm moving to Lund in May": where one lives, until then, is what it was.
_HELD = (".location", ".employer", ".role", ".school")
_TO_COME = patterns.compile(
    r"(?:'m|'re|'s|\b(?:am|are|is|im|be)) (?:now |also |finally |officially )*(?:moving|relocating|emigrating"
    r"|joining|starting|switching|leaving"
    r"|transferring|going to|becoming)\b|\b(?:will|gonna)\b|'ll\b"
)
# "My set is on Thursday week": a day that is counted from today is of this once.
_ONCE = patterns.compile(r"\b(?:[a-z]+day week|an? week on|two weeks on|tomorrow|day after tomorrow)\b")
# "The rate is fixed until 2029" holds now; that it will end makes no event of it.
_STATE_UNTIL = patterns.compile(
    r"\b(?:is|are|'s|stays?|remains?|lasts?|runs?|have|has)\b .{1,60}\b(?:until|till|through to)\b"
)
# What somebody says of themselves on the way to a question, where the verb tells of more than this moment.
_LASTING_VERB = patterns.compile(
    r"(?:i|we)(?:'m|'re| am| are)? (?:use|using)(?! (?:it|that|this|them|you)\b)\b"
    r"|(?:i|we|my [a-z]+)(?: also| both| still| only| always| usually)* (?:wears?|owns?|lives?|drives?|plays?|eats?"
    r"|drinks?|speaks?|study|studies"
    r"|teach(?:es)?|coach(?:es)?|works?|suffers?|rides?|sings?|keeps?|grows?|bakes?|knits?|surfs?|skis?|climbs?"
    r"|dances?|hunts?"
    r"|paints?|collects?|breeds?|farms?|rents?|freelances?|volunteers?|smokes?|snores?|commutes?|don'?t (?:eat|drink"
    r"|drive"
    r"|own|like|speak))\b"
    r"|(?:i'?m|we'?re|i am|we are) (?:an?|both|allergic|left|right|vegan|vegetarian|pregnant|married|based|retired)\b"
)
# "The kiln tops out at 1280 degrees", "there's a key under the third pot": this one thing, and something to know of it.
# What is said of any of its kind ("otters hold hands") is of an encyclopaedia.
_SPECIFIC = patterns.compile(
    r"^(?:(?:and|but|also|so|btw|fyi|ah|oh|well|yes|right)[\s,:]+)*(?:(?:the|this|these|those|each) (?!(?:answer"
    r"|question|one|other"
    r"|point|idea|same|last|first|second|next|above|following|text|code|word|sentence|paragraph|example|best|only)\b)"
    r"|there(?:'s| is| are) (?!no (?:way|point|need)|nothing|something|always|a (?:lot|way|bug|problem|difference"
    r"|reason|typo))"
    r"|(?:strict(?:ly)? |mostly |all )?(?:[a-z-]+ ){1,2}(?:household|family|home|house|office|team|shop|kitchen"
    r"|school) here\b)"
    r"|\b(?:on|at|in|under|behind|by|to|from|with|of|for) (?:the|our|my) [a-z]+"
    r"|\b(?:over|around|round|in|down|up|back) here\b|\b\d[\d.,:]*\b"
)
_GIVEN = patterns.compile(
    r"(?:since|as|because|given that|given|now that|considering|seeing as) (?:i|i'm|i've|we|we're|my"
    r"|our)\b[^?]{3,80}?(?=,| (?:is|can|could|should|may|do|does|would|will|am|are) (?:it|i|you|we|my|there|an?|the)\b"
    r"| (?:what|which|how|where|when|who|why)\b)"
)


def _states(low: str) -> bool:
    return (
        patterns.search(r"\b(?:is|are|has|have|every|always|since)\b", low) is not None
        and is_past_state(low) is False
        and patterns.search(r"\bon\b|\bat\b", low) is None
    )


def unkeyed_value(low: str, when: dates.When | None) -> str:
    day = when.at.date().isoformat() if when and when.at and when.precision in ("day", "exact") else ""
    return "|".join(filter(None, (signature(dates.without_dates(low)), day)))
