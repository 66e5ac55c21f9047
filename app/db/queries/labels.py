"""Names of rows that have no name of their own."""


def trajectory_label(problem_key: str, buggy_key: str | None) -> str:
    """A trajectory's name: its problem, and the buggy program it starts from where that says more."""
    if buggy_key is None:
        return problem_key
    return buggy_key if buggy_key.startswith(problem_key) else f"{problem_key} · {buggy_key}"
