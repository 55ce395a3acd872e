"""The project of this folder has tests of its own, which run inside of one of these."""

collect_ignore = ["project"]
