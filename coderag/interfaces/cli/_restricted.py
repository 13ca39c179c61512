"""Tell that something of a repository is not used, because nobody marked it as trusted."""

import logging
from collections.abc import Sequence
from typing import Final

from coderag.interfaces.cli._streams import visible

ADVICE: Final = "`coderag trust` shows and allows them"
"""What to do about it."""

_SHOWN: Final = 3

_logger = logging.getLogger(__name__)


def warn_of_restrictions(left_out: Sequence[tuple[str, str]]) -> None:
    """Log one warning, which goes to standard error, if something is not used; nothing else.

    Args:
        left_out: Key and place of each setting; the key is empty if it is the whole file or folder.
    """
    if not left_out:
        return
    names = [f"{key} ({place})" if key else place for key, place in left_out]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    told = f"{', '.join(names[:_SHOWN])}{more}"
    _logger.warning("%s", visible(f"not used, as this repository is not marked trusted: {told}; {ADVICE}"))
