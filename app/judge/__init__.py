"""From tests and a program to a verdict: one module a test style, comparison apart. Never trusts the candidate."""

from app.judge.judge import JUDGE_VERSION, Judge, check_tests

__all__ = ["JUDGE_VERSION", "Judge", "check_tests"]
