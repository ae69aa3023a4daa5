"""Causes that lie in the training loop: P3xx."""
