"""The workers' Celery application, on the broker of the settings."""

from app.adapters.queue import make_celery
from app.config import Settings

settings = Settings()
celery = make_celery(settings)
celery.conf.imports = ("workers.generate_tasks", "workers.execute_tasks")
