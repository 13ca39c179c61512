"""What of a result is shown where there is no room for all of it."""

import pytest

from coderag.interfaces.excerpt import cut_excerpt

TEXT = "# Spawns a thread.\n@traced\ndef spawn(pool):\n    return pool\n\ndef trim(pool):\n    pool.trims += 1\n"


@pytest.mark.parametrize(
    ("name", "lines", "expected"),
    [
        ("trim", 2, (5, ["def trim(pool):", "    pool.trims += 1"])),
        ("spawn", 1, (2, ["def spawn(pool):"])),
        ("rim", 1, (0, ["# Spawns a thread."])),
        ("", 1, (0, ["# Spawns a thread."])),
        ("trim", 0, (5, [])),
        ("a(b", 1, (0, ["# Spawns a thread."])),
    ],
)
def test_it_begins_where_the_name_first_stands(name, lines, expected):
    assert cut_excerpt(TEXT, name, lines) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("pool.trims", (6, ["    pool.trims += 1"])),
        ("@traced", (1, ["@traced"])),
        ("+=", (6, ["    pool.trims += 1"])),
        ("spawn", (2, ["def spawn(pool):"])),
        ("where are pool.trims counted", (2, ["def spawn(pool):"])),
        ("absent-name", (2, ["def spawn(pool):"])),
    ],
)
def test_it_begins_where_a_literal_query_stands_if_the_lines_of_the_name_lack_it(query, expected):
    assert cut_excerpt(TEXT, "spawn", 1, query) == expected
