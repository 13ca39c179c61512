"""Write the OpenAPI description that the types of the web interface are generated from: ``python -m tools.web.openapi``."""

import json
from pathlib import Path
from typing import Final

from coderag.interfaces.rest.app import PREFIX, make_app
from coderag.interfaces.server.admin.router import router
from coderag.workspace.workspace import Workspace

_TARGET: Final = Path(__file__).parents[2] / "web" / "openapi.json"


def write_description(target: Path = _TARGET) -> None:
    """Write the description of the REST interface, with the administration of the team server, as JSON."""
    with Workspace() as workspace:
        app = make_app(workspace)
        app.include_router(router, prefix=PREFIX)
        description = app.openapi()
    description["info"]["version"] = "0"  # the types do not depend on it
    target.write_text(json.dumps(description, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_description()
