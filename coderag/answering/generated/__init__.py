"""Generated answers: a model's reply, split into claims while it streams, each checked before it is shown."""
