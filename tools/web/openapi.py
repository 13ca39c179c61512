"""Write the OpenAPI description that the types of the web interface are generated from: ``python -m tools.web.openapi``."""

import json
from pathlib import Path
from typing import Final

from coderag.interfaces.rest.app import make_app
from coderag.workspace.workspace import Workspace

_TARGET: Final = Path(__file__).parents[2] / "web" / "openapi.json"


def write_description(target: Path = _TARGET) -> None:
    """Write the description of the REST interface as JSON."""
    with Workspace() as workspace:
        description = make_app(workspace).openapi()
    description["info"]["version"] = "0"  # the types do not depend on it
    target.write_text(json.dumps(description, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_description()
