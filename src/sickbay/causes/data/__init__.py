"""Causes that lie in the data: D1xx."""
