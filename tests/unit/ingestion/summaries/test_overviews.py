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
    assert [(one.place, one.lines) for one in overviews] == [("a/x.py", ["f: Does f.", "g: Does g."])]
    assert singles == {"a/y.py": "Does h."}


def test_folder_overviews_are_built_innermost_first():
    overviews = Overviews(files={"a/b/x.py": "X.", "a/b/y.py": "Y.", "a/z.py": "Z.", "w.py": "W."})
    levels = overviews.build_folder_overviews()
    found = {}
    for level in levels:
        for one in level:
            found[one.place] = list(one.lines)
            overviews.folders[one.place] = f"All of {one.place}"
    assert found == {
        "a/b/": ["x.py: X.", "y.py: Y."],
        "a/": ["b: All of a/b/", "z.py: Z."],
        "./": ["a: All of a/", "w.py: W."],
    }


def test_file_sentence_expires_with_its_inputs():
    overviews = Overviews()
    (before,) = build_file_overviews(table())[0]
    kept = {before.subject: "About x."}
    overviews.renew_files(table(), lambda subjects: {one: kept[one] for one in subjects if one in kept})
    assert overviews.files == {"a/x.py": "About x.", "a/y.py": "Does h."}
    edited = [("a/x.py", "f", "Does f otherwise.", "llm"), *ROWS[1:2]]
    overviews.renew_files(table(edited), lambda subjects: {one: kept[one] for one in subjects if one in kept})
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
    assert [list(one.lines) for one in level] == [["x.py: X.", "z.py: Z."]]
