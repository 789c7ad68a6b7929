"""The shape of the code in numbers: `python tools/house.py [FOLDER...]` prints a column per checkout.

Lines of code are those with a token other than a comment, a docstring or white space.
"""

from __future__ import annotations

import ast
import io
import re
import statistics
import sys
import tokenize
from pathlib import Path

LONG = 100
LOOSE = re.compile(r"\b(?:dict|Mapping)\[str, Any\]")
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def documented(tree: ast.AST) -> list[ast.AST]:
    """What may have a docstring."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]


def docstrings(tree: ast.AST) -> list[ast.Expr]:
    """The statements that are docstrings, also those below a constant."""
    bodies = [node.body for node in documented(tree)]
    return [
        statement
        for body in bodies
        for statement in body
        if isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    ]


def code_lines(text: str, tree: ast.AST) -> int:
    """How many lines have code in them."""
    described = {
        line
        for one in docstrings(tree)
        for line in range(one.lineno, one.end_lineno + 1)
    }
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in LAYOUT:
            found |= set(range(token.start[0], token.end[0] + 1))
    return len(found - described)


def thoughts(tree: ast.AST) -> int:
    """Expressions and statements, docstrings left out."""
    every = sum(isinstance(node, ast.expr | ast.stmt) for node in ast.walk(tree))
    return every - 2 * len(docstrings(tree))


def functions(tree: ast.AST) -> list[ast.FunctionDef]:
    """All functions and methods."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]


def lines_of(function: ast.FunctionDef, text: list[str]) -> int:
    """Code lines of a function's body, without its docstring."""
    doc = docstrings(function)
    skipped = {line for one in doc for line in range(one.lineno, one.end_lineno + 1)}
    wanted = range(function.lineno, function.end_lineno + 1)
    return sum(
        bool(text[line - 1].strip()) and not text[line - 1].lstrip().startswith("#")
        for line in wanted
        if line not in skipped
    )


def undocumented(tree: ast.AST) -> int:
    """Public names without a docstring; what is inside of functions is nobody else's."""
    silent = 0
    left = [tree]
    while left:
        node = left.pop()
        setter = any(
            ast.unparse(one).endswith(".setter")
            for one in getattr(node, "decorator_list", ())
        )
        private = getattr(node, "name", "").startswith("_") or setter
        silent += not private and not ast.get_docstring(node)
        kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        if not isinstance(node, kinds[1:]) and not private:
            left += [one for one in node.body if isinstance(one, kinds)]
    return silent


def cycles(source: Path, files: list[Path]) -> int:
    """Modules that import each other, directly or not, at the top of the file."""
    names = {
        file: ".".join(file.relative_to(source).with_suffix("").parts) for file in files
    }
    known = {name.removesuffix(".__init__"): name for name in names.values()}
    edges: dict[str, set[str]] = {}
    for file, name in names.items():
        top = ast.parse(file.read_text("utf-8")).body
        wanted: set[str] = set()
        for node in top:
            if isinstance(node, ast.Import):
                wanted |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                wanted |= {one if one in known else node.module for one in inner}
        edges[name] = {known[one] for one in wanted if one in known} - {name}
    return sum(name in _reached(edges, name) for name in edges)


def _reached(edges: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    left = list(edges[start])
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += edges[name]
    return found


def measured(home: Path) -> dict[str, str]:
    """Every number of the table, for one checkout."""
    source, tests = home / "src", home / "tests"
    files = sorted(source.rglob("*.py"))
    texts = [file.read_text("utf-8") for file in files]
    trees = [ast.parse(text) for text in texts]
    lines = [line for text in texts for line in text.splitlines()]
    code = sum(map(code_lines, texts, trees))
    checks = [file.read_text("utf-8") for file in sorted(tests.rglob("*.py"))]
    tested = sum(code_lines(text, ast.parse(text)) for text in checks)
    sizes = sorted(
        lines_of(one, text.splitlines())
        for text, tree in zip(texts, trees, strict=True)
        for one in functions(tree)
    )
    silent = sum(map(undocumented, trees))
    untyped = sum(one.returns is None for tree in trees for one in functions(tree))
    over = sum(len(line) > LONG for line in lines)
    ninth = sizes[int(0.9 * len(sizes))]
    return {
        "modules": f"{len(files)}",
        "code lines": f"{code}",
        "expressions and statements per code line": f"{sum(map(thoughts, trees)) / code:.2f}",
        f"lines over {LONG} characters": f"{over} ({over / len(lines):.1%})",
        "dict[str, Any] and Mapping[str, Any]": f"{sum(len(LOOSE.findall(t)) for t in texts)}",
        "test / source": f"{tested / code:.2f}",
        "function median / p90": f"{statistics.median(sizes):.0f} / {ninth}",
        "modules in import cycles": f"{cycles(source, files)}",
        "undocumented public names": f"{silent}",
        "untyped returns": f"{untyped}",
    }


def main() -> None:
    """Print the table in Markdown."""
    homes = [Path(word) for word in sys.argv[1:]] or [Path(__file__).parents[1]]
    columns = [measured(home) for home in homes]
    print(f"| | {' | '.join(home.name for home in homes)} |")
    print(f"|---|{'---|' * len(homes)}")
    for name in columns[0]:
        print(f"| {name} | {' | '.join(column[name] for column in columns)} |")


if __name__ == "__main__":
    main()
