from markdown_it import MarkdownIt

from coderag.answering.extractive.excerpt import telling
from tests.support.corpora import make_context
from tests.support.extracted import extracted

PLAIN = [f"    plain_{number}()" for number in range(40)]


def with_line(number, text):
    return [*PLAIN[:number], text, *PLAIN[number:]]


def test_a_short_piece_is_shown_whole():
    assert telling(PLAIN[:9], 8, {}) == [range(9)]


def test_the_first_lines_are_shown_where_the_question_says_nothing_of_the_others():
    assert telling(PLAIN, 8, {"refund": 2.0}) == [range(8)]
    assert telling(PLAIN, 8, {}, first=3) == [range(3, 11)]


def test_the_first_lines_are_shown_where_they_have_the_words_too():
    lines = with_line(1, "def refund(order):")
    assert telling([*lines, "refund()"], 8, {"refund": 2.0}) == [range(8)]


def test_the_lines_with_the_words_of_the_question_are_shown_below_the_head():
    head, later = telling(with_line(30, "    refund(order)"), 8, {"refund": 2.0})
    assert head == range(2)
    assert 30 in later
    assert len(head) + len(later) == 8


def test_words_near_the_head_leave_no_gap():
    lines = with_line(8, "    refund(order)")
    lines[3] = "    voucher = order.voucher"
    assert telling(lines, 8, {"refund": 2.0, "voucher": 2.0}) == [range(9)]


def _long(line):
    body = "".join(f"    plain_{number} = {number}\n" for number in range(50))
    return f"def settle(order):\n{body}    {line}\n{body}"


def test_an_explanation_shows_the_line_that_answers_of_a_long_function():
    text = extracted(
        make_context({"shop.py": _long('raise Refused("voucher expired")')}), "how is a voucher expired"
    ).text
    assert 'raise Refused("voucher expired")' in text
    assert "def settle(order):" in text
    assert "plain_20" not in text


def _documented(rows):
    return "# Settings\n\n## Timeouts\n\n| option | meaning |\n|---|---|\n" + rows


def test_a_later_row_of_a_table_is_quoted_below_the_names_of_its_columns():
    rows = "".join(f"| plain{number} | nothing of interest |\n" for number in range(40))
    text = extracted(
        make_context({"docs/settings.md": _documented(f"{rows}| `voucher_days` | how long a voucher lasts |\n")}),
        "what does the voucher_days setting mean",
    ).text
    quoted = text.split("The text for this")[1]
    assert quoted.index("> |option|meaning|") < quoted.index("how long a voucher lasts")
    assert "plain20" not in text


def test_a_block_of_code_that_is_cut_is_closed_and_the_rest_of_the_answer_outside_of_it():
    code = "".join(f"plain_{number}()\n" for number in range(30))
    page = f"# Vouchers\n\nHow to use them:\n\n```python\n{code}redeem(voucher)\n{code}```\n"
    text = extracted(make_context({"docs/vouchers.md": page}), "how do the docs redeem vouchers").text
    blocks = [token.content for token in MarkdownIt().parse(text) if token.type == "fence"]
    assert len(blocks) == 1
    assert "redeem(voucher)" in blocks[0]
    assert "more lines in" not in blocks[0]
