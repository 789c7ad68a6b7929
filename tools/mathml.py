r"""Formulas: a small part of TeX as MathML, which browsers set themselves, without a script.

`mathml(r"\frac{1}{B} \sum_b g_b")` gives a `<math>` element. What is not in the tables below is refused,
so a misspelt command fails the build and never reaches a reader.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape

TOKEN = re.compile(
    r"\\(?P<name>[A-Za-z]+)\*?|\\(?P<sign>[^A-Za-z])"
    r"|(?P<number>\d+(?:\{,\}\d{3})*(?:\.\d+)?)|(?P<space>\s+)|(?P<char>.)",
    re.DOTALL,
)
MARKS = "_^'"
WORDS = re.compile(r"\{([^{}]*)\}")
LETTERS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "zeta": "ζ", "eta": "η",
    "theta": "θ", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π",
    "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω",
    "ell": "ℓ", "infty": "∞", "emptyset": "∅", "top": "⊤",
    "Delta": "Δ", "Phi": "Φ", "Sigma": "Σ", "Pi": "Π", "ldots": "…", "dots": "…", "cdots": "⋯",
    "partial": "∂", "nabla": "∇", "blacksquare": "∎",
}  # fmt: skip
OPERATORS = {
    "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "ne": "≠", "sim": "∼", "approx": "≈", "in": "∈",
    "notin": "∉", "subset": "⊂", "setminus": "∖", "cup": "∪", "cdot": "·", "times": "×", "pm": "±",
    "to": "→", "gets": "←", "mapsto": "↦", "mid": "∣", "Vert": "‖", "perp": "⊥", "propto": "∝",
}  # fmt: skip
BIG = {"sum": "∑", "prod": "∏", "int": "∫"}
LIMITS = {"max": "max", "min": "min", "sup": "sup", "lim": "lim"}
FUNCTIONS = ("log", "ln", "exp", "cos", "sin", "det")
ACCENTS = {"tilde": "˜", "hat": "ˆ", "ddot": "¨", "bar": "¯"}
FENCES = {
    "lvert": ("|", "prefix"), "rvert": ("|", "postfix"),
    "lVert": ("‖", "prefix"), "rVert": ("‖", "postfix"),
    "lceil": ("⌈", "prefix"), "rceil": ("⌉", "postfix"),
    "langle": ("⟨", "prefix"), "rangle": ("⟩", "postfix"),
}  # fmt: skip
SPACES = {
    "quad": 1.0,
    "qquad": 2.0,
    ",": 0.17,
    ";": 0.28,
    ":": 0.22,
    "!": -0.17,
    " ": 0.25,
}
SCRIPT = dict(
    zip(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        "𝒜ℬ𝒞𝒟ℰℱ𝒢ℋℐ𝒥𝒦ℒℳ𝒩𝒪𝒫𝒬ℛ𝒮𝒯𝒰𝒱𝒲𝒳𝒴𝒵",
        strict=True,
    )
)
SIGNS = {
    "-": "−",
    "*": "∗",
    "/": "/",
    "+": "+",
    "=": "=",
    "<": "&lt;",
    ">": "&gt;",
    ":": ":",
}


def characters() -> set[int]:
    """Every character that a formula may have; single letters are set in the italics of mathematics."""
    ascii_and_greek = {*range(0x20, 0x7F), *range(0x391, 0x3CA)}
    italics = {*range(0x1D434, 0x1D468), *range(0x1D6E2, 0x1D71C), ord("ℎ")}
    tables = (LETTERS, OPERATORS, BIG, LIMITS, ACCENTS, SCRIPT, SIGNS)
    named = {letter for table in tables for value in table.values() for letter in value}
    fences = {fence for fence, _ in FENCES.values()}
    return ascii_and_greek | italics | {ord(c) for c in (named | fences | set("√′ "))}


class FormulaError(ValueError):
    """A formula has something that is not in the tables, or a brace too many or too few."""


@dataclass(frozen=True)
class Token:
    """One piece of a formula: its kind is a group of `TOKEN`."""

    kind: str
    text: str


def mathml(formula: str, *, block: bool = False) -> str:
    """A formula as a `<math>` element, on a line of its own if it is a block."""
    reader = Reader(formula)
    inside = reader.row(end=None)
    display = ' display="block"' if block else ""
    return f"<math{display}>{inside}</math>"


class Reader:
    """Reads a formula from left to right; every method returns the MathML of what it read."""

    def __init__(self, formula: str) -> None:
        self._formula = formula
        found = [m for m in TOKEN.finditer(formula) if m.lastgroup != "space"]
        self._tokens = [Token(str(m.lastgroup), m[str(m.lastgroup)]) for m in found]
        self._starts = [m.start() for m in found]
        self._place = 0

    def row(self, end: Token | None) -> str:
        """Everything up to a token, which is taken as well."""
        parts: list[str] = []
        while (token := self._peek()) != end:
            if token is None:
                raise self._wrong(f"{end.text if end else ''} is missing")
            named = token.kind == "name" and token.text in {*LIMITS, *FUNCTIONS}
            if named and parts and not parts[-1].startswith(("<mo", "<mspace")):
                parts.append(_space(SPACES[","]))
            parts.append(self._scripted())
        if end is not None:
            self._take()
        return _row(parts)

    def _peek(self) -> Token | None:
        return self._tokens[self._place] if self._place < len(self._tokens) else None

    def _take(self) -> Token:
        token = self._peek()
        if token is None:
            raise self._wrong("something is missing at the end")
        self._place += 1
        return token

    def _wrong(self, why: str) -> FormulaError:
        return FormulaError(f"{why} in the formula {self._formula!r}")

    def _scripted(self) -> str:
        """An atom with what stands below and above it."""
        first = self._peek()
        name = first.text if first and first.kind == "name" else ""
        base, below, above = self._atom(), "", ""
        seen = ""
        while (token := self._peek()) and token.text in MARKS and token.kind == "char":
            mark = self._take().text
            if mark != "'" and mark in seen:
                raise self._wrong(f"{mark} stands there twice")
            seen += mark
            if mark == "_":
                below = self._argument()
            else:
                above += "<mo>′</mo>" if mark == "'" else self._argument()
        kind = "munderover" if name in {*LIMITS, "sum", "prod"} else "msubsup"
        named = name in {*LIMITS, *FUNCTIONS}
        return _marked(base, kind, below, above) + (self._apart() if named else "")

    def _apart(self) -> str:
        """The space after the name of a function, unless a parenthesis follows."""
        after = self._peek()
        near = after is None or after.text in ("(", "[", "left", "}", ",", ".")
        return "" if near else _space(SPACES[","])

    def _argument(self) -> str:
        """A group in braces, or a single atom."""
        if self._peek() == Token("char", "{"):
            self._take()
            return self.row(Token("char", "}"))
        return self._atom()

    def _words(self) -> str:
        """A group in braces, as the letters it has."""
        start = self._starts[self._place] if self._peek() else len(self._formula)
        inside = WORDS.match(self._formula, start)
        if not inside:
            raise self._wrong("words in braces are missing")
        while self._peek() and self._starts[self._place] < inside.end():
            self._take()
        return inside[1]

    def _atom(self) -> str:
        token = self._take()
        if token.kind == "number":
            return f"<mn>{token.text.replace('{,}', ',')}</mn>"
        if token.kind == "sign":
            return self._sign(token.text)
        if token.kind == "name":
            return self._command(token.text)
        return self._char(token.text)

    def _sign(self, sign: str) -> str:
        if sign in SPACES:
            return _space(SPACES[sign])
        if sign in "{}":
            return f'<mo stretchy="false">{sign}</mo>'
        if sign == "%":
            return "<mi>%</mi>"
        raise self._wrong(f"\\{sign} has no meaning here")

    def _char(self, char: str) -> str:
        if char == "{":
            return self.row(Token("char", "}"))
        if char.isalpha():
            return f"<mi>{char}</mi>"
        if char in SIGNS:
            return f"<mo>{SIGNS[char]}</mo>"
        if char in "()[]":
            form = "prefix" if char in "([" else "postfix"
            return f'<mo stretchy="false" form="{form}">{char}</mo>'
        if char in ",;.!":
            return f"<mo>{char}</mo>"
        raise self._wrong(f"{char!r} has no meaning here")

    def _command(self, name: str) -> str:
        if name in LETTERS:
            upright = name[0].isupper() or name in (
                "infty",
                "top",
                "emptyset",
                "blacksquare",
            )
            style = ' mathvariant="normal"' if upright else ""
            return f"<mi{style}>{LETTERS[name]}</mi>"
        if name in OPERATORS:
            return f"<mo>{OPERATORS[name]}</mo>"
        if name in BIG:
            return f'<mo movablelimits="true">{BIG[name]}</mo>'
        if name in LIMITS:
            return f'<mo movablelimits="true" lspace="0" rspace="0">{LIMITS[name]}</mo>'
        if name in FUNCTIONS:
            return f"<mi>{name}</mi>"
        if name in SPACES:
            return _space(SPACES[name])
        if name in FENCES:
            fence, form = FENCES[name]
            return f'<mo stretchy="false" form="{form}">{fence}</mo>'
        if name in ACCENTS:
            over = f'<mo stretchy="false">{ACCENTS[name]}</mo>'
            return f'<mover accent="true">{self._argument()}{over}</mover>'
        made: dict[str, Callable[[], str]] = {
            "frac": lambda: f"<mfrac>{self._argument()}{self._argument()}</mfrac>",
            "sqrt": lambda: f"<msqrt>{self._argument()}</msqrt>",
            "text": lambda: (
                f"<mtext>{escape(self._words()).replace(' ', chr(0xA0))}</mtext>"
            ),
            "operatorname": self._name,
            "mathrm": self._name,
            "mathcal": lambda: f"<mi>{''.join(SCRIPT[c] for c in self._words())}</mi>",
            "left": self._fenced,
            "begin": self._table,
        }
        if name not in made:
            raise self._wrong(f"\\{name} is not known")
        return made[name]()

    def _name(self) -> str:
        word = escape(self._words())
        return (
            f'<mi mathvariant="normal">{word}</mi>'
            if len(word) == 1
            else f"<mi>{word}</mi>"
        )

    def _fenced(self) -> str:
        """Between two fences as high as what they hold."""
        first = self._fence("prefix")
        inside = self.row(Token("name", "right"))
        return f"<mrow>{first}{inside}{self._fence('postfix')}</mrow>"

    def _fence(self, form: str) -> str:
        token = self._take()
        sign = FENCES[token.text][0] if token.text in FENCES else token.text
        return (
            ""
            if sign == "."
            else f'<mo stretchy="true" form="{form}">{escape(sign)}</mo>'
        )

    def _table(self) -> str:
        """Lines with aligned cells: `aligned` right and left by turns, `cases` to the left."""
        kind = self._words()
        if kind not in ("aligned", "cases"):
            raise self._wrong(f"the environment {kind} is not known")
        lines: list[list[list[str]]] = [[[]]]
        while (token := self._peek()) != Token("name", "end"):
            if token == Token("char", "&"):
                self._take()
                lines[-1].append([])
            elif token == Token("sign", "\\"):
                self._take()
                lines.append([[]])
            else:
                lines[-1][-1].append(self._scripted())
        self._take()
        self._words()
        rows = "".join(_line(cells) for cells in lines)
        style = ' displaystyle="true"' if kind == "aligned" else ""
        table = f'<mtable class="{kind}"{style}>{rows}</mtable>'
        brace = '<mo stretchy="true" form="prefix">{</mo>' if kind == "cases" else ""
        return f"<mrow>{brace}{table}</mrow>"


def _marked(base: str, kind: str, below: str, above: str) -> str:
    """A base with marks below and above it: beside it for msubsup, else under and over it."""
    if not below and not above:
        return base
    sub, sup = ("msub", "msup") if kind == "msubsup" else ("munder", "mover")
    name = kind if below and above else sub if below else sup
    return f"<{name}>{base}{below}{f'<mrow>{above}</mrow>' if above else ''}</{name}>"


def _row(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"<mrow>{''.join(parts)}</mrow>"


def _line(cells: list[list[str]]) -> str:
    return f"<mtr>{''.join(f'<mtd>{_row(cell)}</mtd>' for cell in cells)}</mtr>"


def _space(width: float) -> str:
    return f'<mspace width="{width}em"/>'
