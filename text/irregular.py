"""Irregular English forms that a stemmer misses: "When did she go?" is answered by "We went in May"."""

from typing import Final

# The base form, then its other forms, except those that are more often another word ("rose", "bit", "lay", "lives").
_FORMS: Final = """
begin began begun; bite bitten; blow blew blown; break broke broken; bring brought; build built; buy bought;
catch caught; choose chose chosen; come came; deal dealt; draw drew drawn; dream dreamt; drink drank drunk;
drive drove driven; eat ate eaten; fall fallen; feed fed; feel felt; fight fought; find found; fly flew flown;
forget forgot forgotten; forgive forgave forgiven; freeze froze frozen; get got gotten; give gave given; go went gone;
grow grew grown; hang hung; hear heard; hide hid hidden; hold held; keep kept; know knew known; lead led; learn learnt;
leave left; lend lent; lose lost; make made; mean meant; meet met; pay paid; ride rode ridden; ring rang rung;
rise risen; run ran; say said; see saw seen; seek sought; sell sold; send sent; shake shook shaken; shoot shot;
show shown; shrink shrank shrunk; sing sang sung; sit sat; sleep slept; speak spoke spoken; spend spent; stand stood;
steal stole stolen; stick stuck; strike struck; swear swore sworn; swim swam swum; take took taken; teach taught;
tear tore torn; tell told; think thought; throw threw thrown; understand understood; wake woke woken; wear wore worn;
win won; write wrote written;
child children; foot feet; man men; mouse mice; person people; tooth teeth; wife wives; woman women;
bad worse worst; good better best
"""

BASES: Final = {other: base for base, *others in (entry.split() for entry in _FORMS.split(";")) for other in others}
