"""Which patterns ``re`` itself reads in linear time: those that never have to give back what they have read.

``re`` backtracks when a pattern fails after a repeat without a bound.  If everything after such a repeat may be left
out, it cannot fail there: ``[a-z]+(?:-[a-z]+)*`` is read at once, ``[a-z]+-`` is not.
"""

from typing import Final

from text.syntax import Alternation, Anchor, Group, Look, Node, One, Repeat, Row

MOST_WAYS: Final = 8  # ways that are tried at one place; with more, one look of the linear engine is faster


def is_immediate(node: Node) -> bool:
    """Whether ``re.search`` takes a time proportional to the text, and a short one, whatever the text."""
    ways = _ways(node, is_sure=True)
    return ways is not None and ways <= MOST_WAYS


def _ways(node: Node, *, is_sure: bool) -> int | None:
    """In how many ways it may be tried at one place before it fails; None without a bound.

    is_sure: whatever follows cannot fail.
    """
    if isinstance(node, One | Anchor):
        return 1
    if isinstance(node, Look):
        return 1 if isinstance(node.part, One) else None
    if isinstance(node, Group):
        return _ways(node.part, is_sure=is_sure)
    if isinstance(node, Alternation):
        each = [_ways(branch, is_sure=is_sure) for branch in node.branches]
        return None if None in each else sum(one for one in each if one)
    if isinstance(node, Row):
        ways = 1
        for part in reversed(node.parts):
            found = _ways(part, is_sure=is_sure)
            if found is None:
                return None
            ways, is_sure = ways * found, is_sure and _cannot_fail(part)
        return ways
    return _ways_of_repeat(node, is_sure=is_sure)


def _ways_of_repeat(node: Repeat, *, is_sure: bool) -> int | None:
    if node.most is None:
        if not is_sure or _may_be_empty(node.part) or (node.least > 1 and not isinstance(node.part, One)):
            return None
        return _ways(node.part, is_sure=True)
    each = _ways(node.part, is_sure=is_sure and node.least <= 1)
    if each is None or node.most > MOST_WAYS:
        return None
    return int((node.most - node.least + 1) * each**node.most)


def _cannot_fail(node: Node) -> bool:
    """Whether it may be left out anywhere."""
    if isinstance(node, Repeat):
        return node.least == 0
    if isinstance(node, Group):
        return _cannot_fail(node.part)
    return isinstance(node, Row) and all(map(_cannot_fail, node.parts))


def _may_be_empty(node: Node) -> bool:
    if isinstance(node, Repeat):
        return node.least == 0 or _may_be_empty(node.part)
    if isinstance(node, Group):
        return _may_be_empty(node.part)
    if isinstance(node, Row):
        return all(map(_may_be_empty, node.parts))
    if isinstance(node, Alternation):
        return any(map(_may_be_empty, node.branches))
    return not isinstance(node, One)
