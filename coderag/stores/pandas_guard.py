"""Prevention of pyarrow's import of pandas, which takes 0.3 s and is not used."""

import sys
from importlib.abc import MetaPathFinder


class _PandasBlocker(MetaPathFinder):
    """Import hook that hides pandas."""

    def find_spec(self, name: str, *_: object) -> None:
        """Reject pandas; leave all other modules to the other finders."""
        if name == "pandas":
            raise ModuleNotFoundError(name=name)


def avoid_pandas_import() -> None:
    """Keep pyarrow from importing pandas when it converts its first value.

    pyarrow checks once whether pandas is available, to recognise a series, and finds it missing here. Other code can
    still import pandas, and pyarrow's conversions to pandas still work.
    """
    if "pandas" in sys.modules:
        return
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s

    blocker = _PandasBlocker()
    sys.meta_path.insert(0, blocker)
    try:
        pa.scalar(None)
    finally:
        sys.meta_path.remove(blocker)
