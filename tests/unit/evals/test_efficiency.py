"""Lines that are seen for tokens spent: what an agent greps for and reads, and what the curves say of it."""

import json
import math
from collections.abc import Mapping

import numpy as np
import pytest

from evals.efficiency.__main__ import main
from evals.efficiency.curves import collect_curves, compare_at_recall, compute_means, find_best_grep, interpolate_tokens
from evals.efficiency.grepping import Grep
from evals.efficiency.measuring import QuestionRecall
from evals.efficiency.plot import draw_plot
from evals.efficiency.reading import POLICIES, GrepAgent, Policy
from evals.efficiency.report import BenchmarkRecord, format_report
from evals.efficiency.sets import list_subjects
from evals.efficiency.spending import BUDGETS, Line, compute_recall_by_budget, find_wanted_lines
from evals.efficiency.words import extract_words
from evals.golden import Target


class Folder:
    """Files that are only in memory."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self.languages = dict.fromkeys(texts, "python")

    def read_lines(self, path: str) -> list[str]:
        return self._texts[path].split("\n")


SHOP = Folder({
    "shop/cart.py": "import money\n\n\nclass Cart:\n    def add(self, item):\n        self.discount = 0\n",
    "shop/discount.py": "# of a cart\ndef discount_of(cart):\n    return cart.discount\n",
    "shop/money.py": "def round_up(value):\n    return int(value + 0.5)\n",
    "tests/test_discount.py": "def test_discount_of_cart():\n    discount_of(Cart())\n",
    "README.md": "A shop.\n",
})  # fmt: skip


def read(policy: Policy, question: str, files: Folder = SHOP) -> list[tuple[str, int] | None]:
    return [line.place for line in GrepAgent(policy, Grep(files), files).stream_lines(question)]


def spent(identity: str, **recall: list[float]) -> QuestionRecall:
    named = {name.replace("_", " "): tuple(values) for name, values in recall.items()}
    return QuestionRecall(id=identity, golden="set", repository="shop", question="?", wanted=1, recall=named)


def curve(reached_at: int, recall: float = 1.0) -> list[float]:
    """Return a curve that is zero below a budget."""
    return [recall if budget >= reached_at else 0.0 for budget in BUDGETS]


# --- tokens and recall


def test_a_line_counts_only_where_the_budget_paid_for_all_of_it():
    lines = [Line(100, ("a.py", 1)), Line(100), Line(300, ("a.py", 2)), Line(1, ("a.py", 3)), Line(600, ("b.py", 1))]
    wanted = {("a.py", 2), ("a.py", 3), ("b.py", 1), ("never.py", 1)}
    assert compute_recall_by_budget(lines, wanted, (499, 500, 501, 1100, 1101)) == [0.0, 0.25, 0.5, 0.5, 0.75]


def test_a_line_that_is_shown_twice_is_found_once():
    lines = [Line(10, ("a.py", 1)), Line(10, ("a.py", 1)), Line(10, ("a.py", 2))]
    assert compute_recall_by_budget(lines, {("a.py", 1), ("a.py", 2)}, (20, 30)) == [0.5, 1.0]


def test_nothing_beyond_the_largest_budget_is_drawn():
    drawn_lines = iter([Line(60), Line(60), Line(60)])
    compute_recall_by_budget(drawn_lines, {("a.py", 1)}, (100,))
    assert list(drawn_lines) == [Line(60)]


def test_the_lines_of_all_targets_are_wanted_but_blank_ones_and_whole_files_have_none():
    targets = [Target(path="shop/cart.py", start_line=1, end_line=5), Target(path="README.md")]
    assert find_wanted_lines(targets, SHOP) == {("shop/cart.py", number) for number in (1, 4, 5)}


# --- what is grepped for


@pytest.mark.parametrize(
    ("question", "names", "prose"),
    [
        ("where is HashTree.from_record defined", ["hashtree", "from_record"], ["defin"]),
        ("how are retries after a timeout counted", [], ["retr", "timeout", "count"]),
        ('who prints "no index yet" in app.py', ["no index yet", "app"], ["print", "index", "yet"]),
        ("what is the HTTP limit", ["http"], ["limit"]),
    ],
)
def test_identifiers_and_quotations_come_before_the_words_of_prose(question, names, prose):
    words = extract_words(question)
    assert [word.text for word in words if word.is_identifier] == names
    assert [word.text for word in words[len(names) :]] == prose


def test_the_beginning_that_all_forms_of_a_word_share_is_grepped_for():
    (word,) = extract_words("retries")
    assert "retry".startswith(word.text)
    assert "retries".startswith(word.text)


# --- what grep finds


def test_files_with_more_and_rarer_words_come_first_and_tests_last():
    found = [one.path for one in Grep(SHOP)("discount_of in the cart")]
    assert found == ["shop/discount.py", "tests/test_discount.py"]
    assert Grep(SHOP)("discount in the cart")[-1].path == "tests/test_discount.py"


def test_a_question_about_tests_does_not_put_them_last():
    assert Grep(SHOP)("tests of discount_of")[0].path == "tests/test_discount.py"


def test_of_a_file_the_line_that_defines_comes_first():
    (found,) = (one for one in Grep(SHOP)("discount_of") if one.path == "shop/discount.py")
    assert found.matches[0].number == 2


def test_case_and_the_ends_of_words_do_not_matter():
    assert [one.path for one in Grep(SHOP)("ROUND_UP")] == ["shop/money.py"]


def test_a_question_without_a_word_of_the_files_finds_nothing():
    assert Grep(SHOP)("zeppelin") == []


# --- what is read


def test_the_list_is_paid_for_before_the_files_and_each_line_is_read_once():
    places = read(Policy("grep", listed=100), "round_up")
    assert places == [None, ("shop/money.py", 1), ("shop/money.py", 1), ("shop/money.py", 2), ("shop/money.py", 3)]


def test_of_names_only_the_lines_of_the_files_are_seen():
    assert read(Policy("grep", files=20), "round_up") == [None, *(("shop/money.py", number) for number in (1, 2, 3))]


def test_a_window_around_a_match_is_read_first_and_then_the_rest_of_the_file():
    files = Folder({"long.py": "\n".join(["x = 1"] * 9 + ["needle = 2"] + ["x = 1"] * 9)})
    numbers = [place[1] for place in read(Policy("grep", around=2), "needle", files) if place]
    assert numbers == [8, 9, 10, 11, 12, *range(1, 8), *range(13, 20)]


def test_a_long_file_is_read_in_the_parts_that_have_a_match():
    text = "\n".join(["x = 1"] * 4_500 + ["needle = 2"])
    numbers = [place[1] for place in read(Policy("grep", files=20), "needle", Folder({"long.py": text})) if place]
    assert numbers == list(range(4_001, 4_502))


def test_one_file_does_not_fill_the_list():
    files = Folder({"many.py": "\n".join(["needle one"] * 50), "few.py": "needle"})
    listed = read(Policy("grep", listed=15), "needle", files)[:13]
    assert {place[0] for place in listed if place} == {"many.py", "few.py"}


# --- curves


def test_tokens_for_a_recall_lie_between_two_budgets_along_the_logarithm():
    assert interpolate_tokens(0.4, [0.2, 0.6], (1_000, 2_000)) == pytest.approx(1_000 * math.sqrt(2))
    assert interpolate_tokens(0.1, [0.2, 0.6], (1_000, 2_000)) == 1_000
    assert interpolate_tokens(0.6, [0.2, 0.6], (1_000, 2_000)) == 2_000
    assert interpolate_tokens(0.7, [0.2, 0.6], (1_000, 2_000)) == math.inf


def test_the_reference_is_the_best_of_those_who_grep_at_the_budget():
    questions = [spent("a", grep_one=curve(64_000), grep_two=curve(32_000, 0.5), coderag=curve(500))]
    assert find_best_grep(collect_curves(questions), 32_000) == "grep two"


def test_equal_recall_is_reached_for_an_eighth_of_the_tokens():
    questions = [spent(name, grep=curve(8_000), coderag=curve(1_000)) for name in "abc"]
    reached = compare_at_recall(collect_curves(questions), 32_000)
    assert reached["grep"].tokens == (8_000, 8_000, 8_000)
    assert reached["coderag"].tokens == (1_000, 1_000, 1_000)
    assert reached["coderag"].ratio == (8, 8, 8)
    assert reached["grep"].ratio == (1, 1, 1)


def test_a_recall_that_is_never_reached_takes_infinitely_many_tokens():
    questions = [spent("a", grep=curve(8_000), coderag=curve(500, 0.5))]
    assert compare_at_recall(collect_curves(questions), 32_000)["coderag"].tokens.value == math.inf
    assert "over 64,000" in format_report(BenchmarkRecord(version="1", questions=questions))


def test_means_have_intervals_around_them_and_none_where_all_are_equal():
    columns = compute_means(np.array([[0.0, 1.0], [1.0, 1.0], [0.5, 1.0], [0.5, 1.0]]))
    assert columns[0].value == 0.5
    assert columns[0].low < 0.5 < columns[0].high
    assert columns[1] == (1, 1, 1)


def test_the_plot_is_one_picture_that_needs_nothing_else():
    picture = draw_plot([spent("a", grep=curve(8_000), coderag=curve(1_000))])
    assert picture.startswith("<svg ")
    assert "href" not in picture
    assert picture.count("<polyline") == 4  # a line and its sample in the legend, for both


# --- the command


@pytest.fixture
def shop(tmp_path):
    """A repository with a golden set beside it."""
    root = tmp_path / "shop"
    (root / "src").mkdir(parents=True)
    (root / "src/money.py").write_text(
        'def round_up(value):\n    """Round up to cents."""\n    return int(value + 0.5)\n'
    )
    (root / "src/cart.py").write_text("class Cart:\n    def total(self):\n        return 0\n")
    answer = {"path": "src/money.py", "start_line": 1, "end_line": 3}
    asked = [
        {"id": "1", "question": "how are prices rounded up", "answers": [answer]},
        {"id": "2", "question": "the cart", "answers": [{"path": "src/cart.py"}]},
    ]
    (tmp_path / "golden.jsonl").write_text("".join(json.dumps(one) + "\n" for one in asked))
    return root


@pytest.mark.slow
def test_the_command_measures_each_way_and_keeps_what_it_found(shop, tmp_path, capsys):
    given = ["--golden", str(tmp_path / "golden.jsonl"), "--repo", str(shop)]
    assert main([*given, "--trees", str(tmp_path / "trees"), "--out", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert "1 questions" in shown
    record = json.loads((tmp_path / "out/efficiency.json").read_text())
    assert record["left_out"] == 1  # it wants a whole file
    (question,) = record["questions"]
    assert question["recall"].keys() == {
        *(policy.name for policy in POLICIES),
        *("coderag_search", "coderag_search, read places", "coderag_context", "coderag context in Python"),
    }
    assert {values[-1] for values in question["recall"].values()} == {1.0}
    assert (tmp_path / "out/efficiency.svg").read_text().startswith("<svg ")
    assert not (shop / ".coderag").exists()

    assert main(["--redraw", str(tmp_path / "out/efficiency.json")]) == 0
    assert capsys.readouterr().out == shown


def test_a_project_that_cannot_be_had_is_told_and_the_exit_code_is_1(tmp_path, capsys):
    (tmp_path / "clones").mkdir()
    given = ["--set", "projects", "--only", "httpie", "--clones", str(tmp_path / "clones"), "--trees", str(tmp_path)]
    assert main(given) == 1
    assert "no clone of httpie/cli" in capsys.readouterr().err


def test_the_list_of_a_fixtures_declarations_is_not_searched(tmp_path):
    found = {subject.golden.name: subject for subject in list_subjects("fixtures", tmp_path, tmp_path / "trees")}
    assert found["go"].excluded == ("expected.json",)
    assert found["go"].get_folder() == tmp_path / "tests/fixtures/repos/go"


def test_a_file_that_is_no_record_is_refused(tmp_path, capsys):
    (tmp_path / "other.json").write_text("[]")
    assert main(["--redraw", str(tmp_path / "other.json")]) == 1
    assert "is not a record of this command" in capsys.readouterr().err
