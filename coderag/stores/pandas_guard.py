"""Spares a process of our own the import of pandas: 0.3 s, of which nothing is used."""

import sys
from importlib.abc import MetaPathFinder


class _PandasBlocker(MetaPathFinder):
    """Finds no pandas."""

    def find_spec(self, name: str, *_: object) -> None:
        """Refuse pandas and leave everything else to the other finders."""
        if name == "pandas":
            raise ModuleNotFoundError(name=name)


def avoid_pandas_import() -> None:
    """Have pyarrow do without pandas, which it else imports with the first value that it is given.

    It looks once whether pandas is there, to know a series from a list, and is told now that it is not. Everybody else can
    import pandas as before, and what pyarrow makes for pandas it still makes.
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
