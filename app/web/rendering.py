"""The template environment: filters for numbers and times, and the one place where text is made printable."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from fastapi.templating import Jinja2Templates
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from app.config import ROOT, SandboxChoice
from app.domain.codec import CodecError, readable
from app.judge.judge import JUDGE_VERSION
from app.web import marks, wording
from app.web.auth import admitted, signed_in
from app.web.csrf import FormTokens
from app.web.deps import app_state
from app.web.highlight import changed_lines, diff_lines, highlighted_lines
from app.web.text import ends, printable, shortened

UNKNOWN = "unknown"


def render(request: Request, name: str, context: Mapping[str, Any], status_code: int = 200) -> HTMLResponse:
    """Render a page or partial for this request."""
    return _TEMPLATES.TemplateResponse(request, name, dict(context), status_code=status_code)


def macros(name: str) -> Callable[..., str]:
    """The macros of a template, called by their names: for parts of pages that are sent by themselves."""
    module = _TEMPLATES.env.get_template(name).module
    return lambda macro, *arguments: str(getattr(module, macro)(*arguments))


def integer(value: int | None) -> str:
    """1,234 or "unknown"."""
    return UNKNOWN if value is None else f"{value:,}"


def percent(fraction: float | None, digits: int = 1) -> str:
    """58.5 for the fraction 0.585; the unit stands beside it. A dash where there is nothing to divide by."""
    return "–" if fraction is None else f"{100 * fraction:.{digits}f}"


def share(fraction: float | None) -> str:
    """A share with its unit; a dash alone where it is undefined."""
    return "–" if fraction is None else f"{percent(fraction)} %"


def money(value: float | None) -> str:
    """A cost with four decimals, or "unknown": never 0 for a cost that nobody knows."""
    return UNKNOWN if value is None else f"{value:,.4f}"


def price(value: float | None) -> str:
    """A price per million tokens."""
    return UNKNOWN if value is None else f"{value:g}"


def milliseconds(value: float | None) -> str:
    """A duration in the unit a person would choose."""
    if value is None:
        return UNKNOWN
    return f"{value:.1f} ms" if value < 1000 else f"{value / 1000:.2f} s"


def clock(value: datetime) -> Markup:
    """A time as <time>, to the minute in UTC."""
    utc = value.astimezone(UTC)
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        utc.isoformat(timespec="seconds"), utc.strftime("%Y-%m-%d %H:%M:%S UTC"), utc.strftime("%Y-%m-%d %H:%M")
    )


def literal(value: str, limit: int = 400) -> str:
    """A stored test value as a Python literal; the stored text itself where it cannot be read."""
    try:
        return readable(value, limit)
    except CodecError:
        return shortened(value, limit)


def call_arguments(arguments: str) -> str:
    """A stored tuple of arguments as written in a call: `(1,)` is how Python writes the tuple, not the call."""
    shown = literal(arguments)
    return shown.removesuffix(",)") + ")" if shown.endswith(",)") else shown


def _finalize(value: Any) -> Any:
    """Runs on every value a template prints, so that no page can fail on, or be deceived by, untrusted text."""
    return printable(value) if type(value) is str else value


def _page_context(request: Request) -> dict[str, Any]:
    return {"unsandboxed": app_state(request).settings.sandbox is SandboxChoice.UNSANDBOXED}


def _environment() -> Environment:
    env = Environment(
        loader=FileSystemLoader(ROOT / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        extensions=[FormTokens],
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters.update(
        integer=integer,
        percent=percent,
        share=share,
        money=money,
        price=price,
        milliseconds=milliseconds,
        clock=clock,
        literal=literal,
        call_arguments=call_arguments,
        shortened=shortened,
        ends=ends,
        highlighted=highlighted_lines,
    )
    env.globals.update(
        verdict_mark=marks.verdict_mark,
        outcome_mark=marks.outcome_mark,
        status_mark=marks.status_mark,
        changed_lines=changed_lines,
        diff_lines=diff_lines,
        words=wording,
        judge_version=JUDGE_VERSION,
        admitted=admitted,
        signed_in=signed_in,
    )
    return env


_TEMPLATES = Jinja2Templates(env=_environment(), context_processors=[_page_context])
