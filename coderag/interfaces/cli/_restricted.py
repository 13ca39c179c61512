"""Tell that something of a repository is not used, because nobody marked it as trusted."""

import logging
from typing import TYPE_CHECKING, Final

from coderag.interfaces.cli._streams import visible

if TYPE_CHECKING:
    from coderag.settings import Settings

_SHOWN: Final = 3

_logger = logging.getLogger(__name__)


def warn_of_restrictions(settings: "Settings") -> None:
    """Log one warning, which goes to standard error, if something is not used; nothing else."""
    left_out = settings.restrictions
    if not left_out:
        return
    names = [f"{one.key} ({one.place})" if one.key else one.place for one in left_out]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    told = f"{', '.join(names[:_SHOWN])}{more}"
    _logger.warning("%s", visible(f"not used, as this repository is not marked trusted: {told}; {ADVICE}"))


ADVICE: Final = "`coderag trust` shows and allows them"
"""What to do about it."""
