"""How results look: text for people, JSON for programs, progress on long work."""
