"""Text: tokens, token counts, Markdown, Mermaid, notebooks."""
