"""Every error that sickbay raises on purpose.

    SickbayError                 root: catch this one
    ├── UsageError               the command line or an argument is wrong
    ├── SettingsError            an option has a value that is not allowed
    ├── RecordError              a record cannot be read
    │   ├── RecordNotFound       no such run or file
    │   ├── NotARecord           the file is something else, empty or damaged beyond reading
    │   └── RecordVersionError   written by a newer sickbay with another schema
    ├── LogError                 another tool's log cannot be read
    └── UnknownCause             no cause of that name or code

A message says what was wrong (with the value), what was expected, and what to do next.
"""

from __future__ import annotations


class SickbayError(Exception):
    """Root of all errors that sickbay raises on purpose."""


class UsageError(SickbayError):
    """The command line or an argument is wrong."""


class SettingsError(SickbayError):
    """An option has a value that is not allowed."""


class RecordError(SickbayError):
    """A record cannot be read."""


class RecordNotFound(RecordError):
    """There is no such run or file."""


class NotARecord(RecordError):
    """The file is something else, empty, or damaged beyond reading."""


class RecordVersionError(RecordError):
    """The record was written with another version of the schema."""


class LogError(SickbayError):
    """A log of another tool cannot be read, or holds nothing that can be judged."""


class UnknownCause(SickbayError):
    """No cause has that name or code."""
