"""Repositories and sources that a principal may see, read from the database."""

from pathlib import Path
from typing import Final, cast

from sqlalchemy import select
from sqlalchemy.orm import Session

from coderag.schema.item_search import ItemScope
from coderag.server.access.principal import Principal
from coderag.server.access.visible_workspace import VisibleRepository
from coderag.server.storage.models import HostedRepository, RepositorySource

CHECKOUT_FOLDER: Final = "checkout"
"""Folder of the checked-out files, in the folder of a repository."""


def get_checkout(folder: Path, repository_id: str) -> Path:
    """Return the checkout of a repository.

    Args:
        folder: Folder of all repositories, `ServerSettings.repositories_folder`.
        repository_id: Its id.
    """
    return folder / repository_id / CHECKOUT_FOLDER


def load_visible(session: Session, principal: Principal, folder: Path) -> list[VisibleRepository]:
    """Load the repositories that a principal may see, with the sources of each that it may see.

    A source whose mirror is to be removed is left out: the mirror may have items of another source of its name.

    Args:
        session: Session of the database.
        principal: The principal.
        folder: Folder of all repositories.
    """
    ids = list(principal.repository_levels)
    kinds: dict[str, dict[str, ItemScope]] = {}
    listed = select(RepositorySource).where(RepositorySource.repository_id.in_(ids), ~RepositorySource.needs_reset)
    for source in session.scalars(listed):
        if principal.sees_all_sources or source.id in principal.source_levels:
            kinds.setdefault(source.repository_id, {})[source.name] = cast("ItemScope", source.kind)
    return [
        VisibleRepository(
            id=repository.id,
            name=repository.name,
            root=get_checkout(folder, repository.id),
            level=principal.get_level(repository.id),
            is_indexed=repository.indexed_at is not None,
            source_kinds=kinds.get(repository.id, {}),
        )
        for repository in session.scalars(select(HostedRepository).where(HostedRepository.id.in_(ids)))
    ]
