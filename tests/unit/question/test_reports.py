import pytest

from coderag.question.reports import Place, is_report, take_apart

REPORT = """Cart total is wrong with `round_up`

<!-- Please search the issues first -->
- [x] I have searched the issues of this repository

**Describe the bug**

The total of a cart is one cent too high when a price has three decimals, see
[here](https://github.com/shop/shop/blob/main/shop/money.py#L12-L14).

**To Reproduce**

```python
cart = Cart()
cart.total()
```

```
2024-01-02 10:00:00 INFO starting the shop
2024-01-02 10:00:01 ERROR could not pay
Traceback (most recent call last):
  File "/usr/lib/python3/site-packages/shop/cart.py", line 40, in total
    return round_up(sum(prices))
ValueError: too many decimals
```

## Environment

Python version: 3.11.4
shop==2.0.1
It also happens on my colleague's computer
"""


def test_the_parts_of_a_report_are_told_apart():
    report = take_apart(REPORT)
    assert report.text("title") == "Cart total is wrong with `round_up`"
    assert report.text("prose").startswith("The total of a cart is one cent too high")
    assert report.text("code").splitlines() == ["cart = Cart()", "cart.total()"]
    assert report.text("trace").strip() == "return round_up(sum(prices))"
    assert report.text("message").splitlines() == [
        "2024-01-02 10:00:01 ERROR could not pay",
        "ValueError: too many decimals",
    ]
    assert report.text("log") == "2024-01-02 10:00:00 INFO starting the shop"
    assert [(frame.path, frame.line, frame.name) for frame in report.frames] == [
        ("/usr/lib/python3/site-packages/shop/cart.py", 40, "total")
    ]


def test_what_every_report_has_is_dropped():
    everything = "\n".join(part.text for part in take_apart(REPORT).parts)
    for boilerplate in ("searched", "Describe the bug", "3.11.4", "2.0.1", "github.com", "colleague"):
        assert boilerplate not in everything


def test_a_link_to_a_source_file_is_a_place():
    assert take_apart(REPORT).places == [Place("shop/money.py", 12)]


def test_steps_to_reproduce_are_no_prose():
    report = take_apart(
        "Crash on save\n\n## Steps to reproduce\n\n1. open the editor\n2. press save\n\n## Problem\n\nIt crashes"
    )
    assert report.text("steps").splitlines() == ["1. open the editor", "2. press save"]
    assert report.text("prose") == "It crashes"


def test_a_bare_traceback_has_its_error_and_no_title():
    report = take_apart(
        'Traceback (most recent call last):\n  File "a/cart.py", line 3, in pay\n    boom()\nKeyError: 3'
    )
    assert report.text("title") == ""
    assert report.text("message") == "KeyError: 3"


@pytest.mark.parametrize(
    "text",
    [
        REPORT,
        'Traceback (most recent call last):\n  File "a/cart.py", line 3, in pay\nKeyError: 3',
        "Support spaces in names\n\nA file that is called `foo bar.txt` by the server is saved under the name foo only, "
        "not under its full name as the header says.",
        "crash when paying\n" + "the cart fails and the shop stops with it, again and again. " * 6,
    ],
)
def test_what_tells_of_a_problem_is_a_report(text):
    assert is_report(text)


@pytest.mark.parametrize(
    "text",
    [
        "where is the cart saved?",
        "where is the cart saved? " * 20,
        "how does login work\nand where are passwords hashed",
        "code like this:\n```python\n" + "total += round_up(price)\n" * 30 + "```",
        "for item in items:\n    total += item.price\nreturn total;",
        "How does the payment work?\n\nI want to know the way from the cart to the card company and back.",
        "",
    ],
)
def test_a_question_or_a_snippet_is_none(text):
    assert not is_report(text)


@pytest.mark.parametrize(
    "text",
    [
        "x." * 20_000 + "\nfoo",
        "(" * 20_000 + "\nfoo bar",
        "\n".join(["at " + "a." * 200] * 200),
        "```\n" * 5_000,
        "# \n" * 5_000,
    ],
)
def test_odd_text_is_taken_apart_all_the_same(text):
    is_report(text)
    assert len("".join(part.text for part in take_apart(text).parts)) <= len(text)
