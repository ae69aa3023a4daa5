"""The user's script as text: where a value comes from, which line a cause speaks of, and small edits of it as diffs.

Nothing here decides whether something is wrong. A cause knows that from the record; here it finds the line to name and the change to show.
"""
