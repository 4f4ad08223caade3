"""`webloom demo`: a made-up site on this machine, and Webloom at work on it.

Webloom itself knows only the name of the command.
"""
