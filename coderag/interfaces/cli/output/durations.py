"""Durations as people say them."""


def format_duration(seconds: float) -> str:
    """Format a duration with one unit: seconds up to two minutes, minutes up to two hours, then hours."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7_200 else f"{seconds / 3_600:.1f} h"
