"""`langgraph.json` serves what is there, loaded as LangGraph's server loads it: by path, outside any package."""

import importlib.util
import json
from pathlib import Path

from langgraph.graph.state import CompiledStateGraph

ROOT = Path(__file__).resolve().parents[2]


def test_every_graph_loads_by_path() -> None:
    config = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))
    assert config["dependencies"] == ["."]
    for name, target in config["graphs"].items():
        path, _, variable = target.partition(":")
        spec = importlib.util.spec_from_file_location(f"served_{name}", ROOT / path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        assert isinstance(getattr(module, variable), CompiledStateGraph)
