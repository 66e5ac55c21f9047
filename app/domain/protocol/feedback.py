"""What the model is told about a failed attempt, within what the protocol discloses."""

from app.domain.protocol import feedback_loops, precise_debugging
from app.domain.protocol.edit_replies import Obstacle, Repair
from app.domain.protocol.policy import Disclosure, History, Prompts, Protocol
from app.domain.verdicts import FirstFailure, Judgement, Verdict

VERDICT_WORDS = {
    Verdict.AC: "Accepted",
    Verdict.CE: "Compile Error",
    Verdict.RE: "Runtime Error",
    Verdict.WA: "Wrong Answer",
    Verdict.TLE: "Time Limit Exceeded",
    Verdict.MLE: "Memory Limit Exceeded",
    Verdict.NO_CODE: "No code",
}

NO_CODE_FEEDBACK = (
    "Your reply held no program. Answer with the complete program in one fenced code block, and nothing else in it."
)


_GO_ON = "Find the fault, then answer with the complete corrected program in one fenced code block."


def may_show(failure: FirstFailure, disclosure: Disclosure) -> bool:
    """Whether a failing case may be shown: never for `verdict`, hidden ones only for `all`."""
    return disclosure is Disclosure.ALL or (disclosure is Disclosure.VISIBLE and failure.visible)


def feedback(judgement: Judgement, policy: Protocol) -> str:
    """The message sent after a failed attempt, in the protocol's wording.

    Ours, and that of the prompts for repairs, names the verdict; then, as far as the protocol discloses it, the input,
    the expected and the actual value and the error of the first failing case. Where that case is hidden it says just
    that. A compile error is the program's own and is always shown.
    """
    if policy.prompts is Prompts.FEEDBACK_LOOPS:
        return feedback_loops.told(judgement, policy.disclosure)
    disclosure = policy.disclosure
    lines = [f"Your program was judged: {VERDICT_WORDS[judgement.verdict]}."]
    failure = judgement.first_failure
    if judgement.verdict is Verdict.CE:
        if failure is not None and failure.error:
            lines.append(failure.error.rstrip())
    elif disclosure is not Disclosure.VERDICT:
        lines.append(f"It passed {judgement.cases_passed} of {judgement.cases_total} tests.")
        if failure is not None and may_show(failure, disclosure):
            lines += _shown(failure)
        elif failure is not None:
            lines.append("It fails on a hidden test.")
    if policy.history is not History.APPENDED:
        lines.append(_GO_ON if policy.prompts is Prompts.HALFLIFE else precise_debugging.AGAIN)
    return "\n".join(lines)


def not_applied(repair: Repair) -> str:
    """The message sent after a reply whose edits give no program."""
    edit = "an edit" if repair.part is None else f"edit {repair.part}"
    why = {
        Obstacle.LINES_NOT_FOUND: f"the lines that {edit} replaces are not in the program",
        Obstacle.LINES_FOUND_TWICE: f"the lines that {edit} replaces are in several places of the program",
        Obstacle.NO_PLACE: f"{edit} does not say where its lines belong",
        Obstacle.UNKNOWN_FILE: f"{edit} is of a file that the program does not have",
        Obstacle.NO_CHANGE: "they change nothing",
    }[repair.obstacle or Obstacle.NO_CHANGE]
    return (
        f"Your edits could not be applied to the buggy program: {why}. Edits are applied to its original text. Answer "
        "with the complete corrected program in one fenced code block."
    )


def _shown(failure: FirstFailure) -> list[str]:
    lines = ["The first failing test:", f"Input: {failure.input}"]
    if failure.expected is not None:
        lines.append(f"Expected: {failure.expected}")
    if failure.actual is not None:
        lines.append(f"Actual: {failure.actual}")
    if failure.error:
        lines.append(failure.error.rstrip())
    return lines
