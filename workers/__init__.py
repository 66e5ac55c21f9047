"""Celery workers. `python -m workers generate` and `python -m workers execute` start one each."""
