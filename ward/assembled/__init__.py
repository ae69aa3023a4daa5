"""Scripts that are put together from parts: many styles of one task, with and without a mistake."""
