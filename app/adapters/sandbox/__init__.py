"""Running programs nobody trusts: bubblewrap, and bare processes by explicit setting."""

from app.adapters.sandbox.bare import BareSandbox
from app.adapters.sandbox.bubblewrap import BubblewrapSandbox
from app.adapters.sandbox.opening import open_sandbox
from app.adapters.sandbox.probe import Check, probe

__all__ = ["BareSandbox", "BubblewrapSandbox", "Check", "open_sandbox", "probe"]
