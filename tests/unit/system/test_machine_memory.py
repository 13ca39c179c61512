"""Memory of the machine: what a container allows goes before what the machine has."""

import pytest

from coderag.system.machine_memory import read_memory_bytes


def test_without_a_container_it_is_that_of_the_machine(tmp_path):
    assert read_memory_bytes((tmp_path / "missing",)) > 500_000_000


def test_the_limit_of_a_container_goes_before_that_of_the_machine(tmp_path):
    limit = tmp_path / "memory.max"
    limit.write_text("268435456\n")
    assert read_memory_bytes((tmp_path / "missing", limit)) == 268_435_456


@pytest.mark.parametrize("text", ["max\n", "9223372036854771712\n", "", "-1\n"])
def test_a_container_without_a_limit_has_that_of_the_machine(tmp_path, text):
    limit = tmp_path / "memory.max"
    limit.write_text(text)
    assert read_memory_bytes((limit,)) == read_memory_bytes((tmp_path / "missing",))
