"""The TypeScript clients of MCP, both SDKs and both eras, against `coderag mcp` and the service's HTTP.

They are installed by ``npm ci`` in tests/mcp_clients.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

CLIENTS = Path(__file__).parents[1] / "mcp_clients"
CODERAG = [sys.executable, "-m", "coderag"]
TOOLS = ["search", "context", "explain", "symbol", "docs", "status", "index"]
TRACEBACK = 'Traceback (most recent call last):\n  File "cart.py", line 11, in checkout\nTypeError: no items'

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed"),
    pytest.mark.skipif(not (CLIENTS / "node_modules").is_dir(), reason="`npm ci` was not run in tests/mcp_clients"),
]
ERAS = [("v1", "legacy"), ("v2", "legacy"), ("v2", "auto"), ("v2", "2026-07-28")]
MODERN = ("auto", "2026-07-28")


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    """What all processes of this module have in common: one home, with one service in it."""
    return {**os.environ, "PYTHONPATH": str(CLIENTS.parents[1])}


@pytest.fixture(scope="module")
def repository(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("shop")
    (root / "cart.py").write_text(
        'class Cart:\n    """What a customer buys."""\n\n    def total(self):\n        """Sum."""\n        return 1\n\n\n'
        'def checkout(cart):\n    """Charge the customer."""\n    return cart.total()\n',
        encoding="utf-8",
    )
    (root / "README.md").write_text("# Shop\n\nTo pay, call checkout.\n", encoding="utf-8")
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "The shop"]):
        subprocess.run(["git", "-C", str(root), *arguments], check=True, env=environment)
    subprocess.run([*CODERAG, "index", "-C", str(root)], check=True, capture_output=True, env=environment)
    return root


def drive(environment: Mapping[str, str], **options: Any) -> dict[str, Any]:
    calls = {
        "coderag_search": {"query": "charge the customer"},
        "coderag_context": {"query": "how does paying work"},
        "coderag_explain": {"name": "checkout"},
        "coderag_symbol": {"name": "checkout"},
        "coderag_docs": {"query": "how to pay"},
        "coderag_status": {},
        "coderag_index": {},
    }
    prompts = {"path": "cart.py", "base": "HEAD", "traceback": TRACEBACK}
    script = json.dumps({"calls": calls, "prompts": prompts, **options})
    done = subprocess.run(
        ["node", "client.mjs", script],
        cwd=CLIENTS, env=dict(environment), capture_output=True, text=True, timeout=180, check=False, encoding="utf-8",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check(seen: dict[str, Any]) -> None:
    # Over HTTP the Python SDK ends a request that was cancelled with this error, which clients that wait no more wonder about.
    assert [fault for fault in seen["faults"] if '"code":-32800' not in fault] == []
    assert (seen["server"], seen["listed"]) == ("coderag", [f"coderag_{name}" for name in TOOLS])
    assert {name: tool["isError"] for name, tool in seen["tools"].items()} == {
        f"coderag_{name}": False for name in TOOLS
    }
    assert all(tool["text"] and not tool["structured"] for tool in seen["tools"].values())
    assert "cart.py:9-11" in seen["tools"]["coderag_search"]["text"]
    assert seen["resources"]
    assert all(seen["resources"].values())
    assert len(seen["prompts"]) == 4
    assert all(seen["prompts"].values())
    assert "none" not in seen["errors"].values()
    assert (seen["progress"] > 0, seen["cancelled"], seen["afterCancel"]) == (True, True, True)


@pytest.mark.parametrize(("sdk", "mode"), ERAS)
def test_over_standard_input_and_output(environment, repository, sdk, mode) -> None:
    command = [*CODERAG, "mcp", "-C", str(repository)]
    seen = drive(environment, sdk=sdk, mode=mode, command=command, cwd=str(repository))
    check(seen)
    assert sdk == "v1" or (seen["protocol"] == "2026-07-28") == (mode in MODERN)


@pytest.fixture(scope="module")
def service(environment: dict[str, str], repository: Path) -> Iterator[tuple[str, str]]:
    """A service on the loopback: its address and its token."""
    told = subprocess.run(
        [*CODERAG, "serve", "--background", "--port", "0", "--json", "--show-token"],
        capture_output=True, text=True, check=True, timeout=120, env=environment,
    )  # fmt: skip
    told = json.loads(told.stdout)
    yield told["url"], told["token"]
    subprocess.run([*CODERAG, "serve", "--stop"], check=True, capture_output=True, timeout=120, env=environment)


@pytest.mark.parametrize(("sdk", "mode"), ERAS)
def test_over_http(environment, repository, service, sdk, mode) -> None:
    url, token = service
    headers = {"Authorization": f"Bearer {token}", "X-CodeRAG-Root": str(repository)}
    check(drive(environment, sdk=sdk, mode=mode, url=f"{url}/mcp", headers=headers))
