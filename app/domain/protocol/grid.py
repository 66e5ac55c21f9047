"""Grids of temperature × top-p: protocols alike in everything but how the model samples."""

from dataclasses import dataclass, replace
from itertools import product

from app.domain.errors import InputError
from app.domain.protocol.policy import Protocol, check_sampling

MOST_CELLS = 25
"""Each may cost as much as the run itself."""


@dataclass(frozen=True, slots=True)
class SamplingGrid:
    """Values of each axis in the order they were given; an empty axis leaves the protocol's own value.

    Raises InputError for values that no endpoint takes, and for more than `MOST_CELLS` cells.
    """

    temperatures: tuple[float, ...] = ()
    top_ps: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for temperature in self.temperatures:
            check_sampling(temperature, None)
        for top_p in self.top_ps:
            check_sampling(None, top_p)
        cells = max(1, len(self.temperatures)) * max(1, len(self.top_ps))
        if cells > MOST_CELLS:
            raise InputError(f"grid: at most {MOST_CELLS} cells at once, not {cells}")

    @classmethod
    def parse(cls, temperatures: str, top_ps: str) -> "SamplingGrid":
        """From `0.1, 0.9` and `0.3 0.95`, each value once. Raises InputError.

        Examples
        --------
        >>> SamplingGrid.parse("0.1, 0.9", "")
        SamplingGrid(temperatures=(0.1, 0.9), top_ps=())
        """
        return cls(_values("temperature", temperatures), _values("top-p", top_ps))

    def cells(self, protocol: Protocol) -> tuple[Protocol, ...]:
        """The protocol of each cell, temperature by temperature; without values, that protocol alone."""
        axes = product(self.temperatures or (protocol.temperature,), self.top_ps or (protocol.top_p,))
        return tuple(
            dict.fromkeys(replace(protocol, temperature=temperature, top_p=top_p) for temperature, top_p in axes)
        )


NO_GRID = SamplingGrid()


def _values(name: str, text: str) -> tuple[float, ...]:
    words = text.replace(",", " ").split()
    try:
        return tuple(dict.fromkeys(float(word) for word in words))
    except ValueError:
        raise InputError(f"{name}: numbers separated by commas, such as 0.1, 0.9, not {text!r}") from None
