"""Published figures of the Precise Debugging Benchmark, as printed, to stand beside ours and never among them."""

import re
from dataclasses import dataclass

_NUMBER = re.compile(r"(\d+(?:\.\d+)?)(?: ± \d+(?:\.\d+)?)?")


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One printed row: precision, recall and unit-test pass rate in percent, in the source's own words."""

    name: str
    precision: str
    recall: str
    unit_pass: str
    remark: str = ""

    @property
    def place(self) -> tuple[float, float] | None:
        """Precision and pass rate as fractions, where both are printed as numbers."""
        found = [_NUMBER.fullmatch(text) for text in (self.precision, self.unit_pass)]
        if found[0] is None or found[1] is None:
            return None
        return float(found[0][1]) / 100, float(found[1][1]) / 100


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A table with what it is of: on which items, and where it is printed."""

    slug: str
    title: str
    source: str
    remarks: str
    rows: tuple[PublishedRow, ...]


_PAPER = "Zhu et al. 2026, arXiv 2604.17338, by a published summary of the paper"

SINGLE = PublishedTable(
    "single",
    "PDB-Single",
    f"5,751 programs with bugs of one line, ε = 2, minimal prompt, one round. {_PAPER}; the classes are the summary's.",
    "Class, as printed",
    (
        PublishedRow("Claude-Sonnet-4.5", "71.8 ± 0.9", "81.4 ± 0.8", "75.7 ± 1.1", "pass with precision"),
        PublishedRow("Gemini-2.5-Pro", "71.4 ± 0.9", "83.5 ± 0.7", "78.1 ± 1.0", "pass with precision"),
        PublishedRow("Qwen3-Coder-480B", "65.8 ± 0.9", "77.2 ± 0.9", "70.3 ± 1.2", "weak but precise"),
        PublishedRow("Kimi-K2-Instruct", "56.6 ± 1.0", "72.7 ± 0.9", "64.8 ± 1.2", "weak and imprecise"),
        PublishedRow("Grok-Code-Fast", "54.6 ± 1.0", "66.5 ± 1.0", "58.3 ± 1.3", "weak and imprecise"),
        PublishedRow("Kimi-K2-Thinking", "51.7 ± 0.9", "75.6 ± 0.9", "74.0 ± 1.1", "imprecise reasoning"),
        PublishedRow("DeepSeek-V3.2", "48.4 ± 1.0", "70.0 ± 1.0", "71.4 ± 1.2", "pass-oriented"),
        PublishedRow("DeepSeek-V3.2-Thinking", "45.0 ± 0.9", "71.2 ± 1.0", "79.0 ± 1.0", "pass-oriented"),
        PublishedRow("GPT-5.1-Codex", "39.7 ± 0.8", "71.7 ± 0.9", "76.1 ± 1.1", "pass-oriented"),
    ),
)
WILD = PublishedTable(
    "wild",
    "PDB-Wild",
    f"484 programs with bugs of several lines or of whole repositories, ε = 1. {_PAPER}.",
    "",
    (
        PublishedRow("Claude-Opus-4.7", "77.8", "83.4", "75.8"),
        PublishedRow("Gemini-3.1-Pro-Preview", "77.8", "85.6", "85.1"),
        PublishedRow("Claude-Sonnet-4.5", "68.7", "77.8", "69.2"),
        PublishedRow("GPT-5.5", "60.9", "83.0", "84.3"),
        PublishedRow("Gemini-2.5-Pro", "58.3", "70.5", "68.8"),
        PublishedRow("Qwen3.6-plus", "50.5", "62.7", "65.3"),
        PublishedRow("Kimi-K2.6", "45.7", "62.3", "43.4"),
        PublishedRow("GPT-5.1-Codex", "37.1", "59.1", "68.6"),
    ),
)
HARD = PublishedTable(
    "hard",
    "README: hard subset",
    "The example output of the repository's README, round 1 of an earlier hard subset of 5,734 programs: other figures"
    " than the paper's for the same model. github.com/Bill1235813/PDB.",
    "F1, %",
    (
        PublishedRow("GPT-5.1-Codex, BigCodeBench part (2,510)", "54.8", "77.7", "73.3", "60.2"),
        PublishedRow("GPT-5.1-Codex, LiveCodeBench part (3,224)", "46.5", "78.9", "91.4", "54.0"),
        PublishedRow("GPT-5.1-Codex, union (5,734)", "50.0", "78.3", "82.8", "56.6"),
    ),
)
ABLATION = PublishedTable(
    "ablation",
    "Prompts, rewritten references, rounds",
    f"500 programs of PDB-Single's BigCodeBench part; what is no number is printed in words. {_PAPER}.",
    "As explained there",
    (
        PublishedRow("Minimal prompt", "73.0", "83.1", "76.2", "the basic setting"),
        PublishedRow(
            "Freeform prompt", "< 45.0 (mean)", "falls clearly", "holds or rises a little",
            "precision collapses without the restriction; GPT-5.1-Codex falls below 20 %",
        ),
        PublishedRow(
            "Reference rewritten by the same model", "76.5", "86.6", "76.4",
            "rules out contamination by memory: precision rises by 3.5",
        ),
        PublishedRow(
            "Reference rewritten by another model", "75.8", "86.8", "74.8",
            "a foreign style makes debugging harder: the pass rate falls by 1.4",
        ),
        PublishedRow(
            "Iterative, three rounds", "falls or holds", "rises by 3–5", "rises by 4–7",
            "more rounds pass more by changing more; precision does not rise",
        ),
        PublishedRow(
            "Agentic, with test feedback", "falls further (about 50)", "rises by 4–6", "rises by 5–8",
            "error messages bring about rewriting rather than the smallest repair",
        ),
    ),
)  # fmt: skip
TABLES = (SINGLE, WILD, HARD, ABLATION)
ON_THE_PLANE = {table.slug: table for table in (SINGLE, WILD, HARD)}
"""Those whose rows are places on the plane of precision and pass rate."""
