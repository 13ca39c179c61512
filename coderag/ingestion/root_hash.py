"""Root hash of a generation: the string ``settings:contents:linking`` in its pointer."""

import hashlib
from collections.abc import Sequence

from coderag.config.settings import Settings
from coderag.ingestion.files.changes import compute_content_digest
from coderag.ingestion.pipeline_version import PIPELINE_VERSION
from coderag.schema.chunks import FileRecord
from coderag.stores.pointer import Pointer
from coderag.text.path_masking import PathMask


def make_root_hash(settings_fingerprint: str, records: Sequence[FileRecord], linking: str) -> str:
    """Build the string that identifies the inputs of a generation.

    Args:
        settings_fingerprint: See `compute_settings_fingerprint`.
        records: Records of all files.
        linking: Version of the linker; empty without a code graph.
    """
    return f"{settings_fingerprint}:{compute_content_digest(records)}:{linking}"


def compute_settings_fingerprint(settings: Settings, repository: str, mask: PathMask | None = None) -> str:
    """Hash the settings that determine chunks, ids and vectors; a different value forces a rebuild."""
    ingestion = settings.ingestion
    relevant = (
        f"{PIPELINE_VERSION} {ingestion.chunk!r} {ingestion.transformations!r} {ingestion.generated} {repository!r}"
    )
    if mask is not None:
        relevant += f" {mask.fingerprint}"
    return hashlib.sha256(relevant.encode()).hexdigest()[:12]


def get_settings_fingerprint(pointer: Pointer) -> str:
    """Return the settings fingerprint of a generation."""
    return pointer.root_hash.partition(":")[0]


def get_linking_version(pointer: Pointer) -> str:
    """Return the linker version of a generation."""
    return pointer.root_hash.rpartition(":")[2]
