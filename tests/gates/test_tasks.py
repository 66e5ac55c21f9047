"""Every wake-up that can be sent has a task that takes it."""

import json
import os
import subprocess
import sys

from app.adapters.queue import TASK_NAMES

LIST_TASKS = """
import json
from workers.celery_app import celery
celery.loader.import_default_modules()
print(json.dumps([name for name in celery.tasks if not name.startswith("celery.")]))
"""


def test_every_task_name_is_registered(tmp_path):
    # In a process of its own, because the workers' application reads its settings on import.
    listed = subprocess.run(
        [sys.executable, "-c", LIST_TASKS],
        env=os.environ | {"HALFLIFE_HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        check=True,
    )
    assert sorted(json.loads(listed.stdout)) == sorted(TASK_NAMES.values())
