"""Causes that lie in how results are measured: E6xx."""
