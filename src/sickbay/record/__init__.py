"""Everything that is known of one run, on disk: one SQLite file per process, crash-safe, readable while it grows."""
