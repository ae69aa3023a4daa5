"""Outside the user's process: starts it, waits for it, survives whatever happens to it.

command.py   what the user typed -> what is started
child.py     the child process: its environment, its signals, how it ended
line.py      the one live line at the bottom of an interactive terminal
pulse.py     what that line says, read from the growing record
"""
