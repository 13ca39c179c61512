"""The HTML report: complete, safe, and one page."""

import re
from html.parser import HTMLParser

import pytest

from evals.golden import Target
from evals.report_html import render
from evals.runs import AnswerCheck, QuestionResult, RankedResult, Run

VOID = {"meta"}


class Page(HTMLParser):
    """The elements of a page, all of which must be closed in order, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.seen.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data + "\n"

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.seen)


def question(number: int, *, rank: int | None = 1, **more: object) -> QuestionResult:
    results = tuple(
        RankedResult(
            path=f"shop/f{place}.py", start_line=1, end_line=9, name=f"f{place}", score=1 / place,
            channels={"dense": 0.5}, signals={"file_name": 0.25}, answers=(0,) if place == rank else (),
        )
        for place in range(1, 4)
    )  # fmt: skip
    found = 1 / rank if rank else 0.0
    given = {
        "id": f"q{number}", "question": f"question {number}", "intent": "general", "language": "python",
        "answers": (Target(path=f"shop/f{rank or 9}.py", start_line=2, end_line=5),), "results": results,
        "detected_intent": "find_usage", "evidence": "found", "ms": 3.0 + number,
        "metrics": {"hit@1": float(rank == 1), "hit@5": float(bool(rank)), "ndcg@10": found, "coverage@1000": found / 2,
                    "coverage@8000": found},
    }  # fmt: skip
    return QuestionResult.model_validate({**given, **more})


def run_of(*questions: QuestionResult, **more: object) -> Run:
    given = {"engine": "coderag", "version": "1.0", "golden": "shop", "created": "2026-01-02T03:04:05+00:00"}
    return Run.model_validate({**given, **more, "questions": questions})


def test_a_page_is_whole_and_needs_nothing_beside_it():
    page = render(run_of(*(question(number) for number in range(12)), question(99, rank=None)))
    read = Page(page)
    assert read.open == []
    assert read.count("details") == 13
    assert read.count("script") == read.count("link") == read.count("img") == 0
    attributes = [value or "" for _, given in read.seen for value in given.values()]
    assert not [value for value in attributes if re.match(r"(?:https?:)?//", value)]
    assert "url(" not in page
    assert "@media (prefers-color-scheme: dark)" in page


def test_the_worst_question_comes_first_with_what_was_wanted_and_found():
    text = Page(render(run_of(question(1), question(2, rank=None), question(3, rank=2)))).text
    assert text.index("question 2") < text.index("question 3") < text.index("question 1")
    for told in ("shop/f9.py:2-5", "rank none", "rank 2", "shop/f1.py:1-9", "dense 0.50; file_name 0.25"):
        assert told in text
    assert "general, taken for find_usage" in text


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "\"><img src=x onerror='a()'>", "</style></summary>&amp;"]
)
def test_text_of_a_repository_is_shown_and_never_markup(text):
    hostile = question(1, question=text, id=text, language=text, tags=(text,), reference=text)
    hostile = hostile.model_copy(
        update={"results": (RankedResult(path=text, start_line=1, end_line=2, name=text, channels={text: 1.0}),)}
    )
    run = run_of(hostile, question(2), golden=text, repository=text, settings={text: text})
    read = Page(render(run, run))
    assert read.open == []
    assert read.text.count(text) >= 8
    assert {tag for tag, _ in read.seen}.isdisjoint({"script", "img"})


def test_characters_that_command_a_terminal_or_turn_text_around_are_replaced():
    page = render(run_of(question(1, question="a\x1b[31mb\u202ec")))
    assert "a�[31mb�c" in page


def test_a_baseline_is_compared_in_pairs_and_what_is_gone_is_named():
    before = run_of(*(question(number) for number in range(12)))
    silent = [
        question(number, rank=None).model_copy(
            update={
                "results": tuple(
                    one.model_copy(update={"channels": {"lexical": 1.0}}) for one in question(number).results
                )
            }
        )
        for number in range(12)
    ]
    read = Page(render(run_of(*silent, settings={"search.disabled_signals": ("dense",)}), before))
    assert read.open == []
    assert "Worse than coderag 1.0 of 2026-01-02T03:04:05+00:00" in read.text
    assert "channel dense is gone" in read.text
    assert "-1.000 (-1.000 to -1.000)" in read.text
    assert "search.disabled_signals" in read.text
    same = Page(render(before, before)).text
    assert "No regression against coderag 1.0" in same


def test_what_a_run_lacks_is_left_out():
    bare = QuestionResult(id="a", question="is it there", intent="general", unanswerable=True)
    read = Page(render(run_of(bare)))
    assert read.open == []
    assert "is it there" in read.text
    assert "No results." in read.text
    assert "Verdicts" not in read.text
    checked = AnswerCheck(
        text="It is.", verified=1, citations=2, supported=3, claims=4, judge="words", generator="extract"
    )
    assert "1 of 2 citations, 3 of 4 claims" in Page(render(run_of(question(1, answer=checked)))).text
