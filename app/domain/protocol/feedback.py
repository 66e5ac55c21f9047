"""What the model is told about a failed attempt, within what the protocol discloses."""

from app.domain.protocol import feedback_loops
from app.domain.protocol.policy import Disclosure, Prompts, Protocol
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


def may_show(failure: FirstFailure, disclosure: Disclosure) -> bool:
    """Whether a failing case may be shown: never for `verdict`, hidden ones only for `all`."""
    return disclosure is Disclosure.ALL or (disclosure is Disclosure.VISIBLE and failure.visible)


def feedback(judgement: Judgement, policy: Protocol) -> str:
    """The message sent after a failed attempt, in the protocol's wording.

    Ours names the verdict; then, as far as the protocol discloses it, the input, the expected and the actual value and
    the error of the first failing case. Where that case is hidden it says just that. A compile error is the
    program's own and is always shown.
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
    lines.append("Find the fault, then answer with the complete corrected program in one fenced code block.")
    return "\n".join(lines)


def _shown(failure: FirstFailure) -> list[str]:
    lines = ["The first failing test:", f"Input: {failure.input}"]
    if failure.expected is not None:
        lines.append(f"Expected: {failure.expected}")
    if failure.actual is not None:
        lines.append(f"Actual: {failure.actual}")
    if failure.error:
        lines.append(failure.error.rstrip())
    return lines
