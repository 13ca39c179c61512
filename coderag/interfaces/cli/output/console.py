"""Rich consoles for the two streams. Imported only where something is drawn."""

from rich.console import Console

from coderag.interfaces.cli.output.output_errors import ReaderGoneError


class ResultConsole(Console):
    """Standard output. Text is never markup: it comes from repositories."""

    def __init__(self) -> None:
        super().__init__(markup=False, emoji=False, highlight=False)

    def on_broken_pipe(self) -> None:
        """Leave quietly; Rich would exit with code 1."""
        raise ReaderGoneError


class SideConsole(Console):
    """Standard error, for what passes by."""

    def __init__(self) -> None:
        super().__init__(stderr=True, markup=False, emoji=False, highlight=False)

    def on_broken_pipe(self) -> None:
        """Go on without it: the result is what counts."""
        self.quiet = True
