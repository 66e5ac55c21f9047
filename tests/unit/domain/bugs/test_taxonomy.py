"""Labels of bugs in the spellings of people and models."""

import pytest

from app.domain.bugs.taxonomy import OTHER, TAXONOMY, known, normal_label


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        (("Checking", "Off-by-One Error"), ("Checking", "Off-by-One Error")),
        (("checking", "off by one"), ("Checking", "Off-by-One Error")),
        (("Checking", "Missing or incomplete check"), ("Checking", "Missing or Incomplete Checks")),
        (("Build / package / merge", "Invalid API call"), ("Build/Package/Merge", "Invalid API Call")),
        (("Algorithm", "Infinite loop/recursion"), ("Algorithm", "Infinite Loop or Recursion")),
        (
            ("Timing/Serialization", "Serialization Issue with Loop Order"),
            ("Timing/Serialization", "Serialization Issue"),
        ),
        (("Assignment", "Name Error in a loop"), ("Assignment", "Name Error")),
        (("Assignment", "names"), ("Assignment", "Name Error")),
        # What begins with the word that tells a subclass apart is not yet that subclass.
        (("Assignment", "Name Collision"), ("Assignment", "Name Collision")),
        (("Assignment", "Name shadowing"), ("Assignment", "Name shadowing")),
        (("Algorithm", "Infinite loop/recursion with memo"), ("Algorithm", "Infinite Loop or Recursion")),
        # Algorithm has a subclass for others, Timing has none.
        (("Algorithm", "Others"), ("Algorithm", "Other Logical Errors")),
        (("Timing/Serialization", "Others"), ("Timing/Serialization", OTHER)),
        # Unknown words stay.
        (("Checking", "Wrong Operator"), ("Checking", "Wrong Operator")),
        (("Interface", "Off-by-One Error"), ("Interface", "Off-by-One Error")),
        (("Checking", None), ("Checking", None)),
        ((None, "Odd"), (None, "Odd")),
        ((None, None), (None, None)),
    ],
)
def test_labels(written: tuple[str | None, str | None], normal: tuple[str | None, str | None]) -> None:
    assert normal_label(*written) == normal


def test_every_name_is_its_own_normal_form() -> None:
    for odc_class, subclasses in TAXONOMY.items():
        for subclass in subclasses:
            assert normal_label(odc_class.upper(), subclass.lower()) == (odc_class, subclass)
            assert known(odc_class, subclass)
        assert known(odc_class, OTHER)
    assert not known("Checking", "Wrong Operator")
    assert not known("Interface", OTHER)
