"""What watching costs. `python -m bench` measures everything; see README.md for how to read it."""
