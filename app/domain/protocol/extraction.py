"""From a model's reply to a program."""

import re
from dataclasses import dataclass

from app.domain.programs import Program

_FENCE = re.compile(
    r"^[ \t]*(?P<mark>`{3,}|~{3,})[ \t]*(?P<info>[^\n`]*)\n(?P<body>.*?)(?:^[ \t]*(?P=mark)[`~]*[ \t]*$|\Z)",
    re.M | re.S,
)
_LANGUAGES = {"python": {"python", "py", "python3"}}
_CODE_START = re.compile(r"^(?:from\s+\S+\s+import\s|import\s+\S|def\s+\w+\s*\(|class\s+\w+|@\w)", re.M)


@dataclass(frozen=True, slots=True)
class Extraction:
    """The program a reply holds, and how it was found.

    `program` is None where the reply holds none. `rule` is `fenced`, `fenced_several` (several candidate
    blocks; the last that defines the entry point was taken), `bare` (no fence, the text is code) or `none`.
    """

    program: Program | None
    rule: str


def extract(reply: str, entry_point: str, language: str = "python") -> Extraction:
    """Find the program in `reply`.

    Fenced blocks labelled with the language (or unlabelled) are candidates; among several, the last one that
    defines the entry point wins, since models show the old program before the new one. A block whose closing
    fence is missing (a truncated reply) counts. Without any fence, text that starts with code is taken whole
    from there on. A reply that holds no code gives no program.
    """
    text = reply.replace("\r\n", "\n")
    blocks = [(match["info"].strip().split(maxsplit=1), match["body"]) for match in _FENCE.finditer(text)]
    candidates = [
        body for info, body in blocks if (not info or info[0].lower() in _LANGUAGES[language]) and body.strip()
    ]
    if candidates:
        name = re.escape(entry_point.rpartition(".")[2])
        defining = [body for body in candidates if re.search(rf"\b(?:def|class)\s+{name}\b|^{name}\s*=", body, re.M)]
        rule = "fenced" if len(candidates) == 1 else "fenced_several"
        return Extraction(Program.single((defining or candidates)[-1], language), rule)
    if not blocks and (start := _CODE_START.search(text)):
        return Extraction(Program.single(text[start.start() :].rstrip() + "\n", language), "bare")
    return Extraction(None, "none")
