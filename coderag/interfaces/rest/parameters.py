"""Parameters in the address of a request, with their bounds."""

from typing import Annotated

from fastapi import Path, Query

from coderag.interfaces.rest.bodies import LONGEST_PATH, NO_NUL, SESSION

_ROOT = "The repository: the absolute path of its folder, or a name that `GET /api/v1/repositories` lists."

RootParameter = Annotated[str, Query(min_length=1, max_length=LONGEST_PATH, pattern=NO_NUL, description=_ROOT)]
SomeRootParameter = Annotated[
    str | None,
    Query(min_length=1, max_length=LONGEST_PATH, pattern=NO_NUL, description="Only those of this repository."),
]
SessionParameter = Annotated[str, Path(max_length=64, pattern=SESSION, description="Name of the session.")]
JobParameter = Annotated[
    str, Path(max_length=64, pattern=r"^[A-Za-z0-9_-]+$", description="Id of the job, as its beginning replied.")
]
