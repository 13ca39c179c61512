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


def test_a_file_of_which_no_model_wrote_has_no_overview_and_one_with_a_single_chunk_takes_its_sentence():
    overviews, singles = build_file_overviews(table())
    assert [(one.place, one.lines) for one in overviews] == [("a/x.py", ["f: Does f.", "g: Does g."])]
    assert singles == {"a/y.py": "Does h."}


def test_a_folder_is_made_from_its_files_and_folders_the_innermost_first():
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


def test_what_is_written_of_a_file_ends_with_the_sentences_that_it_was_made_from():
    overviews = Overviews()
    (before,) = build_file_overviews(table())[0]
    kept = {before.subject: "About x."}
    overviews.renew_files(table(), lambda subjects: {one: kept[one] for one in subjects if one in kept})
    assert overviews.files == {"a/x.py": "About x.", "a/y.py": "Does h."}
    edited = [("a/x.py", "f", "Does f otherwise.", "llm"), *ROWS[1:2]]
    overviews.renew_files(table(edited), lambda subjects: {one: kept[one] for one in subjects if one in kept})
    assert overviews.files == {"a/x.py": "", "a/y.py": "Does h."}


def test_a_generation_carries_them():
    overviews = Overviews(files={"a/x.py": "About x.", "ä.py": ""}, folders={"a/": "About a.", "./": "All."})
    assert Overviews.from_arrays(overviews.to_arrays()) == overviews
    assert Overviews().to_arrays() == {}
    assert Overviews.from_arrays({}) == Overviews()


def test_a_removed_file_is_no_part_of_its_folder():
    overviews = Overviews(files={"a/x.py": "X.", "a/y.py": "Y.", "a/z.py": "Z."})
    overviews.drop(["a/y.py", "unknown.py"])
    (level, *_) = overviews.build_folder_overviews()
    assert [list(one.lines) for one in level] == [["x.py: X.", "z.py: Z."]]
