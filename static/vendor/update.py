"""Fetch the pinned packages with npm and keep the files that the pages use. Run it from anywhere.

To move to a newer version, change it in `PACKAGES`, run this script, look at the pages, and commit the result. Plotly
is built here of the parts that the pages use. Its version and esbuild's stand in plotly/package.json, and what both
need in the lock file beside it, which `npm install --package-lock-only --omit-lockfile-registry-resolved` renews.
"""

import json
import re
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

VENDOR = Path(__file__).resolve().parent

PACKAGES: dict[str, tuple[str, dict[str, str]]] = {
    "pico": ("@picocss/pico@2.1.1", {"css/pico.min.css": "pico.min.css", "LICENSE.md": "LICENSE.md"}),
    "htmx": ("htmx.org@4.0.1", {"dist/htmx.min.js": "htmx.min.js", "LICENSE": "LICENSE"}),
    "inter": (
        "@fontsource-variable/inter@5.3.0",
        {
            "files/inter-latin-wght-normal.woff2": "inter-latin.woff2",
            "files/inter-greek-wght-normal.woff2": "inter-greek.woff2",
            "LICENSE": "LICENSE",
        },
    ),
    # The same face where pictures are drawn: the renderer takes neither WOFF2 nor the weights of a variable font.
    "inter-static": (
        "@expo-google-fonts/inter@0.4.2",
        {
            "400Regular/Inter_400Regular.ttf": "inter-regular.ttf",
            "600SemiBold/Inter_600SemiBold.ttf": "inter-semibold.ttf",
            "LICENSE_FONT": "LICENSE",
        },
    ),
    "jetbrains-mono": (
        "@fontsource-variable/jetbrains-mono@5.3.0",
        {"files/jetbrains-mono-latin-wght-normal.woff2": "jetbrains-mono-latin.woff2", "LICENSE": "LICENSE"},
    ),
    "lucide": ("lucide-static@1.62.0", {"LICENSE": "LICENSE"}),
}

TRACES = ("bar", "box", "heatmap", "sankey")
"""Kinds of Plotly traces beside scatter, which is always there."""

ESBUILD = (
    "--bundle", "--minify", "--format=iife", "--global-name=Plotly", "--target=es2020", "--define:global=window",
    "--define:define.amd=false", "--alias:stream=stream-browserify", "--legal-comments=none", "--log-level=warning",
    # Maps bring a style sheet of their own, and the pages have none.
    "--loader:.css=empty",
)  # fmt: skip
"""As Plotly's own bundles are made."""

STYLE_ATTRIBUTE = (
    "  this.setAttribute(name, value);",
    '  if (name === "style") this.style.cssText = value; else this.setAttribute(name, value);',
)
"""How Plotly's d3 sets an attribute, and how it does here: the pages' policy refuses style attributes, which heatmaps,
sankeys and subscripts have, and lets scripts set the same styles by property."""

ICONS = (
    "check", "x", "zap", "code-xml", "clock", "memory-stick", "file-question-mark", "unplug", "eye-off", "wallet",
    "circle-slash", "circle-dot", "hourglass", "pause", "sun-moon", "copy", "triangle-alert", "plus", "play", "square",
)  # fmt: skip
"""Icons in the sprite, by their name in Lucide."""


def unpack(package: str, into: Path) -> Path:
    """Fetch one package and return the folder its files are in."""
    packed = subprocess.run(
        ["npm", "pack", "--silent", package], cwd=into, check=True, capture_output=True, text=True
    ).stdout.split()[-1]
    with tarfile.open(into / packed) as archive:
        archive.extractall(into / packed.removesuffix(".tgz"), filter="data")
    return into / packed.removesuffix(".tgz") / "package"


def sprite(icons: Path) -> str:
    """One SVG of symbols. Stroke and size come from the page's style, so only the shapes are kept."""
    symbols = []
    for name in ICONS:
        svg = (icons / f"{name}.svg").read_text()
        shapes = re.search(r"<svg[^>]*>(.*)</svg>", svg, re.S)
        if shapes is None:
            raise SystemExit(f"{name}.svg is not an SVG file")
        symbols.append(f'<symbol id="{name}" viewBox="0 0 24 24">{" ".join(shapes[1].split())}</symbol>')
    return '<svg xmlns="http://www.w3.org/2000/svg">\n' + "\n".join(symbols) + "\n</svg>\n"


def build_plotly(scratch: Path) -> None:
    """Plotly with the traces above in one file, and the licence of every package in it in another."""
    target = VENDOR / "plotly"
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(target / name, scratch / name)
    # No package's own scripts: nothing here needs them.
    subprocess.run(["npm", "ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=scratch, check=True)
    d3 = scratch / "node_modules/@plotly/d3/d3.js"
    source = d3.read_text()
    if source.count(STYLE_ATTRIBUTE[0]) != 1:
        raise SystemExit("Plotly's d3 sets attributes in another way now: see STYLE_ATTRIBUTE")
    d3.write_text(source.replace(*STYLE_ATTRIBUTE))
    traces = ", ".join(f'require("plotly.js/lib/{name}")' for name in TRACES)
    entry = f'const Plotly = require("plotly.js/lib/core"); Plotly.register([{traces}]); module.exports = Plotly;'
    outputs = ["--outfile=plotly.min.js", "--metafile=built.json"]
    subprocess.run(["node_modules/.bin/esbuild", *ESBUILD, *outputs], cwd=scratch, check=True, text=True, input=entry)
    shutil.copyfile(scratch / "plotly.min.js", target / "plotly.min.js")
    sources = json.loads((scratch / "built.json").read_text())["outputs"]["plotly.min.js"]["inputs"]
    folders = {found[0] for source in sources if (found := re.match(r"(.*node_modules/)(@[^/]+/)?[^/]+", source))}
    (target / "LICENSE").write_text("\n".join(licence(scratch / folder) for folder in sorted(folders)))


def licence(package: Path) -> str:
    """The name, version and licence of an installed package, and the text where it brings one."""
    about = json.loads((package / "package.json").read_text())
    texts = [path for path in package.iterdir() if re.match(r"licen[cs]e", path.name, re.IGNORECASE)]
    text = texts[0].read_text() if texts else f"Its authors state the licence {about['license']} without a text.\n"
    return f"== {about['name']} {about['version']} ({about['license']})\n\n{text.strip()}\n"


def main() -> None:
    """Replace every vendored folder."""
    with tempfile.TemporaryDirectory() as scratch:
        for folder, (package, files) in PACKAGES.items():
            unpacked = unpack(package, Path(scratch))
            target = VENDOR / folder
            shutil.rmtree(target, ignore_errors=True)
            target.mkdir()
            for source, name in files.items():
                shutil.copyfile(unpacked / source, target / name)
            if folder == "lucide":
                (target / "sprite.svg").write_text(sprite(unpacked / "icons"))
        build = Path(scratch) / "plotly"
        build.mkdir()
        build_plotly(build)


if __name__ == "__main__":
    main()
