"""Sentences on files and folders: what they are made from, and when they end."""

import pyarrow as pa

from coderag.ingestion.summaries.overviews import Overviews, build_file_overviews

ROWS = [
    ("a/x.py", "f", "Does f.", "llm"),
    ("a/x.py", "g", "Does g.", "derived"),
    ("a/y.py", "h", "Does h.", "llm"),
    ("b/z.py", "i", "Does i.", "derived"),
    ("b/z.py", "j", "Does j.", "docstring"),
]


def table(rows=ROWS):
    names = ("path", "qualified_name", "summary", "summary_source")
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def test_unsummarized_and_single_chunk_files_need_no_overview():
    overviews, singles = build_file_overviews(table())
    assert [(overview.place, overview.lines) for overview in overviews] == [("a/x.py", ["f: Does f.", "g: Does g."])]
    assert singles == {"a/y.py": "Does h."}


def test_folder_overviews_are_built_innermost_first():
    overviews = Overviews(files={"a/b/x.py": "X.", "a/b/y.py": "Y.", "a/z.py": "Z.", "w.py": "W."})
    levels = overviews.build_folder_overviews()
    lines_by_place = {}
    for level in levels:
        for overview in level:
            lines_by_place[overview.place] = list(overview.lines)
            overviews.folders[overview.place] = f"All of {overview.place}"
    assert lines_by_place == {
        "a/b/": ["x.py: X.", "y.py: Y."],
        "a/": ["b: All of a/b/", "z.py: Z."],
        "./": ["a: All of a/", "w.py: W."],
    }


def test_file_sentence_expires_with_its_inputs():
    overviews = Overviews()
    (before,) = build_file_overviews(table())[0]
    sentences = {before.subject: "About x."}
    overviews.renew_files(
        table(), lambda subjects: {subject: sentences[subject] for subject in subjects if subject in sentences}
    )
    assert overviews.files == {"a/x.py": "About x.", "a/y.py": "Does h."}
    edited = [("a/x.py", "f", "Does f otherwise.", "llm"), *ROWS[1:2]]
    overviews.renew_files(
        table(edited), lambda subjects: {subject: sentences[subject] for subject in subjects if subject in sentences}
    )
    assert overviews.files == {"a/x.py": "", "a/y.py": "Does h."}


def test_generation_stores_overviews():
    overviews = Overviews(files={"a/x.py": "About x.", "ä.py": ""}, folders={"a/": "About a.", "./": "All."})
    assert Overviews.from_arrays(overviews.to_arrays()) == overviews
    assert Overviews().to_arrays() == {}
    assert Overviews.from_arrays({}) == Overviews()


def test_removed_file_leaves_its_folders_overview():
    overviews = Overviews(files={"a/x.py": "X.", "a/y.py": "Y.", "a/z.py": "Z."})
    overviews.drop(["a/y.py", "unknown.py"])
    (level, *_) = overviews.build_folder_overviews()
    assert [list(overview.lines) for overview in level] == [["x.py: X.", "z.py: Z."]]
