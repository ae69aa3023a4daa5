"""Inside the user's process: what is seen of a training run, and how, without changing it.

Imports here are limited to the standard library, numpy and torch, because the user's environment may hold nothing else.
"""
