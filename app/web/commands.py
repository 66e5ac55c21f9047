"""The command that repeats a run exactly."""

import shlex

from app.db.queries.run import RunHead
from app.domain.protocol.policy import Prompts
from app.domain.protocol.restart import NO_FRESH_START


def import_command(head: RunHead) -> str:
    """`halflife recordings import …`, with a file to be filled in."""
    run, problem_set = head.run, head.problem_set
    words = ["halflife", "recordings", "import", "FILE", "--format", str(run.imported_from)]
    words += ["--problems", f"{problem_set.name}@{problem_set.version}", "--model", head.endpoint.name]
    if run.imported_from != "halflife":
        words += ["--attempts", str(run.protocol.attempts)]
    return shlex.join(words)


def create_command(head: RunHead) -> str:
    """`halflife runs create …` with every option that decides what the run does; of an imported run, how it came in."""
    run, policy = head.run, head.run.protocol
    if run.imported_from is not None:
        return import_command(head)
    words = ["halflife", "runs", "create"]
    words += ["--problems", f"{head.problem_set.name}@{head.problem_set.version}", "--model", head.endpoint.name]
    words += ["--start", policy.start, "--attempts", str(policy.attempts), "--disclosure", policy.disclosure]
    words += ["--stop-on", policy.stop_on, "--history", policy.history, "--seed", str(policy.seed)]
    if policy.fresh_start != NO_FRESH_START:
        words += ["--fresh-start", str(policy.fresh_start)]
    if policy.system_prompt is not None:
        words += ["--system-prompt", policy.system_prompt]
    if policy.prompts is not Prompts.HALFLIFE:
        words += ["--prompts", policy.prompts]
    if policy.hint:
        words += ["--hint"]
    if policy.temperature is not None:
        words += ["--temperature", f"{policy.temperature:g}"]
    if policy.top_p is not None:
        words += ["--top-p", f"{policy.top_p:g}"]
    if policy.cpu_seconds is not None:
        words += ["--cpu-seconds", f"{policy.cpu_seconds:g}"]
    if policy.memory_mb is not None:
        words += ["--memory-mb", str(policy.memory_mb)]
    words += ["--in-flight", str(run.max_in_flight)]
    for key in run.subset or ():
        words += ["--problem", key]
    if run.items_per_k is not None:
        words += ["--items-per-k", str(run.items_per_k)]
    else:
        for item in run.items or ():
            words += ["--item", item]
    if run.budget_tokens is not None:
        words += ["--budget-tokens", str(run.budget_tokens)]
    if run.budget_cost is not None:
        words += ["--budget-cost", f"{run.budget_cost:g}"]
    if run.dry_run:
        words += ["--dry-run"]
    return shlex.join(words)
