"""Parts of a reply that reach the reader."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coderag.answering.evidence.citation_checker import CitationChecker
from coderag.answering.generated.claim_checker import ClaimChecker
from coderag.answering.generated.numbered_evidence import NumberedEvidence
from coderag.answering.generated.prompt_echoes import PromptEchoes
from coderag.answering.generated.reply_checker import ReplyChecker
from coderag.schema.chunks import FileRecord
from tests.support.pieces import short_piece

PIECES = [short_piece(number) for number in (1, 2, 3)]
OURS = "```mermaid\nflowchart TD\n    n0 --> n1\n```"
NOT_VERIFIED = "*(not verified)*"


@pytest.fixture(scope="module")
def checker(tmp_path_factory) -> ClaimChecker:
    """Evidence [1], [2] and [3]: functions short_1 to short_3 in files that are as they were indexed."""
    root = tmp_path_factory.mktemp("repository")
    for piece in PIECES:
        (root / "src").mkdir(exist_ok=True)
        (root / piece.path).write_text(piece.text, encoding="utf-8")
    records = [FileRecord(piece.path, "indexed", encoding="utf-8") for piece in PIECES]
    evidence = [NumberedEvidence(piece, "[1] see https://known.example/page", piece.text, "python") for piece in PIECES]
    return ClaimChecker(evidence, CitationChecker(root, records), [piece.path for piece in PIECES])


@pytest.fixture(scope="module")
def read(checker):
    """Return a function that gives the checked answer for a reply."""

    def read(reply: str, diagram: str = "") -> ReplyChecker:
        produced = ReplyChecker(checker, "see https://known.example/page", lambda: diagram, PromptEchoes("", []))
        produced.added = (produced.feed(reply) or "") + produced.close()  # type: ignore[attr-defined]
        assert produced.added == produced.text  # type: ignore[attr-defined]
        return produced

    return read


def verdicts(reply: ReplyChecker) -> list[tuple[str, bool]]:
    return [(claim.status, claim.shown) for claim in reply.claims]


# Claims


def test_verified_claim_is_shown(read):
    reply = read("It is `short_1` [1].")
    assert reply.text == "It is `short_1` [1]."
    assert verdicts(reply) == [("verified", True)]


def test_wrong_name_is_dropped_and_the_rest_stays(read):
    reply = read("It is `short_1` [1]. It is `short_9` [1]. It is `short_2` [2].")
    assert reply.text == "It is `short_1` [1]. It is `short_2` [2]."
    assert verdicts(reply) == [("verified", True), ("unsupported", False), ("verified", True)]
    assert reply.claims[1].text == "It is `short_9` [1]."
    assert reply.claims[1].citations == [0]


def test_invented_citation_is_removed(read):
    reply = read("It is `short_1` [1][9]. Then it ends [42, 7].")
    assert reply.text == "It is `short_1` [1]."
    assert verdicts(reply) == [("verified", True), ("unsupported", False)]


def test_uncited_claim_is_marked(read):
    reply = read("It returns a number. It is `short_1` [1].")
    assert reply.text == f"It returns a number. {NOT_VERIFIED} It is `short_1` [1]."
    assert verdicts(reply) == [("uncited", True), ("verified", True)]


def test_uncited_claim_about_unknown_names_is_dropped(read):
    reply = read("It calls `invented`. It is `short_1` [1].")
    assert reply.text == "It is `short_1` [1]."


@pytest.mark.parametrize("statement", ["Yes.", "In short:", "Is that so?"])
def test_statement_without_code_is_not_a_claim(read, statement):
    reply = read(f"{statement} It is `short_1` [1].")
    assert reply.text == f"{statement} It is `short_1` [1]."
    assert len(reply.claims) == 1


@pytest.mark.parametrize("statement", ["Let me know if you need more details!", "I hope this helps.", "Certainly!"])
def test_courtesy_is_dropped_and_not_a_claim(read, statement):
    reply = read(f"It is `short_1` [1].\n\n{statement}")
    assert reply.text == "It is `short_1` [1]."
    assert len(reply.claims) == 1


def test_citations_are_numbered_in_reading_order(read):
    reply = read("Last is `short_3` [3]. First is `short_1` [1, 3].")
    assert reply.text == "Last is `short_3` [1]. First is `short_1` [2][1]."
    assert reply.numbering.source_list == "**Sources**\n\n- [1] `src/settings_3.py:1-2`\n- [2] `src/settings_1.py:1-2`"
    assert [claim.citations for claim in reply.claims] == [[0], [1, 0]]


def test_citations_of_dropped_claims_come_last(read):
    reply = read("It is `nothing` [2]. It is `short_3` [3].")
    assert [entry.path for entry in reply.numbering.list_citations()] == ["src/settings_3.py", "src/settings_2.py"]
    assert [claim.citations for claim in reply.claims] == [[1], [0]]


@pytest.mark.parametrize(
    "mark", ["[1-3]", "[1, 2; 3]", "[1][2] [3]", "【1】【2】【3】", "[^1][^2][^3]", "[1](#a)[2][3]"]
)
def test_all_citation_styles_are_parsed(read, mark):
    assert read(f"All are `short_1`, `short_2`, `short_3` {mark}.").numbering.source_list.count("\n- ") == 3


# What was left out leaves nothing behind


def test_dropped_entry_takes_its_bullet_along(read):
    assert read("Parts:\n\n- `bad` [1].\n- `short_1` [1].\n- `worse` [1].").text == "Parts:\n\n- `short_1` [1]."


def test_bullet_stays_if_only_its_first_sentence_is_dropped(read):
    assert read("- `bad` [1]. It is `short_1` [1].").text == "- It is `short_1` [1]."


def test_dropped_entry_with_children_leaves_a_placeholder(read):
    reply = read("- `short_1` [1].\n- `bad` [1].\n  - `short_2` [2].")
    assert reply.text == "- `short_1` [1].\n- *(left out: not verified)*\n  - `short_2` [2]."


def test_emptied_heading_or_lead_in_is_dropped(read):
    reply = read("# All\n\n## One\n\n`bad` [1].\n\n## Two\n\n`short_1` [1].\n\nThese are more:\n\n- `bad` [1].\n\nEnd.")
    assert reply.text == "# All\n\n## Two\n\n`short_1` [1].\n\nEnd."


def test_headings_and_lead_ins_stay_with_their_content(read):
    text = "# All\n\nThe parts are:\n\n## One\n\n`short_1` [1].\n\n---\n\n## Empty"
    assert read(text).text == text


def test_table_without_rows_is_dropped(read):
    head = "| name | what |\n|---|---|\n"
    remaining = read(f"{head}| `bad` | x [1] |\n| `short_1` | x [1] |\n\nEnd.")
    assert remaining.text == f"{head}| `short_1` | x [1] |\n\nEnd."
    assert read(f"Before.\n\n{head}| `bad` | x [1] |\n\nEnd.").text == "Before.\n\nEnd."


def test_uncited_row_is_marked_inside_its_last_cell(read):
    assert read("| a | b |\n|---|---|\n| `short_1` | is old |").text.endswith(f"| is old {NOT_VERIFIED} |")


def test_next_paragraph_stays_separate_after_a_drop(read):
    assert read("`short_1` [1].\n\n`bad` [1].\n\n`short_2` [2].").text == "`short_1` [1].\n\n`short_2` [2]."


def test_heading_that_claims_is_checked(read):
    assert read("## `short_1` deletes `everything` [1]\n\nIt is `short_2` [2].").text == "It is `short_2` [1]."


def test_heading_or_lead_in_with_an_unknown_name_is_dropped(read):
    reply = read("## The `invented` class\n\nThe `made_up` steps:\n\n- `short_1` [1].")
    assert reply.text == "- `short_1` [1]."
    assert verdicts(reply) == [("uncited", False), ("uncited", False), ("verified", True)]


def test_source_list_of_the_model_is_dropped(read):
    reply = read("It is `short_1` [1].\n\n## Sources\n\n- [1] `src/settings_1.py:1-2`\n- [2]: src/gone.py\n[3]\n")
    assert reply.text == "It is `short_1` [1]."
    assert len(reply.claims) == 1


# What is missing


@pytest.mark.parametrize(
    ("statement", "missing"),
    [
        ("NOT FOUND: how it is rounded.", "how it is rounded."),
        ("**NOT FOUND:** how it is rounded.", "how it is rounded."),
        ("The evidence does not show how it is rounded.", "The evidence does not show how it is rounded."),
        ("There is nothing about rounding in the evidence.", "There is nothing about rounding in the evidence."),
        ("I cannot help with that.", "I cannot help with that."),
        ("Rounding is not mentioned.", "Rounding is not mentioned."),
        (
            "The evidence does not show `round_up`, the `Money` class, or where `exchange` gets its rates from.",
            "The evidence does not show `round_up`, the `Money` class, or where `exchange` gets its rates from.",
        ),
        ("Wie gerundet wird, steht nicht in den Belegen.", "Wie gerundet wird, steht nicht in den Belegen."),
        ("Le contexte ne montre pas comment.", "Le contexte ne montre pas comment."),
        ("证据中没有说明如何取整。", "证据中没有说明如何取整。"),
    ],
)
def test_missing_statement_is_not_a_claim(read, statement, missing):
    reply = read(f"It is `short_1` [1].\n\n{statement}")
    assert reply.missing == [missing]
    assert statement in reply.text
    assert len(reply.claims) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "No information is leaked.",
        "The loader cannot find it.",
        "It does not know the context manager.",
        "Nobody can see it.",
    ],
)
def test_negative_claim_is_a_claim(read, statement):
    assert read(statement).missing == []
    assert read(statement).text == f"{statement} {NOT_VERIFIED}"


@pytest.mark.parametrize(
    "statement",
    [
        "The evidence does not show it, but `invented` does it.",
        "The evidence does not show everything, `invented` deletes all users.",
        "Nothing in the evidence contradicts that `invented` deletes all users.",
        "Did you know that `invented` deletes all users?",
    ],
)
def test_claim_after_a_gap_or_in_a_question_is_checked(read, statement):
    reply = read(statement)
    assert (reply.text, reply.missing) == ("", [])


# Code


def test_evidence_code_is_cited_and_other_code_marked(read):
    reply = read("```python\ndef short_1():\n    return 1\n```\n\nText.\n\n```\nfoo()\n```")
    assert reply.text.startswith("```python\ndef short_1():\n    return 1\n```\n\n[1]\n\nText.")
    assert reply.text.endswith("```\nfoo()\n```\n\n*(code that the model suggests; it is not in the evidence)*")
    assert verdicts(reply) == [("verified", True), ("uncited", True)]


def test_truncated_code_is_closed(read):
    assert "```python\ndef short_1():\n```\n\n[1]" in read("```python\ndef short_1():").text


def test_empty_code_block_is_dropped(read):
    assert read("It is `short_1` [1].\n\n```\n\n```\n").text == "It is `short_1` [1]."


# Diagrams

THEIRS = "```mermaid\nflowchart TD\n  short_1 --> invented\n```"


def test_diagram_of_the_model_is_replaced_once(read):
    reply = read(f"It is `short_1` [1].\n\n{THEIRS}\n\nAgain:\n\n{THEIRS}", OURS)
    assert reply.text == f"It is `short_1` [1].\n\n{OURS}"
    assert reply.append_diagram() == ""


def test_diagram_of_the_model_is_dropped_without_ours(read):
    assert read(f"It is `short_1` [1].\n\n{THEIRS}").text == "It is `short_1` [1]."


def test_our_diagram_is_appended_if_the_model_drew_none(read):
    assert read("It is `short_1` [1].", OURS).append_diagram() == f"\n\n{OURS}"


# Attacks and damage


def test_image_is_neutralised_and_links_need_evidence(read):
    reply = read(
        "See ![x. Y](https://evil.example/?q=1) and [here](https://known.example/page) or [there](http://e.vil/x)."
    )
    assert "![" not in reply.text
    assert "[here](https://known.example/page)" in reply.text
    assert "](http://e.vil" not in reply.text


def test_control_characters_are_removed(read):
    assert read("It is\x1b[2J `short_1`\u200b [1].").text.isprintable()


@pytest.mark.parametrize("end", ["It is `short", "It is [1", "**bo", "| a |", "- ", "> ", "#", "``", "```mermaid\nx"])
def test_truncated_reply_keeps_checked_text(read, end):
    assert read(f"It is `short_1` [1].\n\n{end}").text.startswith("It is `short_1` [1].")


def test_very_long_reply_is_checked_to_its_end(read):
    reply = read("\n".join(f"- It is `short_{number % 4}` [{number % 4}]." for number in range(4_000)))
    assert reply.text.count("\n") == 2_999
    assert len(reply.claims) == 4_000


def test_empty_reply_yields_nothing(read):
    reply = read(" \n")
    assert (reply.text, reply.claims, reply.missing) == ("", [], [])


PARTS = st.sampled_from(
    [
        *(
            "`short_1` ",
            "[1]",
            "[9]",
            ". ",
            "\n",
            "\n\n",
            "- ",
            "  - ",
            "1. ",
            "> ",
            "# ",
            "## T\n",
            "| a |\n|---|\n",
            "| b [1] |\n",
        ),
        *(
            "```\n",
            "short_2",
            "`bad`",
            "Words are said",
            ":",
            '"',
            "**",
            "NOT FOUND: x",
            "![a](b)",
            "?",
            "```mermaid\nx\n```\n",
        ),
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(PARTS, max_size=30).map("".join), st.integers(1, 7))
def test_answer_does_not_depend_on_chunking(checker, reply, size):
    def read(pieces):
        produced = ReplyChecker(checker, "", lambda: OURS, PromptEchoes("", []))
        added = "".join(produced.feed(piece) or "" for piece in pieces) + produced.close()
        assert added == produced.text
        return produced.text, produced.claims, produced.missing, produced.numbering.list_citations()

    complete = read([reply])
    assert read([reply[start : start + size] for start in range(0, len(reply), size)]) == complete
    assert all(claim.status != "unsupported" for claim in complete[1] if claim.shown)
    assert "`bad`" not in complete[0] or "```" in complete[0] or "NOT FOUND" in complete[0] or "?" in complete[0]
