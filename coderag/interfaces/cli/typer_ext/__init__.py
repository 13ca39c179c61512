"""Extensions of Typer: commands and groups that load little."""
