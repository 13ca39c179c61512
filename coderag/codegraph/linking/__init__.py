"""From the facts of files to the edges between them: what each name means."""
