"""`tools/mathml.py` sets the formulas of the documentation, and refuses what it does not know."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

TOOLS = Path(__file__).parents[1] / "tools"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


MATH = load("mathml")


def outline(formula: str) -> str:
    """The elements and letters of a formula, without attributes."""
    return re.sub(r"<(\w+) [^>/]*(/?)>", r"<\1\2>", MATH.mathml(formula))


@pytest.mark.parametrize(
    ("formula", "made"),
    [
        ("x^i", "<msup><mi>x</mi><mrow><mi>i</mi></mrow></msup>"),
        ("w_{ij}", "<msub><mi>w</mi><mrow><mi>i</mi><mi>j</mi></mrow></msub>"),
        (
            "x_i^2",
            "<msubsup><mi>x</mi><mi>i</mi><mrow><mn>2</mn></mrow></msubsup>",
        ),
        ("x'", "<msup><mi>x</mi><mrow><mo>′</mo></mrow></msup>"),
        (r"\frac1B", "<mfrac><mn>1</mn><mi>B</mi></mfrac>"),
        (r"\sqrt{2}", "<msqrt><mn>2</mn></msqrt>"),
        (r"\tilde g", "<mover><mi>g</mi><mo>˜</mo></mover>"),
        (r"\sum_b", "<munder><mo>∑</mo><mi>b</mi></munder>"),
        (r"\mathcal{N}", "<mi>𝒩</mi>"),
        (r"44{,}426.5", "<mn>44,426.5</mn>"),
        (r"\log x", '<mrow><mi>log</mi><mspace width="0.17em"/><mi>x</mi></mrow>'),
        (r"\log(x)", "<mrow><mi>log</mi><mo>(</mo><mi>x</mi><mo>)</mo></mrow>"),
        (r"\text{a < b}", "<mtext>a\xa0&lt;\xa0b</mtext>"),
        ("a<b", "<mrow><mi>a</mi><mo>&lt;</mo><mi>b</mi></mrow>"),
        ("-1", "<mrow><mo>−</mo><mn>1</mn></mrow>"),
        (r"\operatorname{clip}_C", "<msub><mi>clip</mi><mi>C</mi></msub>"),
    ],
)
def test_a_formula_is_what_it_says(formula, made):
    assert outline(formula).replace("<mspace/>", '<mspace width="0.17em"/>') == (
        f"<math>{made}</math>"
    )


def test_lines_are_aligned_at_their_signs():
    made = outline(r"\begin{aligned} a &= b \\ c &\gets d \end{aligned}")
    assert made.count("<mtr>") == 2
    assert made.count("<mtd>") == 4
    assert "<mtd><mi>a</mi></mtd><mtd><mrow><mo>=</mo><mi>b</mi></mrow></mtd>" in made


@pytest.mark.parametrize(
    ("formula", "why"),
    [
        (r"\fracc12", r"\\fracc is not known"),
        (r"x^{i", "} is missing"),
        (r"x_", "something is missing at the end"),
        (r"a}b", "'}' has no meaning here"),
        (r"\begin{matrix} a \end{matrix}", "the environment matrix is not known"),
        (r"\begin{aligned} a", "something is missing at the end"),
        (r"\text x", "words in braces are missing"),
        (r"\left( x", "right is missing"),
        (r"x_1_2", "_ stands there twice"),
        (r"x^1_2^3", r"\^ stands there twice"),
        (r"a & b", "'&' has no meaning here"),
        (r"a $ b", "has no meaning here"),
        (r"\|x\|", "has no meaning here"),
    ],
)
def test_what_is_not_known_is_refused(formula, why):
    with pytest.raises(MATH.FormulaError, match=why):
        MATH.mathml(formula)


@given(st.text(alphabet=r"xyi1 2{}_^'\+-&()[]|<>frac", max_size=24))
def test_any_text_is_well_formed_or_refused(formula):
    """Never a traceback, and never half an element."""
    try:
        made = MATH.mathml(formula)
    except MATH.FormulaError:
        return
    assert ElementTree.fromstring(made).tag == "math"
