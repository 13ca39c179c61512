"""The search for weights, on a repository whose present ones are bad."""

from pathlib import Path

import pytest

from coderag.errors import InvalidQueryError
from evals.golden import GoldenSet, Question, Target
from evals.repository import Repository
from evals.tuning import split, tune

ANIMALS = [
    first + second
    for first in ("bad", "cam", "dol", "fer", "gir", "ham")
    for second in ("mora", "lupi", "tesk", "vund")
]
OFF = {"lexical": 0, "dense": 0, "cosine": 0, "coverage": 0, "broad_coverage": 0, "file_lexical": 0, "file_dense": 0}


def source(animal: str) -> str:
    return f'def f{ANIMALS.index(animal)}(cage):\n    """Feed the {animal} once a day."""\n    return cage.open("{animal}")\n'


def questions(count: int) -> GoldenSet:
    asked = tuple(
        Question(
            id=animal,
            question=f"what feeds the {animal}",
            answers=(Target(path=f"keepers/k{number}.py", start_line=1, end_line=3),),
        )
        for number, animal in enumerate(ANIMALS[:count])
    )
    return GoldenSet("zoo", asked)


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("repository")
    (folder / "keepers").mkdir()
    for number, animal in enumerate(ANIMALS):
        (folder / "keepers" / f"k{number}.py").write_text(source(animal), encoding="utf-8")
    return folder


def opened(root: Path, **search: object) -> Repository:
    return Repository.open(root, ingestion={"workers": 0}, search=search)


def test_weights_that_were_bad_are_found_and_the_gain_is_sure(root):
    told: list[int] = []
    found = tune(
        questions(24), opened(root, weights=OFF), budget_s=60, progress=lambda trials, best, share: told.append(trials)
    )
    assert found.is_sure
    assert found.after > found.before
    assert found.gain.low > 0
    assert "weights" in found.changes
    assert found.changes["weights"] != OFF
    assert (found.searched, found.judged) == (12, 12)
    assert told == list(range(1, found.trials + 1))


def test_what_was_tuned_is_not_changed_again(root):
    first = tune(questions(24), opened(root), budget_s=120)
    again = tune(questions(24), opened(root, **first.changes), budget_s=120)
    assert first.finished
    assert again.changes == {}
    assert not again.is_sure
    assert (again.before, again.gain.mean) == (again.after, 0.0)


def test_the_same_seed_finds_the_same(root):
    first, second = (tune(questions(20), opened(root, weights=OFF), budget_s=60, seed=4) for _ in range(2))
    assert first.finished
    assert (first.changes, first.trials, first.gain) == (second.changes, second.trials, second.gain)


def test_a_small_set_is_refused_with_advice(root):
    with pytest.raises(InvalidQueryError, match="19 answerable questions are too few") as error:
        tune(questions(19), opened(root), budget_s=60)
    assert "coderag eval mine" in error.value.hint


def test_questions_with_a_common_answer_are_on_one_side():
    asked = [
        Question(id=f"{place}-{number}", question="x", answers=(Target(path=f"{place}.py", symbol="f"),))
        for place in range(8)
        for number in range(3)
    ]
    searched, judged = split(asked, seed=0)
    assert len(searched) == len(judged) == 12
    assert not {one.answers for one in searched} & {one.answers for one in judged}
    assert split(asked, seed=0) == (searched, judged)
    assert split(asked, seed=1) != (searched, judged)
