"""Causes that lie in the machine: S5xx."""
