"""How estimates depend on what is estimated; the figures in them are measurements, not behaviour."""

import pytest

from coderag.ingestion import estimates
from coderag.schema.index_plan import Estimate

MEGABYTE = 1_000_000


@pytest.mark.parametrize(
    "estimate",
    [
        estimates.estimate_chunks(MEGABYTE),
        estimates.estimate_embedded_texts(10, MEGABYTE),
        estimates.estimate_embedded_tokens(10, MEGABYTE),
        estimates.estimate_seconds(10, MEGABYTE, 2),
        estimates.estimate_memory(MEGABYTE, 2),
    ],
)
def test_estimate_bounds_are_ordered_and_distinct(estimate: Estimate) -> None:
    assert 0 < estimate.low < estimate.high


def test_existing_chunks_are_added_exactly() -> None:
    assert estimates.estimate_chunks(0, 120) == Estimate(120, 120)


def test_estimates_without_files_are_small() -> None:
    assert (
        estimates.estimate_chunks(0)
        == estimates.estimate_embedded_texts(0, 0)
        == estimates.estimate_embedded_tokens(0, 0)
        == Estimate(0, 0)
    )
    assert estimates.estimate_seconds(0, 0, 2) == Estimate(0, 0)


def test_more_processes_need_less_time_and_more_memory() -> None:
    size = 100 * MEGABYTE
    assert estimates.estimate_seconds(0, size, 4).low < estimates.estimate_seconds(0, size, 2).low
    assert estimates.estimate_memory(size, 4).low > estimates.estimate_memory(size, 2).low
    assert estimates.estimate_seconds(0, size, 0) == estimates.estimate_seconds(0, size, 1)


def test_cost_is_per_million_tokens() -> None:
    assert estimates.estimate_cost(Estimate(1_000_000, 3_000_000), 0.2) == Estimate(0.2, pytest.approx(0.6))
