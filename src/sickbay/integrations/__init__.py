"""sickbay inside other tools."""
