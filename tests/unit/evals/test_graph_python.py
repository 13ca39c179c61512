"""What is observed of a Python library while it runs, and where its call sites are placed."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from evals.graph.ground_truth import CallSite, CallTarget, ClassBases, DeclarationSite, EvaluationError, GroundTruth
from evals.graph.python_definitions import PythonDefinitionFinder
from evals.graph.python_observation import build_truth, observe_calls
from evals.graph.python_source import CallExpression, PythonFile

LIBRARY = """
import functools
from contextlib import contextmanager


class Animal:
    def __init__(self, name):
        self.name = name

    def speak(self):
        return self.sound()

    def sound(self):
        return ""

    @property
    def loud(self):
        return self.sound().upper()

    def __add__(self, other):
        return Herd([self, other])


class Dog(Animal):
    def sound(self):
        return "wuff"


class Herd:
    def __init__(self, animals):
        self.animals = animals

    @classmethod
    def of(cls, *names):
        return cls([Dog(name) for name in names])


def by_name(animal):
    return animal.name


def twice(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments) + function(*arguments)

    return wrapper


@twice
def shout(animal):
    return animal.loud


@contextmanager
def fence():
    yield


class Gate:
    def __call__(self, animal):
        return animal


def apply(function, value):
    return function(value)
"""

PROGRAM = """
from library import Animal as Beast, Dog, Gate, Herd, apply, by_name, fence, shout


def main():
    herd = Herd.of("b", "a")
    herd.animals.sort(key=by_name)
    list(map(by_name, herd.animals))
    first = herd.animals[0]
    first + Dog("c")
    first.speak(); Beast(
        "d"
    ).speak()
    shout(first)
    with fence():
        return apply(by_name, first), apply(Gate(), first)


main()
"""


@pytest.fixture(scope="module")
def observer() -> Path:
    """Return an interpreter that has `sys.monitoring`."""
    names = [sys.executable, *(f"python3.{minor}" for minor in range(16, 11, -1))]
    for found in filter(None, map(shutil.which, names)):
        question = "import sys; sys.exit(not hasattr(sys, 'monitoring'))"
        if subprocess.run([found, "-c", question], capture_output=True, check=False).returncode == 0:
            return Path(found)
    pytest.skip("needs Python 3.12 or newer, this one or another on the PATH")


@pytest.fixture(scope="module")
def observed(observer: Path, tmp_path_factory: pytest.TempPathFactory) -> GroundTruth:
    folder = tmp_path_factory.mktemp("library")
    (folder / "library.py").write_text(LIBRARY, encoding="utf-8")
    (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
    return observe_calls(folder, observer, ["program"], timeout_s=60)


def line_of(text: str, source: str = LIBRARY) -> int:
    return source[: source.index(text)].count("\n") + 1


def calls(truth: GroundTruth, path: str) -> set[tuple[int, str, str, str]]:
    """Return line, written name, reached name and kind."""
    return {
        (site.line, site.name, target.place.name, target.kind)
        for site in truth.sites
        if site.path == path
        for target in site.targets
    }


def test_direct_calls_of_a_program_are_observed(observed: GroundTruth) -> None:
    line = line_of("herd = ", PROGRAM)
    assert calls(observed, "program.py") == {
        (line, "of", "of", "call"),
        (line + 4, "Dog", "Dog", "new"),
        (line + 5, "speak", "speak", "call"),
        (line + 5, "Beast", "Animal", "new"),
        (line + 7, "speak", "speak", "call"),
        (line + 8, "shout", "shout", "decorated"),
        (line + 9, "fence", "fence", "decorated"),
        (line + 10, "apply", "apply", "call"),
        (line + 10, "Gate", "Gate", "new"),
        (line_of("\nmain()", PROGRAM) + 1, "main", "main", "call"),
    }


def test_what_a_variable_holds_is_told_apart(observed: GroundTruth) -> None:
    assert (line_of("function(value)"), "function", "by_name", "value") in calls(observed, "library.py")
    assert (line_of("function(value)"), "function", "__call__", "value") in calls(observed, "library.py")
    assert (line_of("cls([Dog"), "cls", "Herd", "value") in calls(observed, "library.py")


def test_operators_properties_and_calls_from_c_are_no_calls(observed: GroundTruth) -> None:
    reached = {(path, row[2]) for path in ("library.py", "program.py") for row in calls(observed, path)}
    assert reached & {("program.py", "by_name"), ("program.py", "__add__"), ("library.py", "loud")} == set()


def test_override_knows_what_it_overrides(observed: GroundTruth) -> None:
    (site,) = [
        site for site in observed.sites if (site.path, site.line) == ("library.py", line_of("return self.sound()\n"))
    ]
    base = DeclarationSite("library.py", line_of("def sound"), "sound")
    override = DeclarationSite(
        "library.py", line_of("def sound", LIBRARY[LIBRARY.index("class Dog") :]) + line_of("class Dog") - 1, "sound"
    )
    assert set(site.targets) == {CallTarget(base, "call"), CallTarget(override, "call", overridden=(base,))}


def test_instantiation_reaches_the_class_and_knows_its_constructor(observed: GroundTruth) -> None:
    (site,) = [site for site in observed.sites if site.name == "Dog" and site.path == "program.py"]
    init = DeclarationSite("library.py", line_of("def __init__"), "__init__")
    assert site.targets == (
        CallTarget(DeclarationSite("library.py", line_of("class Dog"), "Dog"), "new", also=(init,)),
    )


def test_class_hierarchy_is_observed(observed: GroundTruth) -> None:
    animal, dog = (DeclarationSite("library.py", line_of(f"class {name}"), name) for name in ("Animal", "Dog"))
    assert ClassBases(dog, (animal,)) in observed.hierarchy
    assert ClassBases(animal, ()) in observed.hierarchy


def test_program_that_records_nothing_is_an_error(observer: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("raise ValueError('no tests here')", encoding="utf-8")
    with pytest.raises(EvaluationError, match="no tests here"):
        observe_calls(tmp_path, observer, ["broken"], timeout_s=60)
    (tmp_path / "idle.py").write_text("print('nothing done')", encoding="utf-8")
    with pytest.raises(EvaluationError, match="nothing done"):
        observe_calls(tmp_path, observer, ["idle"], timeout_s=60)


def test_missing_interpreter_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="name an interpreter with --python"):
        observe_calls(tmp_path, tmp_path / "python", ["pytest"], timeout_s=60)


def recorded(position: list[int], line: int, again: bool = False) -> dict[str, object]:
    target = {"path": "a.py", "line": line, "qualified_name": "make"}
    call = {"path": "a.py", "position": position, "again": again, "target": target}
    return {**call, "class": False, "decorated": False, "constructor": None, "overridden": []}


def test_what_a_decorator_returns_is_not_called_by_the_decorators_call(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def make(x): ...\n@make(1)\ndef f(): ...\n", encoding="utf-8")
    once, again = recorded([2, 2, 1, 8], 1), recorded([2, 2, 1, 8], 1, again=True)
    assert len(build_truth(tmp_path, {"calls": [once], "classes": []}, "tests").sites) == 1
    assert build_truth(tmp_path, {"calls": [again], "classes": []}, "tests").sites == []


def test_decorated_callee_is_placed_at_its_def(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("@cache\ndef make(x): ...\nmake(1)\n", encoding="utf-8")
    (site,) = build_truth(tmp_path, {"calls": [recorded([3, 3, 0, 7], 1)], "classes": []}, "tests").sites
    assert site == CallSite("a.py", 3, "make", (CallTarget(DeclarationSite("a.py", 2, "make"), "call"),))


def test_columns_are_counted_in_characters() -> None:
    file = PythonFile('"ä" + b.c(d("ö"))\n'.encode())
    assert file.find_calls(1) == [CallExpression(1, 8, "c"), CallExpression(1, 10, "d")]
    assert file.get_identifier(1, 8) == "c"
    assert file.get_identifier(1, 3) == ""
    assert file.get_identifier(9, 0) == ""


def test_answers_of_the_tools_become_sites(tmp_path: Path) -> None:
    """Both tools' earlier answers are used: a declaration, something outside, a variable, and nothing."""
    (tmp_path / "a.py").write_text("def f(): ...\ng = f\nf(); g(); len(); h()\n", encoding="utf-8")
    inside = str(tmp_path / "a.py")
    keys = ("a.py:3:0", "a.py:3:5", "a.py:3:10", "a.py:3:17")
    pyright = dict(zip(keys, [[[inside, 1, 4]], [[inside, 2, 0]], [["/lib/builtins.pyi", 9, 4]], []], strict=True))
    jedi = pyright | {"a.py:3:5": [[inside, 2, 0], [inside, 1, 4]]}
    cache = tmp_path / "answers.json"
    cache.write_text(json.dumps({"jedi": jedi, "pyright": pyright}), encoding="utf-8")
    sites = PythonDefinitionFinder(tmp_path, tmp_path, tmp_path, cache).find_sites(
        [("a.py", 3), ("a.py", 3), ("missing.py", 1)]
    )
    f = (CallTarget(DeclarationSite("a.py", 1, "f"), "call"),)
    rows = [(site.name, site.targets, "outside" * site.outside + "held" * site.held) for site in sites]
    assert rows == [
        *[("f", f, ""), ("g", f, "held"), ("len", (), "outside"), ("h", (), "")],
        *[("f", f, ""), ("g", (), "held"), ("len", (), "outside"), ("h", (), "")],
    ]
