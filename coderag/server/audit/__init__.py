"""The audit record: who did what to which repository, in a chain that shows every change."""
