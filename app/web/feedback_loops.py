"""What the paper on iterative feedback loops published on fixed errors, to stand beside ours, labelled as such.

Its table 5: error events by verdict, and how many of them the next attempt fixed. Its repository is under the MIT
licence. The paper prints 4/17 as 23.6 % and 6/14 as 42.8 %; the quotients are 23.5 and 42.9.
"""

from app.domain.verdicts import Verdict

SOURCE = "https://github.com/lezhangisu/LLM-Code-Correction"
LICENCE = "MIT"
VERDICTS = (Verdict.RE, Verdict.WA, Verdict.TLE, Verdict.MLE)
"""Python's: the paper's judge counts its syntax errors as runtime errors, so that there is no compile error."""
ERROR_FIXES: dict[str, tuple[tuple[int, int], ...]] = {
    "DeepSeek-R1": ((14, 10), (75, 45), (39, 6), (3, 3)),
    "GPT-o4-mini": ((12, 11), (65, 34), (14, 6), (0, 0)),
    "DeepSeek-V3": ((1, 1), (210, 60), (42, 6), (4, 0)),
    "GPT-4.1-mini": ((2, 2), (222, 53), (23, 4), (1, 0)),
}
"""For Python: occurrences and fixes by model, in the order of `VERDICTS`."""
