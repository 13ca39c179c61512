"""Properties of all repairs: length, line breaks, idempotence and time."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coderag.ingestion.parsing.languages import LANGUAGES
from coderag.ingestion.parsing.repairs.repair import repair_source

REPAIRED = [language for language in LANGUAGES.values() if language.repairs]
WORDS = r"""class struct enum union namespace template extern static inline public slots signals emit operator final
    DOCK_EXPORT Q_OBJECT Q_SIGNALS GENERATED_BODY GUARDED_BY WINAPI MOCK_METHOD MOCK_METHOD1 __global__ __init run Panel int
    void const x extension where this partial cfg_if lazy_static ref fn pub if else mod macro_rules quote async
    { } ( ) [ ] < > ; : :: , = . ?. ?[ += -> => <<< >>> ! !{ # #[ & * ~ " ' // /* */ \ r#" R"( )" 1 é"""
LINES = [
    "\n#if A\n",
    "\n#ifdef __cplusplus\n",
    "\n#else\n",
    "\n#endif\n",
    "\n#define X 1\n",
    "\n",
    "\n\n",
    "\r\n",
    " ",
    "    ",
]
texts = st.builds(
    lambda words, gap: gap.join(words),
    st.lists(st.sampled_from([*WORDS.split(), *LINES]), max_size=40),
    st.sampled_from([" ", "", "\n"]),
)


@pytest.mark.parametrize("language", REPAIRED, ids=lambda language: language.name)
@settings(max_examples=150, deadline=None)
@given(text=texts)
def test_repair_keeps_length_and_line_breaks_and_is_idempotent(text, language):
    data = text.encode()
    repaired = repair_source(data, language)
    assert len(repaired) == len(data)
    assert [index for index, byte in enumerate(repaired) if byte == 10] == [
        index for index, byte in enumerate(data) if byte == 10
    ]
    assert repair_source(repaired, language) == repaired


@pytest.mark.parametrize("language", REPAIRED, ids=lambda language: language.name)
@pytest.mark.parametrize(
    "part",
    [
        "class ", "class A B ", "DOCK_EXPORT ", "DOCK_EXPORT(", "(", "((", "<", "template <", "{", "{}", "/*", '"', "'",
        "\n#if A\n", "\n#if A\n{\n#else\n{\n#endif\n", "a?.b", "extension(", "x!{", "\nx! { fn", "run() ATTR(x) ", "a<<<b",
        "enum E { A X(", ") final ", "#", "[[", "::a", "const ", ", DOCK_IN ", "MOCK_METHOD(",
        "MOCK_METHOD1(a, ", "R\"x(", "operator",
    ],
)  # fmt: skip
def test_repair_takes_linear_time(part, language):
    data = (part * (50_000 // len(part))).encode()
    started = time.process_time()
    repair_source(data, language)
    assert time.process_time() - started < 2


def test_languages_without_repairs_are_parsed_as_they_are():
    data = b"class DOCK_EXPORT Panel : public Surface {\n    Q_OBJECT\n};\n"
    for language in LANGUAGES.values():
        if not language.repairs and not language.transparent:
            assert repair_source(data, language) is data
