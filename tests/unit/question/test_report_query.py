from coderag.question.analysis import analyze
from coderag.question.entities import find_entities
from coderag.question.report_query import PART_WEIGHTS, make_report_query
from coderag.question.reports import take_apart

REPORT = """Cart rounds twice

The method `Cart.total` calls round_up for each price, see src/shop/money.py, and once more for the sum of all prices.

```python
cart.add(price)
round_up(3.14159)
```

Traceback (most recent call last):
  File "/srv/shop/cart.py", line 7, in total
    return round_up(sum(prices))
  File "/srv/shop/money.py", line 2, in round_up
    raise Overflow
OverflowError: number is too big
"""


def query_of(text):
    return make_report_query(take_apart(text), find_entities(text))


def test_a_word_of_the_title_counts_more_than_one_of_the_trace():
    terms = query_of(REPORT)["terms"]
    assert terms["twice"] == PART_WEIGHTS["title"]
    assert terms["return"] == PART_WEIGHTS["trace"]


def test_a_repeated_word_counts_more_but_not_as_often():
    once, often = (
        query_of(f"Title of it\n\n{'quimby ' * times}{'other words are here ' * 6}")["terms"] for times in (1, 20)
    )
    assert once["quimbi"] < often["quimbi"] < 20 * once["quimbi"]


def test_names_weigh_by_where_they_stand():
    names = query_of(REPORT)["names"]
    assert names["round_up"] > names["Cart.total"] > names["add"] > 0


def test_frames_and_paths_are_kept():
    query = query_of(REPORT)
    assert [(frame["name"], frame["line"]) for frame in query["frames"]] == [("round_up", 2), ("total", 7)]
    assert "src/shop/money.py" in query["paths"]


def test_the_analysis_of_a_report_asks_with_its_title_and_compares_what_it_tells():
    analysis = analyze(REPORT, project="shop")
    assert analysis["intent"] == "general"
    assert analysis["question"] == "Cart rounds twice"
    assert "once more for the sum" in analysis["text"]
    assert "Traceback" not in analysis["text"]
    assert {"cart", "round", "twice"} <= set(analysis["terms"])


def test_a_bare_traceback_asks_with_its_error():
    trace = REPORT[REPORT.index("Traceback") :]
    analysis = analyze(trace)
    assert analysis["report"] is not None
    assert "number is too big" in analysis["question"]
    assert analysis["terms"]


def test_a_question_is_no_report():
    assert analyze("where is a cart rounded")["report"] is None
