"""The two steps of an attempt and what follows each."""
