"""Several reads at once: order, errors, and what is left out."""

import threading

import pytest

from coderag.sources.concurrent_reads import MAX_CONCURRENT_READS, read_each


def test_results_keep_the_order_of_the_arguments() -> None:
    both = threading.Barrier(2, timeout=10)

    def read(number: int) -> int:
        if number < 2:
            both.wait()  # the two run at the same time
        return -number

    assert read_each(read, range(20)) == [-number for number in range(20)]
    assert read_each(read, []) == []


def test_error_leaves_out_what_has_not_begun() -> None:
    begun: list[int] = []

    def read(number: int) -> None:
        begun.append(number)
        if number == 0:
            raise ValueError(number)
        threading.Event().wait(0.02)

    with pytest.raises(ValueError, match="0"):
        read_each(read, range(200))
    assert len(begun) <= 10 * MAX_CONCURRENT_READS
