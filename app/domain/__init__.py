"""The science and the rules of a run: pure, framework-free, no clock and no hidden randomness."""
