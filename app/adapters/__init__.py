"""The outside world behind the ports of `app.domain.ports`."""
