"""Causes that lie in the model: A2xx."""
