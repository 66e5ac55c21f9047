"""The rules of a run: what is asked, what is fed back, and what comes next."""
