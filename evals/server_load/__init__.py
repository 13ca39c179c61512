"""The team server under load: many users and repositories, pushes, sign-ins, and requests for what is hidden."""
