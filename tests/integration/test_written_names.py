"""Names that nothing declares, and values: where they are written is found, and no use of them is denied."""

import pytest

from coderag import CodeRAG

FILES = {
    "src/limits.go": 'package limits\n\nimport "os"\n\n'
    'func packSize() string {\n\tif given := os.Getenv("BOX_PACK_SIZE"); given != "" {\n'
    '\t\treturn given\n\t}\n\treturn "4"\n}\n',
    "src/pack.go": "package limits\n\n// Pack has a size.\ntype Pack struct {\n\tSize int\n\tboxWidth int\n}\n\n"
    "func (p *Pack) PackSize() int {\n\treturn p.Size * p.boxWidth\n}\n\n"
    "func (p *Pack) Read() int {\n\treturn p.PackSize()\n}\n",
    "src/server.py": "class Options:\n    maxRequests = 0\n\n\n"
    'def from_config(config):\n    """Read the options of a server."""\n'
    '    options = Options()\n    options.maxRequests = config.get("server.maxRequests")\n    return options\n',
    "src/fast.pyx": "cdef class FastChunker:\n    cdef int size\n",
    "src/use_fast.pyx": "from fast cimport FastChunker\n\ncdef class Cutter(FastChunker):\n    pass\n",
    "src/shape.py": "class Item:\n    def move(self):\n        return 1\n\n    def stay(self):\n        return 2\n\n\n"
    "class Plant:\n    def stay(self):\n        return 3\n",
    "src/held.py": "from shape import Item\n\n\nclass Holder:\n    def __init__(self, item):\n        self.item = item\n\n"
    "    def rest(self):\n        return self.item.stay()\n\n\ndef sure():\n    item = Item()\n    return item.stay()\n",
    "src/other.py": "from shape import Item\n\n\ndef build():\n    return Item()\n",
    "docs/size.md": "# Sizes\n\nSet `BOX_PACK_SIZE` to choose the size of packs that are read.\n",
}


@pytest.fixture(scope="module")
def rag(tmp_path_factory):
    root = tmp_path_factory.mktemp("written")
    for path, text in FILES.items():
        file = root / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    with CodeRAG(root, ingestion={"workers": 0}) as engine:
        engine.index()
        yield engine


@pytest.mark.parametrize(
    "question",
    ["where is BOX_PACK_SIZE read?", "where is the BOX_PACK_SIZE environment variable set?", "BOX_PACK_SIZE"],
)
def test_code_that_reads_a_variable_comes_before_what_has_only_its_parts(rag, question):
    assert str(rag.search(question)[0].path) == "src/limits.go"


def test_an_answer_lists_where_a_name_is_written_that_nothing_declares(rag):
    answer = rag.ask("where is BOX_PACK_SIZE read?")
    assert "src/limits.go:6" in answer.text
    assert "docs/size.md:3" in answer.text
    assert answer.text.index("src/limits.go:6") < answer.text.index("docs/size.md:3")
    assert "Nothing is called" not in answer.text


def test_uses_of_a_field_are_not_denied(rag):
    answer = rag.ask("where is Pack.boxWidth used?")
    assert "could be resolved" not in answer.text
    assert "return p.Size * p.boxWidth" in answer.text


def test_a_key_with_dots_is_found_where_it_is_written(rag):
    assert "from_config" in [hit.qualified_name for hit in rag.search("where is server.maxRequests read?")[:2]]


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("where is FastChunker defined?", "cdef class FastChunker:"),
        ("which classes derive from FastChunker?", "cdef class Cutter(FastChunker):"),
    ],
)
def test_what_only_the_text_declares_is_shown_and_nothing_spelt_nearly_so(rag, question, line):
    answer = rag.ask(question)
    assert line in answer.text
    assert "This is about" not in answer.text


def test_calls_on_values_of_unknown_type_are_told_beside_those_that_are_known(rag):
    answer = rag.ask("who calls Item.stay?")
    assert "is called by 1 declaration" in answer.text
    known, perhaps = answer.text.split("May call it, on values of unknown type")
    assert "`src/held.py:14`" in known
    assert "return self.item.stay()" in perhaps


def test_what_imports_a_type_is_not_affected_by_one_of_its_methods(rag):
    assert [one.qualified_name for one in rag.graph.impact("Item.stay")] == ["sure"]
    assert "src/other.py" not in rag.ask("what breaks if Item.stay changes?").text
    assert "src/other.py" in [one.path for one in rag.graph.impact("Item")]


def test_what_implements_a_type_of_elsewhere_is_told_by_its_words(tmp_path):
    (tmp_path / "lib.rs").write_text(
        "struct Conf { wide: bool }\n\nimpl Default for Conf {\n    fn default() -> Self {\n        make()\n    }\n}\n"
    )
    (tmp_path / "Job.java").write_text("class Job implements Runnable {\n    public void run() {}\n}\n")
    with CodeRAG(tmp_path, ingestion={"workers": 0}) as rag:
        rag.index()
        assert "`impl Default for Conf {` — `lib.rs:3`" in rag.ask("what implements Default?").text
        assert "`Job.java:1`" in rag.ask("which classes implement Runnable?").text


def test_lines_of_data_take_no_time(tmp_path):
    declared = "class Item:\n    def stay_here(self):\n        pass\n\n\n"
    (tmp_path / "a.py").write_text(f"{declared}def f(item: Item):\n    item.stay_here()\n")
    (tmp_path / "data.py").write_text("x = 1\n" * 9 + f"stay_here = '{'a' * 300_000}'\n")
    with CodeRAG(tmp_path, ingestion={"workers": 0}) as rag:
        rag.index()
        assert "`a.py:7`" in rag.ask("who calls Item.stay_here?").text
