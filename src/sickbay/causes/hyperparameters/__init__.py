"""Causes that lie in chosen numbers: H4xx."""
