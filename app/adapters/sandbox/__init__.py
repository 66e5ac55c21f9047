"""Running programs nobody trusts: in bubblewrap, in slot containers, or as bare processes by explicit setting."""

from app.adapters.sandbox.bare import BareSandbox
from app.adapters.sandbox.bubblewrap import BubblewrapSandbox
from app.adapters.sandbox.opening import open_sandbox
from app.adapters.sandbox.probe import Check, probe
from app.adapters.sandbox.slot_container import SlotSandbox

__all__ = ["BareSandbox", "BubblewrapSandbox", "Check", "SlotSandbox", "open_sandbox", "probe"]
