"""Reports of a review with hostile names, and validity of SARIF."""

import pytest

from coderag.interfaces.change_markdown import format_markdown
from coderag.interfaces.change_report import build_sections
from coderag.interfaces.change_sarif import build_sarif
from coderag.schema.change_review import (
    ChangeHistory,
    ChangeReview,
    Dependent,
    RelatedCommit,
    ReviewedDeclaration,
    ReviewedFile,
    SelectedTest,
    SuiteSelection,
)
from coderag.schema.graph import GraphNeighbour
from coderag.schema.lineage import DeclarationChange
from coderag.schema.mentions import NameMention


def make_caller(confidence=0.9, path="a.py", line=3):
    return GraphNeighbour("caller", path, line, 2, 4, "use", "function", "import", confidence, evidence=path)


def make_review(change="signature", dependents=(), mentions=(), name="f", subject="Fix #1 @all"):
    declaration = ReviewedDeclaration(
        DeclarationChange("a.py", name, "function", change, 1, 2, 1, 2, "def f(a):", "def f(a, b):"),
        "same",
        "a.py",
        1,
        2,
        dependents,
        len(dependents),
        mentions,
        len(mentions),
    )
    test = SelectedTest("pytest", "t.py", 1, "test_f", "t.py::test_f", 0.9, ["uses `f` <b>@all</b>"])
    commit = RelatedCommit("a" * 12, subject, "A", "2024-01-01", ["f"])
    return ChangeReview(
        "b" * 40,
        "working tree",
        [ReviewedFile("a.py", "a.py", "modified", "source", 1, 1)],
        [declaration],
        SuiteSelection([test], 30, 90, ["pytest t.py::test_f"]),
        history=ChangeHistory(commits=[commit]),
        notes=["A limit."],
    )


def test_only_resolved_and_unchanged_users_are_results_of_sarif():
    dependents = [
        Dependent(make_caller(line=3), is_changed=False),
        Dependent(make_caller(line=4), is_changed=True),
        Dependent(make_caller(0.3, line=5), is_changed=False),
    ]
    (run,) = build_sarif(make_review(dependents=dependents))["runs"]
    assert [result["locations"][0]["physicalLocation"]["region"]["startLine"] for result in run["results"]] == [3]
    assert run["results"][0]["rank"] == 90.0


@pytest.mark.parametrize(("change", "n_results"), [("body", 0), ("added", 0), ("signature", 0), ("removed", 1)])
def test_lines_that_name_it_are_results_for_removed_declarations_only(change, n_results):
    mention = NameMention("b.py", 7, "f()", "code", "g", "function", "python", "source")
    (run,) = build_sarif(make_review(change, mentions=[mention]))["runs"]
    assert len(run["results"]) == n_results


def test_paths_in_sarif_are_encoded_uris():
    dependent = Dependent(make_caller(path="a b/ü#.py"), is_changed=False)
    (run,) = build_sarif(make_review(dependents=[dependent]))["runs"]
    location = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert location == {"uri": "a%20b/%C3%BC%23.py", "uriBaseId": "SRCROOT"}


def test_fingerprint_of_a_result_survives_moved_lines():
    fingerprints = [
        build_sarif(make_review(dependents=[Dependent(make_caller(line=line), is_changed=False)]))["runs"][0][
            "results"
        ][0]["partialFingerprints"]
        for line in (3, 30)
    ]
    assert fingerprints[0] == fingerprints[1]


def test_markdown_cannot_mention_people_or_close_tickets():
    text = format_markdown(make_review(name="f`@all`", subject="Closes #1, thanks @all"))
    assert "`Closes #1, thanks @all`" in text
    assert "``f`@all```" in text or "`` f`@all` ``" in text
    assert "\\@all" in text
    assert "<b>" not in text


def test_hidden_characters_are_spelt_out_in_markdown():
    assert "\u202e" not in format_markdown(make_review(name="f\u202e", subject="x\u202e"))


def test_sections_are_cut_and_count_the_rest():
    tests = next(section for section in build_sections(make_review()) if section.title.startswith("Tests"))
    assert (tests.title, len(tests.lines), tests.n_left_out) == ("Tests to run (30 of 90)", 1, 29)
