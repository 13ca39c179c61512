"""What a generation is made from, as the one string that its pointer keeps: ``settings:contents:linking``."""

import hashlib
from collections.abc import Sequence

from coderag.config.settings import Settings
from coderag.ingestion.files.changes import content_digest
from coderag.ingestion.pipeline_version import PIPELINE_VERSION
from coderag.schema.chunks import FileRecord
from coderag.stores.pointer import Pointer
from coderag.text.path_masking import PathMask


def make_root_hash(settings_fingerprint: str, records: Sequence[FileRecord], linking: str) -> str:
    """Return what tells a generation from one that is made from anything else.

    Args:
        settings_fingerprint: See `fingerprint`.
        records: Of all files.
        linking: Version of what links the code graph; empty without one.
    """
    return f"{settings_fingerprint}:{content_digest(records)}:{linking}"


def compute_settings_fingerprint(settings: Settings, repository: str, mask: PathMask | None = None) -> str:
    """Return what decides how a file becomes chunks and vectors, ids included; another one means to build anew."""
    ingestion = settings.ingestion
    relevant = (
        f"{PIPELINE_VERSION} {ingestion.chunk!r} {ingestion.transformations!r} {ingestion.generated} {repository!r}"
    )
    if mask is not None:
        relevant += f" {mask.fingerprint}"
    return hashlib.sha256(relevant.encode()).hexdigest()[:12]


def get_settings_fingerprint(pointer: Pointer) -> str:
    """Return the fingerprint that a generation was made with."""
    return pointer.root_hash.partition(":")[0]


def get_linking_version(pointer: Pointer) -> str:
    """Return the version of what linked a generation's code graph."""
    return pointer.root_hash.rpartition(":")[2]
