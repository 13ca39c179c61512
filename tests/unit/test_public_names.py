import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version

import pytest

import coderag

HEAVY = (
    "numpy", "scipy", "pandas", "pyarrow", "pydantic", "llama_index", "langgraph", "lancedb", "lance", "tree_sitter",
    "torch", "rich", "typer",
)  # fmt: skip


def python(script):
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_public_name_can_be_imported():
    assert {name: getattr(coderag, name).__name__ for name in coderag.__all__ if name != "__version__"} == {
        name: name for name in coderag.__all__ if name != "__version__"
    }


def test_the_names_that_the_design_promises_are_public():
    assert {"CodeRAG", "Settings", "SearchHit", "AssembledContext", "Answer", "IndexReport"} <= set(coderag.__all__)


def test_a_star_import_brings_the_public_names_and_no_others():
    script = "before = set(dir()); from coderag import *; print(*sorted(set(dir()) - before - {'before'}))"
    assert python(script).split() == sorted(coderag.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nonsense"):
        coderag.nonsense  # noqa: B018
    with pytest.raises(ImportError):
        from coderag import nonsense  # noqa: F401


def test_importing_the_package_loads_nothing_heavy():
    script = f"import coderag, sys; coderag.__version__; print([name for name in {HEAVY!r} if name in sys.modules])"
    assert python(script).strip() == "[]"


def test_the_schema_loads_nothing_heavy():
    script = f"import coderag, sys; coderag.SearchHit; print([name for name in {HEAVY!r} if name in sys.modules])"
    assert python(script).strip() == "[]"


def test_opening_a_repository_does_not_load_what_only_indexing_needs():
    later = ("llama_index", "tree_sitter", "langgraph", "lancedb")
    script = f"import sys; from coderag import CodeRAG; print([name for name in {later} if name in sys.modules])"
    assert python(script).strip() == "[]"


def test_the_version_is_that_of_the_distribution():
    try:
        assert coderag.__version__ == version("coderag-engine")
    except PackageNotFoundError:
        pytest.skip("coderag-engine is not installed")
