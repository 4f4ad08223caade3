"""Amounts that may be the price of a page, weighed by those beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain, islice, pairwise, takewhile
from typing import Final, NamedTuple

from webloom.parsing.prices.amounts import Amount
from webloom.parsing.prices.visible_text import Surroundings

BESIDE: Final = 120  # characters
SAME_BLOCK: Final = 400  # characters between a price and what it is reduced from
_PAIR: Final = 40  # characters between two amounts that belong together
_LOWER_OF_PAIR: Final = 0.3
_FAR_APART: Final = 500  # characters between the price of a page and those of a list
_AT_BUTTON: Final = 400  # characters between a price and the button to pay it
_REDUCED_PENALTY: Final = 2.5


class Candidate(NamedTuple):
    at: int
    amount: Amount
    score: float
    around: Surroundings
    reduced_from: bool
    other: bool  # of shipping, of a month, of a unit, of what is saved


def best_of(candidates: Sequence[Candidate]) -> Candidate | None:
    return max(candidates, key=lambda one: (one.score, -one.at), default=None)


def weigh(candidates: Sequence[Candidate], own_button: int | None = None) -> list[Candidate]:
    """Rescored by the amounts around them; `own_button`: where the product's own buy button is."""
    found = list(candidates)
    for low, high in pairwise(candidates):
        if low.amount.range_from and high.at - low.at < 40:
            found[found.index(high)] = high._replace(score=high.score - 2)
    for one, other in pairwise(range(len(found))):
        is_beside_former = one > 0 and _is_beside(found[one - 1], found[one])
        if _is_pair(found[one], found[other]) and not is_beside_former:
            lower = min(one, other, key=lambda at: found[at].amount.value)
            found[lower] = found[lower]._replace(score=found[lower].score + _LOWER_OF_PAIR)
    repeated = _repeated(found)
    apart = _apart(found, repeated)
    if repeated and own_button is not None:
        apart |= {one.at for one in found if 0 <= own_button - one.at < _AT_BUTTON}
    return [_rescored(one, found, {} if one.at in apart else repeated) for one in found]


def _is_beside(former: Candidate, one: Candidate) -> bool:
    return former.reduced_from and one.at - former.at < _PAIR


def _is_pair(one: Candidate, other: Candidate) -> bool:
    """Whether two amounts with nothing said of either are a price and what it is reduced from.
    In cells of their own they are the prices of one and of ten."""
    low, high = sorted((one.amount.value, other.amount.value))
    return (
        other.at - one.at < _PAIR
        and one.amount.currency == other.amount.currency
        and abs(one.score - other.score) < _LOWER_OF_PAIR
        and high / 3 < low < high
        and not (one.reduced_from or other.reduced_from or one.other or other.other)
        and not one.amount.range_from
        and not (one.around.signature[:3] == other.around.signature[:3] == "td.")
    )


def _repeated(found: Sequence[Candidate]) -> dict[str, int]:
    """Signatures of elements that hold several prices, and how often: a list of other things."""
    own = [one for one in found if not (one.around.neighbour or one.other or one.reduced_from)]
    count = Counter(one.around.signature for one in own)
    distinct = _distinct(own)
    return {one: count[one] for one in count if count[one] >= 3 and distinct[one] >= 2}


def _apart(found: Sequence[Candidate], repeated: dict[str, int]) -> set[int]:
    """Places of amounts that share their kind of element with a list but are not part of it: a few
    that are far from the others, which are close together."""
    if not repeated:
        return set()
    alone = [
        one
        for at, one in enumerate(found)
        if one.around.signature in repeated and _is_apart(at, found)
    ]
    of_few, of_all = _distinct(alone), _distinct(found)
    return {one.at for one in alone if of_few[kind := one.around.signature] * 2 < of_all[kind]}


def _distinct(found: Sequence[Candidate]) -> Counter[str]:
    """How many amounts each kind of element has."""
    return Counter(kind for kind, _ in {(one.around.signature, one.amount.value) for one in found})


def _is_apart(at: int, found: Sequence[Candidate]) -> bool:
    """Whether no other amount in the same kind of element is near."""
    one = found[at]
    near = chain(
        takewhile(lambda other: other.at - one.at < _FAR_APART, islice(found, at + 1, None)),
        takewhile(lambda other: one.at - other.at < _FAR_APART, reversed(found[:at])),
    )
    return not any(
        other.around.signature == one.around.signature and other.amount.value != one.amount.value
        for other in near
    )


def _rescored(one: Candidate, found: Sequence[Candidate], repeated: dict[str, int]) -> Candidate:
    score = one.score
    if times := repeated.get(one.around.signature):
        score -= 2 if times < 6 else 4
    if one.reduced_from and (one.around.struck or _has_lower_beside(one, found)):
        score -= _REDUCED_PENALTY
    elif one.amount.currency and _has_struck_beside(one, found):
        score += 1
    return one._replace(score=score)


def _has_struck_beside(one: Candidate, found: Sequence[Candidate]) -> bool:
    return not one.other and any(
        -BESIDE < other.at - one.at < BESIDE
        and one.amount.value < other.amount.value
        and (other.around.struck or (other.around.reduced_from and abs(other.at - one.at) < _PAIR))
        for other in found
    )


def _has_lower_beside(one: Candidate, found: Sequence[Candidate]) -> bool:
    return any(
        abs(other.at - one.at) < SAME_BLOCK
        and other.amount.value < one.amount.value
        and bool(other.amount.currency or other.around.price)
        and not (other.reduced_from or other.other or other.around.neighbour)
        for other in found
    )
