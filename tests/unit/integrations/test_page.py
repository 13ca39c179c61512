"""The page about sub-agents: its programs run, and it names what there is."""

import re
from pathlib import Path

from coderag.integrations.agent_tools import AGENT_TOOLS
from coderag.integrations.langgraph.state import CodeState

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "subagent.md").read_text(encoding="utf-8")


def test_its_programs_run(repository, capsys):
    names = {"repository": repository}
    for program in re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        exec(compile(program, "docs/subagent.md", "exec"), names)
    told = capsys.readouterr().out
    assert "web/cart.js" in told
    assert "inside updates ['analyze']" in told
    assert "parent updates ['coderag']" in told


def test_it_names_every_key_and_tool():
    assert [key for key in CodeState.__annotations__ if f"| `{key}` | written |" not in PAGE] == []
    for tool, call in AGENT_TOOLS.items():
        (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{tool}` |")]
        assert f"`{call.name}`" in row
        assert [name for name in call.arguments.model_fields if f"`{name}`" not in row] == []
