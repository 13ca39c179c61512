"""What several test packages share. Fakes implement the project's protocols."""
