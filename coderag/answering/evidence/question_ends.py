"""Two things that a question names: the sides of a comparison, or where a flow begins and ends."""

from typing import NamedTuple

from coderag.schema.query import Analysis


class Ends(NamedTuple):
    """The two, as the question puts them."""

    first: str
    last: str


def get_ends(analysis: Analysis) -> Ends | None:
    """Return the two things that a question compares or connects; None if it names none."""
    ends = analysis["reading"]["ends"]
    return Ends(*ends) if ends else None
