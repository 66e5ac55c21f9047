"""`halflife runs …`."""

import time
from dataclasses import asdict
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any

import typer

from app.adapters.processes import Group
from app.cli.chosen import endpoint_id, problem_set_id
from app.cli.installation import Installation, JsonFlag, emit, installation, note
from app.cli.serve import START_SECONDS, worker_children
from app.db.base import LARGEST_ID
from app.db.models import RejudgingStatus, RunStatus
from app.db.queries.decay_counts import RunSummary, run_summary
from app.db.queries.fresh_starts import arm_statuses, fresh_starts
from app.db.queries.grid import grid_of
from app.db.queries.precision import last_repairs, scores_waiting
from app.db.queries.progress import WaitKind
from app.db.queries.rejudging import RejudgingView, rejudging_view
from app.db.queries.runs import RunFilter, RunOrder, SortKey, list_runs
from app.db.queries.trajectory import trajectory_detail
from app.domain.errors import SandboxError
from app.domain.metrics.decay import DecayStatus
from app.domain.protocol.grid import SamplingGrid
from app.domain.protocol.policy import Disclosure, History, Prompts, Protocol, Start, StopOn
from app.domain.protocol.restart import FreshStart, RestartRule
from app.domain.work import WorkerKind
from app.judge.judge import JUDGE_VERSION
from app.services.add_arms import ArmRequest, start_arms
from app.services.control_run import cancel_run, pause_run, resume_run
from app.services.manage_endpoints import ensure_repair_search
from app.services.rejudge_run import apply_rejudging, start_rejudging
from app.services.retry_run import retry_run
from app.services.retry_scores import retry_scores
from app.services.submit_run import DEFAULT_IN_FLIGHT, RunRequest, submit_run
from app.web.documents import rejudging_document, trajectory_document
from app.web.fresh_starts import arms_text, document
from app.web.grid import document as grid_document
from app.web.grid import grid_text
from app.web.pace import backing_off, waiting
from app.web.text import printable
from app.web.wording import imported, tokens

app = typer.Typer(help="Runs: create, follow, show.", no_args_is_help=True)

RunId = Annotated[int, typer.Argument(metavar="ID", max=LARGEST_ID)]
ArmOption = Annotated[
    list[str] | None,
    typer.Option(
        help="An arm beside it that starts afresh: t50, t50:RUN (by another run's curve), once:N, every:N, adaptive:N, "
        "resample, reference:N."
    ),
]
IndependentFlag = Annotated[bool, typer.Option("--independent", help="Arms share no attempts with their baseline.")]
POLL_SECONDS = 0.5
ENDED = (RunStatus.COMPLETED, RunStatus.CANCELLED)


class Exit(StrEnum):
    """Why `--wait` came back."""

    ENDED = "ended"
    PAUSED = "paused"
    INTERRUPTED = "interrupted"


@app.command("create")
def create(
    problems: Annotated[str, typer.Option(help="Problem set, its latest version; NAME@VERSION for another.")],
    model: Annotated[str, typer.Option(help="Name of the model.")],
    attempts: Annotated[int, typer.Option(help="The first answer and the debugging attempts together.")] = 6,
    start: Annotated[Start, typer.Option(help="What attempt 0 is.")] = Start.GENERATE,
    disclosure: Annotated[Disclosure, typer.Option(help="What feedback shows.")] = Disclosure.VISIBLE,
    stop_on: Annotated[StopOn, typer.Option(help="Which tests end a trajectory.")] = StopOn.ALL,
    history: Annotated[History, typer.Option(help="How much of the conversation is sent.")] = History.FULL,
    fresh_start: Annotated[
        str, typer.Option(help="When to start afresh: none, once:N, every:N, adaptive:N, resample, reference:N.")
    ] = RestartRule.NONE.value,
    seed: Annotated[int, typer.Option()] = 0,
    cpu_seconds: Annotated[float | None, typer.Option(help="CPU limit; each problem's own when left out.")] = None,
    memory_mb: Annotated[int | None, typer.Option(help="Memory limit; each problem's own when left out.")] = None,
    problem: Annotated[list[str] | None, typer.Option(help="Key of one problem; may be repeated.")] = None,
    difficulty: Annotated[list[str] | None, typer.Option(help="Only problems rated so; may be repeated.")] = None,
    first: Annotated[int | None, typer.Option(help="Only so many problems, in the set's order.")] = None,
    item: Annotated[
        list[str] | None, typer.Option(help="A buggy program, as PROBLEM/KEY or its KEY alone; may be repeated.")
    ] = None,
    items_per_k: Annotated[
        int | None, typer.Option(help="Only so many buggy programs for each number of bugs, drawn by the seed.")
    ] = None,
    system_prompt: Annotated[str | None, typer.Option(help="Instead of the usual one; recorded by its hash.")] = None,
    prompts: Annotated[Prompts, typer.Option(help="Whose words task and feedback have.")] = Prompts.HALFLIFE,
    hint: Annotated[bool, typer.Option("--hint", help="Ask for a fast algorithm in a line after the task.")] = False,
    temperature: Annotated[float | None, typer.Option(help="The model's own when left out.")] = None,
    top_p: Annotated[float | None, typer.Option(help="The model's own when left out.")] = None,
    grid_temperature: Annotated[
        str, typer.Option(help="A run for each of these, such as 0.1,0.9; with --grid-top-p for each pair.")
    ] = "",
    grid_top_p: Annotated[str, typer.Option(help="The same for top-p.")] = "",
    budget_tokens: Annotated[int | None, typer.Option(help="Stop before more tokens than this are used.")] = None,
    budget_cost: Annotated[float | None, typer.Option(help="The same for money.")] = None,
    in_flight: Annotated[
        int,
        typer.Option(help="Trajectories of this run under way at once; 1 suits a server that answers one at a time."),
    ] = DEFAULT_IN_FLIGHT,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="One problem with one attempt, left out of boards.")
    ] = False,
    arm: ArmOption = None,
    independent: IndependentFlag = False,
    wait: Annotated[bool, typer.Option("--wait", help="Follow the run; starts workers if none are running.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Start a run. With --wait, the exit code is 0 when it completed."""
    protocol = Protocol(
        start=start,
        attempts=attempts,
        disclosure=disclosure,
        stop_on=stop_on,
        history=history,
        cpu_seconds=cpu_seconds,
        memory_mb=memory_mb,
        seed=seed,
        system_prompt=system_prompt,
        fresh_start=FreshStart.parse(fresh_start),
        prompts=prompts,
        hint=hint,
        temperature=temperature,
        top_p=top_p,
    )
    cells = SamplingGrid.parse(grid_temperature, grid_top_p)
    with installation() as opened:
        ensure_repair_search(opened.db, opened.vault)
        request = RunRequest(
            problem_set_id=problem_set_id(opened, problems),
            endpoint_id=endpoint_id(opened, model),
            protocol=protocol,
            problems=problem,
            difficulties=difficulty,
            first=first,
            items=item,
            items_per_k=items_per_k,
            budget_tokens=budget_tokens,
            budget_cost=budget_cost,
            max_in_flight=in_flight,
            dry_run=dry_run,
            arms=tuple(ArmRequest.parse(text) for text in arm or ()),
            arms_independent=independent,
            grid=cells,
        )
        run_id = submit_run(opened.db, request)
        wake_all(opened)
        if not wait:
            emit({"id": run_id}, as_json, f"run {run_id} started")
            return
        note(f"run {run_id} started")
        why = _follow(opened, run_id)
        summary = _summary(opened, run_id)
        repairs = _repairs(opened, run_id)
    emit(_document(summary, repairs), as_json, _text(summary, repairs))
    if why is not Exit.ENDED or summary.status != RunStatus.COMPLETED:
        note(f"run {run_id} is {summary.status}: {summary.status_reason or why}{'' if not arm else '; see its arms'}")
        raise typer.Exit(3)


@app.command("show")
def show(run_id: RunId, as_json: JsonFlag = False) -> None:
    """Show a run's figures."""
    with installation() as opened:
        summary = _summary(opened, run_id)
        repairs = _repairs(opened, run_id)
    emit(_document(summary, repairs), as_json, _text(summary, repairs))


@app.command("arms")
def arms(run_id: RunId, arm: ArmOption = None, independent: IndependentFlag = False, as_json: JsonFlag = False) -> None:
    """Start arms with fresh starts beside a run, with the workers of a running server; show what came of all."""
    with installation() as opened:
        if arm:
            begun = start_arms(opened.db, run_id, [ArmRequest.parse(text) for text in arm], shares=not independent)
            note(f"runs {', '.join(map(str, begun))} started" if begun else "they start once the baseline has ended")
            wake_all(opened)
        with opened.db.read() as session:
            found = fresh_starts(session, run_id)
    emit(document(found), as_json, printable(arms_text(found)))


@app.command("grid")
def grid(run_id: RunId, as_json: JsonFlag = False) -> None:
    """Show the cells of the grid that a run belongs to, started by `runs create --grid-temperature --grid-top-p`."""
    with installation() as opened, opened.db.read() as session:
        found = grid_of(session, run_id)
    emit(grid_document(found), as_json, grid_text(found))


@app.command("list")
def list_(
    status: Annotated[RunStatus | None, typer.Option(help="Only runs that stand so.")] = None,
    search: Annotated[str | None, typer.Option(help="Part of a model's or a problem set's name.")] = None,
    sort: Annotated[SortKey, typer.Option(help="By what they are sorted.")] = SortKey.NEWEST,
    rising: Annotated[bool, typer.Option("--rising", help="The least first.")] = False,
    all_: Annotated[bool, typer.Option("--all", help="All of them, not the first fifty alone.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """List the fifty newest runs, or the first fifty as sorted."""
    narrowed, order = RunFilter(status=status, search=search), RunOrder(sort, falling=not rising)
    with installation() as opened, opened.db.read() as session:
        page = list_runs(session, narrowed, order)
        rows = list(page.rows)
        while all_ and page.next_after is not None:
            page = list_runs(session, narrowed, order, page.next_after)
            rows += page.rows
    now = datetime.now(UTC)
    documents = [
        {
            "id": row.id,
            "model": row.model_name,
            "problem_set": row.problem_set_name,
            "problem_set_version": row.problem_set_version,
            "judge_version": row.judge_version,
            "judging_outdated": row.judge_version not in (None, JUDGE_VERSION),
            "imported_from": row.imported_from,
            "demo": row.demo,
            "status": row.status,
            "dry_run": row.dry_run,
            "waiting": None if row.wait is None else waiting(row.wait, now),
            "problems": row.problems,
            "ended": row.ended,
            "solved": row.solved,
        }
        for row in rows
    ]
    text = "\n".join(
        f"{row.id}  {row.model_name} on {row.problem_set_name}  {row.status}  solved {row.solved} of {row.problems}"
        f"{'' if row.judge_version in (None, JUDGE_VERSION) else f'  judging outdated (judge {row.judge_version})'}"
        f"{'' if row.imported_from is None else f'  {imported(row.imported_from, demo=row.demo)}'}"
        f"{'  dry run' if row.dry_run else ''}"
        f"{'' if row.wait is None else f'  {waiting(row.wait, now)}'}"
        for row in rows
    )
    if page.total > len(rows):
        text += f"\n… and {page.total - len(rows)} more: --all lists them"
    nothing = "No runs yet: start one with `halflife runs create`."
    if status is not None or search is not None:
        nothing = "No run matches."
    emit(documents, as_json, printable(text) or nothing)


@app.command("cancel")
def cancel(run_id: RunId, as_json: JsonFlag = False) -> None:
    """Stop a run and keep what it has."""
    with installation() as opened:
        cancel_run(opened.db, run_id)
    emit({"id": run_id, "status": RunStatus.CANCELLED}, as_json, f"run {run_id} cancelled")


@app.command("pause")
def pause(run_id: RunId, as_json: JsonFlag = False) -> None:
    """Hand out no further steps of a run; those under way are finished."""
    with installation() as opened:
        pause_run(opened.db, run_id)
    emit({"id": run_id, "status": RunStatus.PAUSED}, as_json, f"run {run_id} paused")


@app.command("retry")
def retry(run_id: RunId, as_json: JsonFlag = False) -> None:
    """Go on with the problems that infrastructure cut short, with the workers of a running server.

    What was judged is not asked again.
    """
    with installation() as opened:
        count = retry_run(opened.db, run_id)
        wake_all(opened)
    emit({"id": run_id, "retried": count}, as_json, f"run {run_id} goes on with {count} of its problems")


@app.command("score")
def score(run_id: RunId, as_json: JsonFlag = False) -> None:
    """Score the repairs of a run that have no score, with the workers of a running server.

    The sandbox failed at it, or nobody asked for it. No model is asked.
    """
    with installation() as opened:
        count = retry_scores(opened.db, run_id)
        wake_all(opened)
    emit({"id": run_id, "queued": count}, as_json, f"{count} repairs of run {run_id} are to be scored")


@app.command("resume")
def resume(run_id: RunId, as_json: JsonFlag = False) -> None:
    """Let a paused run go on, with the workers of a running server."""
    with installation() as opened:
        resume_run(opened.db, run_id)
        wake_all(opened)
    emit({"id": run_id, "status": RunStatus.RUNNING}, as_json, f"run {run_id} resumed")


@app.command("trajectory")
def trajectory(
    run_id: RunId,
    trajectory_id: Annotated[int, typer.Argument(metavar="TRAJECTORY", max=LARGEST_ID)],
    as_json: JsonFlag = False,
) -> None:
    """Show one trajectory with the evidence of every attempt. Hidden cases are shown as the protocol discloses them."""
    with installation() as opened, opened.db.read() as session:
        document = trajectory_document(trajectory_detail(session, run_id, trajectory_id))
    emit(document, as_json, printable(_trajectory_text(document)))


@app.command("rejudge")
def rejudge(
    run_id: RunId,
    apply: Annotated[bool, typer.Option("--apply", help="Replace the verdicts; the old ones are kept.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Judge every program of a run again, with a worker of this command's own, and say what would change.

    Without --apply nothing is replaced: the preview waits on the run's page, and for this command with --apply.
    """
    with installation() as opened:
        rejudging_id = start_rejudging(opened.db, run_id)
        opened.queue.wake(WorkerKind.EXECUTE, opened.settings.execute_slots)
        note(f"re-judging {rejudging_id} of run {run_id}")
        view = _judge_again(opened, run_id, rejudging_id)
        if view.failed:
            raise SandboxError(f"{view.failed} programs could not be judged: {view.error}; nothing was changed")
        if view.judging:
            note("interrupted: the same command goes on with it")
            raise typer.Exit(3)
        document = rejudging_document(view)
        if apply:
            apply_rejudging(opened.db, run_id, rejudging_id)
            document |= {"status": RejudgingStatus.APPLIED, "appliable": False}
    emit(document, as_json, _rejudging_text(view, applied=apply))


def wake_all(opened: Installation) -> None:
    """Announce new work to both kinds of worker."""
    opened.queue.wake(WorkerKind.GENERATE, opened.settings.generate_threads)
    opened.queue.wake(WorkerKind.EXECUTE, opened.settings.execute_slots)


def _follow(opened: Installation, run_id: int) -> Exit:
    """Watch a run on workers of our own until it ends or waits for a person.

    Workers of a running server may share the work: leases keep them apart.
    """
    last = ""
    ended: list[Exit] = []

    def look() -> bool:
        nonlocal last
        time.sleep(POLL_SECONDS)
        summary = _summary(opened, run_id)
        solved = sum(summary.counts.solved)
        line = f"{summary.ended} of {summary.problems} ended, {solved} solved, {summary.tokens} tokens"
        if summary.wait is not None and summary.wait.kind is WaitKind.RETRY:
            line += f"; {backing_off(summary.wait)}"
        with opened.db.read() as session:
            statuses = {summary.status, *arm_statuses(session, run_id)}
            unscored = scores_waiting(session, run_id)
        if unscored:
            line += f"; {unscored} repairs to be scored"
        if line != last:
            note(line)
            last = line
        if statuses <= set(ENDED) and not unscored:
            ended.append(Exit.ENDED)
        elif RunStatus.PAUSED in statuses and RunStatus.RUNNING not in statuses:
            ended.append(Exit.PAUSED)
        return bool(ended)

    with Group(worker_children(opened.settings), opened.settings.home / "logs") as group:
        group.wait_ready(START_SECONDS)
        group.watch(until=look)
    return ended[0] if ended else Exit.INTERRUPTED


def _judge_again(opened: Installation, run_id: int, rejudging_id: int) -> RejudgingView:
    """Watch a re-judging until every program is judged. A worker of a running server may share the work."""
    last = ""

    def look() -> bool:
        nonlocal last
        time.sleep(POLL_SECONDS)
        seen = _view(opened, run_id, rejudging_id)
        line = f"{seen.finished} of {seen.programs} programs judged"
        if line != last:
            note(line)
            last = line
        return not seen.judging

    if _view(opened, run_id, rejudging_id).judging:
        children = [child for child in worker_children(opened.settings) if child.name == WorkerKind.EXECUTE]
        with Group(children, opened.settings.home / "logs") as group:
            group.wait_ready(START_SECONDS)
            group.watch(until=look)
    return _view(opened, run_id, rejudging_id)


def _view(opened: Installation, run_id: int, rejudging_id: int) -> RejudgingView:
    with opened.db.read() as session:
        return rejudging_view(session, run_id, rejudging_id)


def _rejudging_text(view: RejudgingView, *, applied: bool) -> str:
    done = "changed" if applied else "would change"
    lines = [f"{len(view.changes)} of {view.programs} verdicts {done} by judge {view.judge_version}"]
    lines += [f"  {c.label}, attempt {c.attempt_index}: {c.old} → {c.new}" for c in view.changes]
    if view.effect is not None:
        before, after = view.effect.before, view.effect.after
        lines.append(f"solved {before.solved_in_all} → {after.solved_in_all} of {after.of}")
        lines.append(f"{after.ended_early} ended early, {view.effect.surplus} surplus attempts")
    lines.append("applied; the old verdicts are kept" if applied else "nothing was replaced; --apply does it")
    return printable("\n".join(lines))


def _trajectory_text(document: dict[str, Any]) -> str:
    lines = [f"trajectory {document['id']}, {document['label']}: {document['outcome'] or 'under way'}"]
    for attempt in document["attempts"]:
        verdict = attempt["verdict"] or "waits for its verdict"
        cases = (
            "" if attempt["cases_total"] is None else f", {attempt['cases_passed']} of {attempt['cases_total']} passed"
        )
        flags = [name for name in ("weak", "near_limit", "judging_outdated", "surplus") if attempt[name]]
        lines.append(f"attempt {attempt['attempt']}: {verdict}{cases}{''.join(f', {flag}' for flag in flags)}")
        failure = attempt["first_failure"]
        if failure is not None and not failure["disclosed"]:
            lines.append(f"  fails case {failure['index']}, hidden: shown only where the protocol discloses all")
        elif failure is not None:
            given = [f"{name} {failure[name]}" for name in ("input", "expected", "actual", "error") if failure[name]]
            lines += [f"  {line}" for part in given for line in part.rstrip().split("\n")]
    return "\n".join(lines)


def _summary(opened: Installation, run_id: int) -> RunSummary:
    with opened.db.read() as session:
        return run_summary(session, run_id, JUDGE_VERSION)


def _repairs(opened: Installation, run_id: int) -> dict[str, Any] | None:
    """The averages over the last repair of each item; None for a run that does not start from buggy programs."""
    with opened.db.read() as session:
        found, unscored = last_repairs(session, run_id)
    return None if found is None else {**asdict(found), "unscored": unscored}


def _document(summary: RunSummary, repairs: dict[str, Any] | None) -> dict[str, Any]:
    """The run as `--json` prints it: fractions of 1, None where undefined; `decay_status` says why."""
    found = summary.decay
    return {
        "id": summary.id,
        "status": summary.status,
        "status_reason": summary.status_reason,
        "dry_run": summary.dry_run,
        "waiting": None if summary.wait is None else waiting(summary.wait, datetime.now(UTC)),
        "active_seconds": summary.progress.seconds,
        "model": summary.model_name,
        "problem_set": summary.problem_set_name,
        "problem_set_version": summary.problem_set_version,
        "judge_version": summary.judge_version,
        "judging_outdated": summary.judge_version not in (None, JUDGE_VERSION),
        "imported_from": summary.imported_from,
        "demo": summary.demo,
        "caveats": summary.caveats(),
        "problems": summary.problems,
        "ended": summary.ended,
        "excluded": summary.counts.excluded,
        "solved_at_attempt": list(summary.counts.solved),
        "censored_after_attempt": list(summary.counts.censored),
        "e0": found.e0.estimate,
        "lambda": found.lambda_,
        "r_squared": found.r_squared,
        "quality": found.quality,
        "half_life": found.half_life,
        "t_theta": None if found.t_theta is None else {f"{theta:g}": t for theta, t in found.t_theta.items()},
        "decay_status": found.status,
        "final_accuracy": found.final_accuracy.estimate,
        "repairs": repairs,
        "tokens": summary.tokens,
        "tokens_unknown": summary.evidence.tokens_unknown,
        "cost": summary.cost,
        "created_at": None if summary.created_at is None else summary.created_at.isoformat(),
        "finished_at": None if summary.finished_at is None else summary.finished_at.isoformat(),
    }


_CAVEATS = {
    "weak": "{} weak verdicts: the tests ran in the program's own process",
    "near_limit": "{} verdicts near the time limit, where a busy machine could decide",
    "unsandboxed": "{} verdicts without isolation",
    "recorded": "{} verdicts as recorded, not judged here",
    "sandbox_failures": "{} executions failed for the sandbox's sake and were tried again",
    "outdated": "judging outdated: {} verdicts are by other rules than today's; see `halflife runs rejudge`",
    "ended_early": "{} trajectories ended early: a re-judging took back the verdict they ended on",
    "surplus": "{} attempts are surplus, behind the end of their problem, and do not count",
    "rejudged_midway": "{} attempts got another verdict than the one that the attempts after them answered",
}

_WHY_NO_FIT = {
    DecayStatus.TOO_FEW_POINTS: "no fit: fewer than three attempts solved anything",
    DecayStatus.FLAT: "0 (no decline)",
    DecayStatus.NOT_CONVERGED: "no fit: the least-squares search did not converge",
    DecayStatus.NO_DATA: "no verdicts yet",
}


def _text(summary: RunSummary, repairs: dict[str, Any] | None) -> str:
    found = summary.decay
    rate = _WHY_NO_FIT.get(found.status) or f"{found.lambda_:.3f}, R² {_number(found.r_squared)}"
    problem_set = f"{summary.problem_set_name} v{summary.problem_set_version}"
    lines = [
        f"run {summary.id}: {summary.model_name} on {problem_set}, {summary.status}",
        f"solved at attempt 0, 1, …: {', '.join(map(str, summary.counts.solved))} of {found.n}",
        f"E0 {_percent(found.e0.estimate)}, final accuracy {_percent(found.final_accuracy.estimate)}, λ {rate}",
        f"{tokens(summary.tokens)}, cost {'unknown' if summary.cost is None else f'{summary.cost:.4f}'}",
    ]
    if repairs is not None:
        shares = ", ".join(
            f"{label} {_percent(repairs[name]['estimate'])}"
            for name, label in (
                ("precision", "precision"),
                ("recall", "recall"),
                ("f1", "F1"),
                ("unit_pass", "tests pass"),
            )
        )
        unscored = f", {repairs['unscored']} without a score are left out" if repairs["unscored"] else ""
        lines.append(f"{shares}; of {repairs['items']} last repairs{unscored}")
    if summary.imported_from is not None:
        lines.append(f"{imported(summary.imported_from, demo=summary.demo)}")
    if summary.dry_run:
        lines.append("a dry run: one problem, one attempt, on no board")
    if summary.wait is not None:
        lines.append(waiting(summary.wait, datetime.now(UTC)))
    if summary.counts.excluded:
        lines.append(f"{summary.counts.excluded} problems were cut short before a verdict and are left out")
    lines += [_CAVEATS[name].format(count) for name, count in summary.caveats().items() if count]
    return "\n".join(lines)


def _percent(share: float | None) -> str:
    return "undefined" if share is None else f"{100 * share:.1f} %"


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"
