from pathlib import PurePosixPath

import pytest
from llama_index.core.schema import Document, MetadataMode

from coderag.ingestion import embedding_text as subject
from coderag.ingestion.parsing.parsed_file import derive_module_name
from coderag.integrations.llama_index.node_parser import CodeNodeParser
from coderag.integrations.llama_index.summarizer import ChunkSummarizer
from coderag.schema.chunks import get_module_name
from coderag.text.path_masking import PathMask

MASK = PathMask(b"k" * 32)
CODE = (
    '"""Open sessions."""\n\nimport os\n\n\nclass Session:\n    """A session of a user."""\n\n    def login(self):\n'
    + ("        return os.getpid()\n" * 40)
)

FILES = {
    "zyzzyva/quokka_axolotl.py": CODE,
    "zyzzyva/quokka_axolotl.js": "const a = 1;\nimport b from 'b';\nrun(a);\n",
    "zyzzyva/quokka.axolotl.txt": "plain lines\n" * 5,
    "zyzzyva/quokka axolotl.md": "no heading\n\n# Install\n\nRun it.\n",
    "zyzzyva/.quokka/axolotl": "just lines\n",
}


def embedding_text(node, mask):
    return subject.build_embedding_text(node.metadata, node.text, mask)


def nodes_of(path, text=None):
    nodes = CodeNodeParser().get_nodes_from_documents([Document(text=text or FILES[path], metadata={"path": path})])
    return ChunkSummarizer()(nodes)


@pytest.mark.parametrize("path", FILES)
def test_text_without_mask_equals_the_chunks_text(path):
    for node in nodes_of(path):
        assert embedding_text(node, None) == node.get_content(MetadataMode.EMBED)
        assert f"path: {path}" in embedding_text(node, None)


@pytest.mark.parametrize("path", FILES)
def test_masked_text_has_no_name_of_the_path(path):
    texts = [embedding_text(node, MASK).lower() for node in nodes_of(path)]
    for text in texts:
        assert f"path: {MASK.mask_path(path)}" in text
        assert not [name for name in ("zyzzyva", "quokka", "axolotl") if name in text]


@pytest.mark.parametrize("path", [*FILES, "a.b/c", "setup.py", ".env", "a/.eslintrc.json", "x.test.ts", "a/b.c."])
def test_code_outside_declarations_has_the_parsers_name(path):
    assert get_module_name(path) == derive_module_name(path)[1] == str(PurePosixPath(path).with_suffix(""))


def test_code_docstrings_and_names_are_not_masked():
    node = next(node for node in nodes_of("zyzzyva/quokka_axolotl.py") if "Session" in node.metadata["name"])
    text = embedding_text(node, MASK)
    assert "qualified_name: Session" in text
    assert "docstring: A session of a user." in text
    assert node.text.strip() in text


def test_function_named_like_its_file_keeps_its_name():
    [node] = nodes_of("setup.py", 'def setup():\n    """Set it up."""\n' + "    run(everything)\n" * 40)
    assert node.metadata["qualified_name"] == "setup"
    assert "qualified_name: setup" in embedding_text(node, MASK)


def test_chunk_keeps_its_real_path():
    [node] = nodes_of("zyzzyva/.quokka/axolotl")
    embedding_text(node, MASK)
    assert node.metadata["path"] == "zyzzyva/.quokka/axolotl"
