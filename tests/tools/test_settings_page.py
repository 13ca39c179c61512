"""The page of settings is what the models say."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def load_tool():
    spec = importlib.util.spec_from_file_location("settings_page", ROOT / "tools" / "docs" / "settings_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_page_is_up_to_date():
    tool = load_tool()
    assert tool.PAGE.read_text(encoding="utf-8") == tool.render_page(), "run python tools/docs/settings_page.py"
