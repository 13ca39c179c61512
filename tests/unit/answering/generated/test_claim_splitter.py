import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coderag.answering.generated.claim_splitter import ClaimSplitter


def units(*pieces: str):
    splitter = ClaimSplitter()
    return [unit for piece in pieces for unit in splitter.feed(piece)] + splitter.close()


def texts(reply: str) -> list[str]:
    return [unit.text for unit in units(reply)]


# Sentences


@pytest.mark.parametrize(
    ("reply", "sentences"),
    [
        ("It works. It is fast!  Is it? Yes", ["It works.", "It is fast!", "Is it?", "Yes"]),
        ("It works [1]. It is fast [2].", ["It works [1].", "It is fast [2]."]),
        ("It works. [1] It is fast.[2][3] Good. [4, 5]", ["It works. [1]", "It is fast.[2][3]", "Good. [4, 5]"]),
        ("It works. [1-3]\n[4]\nIt is fast.", ["It works. [1-3]\n[4]", "It is fast."]),
        ("It works [1]. and more [2].", ["It works [1].", "and more [2]."]),
        ("It works 【1†source】。Next.", ["It works 【1†source】。", "Next."]),
        ("It works.[1]. It is.", ["It works.[1].", "It is."]),
        ("See [1]. [Not a citation] begins.", ["See [1].", "[Not a citation] begins."]),
        ("Use `a. B` or `x`. `Foo` is.", ["Use `a. B` or `x`.", "`Foo` is."]),
        ("Use ``a `. B`` here. Next.", ["Use ``a `. B`` here.", "Next."]),
        ("A lone ` stays. As it is.", ["A lone ` stays.", "As it is."]),
        ('It says "One. Two." and ends. Next.', ['It says "One. Two." and ends.', "Next."]),
        ("Es sagt „Eins. Zwei.“ dort. Dann.", ["Es sagt „Eins. Zwei.“ dort.", "Dann."]),
        ("See [the docs. Here](http://x.y/a. b) now. Next.", ["See [the docs. Here](http://x.y/a. b) now.", "Next."]),
        ('An <img alt="a. B" src="x"> here. Next.', ['An <img alt="a. B" src="x"> here.', "Next."]),
        ("**One. Two.** Three.", ["**One. Two.**", "Three."]),
        ("**Bold.** Next.", ["**Bold.**", "Next."]),
        ("Several, e.g. Flask, i.e. The one. Next.", ["Several, e.g. Flask, i.e. The one.", "Next."]),
        ("Mit z. B. Namen usw. und d. h. Text. Ende.", ["Mit z. B. Namen usw. und d. h. Text.", "Ende."]),
        ("In foo.bar and 3.5 and a.py. Next.", ["In foo.bar and 3.5 and a.py.", "Next."]),
        ("Calls os.path.join() first. then more.", ["Calls os.path.join() first. then more."]),
        ("它检查密码。[1]然后返回会话！好吗？好", ["它检查密码。[1]", "然后返回会话！", "好吗？", "好"]),
        ("パスワードを確認する。セッションを返す。", ["パスワードを確認する。", "セッションを返す。"]),
        ("यह काम करता है। यह तेज़ है।", ["यह काम करता है।", "यह तेज़ है।"]),
        ("هل يعمل؟ نعم.", ["هل يعمل؟", "نعم."]),
        ("Это работает. Быстро.", ["Это работает.", "Быстро."]),
        ("One line\ngoes on. And\non.", ["One line\ngoes on.", "And\non."]),
        (r"An \`escape. Next.", [r"An \`escape.", "Next."]),
        ("Steps: 1. Load 2. Save. Next.", ["Steps: 1. Load 2. Save.", "Next."]),
        ("Wait... what. Next", ["Wait... what.", "Next"]),
    ],
)
def test_paragraph_is_split_into_sentences(reply, sentences):
    assert texts(reply) == sentences


# Blocks


def test_list_entries_are_split_with_their_markers():
    split = units("Parts:\n- one\n  - two. Three\n1) four\n   five\n* [ ] six\n")
    assert [(unit.marker, unit.text) for unit in split] == [
        ("", "Parts:"), ("- ", "one"), ("  - ", "two."), ("", "Three"), ("1) ", "four\n   five"), ("* ", "[ ] six"),
    ]  # fmt: skip


def test_headings_and_rules_are_separate_units():
    split = units("# A title. With dots\nText.\n\n---\n\n### B\n\nTitle\n=====\n")
    assert [(unit.kind, unit.marker, unit.text) for unit in split] == [
        ("heading", "# ", "A title. With dots"), ("prose", "", "Text."), ("rule", "", "---"), ("heading", "### ", "B"),
        ("prose", "", "Title"), ("rule", "", "====="),
    ]  # fmt: skip


def test_table_rows_are_split_from_the_head():
    split = units("| a | b |\n|---|:-:|\n| 1. | 2 [1] |\n| 3 | 4 |\n\nText.")
    assert [(unit.kind, unit.text) for unit in split] == [
        ("table", "| a | b |\n|---|:-:|"), ("row", "| 1. | 2 [1] |"), ("row", "| 3 | 4 |"), ("prose", "Text."),
    ]  # fmt: skip


def test_bar_lines_without_a_head_are_rows():
    assert [unit.kind for unit in units("| a |\n| b |\nText.")] == ["row", "row", "prose"]


@pytest.mark.parametrize(
    "block",
    [
        "```python\nx = 1\n\n# no heading\n- no list\n```",
        "~~~\n```\nx\n```\n~~~",
        "````md\n```\nx\n```\n````",
        "  ```\n  x\n  ```",
        "    x = 1\n\n    y = 2",
        "- ```\n  x\n  ```",
        "> ```\n> x\n> ```",
    ],
)
def test_code_block_is_one_unit(block):
    split = units(f"Text.\n\n{block}\n\nMore.")
    assert [(unit.kind, unit.marker + unit.text) for unit in split] == [
        ("prose", "Text."), ("code", block), ("prose", "More."),
    ]  # fmt: skip


def test_truncated_code_block_is_one_unit():
    assert [unit.kind for unit in units("A:\n```python\nx = 1\n# half of")] == ["prose", "code"]


def test_quotations_keep_their_markers():
    split = units("> One. Two\n> goes on.\n>\n> - three\n\nFour.")
    assert [(unit.marker, unit.text) for unit in split] == [
        ("> ", "One."), ("", "Two\n> goes on."), ("> - ", "three"), ("", "Four."),
    ]  # fmt: skip


def test_indented_text_in_a_list_is_not_code():
    assert [unit.kind for unit in units("- one\n\n    more of it\n")] == ["prose", "prose"]


@pytest.mark.parametrize("fence", ["```markdown", "~~~md", "````Markdown"])
def test_fence_around_the_reply_is_stripped(fence):
    marks = fence.rstrip("Mmarkdown")
    split = units(f"{fence}\nOne.\n\n```python\nx\n```\n\nTwo.\n{marks}\n")
    assert [(unit.kind, unit.text) for unit in split][::2] == [("prose", "One."), ("prose", "Two.")]
    assert len(split) == 3


def test_unit_is_returned_as_soon_as_its_end_is_decided():
    splitter = ClaimSplitter()
    assert splitter.feed("It works. ") == []
    assert [unit.text for unit in splitter.feed("[1] N")] == ["It works. [1]"]
    assert splitter.pending == " N"
    assert splitter.feed("ext\n") == []
    assert [unit.text for unit in splitter.feed("\n")] == ["Next"]


def test_empty_reply_has_no_units():
    assert units("") == units(" \n\n") == []


def test_very_long_sentence_takes_linear_time():
    splitter = ClaimSplitter()
    for _ in range(20_000):
        splitter.feed("word (and `code` ")
    assert len(splitter.close()) == 1


# However it is cut

PARTS = st.sampled_from(
    [
        *(
            "`a.b`",
            "`",
            "``",
            "[1]",
            "[2, 3]",
            "[1-2]",
            " ",
            "  ",
            "\n",
            "\n\n",
            "- ",
            "* ",
            "1. ",
            "2) ",
            "> ",
            "# ",
            "## ",
        ),
        *("|", "| a | b |\n", "|---|---|\n", "```", "```python\n", "~~~", "---", "===", "**", "*", "_", '"', "“", "”"),
        *(
            "Foo does x.",
            "e.g. ",
            "i.e. it",
            "。",
            "漢字を返す",
            "是。",
            "! ",
            "? ",
            "foo.bar",
            "x",
            "The end.",
            " [1].",
            ":",
        ),
        *(
            "<b>",
            "<",
            "[",
            "](http://a. b)",
            "]",
            "    ",
            "\t",
            "\\",
            "…",
            "...",
            "A",
            "a b c",
            "3.5",
            "\n    code\n",
            "\r\n",
        ),
    ]
)


@settings(max_examples=400, deadline=None)
@given(st.lists(PARTS, max_size=25).map("".join), st.lists(st.integers(0, 80), max_size=6))
def test_units_do_not_depend_on_chunking(reply, cuts):
    places = sorted(min(cut, len(reply)) for cut in cuts)
    pieces = [reply[start:end] for start, end in zip([0, *places], [*places, len(reply)], strict=True)]
    complete = units(reply)
    assert units(*pieces) == complete
    assert units(*reply) == complete
    splitter = ClaimSplitter()
    fed = [*splitter.feed(reply), *splitter.close()]
    assert "".join(unit.markdown for unit in fed) + splitter.pending == reply.replace("\r", "")
