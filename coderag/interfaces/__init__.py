"""Ways in: each turns a request into calls of `coderag.app.CodeRAG` and its results into output; none knows another."""
