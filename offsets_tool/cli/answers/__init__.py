"""The commands that answer in sentences: the verdict, the story, and everything in the order of time."""
