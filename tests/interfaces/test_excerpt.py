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
        ("where are pool.trims counted", (5, ["def trim(pool):"])),
        ("absent-name", (2, ["def spawn(pool):"])),
    ],
)
def test_it_begins_where_a_literal_query_stands_if_the_lines_of_the_name_lack_it(query, expected):
    assert cut_excerpt(TEXT, "spawn", 1, query) == expected


LONG = "\n".join(
    [
        "def serve(port):",
        *(f"    step_{number}()" for number in range(20)),
        "    if not certificate.is_valid():",
        "        raise ExpiredError",
    ]
)


def test_it_shows_the_lines_that_match_a_question():
    skipped, code = cut_excerpt(LONG, "serve", 3, "what happens when the certificate is expired")
    assert (skipped, code[1:]) == (20, ["    if not certificate.is_valid():", "        raise ExpiredError"])


def test_it_begins_at_the_name_if_no_lines_match_clearly_better():
    assert cut_excerpt(LONG, "serve", 3, "how does it serve a port with a certificate")[0] == 0
    assert cut_excerpt(LONG, "serve", 3, "unrelated words")[0] == 0


def test_it_shows_all_of_a_short_text_from_its_name():
    assert cut_excerpt("@app\ndef f():\n    return expired", "f", 5, "expired")[1] == ["def f():", "    return expired"]
