"""Frames of everyday English, a table for each type: what decides is the grammar, never the thing spoken of."""

from datetime import UTC, datetime

import pytest

from apps.ingest.rules.finding import Finding
from apps.ingest.rules.reader import read_turn

NOW = datetime(2026, 3, 11, 9, 0, tzinfo=UTC)  # a Wednesday


def kept(text: str) -> list[Finding]:
    return [finding for finding in read_turn(text, now=NOW) if finding.decision == "keep"]


def refused(text: str) -> str:
    findings = read_turn(text, now=NOW)
    assert all(finding.decision != "keep" for finding in findings), text
    return findings[0].decision


@pytest.mark.parametrize(
    "text",
    [
        "it'd be lovely if you'd always add a headline",
        "you're to ask before you touch my calendar",
        "no need to thank me every time",
        "I want you to warn me when my maths is off",
        "leave the small talk out of your answers",
        "talk to me like I'm a total novice",
        "two suggestions at a time, please",
        "put the verdict first",
        "prose rather than tables when you describe a route",
        "could you speak Polish with me on Sundays",
        "whenever I paste a knitting pattern, convert it to rows",
        "you don't need to explain the maths to me",
        "refer to my patients by number only",
        "I'd appreciate it if you never guessed at dosages",
        "don't hand me sources behind a paywall",
        "quit calling me pal",
        "write distances in metric units",
        "outline long reports in two lines for me, always",
        "please leave the Welsh names untranslated",
        "be strict with me, I'm lazy",
        "use stones and pounds when it's about weight",
    ],
)
def test_how_the_assistant_is_to_behave(text: str) -> None:
    assert [finding.type for finding in kept(text)] == ["instruction"]


@pytest.mark.parametrize(
    "text",
    [
        "I'm not supposed to row before June",
        "we're limited to eight seats in the minibus",
        "the insurer won't pay for more than two crowns",
        "nobody under twelve is let into the glasshouse",
        "our charter says no paid staff",
        "no drones without a signed waiver",
        "climb no higher than the second ledge",
        "it's against our bylaws to lend the trailer",
        "we only have 80 euros left for the raffle",
        "visitors aren't allowed on the slipway",
        "the grant limits us to two interns",
        "negatives never leave the vault",
    ],
)
def test_what_must_not_be(text: str) -> None:
    assert [finding.type for finding in kept(text)] == ["constraint"]


@pytest.mark.parametrize(
    "text",
    [
        "must ring the vicar about the organ",
        "I've been meaning to oil the hinges",
        "the hedge wants trimming before April",
        "could do with replacing the tyres in May",
        "we still need somebody to tune the harp",
        "they want me to rewrite the syllabus by Friday",
        "I've to renew the fishing licence in May",
        "need a costume for the parade by the 28th",
        "I told Edda I'd mend her spinning wheel",
        "book the village hall asap",
        "hone the scythe before Saturday",
        "somebody must warn the tenants",
    ],
)
def test_what_is_to_be_done(text: str) -> None:
    assert [finding.type for finding in kept(text)] == ["task"]


@pytest.mark.parametrize(
    "text",
    [
        "we ended up choosing the oak floor",
        "scrapping the second print run",
        "we'll hire rather than buy a loom",
        "I'm not going back to shift work, full stop",
        "after all that, it's the Leeds studio we're renting",
        "I'm done with Facebook",
        "we're winding up the press for good",
        "we plumped for the slate roof",
        "not renewing the stall at the market",
        "picked linen over silk for the lining",
    ],
)
def test_what_was_chosen(text: str) -> None:
    assert [finding.type for finding in kept(text)] == ["decision"]


@pytest.mark.parametrize(
    "text",
    [
        "can't get enough of rhubarb",
        "I'd sooner cycle than queue for a bus",
        "ballet does nothing for me",
        "liquorice is vile",
        "give me cider over prosecco any day",
        "trains over planes for me, always",
        "cocoa person, not tea",
        "I can't abide jargon",
        "oats over rye, every single time",
        "never liked velvet",
        "my lot won't touch broccoli",
    ],
)
def test_what_somebody_likes(text: str) -> None:
    assert [finding.type for finding in kept(text)] == ["preference"]


@pytest.mark.parametrize(
    "text",
    [
        "my barber is a man called Anselm",
        "we share an allotment with Brunhilde",
        "our hygienist is Wanda",
        "Morag is my deputy at the mill",
        "I answer to the harbour board",
        "Ottoline supervises me",
        "Prof. Ekdahl mentors me",
        "my bell-ringing partner's called Hedda",
    ],
)
def test_who_belongs_to_whom(text: str) -> None:
    assert {finding.type for finding in kept(text)} == {"relation"}


@pytest.mark.parametrize(
    "text",
    [
        "just nipping out to post a letter",
        "sat in a lay-by near Hull",
        "I've got a pounding headache",
        "can't talk, in a seminar",
        "in a filthy mood tonight",
        "the loom is acting up again",
        "interview in ten minutes",
        "under the sink with a torch",
        "hands full, more later",
        "peeling onions, one eye open",
        "worn out after that climb",
        "the twins are bickering, hang on",
        "no signal in this valley",
        "so nervous about the recital",
    ],
)
def test_what_is_so_only_now(text: str) -> None:
    assert refused(text) == "discarded_transient"


@pytest.mark.parametrize(
    "text",
    [
        "sharks have no bones at all",
        "the liver has two lobes",
        "slate is basically mud that hardened",
        "you be the judge and I'm the accused",
        "lovely, the heating won't turn on, my favourite way to start a morning",
        "make that paragraph shorter",
        "I finally changed my password",
        "forget what I said about the tent pegs",
        "one of these days I might buy a loom",
        "if we ever sold up, would the dog mind?",
        "you're the innkeeper, I'm a dwarf called Brok who owes you gold",
        "apparently the bishop wants to sell the organ",
        "otters hold hands while asleep",
    ],
)
def test_what_is_of_no_use_later(text: str) -> None:
    assert refused(text) == "discarded_low_signal"


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("my loan is fixed at 3.2% until 2031", "fact"),
        ("wool gets collected every June", "fact"),
        ("I run a bookshop called Marginalia in Kent", "fact"),
        ("been a verger here for nine years now", "fact"),
        ("I'm moving to Lund at the end of May", "event"),  # and lives, until then, where they live
        ("I own two tandems and I fish", "fact"),
    ],
)
def test_a_state_is_a_fact_and_what_happens_is_an_event(text: str, type_: str) -> None:
    assert kept(text)[0].type == type_


@pytest.mark.parametrize(
    "text",
    [
        "the kiln tops out at 1280 degrees",
        "there's a spare key under the third pot",
        "tide tables hang by the door",
        "strictly vegan household here",
        "grain goes in the big silo",
    ],
)
def test_what_is_said_of_one_thing_is_kept_though_nobody_says_i(text: str) -> None:
    assert len(kept(text)) == 1


def test_who_will_move_does_not_live_there_yet() -> None:
    assert [finding.key for finding in kept("I'm moving to Lund at the end of May")] == [None]
    assert kept("I moved to Lund in May")[0].key == "user.location"


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("our keeper is Luis", "Petar is our keeper now"),
        ("my accountant is Edda", "changed accountants, with Runa now"),
        ("my line manager is Fiona", "got a new boss: Ravi"),
        ("I wear size 42 ski boots", "my ski boots are size 41 these days"),
        ("I have two cats", "we've got three cats now"),
        ("I'm a clerk at Zenith", "I left Zenith, I'm at Orbis now"),
        ("no visitors after 8pm, house rule", "visitors are allowed until 10pm now"),
        ("my kiln is a Rohde", "actually no, the kiln is a Skutt"),
    ],
)
def test_the_new_statement_takes_the_place_of_the_old(first: str, then: str) -> None:
    old, new = kept(first)[0], kept(then)[0]
    assert old.key is not None
    assert (new.key, new.value) != (None, old.value)
    assert new.key == old.key


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("given that I've got asthma is it safe to paint indoors?", "given that I've got asthma"),
        ("can someone with a pacemaker like me use an induction hob?", "someone with a pacemaker"),
    ],
)
def test_a_question_may_tell_of_oneself(text: str, found: str) -> None:
    assert [text[finding.start : finding.end] for finding in kept(text)] == [found]
