"""What of a result is shown where there is no room for all of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.interfaces.excerpt import cut_excerpt, elide_to_tokens, find_deciding_lines
from coderag.text.token_counts import count_tokens

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


PAYMENT = [
    "def pay(card, amount):",
    '    """Take an amount from a card."""',
    *(f"    step_{number} = prepare({number})" for number in range(40)),
    "    voucher = redeem(card)",
    *(f"    part_{number} = prepare({number})" for number in range(10)),
    "    # the limit is that of the bank",
    "    if amount > card.limit:",
    '        raise Refused("too much")',
    *(f"    note_{number} = write({number})" for number in range(40)),
    "    return card.take(amount)",
]


def test_a_long_declaration_keeps_its_head_what_matches_and_what_decides():
    selected = find_deciding_lines(PAYMENT, "where is the voucher redeemed", 10, 900)
    texts = [PAYMENT[index] for index in selected]
    assert texts[0] == PAYMENT[0]
    assert "    voucher = redeem(card)" in texts
    assert "    if amount > card.limit:" in texts
    assert '        raise Refused("too much")' in texts
    assert texts[-1] == "    return card.take(amount)"
    assert selected == sorted(set(selected))


@pytest.mark.parametrize("max_chars", [1, 120, 400])
def test_lines_that_decide_fit_the_characters(max_chars):
    selected = find_deciding_lines(PAYMENT, "limit of a card", 14, max_chars)
    assert selected[0] == 0
    assert len(selected) <= 4 or sum(len(PAYMENT[index]) for index in selected) <= max_chars


@pytest.mark.parametrize("max_tokens", [60, 120, 300])
def test_a_declaration_cut_to_tokens_has_its_end_and_says_what_is_left_out(max_tokens):
    text = elide_to_tokens(PAYMENT, 11, max_tokens)
    assert count_tokens(text) <= max_tokens
    assert text.startswith("def pay(card, amount):\n")
    assert 'raise Refused("too much")' in text
    assert "return card.take(amount)" in text
    shown = [line for line in text.split("\n") if "…" not in line]
    hidden = sum(int(line.split()[1]) for line in text.split("\n") if "…" in line)
    assert len(shown) + hidden == len(PAYMENT)


@given(
    code=st.lists(
        st.sampled_from(["def f():", "    x = 1", "", "    # note", "    return x"]), min_size=1, max_size=40
    ),
    limit=st.integers(1, 20),
)
def test_lines_that_decide_are_lines_of_the_code_in_order(code, limit):
    selected = find_deciding_lines(code, "x", limit, 10_000)
    assert selected == sorted(set(selected))
    assert set(selected) <= set(range(len(code)))
