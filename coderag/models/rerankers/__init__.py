"""Models that order the first results anew: a cross-encoder in this process, or a language model of Ollama's."""
