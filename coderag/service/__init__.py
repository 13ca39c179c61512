"""Client side of the warm service: discovery, requests, start and stop. Imports nothing slow."""
