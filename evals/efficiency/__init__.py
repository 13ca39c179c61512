"""How many of a question's lines are seen for how many tokens: CodeRAG, and an agent that greps and reads."""
