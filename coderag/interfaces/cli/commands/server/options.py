"""Options that the commands of ``coderag server`` share."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

RoleName = Literal["owner", "admin", "member", "viewer", "auditor"]
LevelName = Literal["read", "index", "administer"]
ScopeName = Literal["read", "index", "administer"]

ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="FILE", help="Settings file. Default: server.yaml in this folder.", show_default=False
    ),
]
DataOption = Annotated[
    Path | None,
    typer.Option("--data", metavar="FOLDER", help="Data folder. Default: `data` of the settings.", show_default=False),
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
UserArgument = Annotated[
    str, typer.Argument(metavar="ACCOUNT", help="The account: e-mail, id, or a unique name.", show_default=False)
]
TeamArgument = Annotated[str, typer.Argument(metavar="TEAM", help="The team: name or id.", show_default=False)]
RepositoryArgument = Annotated[
    str, typer.Argument(metavar="REPOSITORY", help="The repository: name or id.", show_default=False)
]
LimitOption = Annotated[
    int, typer.Option("--limit", "-n", metavar="N", min=1, max=200, help="Maximum number of entries.")
]


@dataclass(frozen=True, slots=True)
class ServerPlace:
    """Place of a server.

    Attributes:
        config: Settings file; None for the default.
        data: Data folder; None for that of the settings.
    """

    config: Path | None = None
    data: Path | None = None


def make_place(*, config: ConfigOption = None, data: DataOption = None) -> ServerPlace:
    """Build the place from its options."""
    return ServerPlace(config, data)
