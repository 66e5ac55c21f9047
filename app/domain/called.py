"""What is called in place of an entry point where a test is more than one call, and how such a test reads. Pure."""

from app.domain.codec import CodecError, decode, readable
from app.domain.problems import CaseTests

CALLED = "_halflife_call"
_LISTED = """
def {called}(*arguments):
    return list({function}(*arguments))
"""
_OBSERVED = """
def {called}(statements):
    *before, last = statements
    names = dict(globals())
    exec("\\n".join(before), names)
    return eval(last, names)
"""


def listed(function: str) -> str:
    """Prelude by which the elements of what the function gives are compared, whatever holds them."""
    return _LISTED.format(called=CALLED, function=function)


def observed() -> str:
    """Prelude by which a case's argument is a list of statements; the value of the last one, an expression, counts."""
    return _OBSERVED.format(called=CALLED)


def written(entry_point: str, tests: CaseTests, arguments: str, limit: int) -> str:
    """A case's arguments as the code that is compared: a call, or statements and an expression.

    Encoded arguments of a call are cut to `limit` characters; what is no encoded value is shown as it stands.
    """
    if tests.called == CALLED and tests.prelude.endswith(observed()):
        (statements,) = decode(arguments)
        return "\n".join(statements)
    try:
        shown = readable(arguments, limit)
    except CodecError:
        shown = arguments[:limit]
    call = f"{entry_point}{shown}"
    return f"list({call})" if tests.called == CALLED and tests.prelude.endswith(listed(entry_point)) else call
