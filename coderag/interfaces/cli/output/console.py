"""Rich consoles of the two streams. Imported only for drawing."""

from rich.console import Console

from coderag.interfaces.cli.output.output_errors import ReaderGoneError


class ResultConsole(Console):
    """Console on standard output. Text is never markup: it comes from repositories."""

    def __init__(self) -> None:
        super().__init__(markup=False, emoji=False, highlight=False)

    def on_broken_pipe(self) -> None:
        """Exit quietly; Rich would exit with code 1."""
        raise ReaderGoneError


class SideConsole(Console):
    """Console on standard error, for transient output."""

    def __init__(self) -> None:
        super().__init__(stderr=True, markup=False, emoji=False, highlight=False)

    def on_broken_pipe(self) -> None:
        """Continue silently: the result matters more."""
        self.quiet = True
