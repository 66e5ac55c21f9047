"""Pictures drawn by the server."""

import struct
import zlib

from defusedxml import ElementTree

from app.domain.metrics.intervals import wilson
from app.domain.protocol.policy import Protocol
from app.web.drawing import board_card, decay_svg, png, run_card
from app.web.fits import fits

FITS = fits((96, 23, 16, 5, 2, 4), 164)
CURVE = FITS.published
HOSTILE = '<script>&"\x00\ud800\u202e'


def pixels(image: bytes) -> tuple[int, int, bytes]:
    """Width, height and the raw scan lines of a PNG."""
    assert image.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", image[16:24])
    data, place = b"", 8
    while place < len(image):
        (length,) = struct.unpack(">I", image[place : place + 4])
        if image[place + 4 : place + 8] == b"IDAT":
            data += image[place + 8 : place + 8 + length]
        place += 12 + length
    return width, height, zlib.decompress(data)


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter() if element.tag.endswith("text")]


def test_the_chart_draws_every_point_at_its_place() -> None:
    svg = decay_svg(FITS, Protocol(), "codestral", ["164 problems"])
    circles = [e for e in ElementTree.fromstring(svg).iter() if e.tag.endswith("circle") and e.get("r") == "5"]
    points = circles[:-1]  # the last one is the legend's
    assert len(points) == 6
    # Attempt 0 solved 96 of 164 = 58.54 %. The axis ends at 70: the interval reaches 65.8. It spans y = 456 … 124.
    assert float(points[0].get("cy", "0")) == round(456 - 332 * 58.5366 / 70, 1)
    assert {"0", "1", "5", "attempt", "published fit, a·exp(−λt)", "careful fit, 95 % band"} <= set(texts(svg))
    # The careful curve begins at 57.36 %, and its band at 50.05 to 64.55 %: see test_hazard.
    band, careful, _ = [e.get("d") or "" for e in ElementTree.fromstring(svg).iter() if e.tag.endswith("path")]
    first, last = band.split(" L")[0], band.removesuffix(" z").split(" L")[-1]
    ys = [float(place.split(",")[1]) for place in (first, last, careful.split(" L")[0])]
    assert ys == [round(456 - 332 * percent / 70, 1) for percent in (64.551, 50.048, 57.361)]


def test_without_a_fit_no_curve_is_drawn() -> None:
    svg = decay_svg(fits((3, 0), 9), Protocol(attempts=2), "m", [])
    assert "<path" not in svg
    assert "published fit" not in svg


def test_hostile_names_stay_text() -> None:
    for svg in (
        decay_svg(FITS, Protocol(), HOSTILE, [HOSTILE]),
        run_card(CURVE, Protocol(), HOSTILE, HOSTILE, HOSTILE),
        board_card(HOSTILE, HOSTILE, HOSTILE, [(HOSTILE, wilson(1, 2))]),
    ):
        assert any("<script>" in text and "\\x00" in text for text in texts(svg))
        assert png(svg).startswith(b"\x89PNG")


def test_letters_are_drawn_by_our_own_font() -> None:
    """Text without a font leaves no mark, silently."""
    with_words = png(run_card(CURVE, Protocol(), "codestral", "HumanEval", ""))
    without = png(run_card(CURVE, Protocol(), "", "HumanEval", ""))
    assert pixels(with_words)[:2] == (1200, 630)
    assert pixels(with_words)[2] != pixels(without)[2]
