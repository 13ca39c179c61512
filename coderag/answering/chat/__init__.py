"""Conversations: what a follow-up refers to, the question that stands alone, and what of the past a prompt carries."""
