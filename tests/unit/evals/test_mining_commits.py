"""Golden sets from a history in git."""

import subprocess
from pathlib import Path

import pytest

from coderag.errors import InvalidQueryError
from evals.mining import join_questions, mine_commits

CART = """class Cart:
    def add(self, item):
        self.items.append(item)

    def total(self):
        return sum(self.items)


def receipt(cart):
    return str(cart.total())
"""


class Repo:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=self.root, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, message: str, **files: str) -> str:
        for name, text in files.items():
            path = self.root / name.replace("__", "/").replace("_py", ".py").replace("_md", ".md")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repo(tmp_path) -> Repo:
    made = Repo(tmp_path)
    made.commit("Sell things in a shop", shop__cart_py=CART)
    return made


def edited(old: str, new: str, text: str = CART) -> str:
    assert old in text
    return text.replace(old, new)


def test_a_commit_asks_for_what_it_changed_where_that_is_now(repo):
    fixed = edited("return sum(self.items)", "return max(0, sum(self.items))")
    revision = repo.commit("Never charge less than nothing for a purchase", shop__cart_py=fixed)
    repo.commit("add a licence header", shop__cart_py="# licence\n# of ours\n" + fixed)
    mined = mine_commits(repo.root)
    (question,) = mined.questions
    assert question.question == "Never charge less than nothing for a purchase"
    assert [answer.location for answer in question.answers] == ["shop/cart.py:7-8 Cart.total"]
    assert question.id == f"commit-{revision[:12]}"
    assert question.tags == ("commit",)
    assert revision[:12] in question.origin
    assert mined.considered == 3


def test_tests_that_were_changed_with_it_are_no_answer(repo):
    fixed = edited("str(cart.total())", "f'{cart.total():.2f}'")
    repo.commit(
        "Print two digits of cents on paper", shop__cart_py=fixed, tests__test_cart_py="def test_it():\n    pass\n"
    )
    (question,) = mine_commits(repo.root).questions
    assert [answer.symbol for answer in question.answers] == ["receipt"]
    assert question.also == ()


def test_a_function_added_behind_another_does_not_count_as_a_change_of_it(repo):
    repo.commit(
        "Ship a purchase to the customer by post", shop__cart_py=CART + "\n\ndef ship(cart):\n    return cart\n"
    )
    mined = mine_commits(repo.root)
    assert mined.questions == []
    assert mined.dropped["no declaration changed, or only a long one"] == 1


def test_a_question_with_the_name_of_its_answer_is_tagged(repo):
    repo.commit(
        "Let receipt print two digits of cents", shop__cart_py=edited("str(cart.total())", "f'{cart.total():.2f}'")
    )
    (question,) = mine_commits(repo.root).questions
    assert question.tags == ("commit", "names-answer")


@pytest.mark.parametrize(
    ("message", "files", "reason"),
    [
        ("Explain how a purchase is paid", {"readme_md": "# Paid\n"}, "no source code changed"),
        ("Indent a purchase in another way", {"shop__cart_py": CART.replace("    ", "  ")}, "white space only"),
        (
            "Bump version to 2.0",
            {"shop__cart_py": CART.replace("sum", "max")},
            "chore: version, format, rename, changelog",
        ),
        ("Fix it", {"shop__cart_py": CART.replace("sum", "max")}, "too few words"),
        (
            "Charge more for every purchase in the shop",
            {f"shop__f{n}_py": "def f():\n    return 1\n" for n in range(6)},
            "more than 5 files of source code changed",
        ),
    ],
)
def test_trivial_commits_are_left_out_with_the_reason(repo, message, files, reason):
    repo.commit(message, **files)
    mined = mine_commits(repo.root)
    assert mined.questions == []
    assert mined.dropped[reason] == 1


def test_what_is_gone_by_now_is_left_out(repo):
    repo.commit(
        "Never charge less than nothing for a purchase", shop__cart_py=edited("sum(self.items)", "max(self.items)")
    )
    repo.commit("Start the shop all over again", shop__cart_py="def other():\n    return 1\n")
    mined = mine_commits(repo.root)
    assert mined.questions == []
    assert mined.dropped["its declarations are gone by now"] >= 1


def test_the_same_is_asked_once_and_the_newest_counts(repo):
    text = CART
    for old, new in (("sum(self.items)", "max(self.items)"), ("max(self.items)", "min(self.items)")):
        text = edited(old, new, text)
        last = repo.commit("Never charge less than nothing for a purchase", shop__cart_py=text)
    mined = mine_commits(repo.root)
    assert [question.id for question in mined.questions] == [f"commit-{last[:12]}"]
    assert mined.dropped["like another question"] == 1
    assert len(join_questions([mined, mined])) == 1


def test_the_limit_and_the_start_are_kept(repo):
    text = edited("sum(self.items)", "max(self.items)")
    first = repo.commit("Never charge less than nothing for a purchase", shop__cart_py=text)
    text = edited("str(cart.total())", "f'{cart.total():.2f}'", text)
    repo.commit("Print two digits of cents on paper", shop__cart_py=text)
    assert len(mine_commits(repo.root, limit=1).questions) == 1
    later = mine_commits(repo.root, since=first)
    assert [question.question for question in later.questions] == ["Print two digits of cents on paper"]
    assert mine_commits(repo.root, since="2 days ago").considered == 3
    with pytest.raises(InvalidQueryError, match="'no-such-tag' is neither a git revision nor a date"):
        mine_commits(repo.root, since="no-such-tag")


def test_a_pull_request_is_asked_by_its_title(repo):
    repo.git("checkout", "-q", "-b", "side")
    repo.commit("wip", shop__cart_py=edited("sum(self.items)", "max(self.items)"))
    repo.git("checkout", "-q", "main")
    repo.commit("Explain how a purchase is paid", readme_md="# Paid\n")
    repo.git(
        "merge",
        "-q",
        "--no-ff",
        "side",
        "-m",
        "Merge pull request #3 from a/side\n\nNever charge a customer less than nothing",
    )
    (question,) = mine_commits(repo.root).questions
    assert question.question == "Never charge a customer less than nothing"
    assert question.tags == ("pull request",)
    assert question.answers[0].symbol == "Cart.total"


def test_a_shallow_clone_says_so_and_yields_what_it_has(repo, tmp_path_factory):
    repo.commit(
        "Never charge less than nothing for a purchase", shop__cart_py=edited("sum(self.items)", "max(self.items)")
    )
    clone = tmp_path_factory.mktemp("clones") / "shallow"
    repo.git("clone", "-q", "--depth", "1", repo.root.as_uri(), str(clone))
    mined = mine_commits(clone)
    assert mined.questions == []
    assert "shallow" in mined.notes[0]


def test_paths_begin_at_the_folder_that_is_asked_about(repo):
    repo.commit(
        "Never charge less than nothing for a purchase", shop__cart_py=edited("sum(self.items)", "max(self.items)")
    )
    (question,) = mine_commits(repo.root / "shop").questions
    assert question.answers[0].path == "cart.py"


def test_without_git_or_commits_it_says_so(tmp_path):
    with pytest.raises(InvalidQueryError, match="is not in a git repository"):
        mine_commits(tmp_path)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    with pytest.raises(InvalidQueryError, match="git finds no commit"):
        mine_commits(tmp_path)


@pytest.mark.parametrize("separator", ["\x1e\n{}\x1f", "\n{}\n", "\x1f{}\x1f"])
def test_a_message_cannot_forge_a_commit_whose_parent_is_an_option_of_git(repo, tmp_path, separator):
    canary = tmp_path.with_name("written")
    head = repo.git("rev-parse", "HEAD")
    forged = f"--output={canary}\x1f2024-01-01\x1fA <b>\x1fNever take less than nothing for the goods sold"
    repo.commit(
        f"Never charge less than nothing for goods{separator.format(head)}{forged}",
        shop__cart_py=edited("sum(self.items)", "max(0, sum(self.items))"),
    )
    mined = mine_commits(repo.root)
    assert mined.considered == 2
    assert not canary.exists()


def test_separators_in_a_message_do_not_lose_the_commits_before_it(repo):
    repo.commit(
        "Never charge less than nothing for goods\n\nA\x1fB\x1eC",
        shop__cart_py=edited("sum(self.items)", "max(0, sum(self.items))"),
    )
    (question,) = mine_commits(repo.root).questions
    assert question.answers[0].symbol == "Cart.total"
