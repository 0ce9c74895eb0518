"""Writes docs/reference: every public name with its signature and its docstring.

    python setup/reference.py          # or: make reference
    python setup/reference.py --check  # 1 where a page is not as it would be written

Nothing is imported: the pages are made from the sources as they stand, in a second.
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from pathlib import Path
from typing import Iterator, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "reference"
PACKAGES = ("keras_bct", "registry")

# What Keras calls, and says itself what it is for.
_OF_KERAS = {
    "build",
    "call",
    "compute_output_shape",
    "from_config",
    "get_config",
    "on_epoch_end",
    "train_step",
    "update_state",
    "update_step",
}
_LISTS = ("Args", "Attributes", "Raises")
_SECTION = re.compile(
    r"(Args|Attributes|Example|Examples|Raises|References|Returns|Yields):$"
)
_ENTRY = re.compile(r"(\*{0,2}[\w.]+):(?:\s+(.*))?$")


class Page(NamedTuple):
    """A package or module with public names.

    Attributes:
        module: Its dotted name.
        text: The page, Markdown.
    """

    module: str
    text: str


class Definition(NamedTuple):
    """Where a public name is defined.

    Attributes:
        node: What defines it.
        described: The docstring below a constant.
        module: The dotted name of the module that it stands in.
        tree: That module.
    """

    node: ast.AST
    described: str | None
    module: str
    tree: ast.Module


def pages() -> Iterator[Page]:
    """Gives the page of every room that has public names."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "migrations" in path.parts or path.name == "__main__.py":
                continue
            tree = ast.parse(path.read_text(encoding="utf-8"))
            names = _all(tree)
            # A module of a room is shown where the room exports it.
            if names and (path.name == "__init__.py" or path.parent.name in PACKAGES):
                module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
                module = module.removesuffix(".__init__")
                if module not in PACKAGES or package == "registry":
                    yield Page(module, _page(module, tree, names))


def _all(tree: ast.Module) -> list[str]:
    """Gives what `__all__` lists, nothing where there is none."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return []


def _page(module: str, tree: ast.Module, names: list[str]) -> str:
    lines = [f"# {module}", "", render(ast.get_docstring(tree) or ""), ""]
    sections = []
    lines += ["| name | what it is |", "|---|---|"]
    for name in sorted(names, key=str.lower):
        found = _definition(module, tree, name)
        if found is None:
            continue
        first = (_docstring(found.node) or found.described or "").partition("\n\n")[0]
        first = " ".join(first.split()).replace("|", "\\|")
        lines.append(f"| [`{name}`](#{name.lower()}) | {first} |")
        sections += ["", f"## {name}", "", *_described(name, found, names)]
    return "\n".join(lines + sections).rstrip() + "\n"


def _definition(module: str, tree: ast.Module, name: str) -> Definition | None:
    """Finds where a name is defined, and the docstring below a constant."""
    body = list(tree.body)
    for node in tree.body:
        # `if TYPE_CHECKING:` of a room that imports its modules on first use.
        body += node.body if isinstance(node, ast.If) else []
    for place, node in enumerate(body):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name:
            return Definition(node, None, module, tree)
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        if any(isinstance(t, ast.Name) and t.id == name for t in targets):
            below = body[place + 1] if place + 1 < len(body) else None
            if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
                return Definition(node, str(below.value.value), module, tree)
            return Definition(node, None, module, tree)
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return _imported(node.module, alias.name)
    return None


def _docstring(node: ast.AST) -> str | None:
    if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.Module)):
        return ast.get_docstring(node)
    return None


def _imported(module: str, name: str) -> Definition | None:
    for candidate, inner in ((f"{module}.{name}", None), (module, name)):
        path = ROOT.joinpath(*candidate.split("."))
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                tree = ast.parse(file.read_text(encoding="utf-8"))
                if inner is None:
                    return Definition(tree, None, candidate, tree)
                return _definition(candidate, tree, inner)
    return None


def _described(name: str, found: Definition, public: list[str]) -> Iterator[str]:
    node, described = found.node, found.described
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        yield from ("```python", _assignment(node), "```", "", render(described or ""))
        return
    if isinstance(node, ast.Module):
        functions = [
            child
            for child in node.body
            if isinstance(child, ast.FunctionDef) and not child.name.startswith("_")
        ]
        yield render(ast.get_docstring(node) or "")
        for function in functions:
            yield from ("", f"### {name}.{function.name}", "")
            yield from _described(function.name, found._replace(node=function), [])
        return
    assert isinstance(node, (ast.ClassDef, ast.FunctionDef))
    signature = _signature(node)
    yield from ("```python", signature, "```", "")
    yield render(ast.get_docstring(node) or "")
    if isinstance(node, ast.FunctionDef):
        return
    for base in map(ast.unparse, node.bases):
        if base in public and base not in signature:
            yield from ("", f"It also has what [`{base}`](#{base.lower()}) has.")
    for method in _methods(found, public).values():
        if method.name not in _OF_KERAS and ast.get_docstring(method):
            yield from ("", f"### {name}.{method.name}", "")
            yield from _described(method.name, found._replace(node=method), [])


def _methods(found: Definition, public: list[str]) -> dict[str, ast.FunctionDef]:
    """Gives the methods of a class, then those of its bases that have no place here."""
    assert isinstance(found.node, ast.ClassDef)
    methods = {
        child.name: child
        for child in found.node.body
        if isinstance(child, ast.FunctionDef) and not child.name.startswith("_")
    }
    for base in map(ast.unparse, found.node.bases):
        # One of another project is not found.
        inherited = _definition(found.module, found.tree, base)
        if inherited is None or base in public:
            continue
        if isinstance(inherited.node, ast.ClassDef):
            for name, method in _methods(inherited, public).items():
                methods.setdefault(name, method)
    return methods


def _assignment(node: ast.Assign | ast.AnnAssign) -> str:
    """Gives a constant with its value, or its name where the value is long.

    What holds a comprehension is printed differently by Python 3.10 and 3.11.
    """
    text = ast.unparse(node)
    if len(text) <= 88 and not any(
        isinstance(part, ast.comprehension) for part in ast.walk(node)
    ):
        return text
    return ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)


def _signature(node: ast.ClassDef | ast.FunctionDef) -> str:
    """Gives a call of it, with an argument a line where one line is too long."""
    if isinstance(node, ast.FunctionDef):
        decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
        if decorators & {"property", "functools.cached_property"}:
            return (
                f"{node.name}: {ast.unparse(node.returns) if node.returns else 'Any'}"
            )
        returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        return _call(f"def {node.name}", _arguments(node), returns)
    for child in node.body:
        if isinstance(child, ast.FunctionDef) and child.name == "__init__":
            return _call(f"class {node.name}", _arguments(child), "")
    fields = [
        ast.unparse(child)
        for child in node.body
        if isinstance(child, ast.AnnAssign)
        and not ast.unparse(child.annotation).startswith("ClassVar")
    ]
    if any("dataclass" in ast.unparse(d) for d in node.decorator_list):
        return _call(f"class {node.name}", fields, "")
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    return f"class {node.name}({bases})" if bases else f"class {node.name}"


def _arguments(function: ast.FunctionDef) -> list[str]:
    a = function.args
    plain = [*a.posonlyargs, *a.args]
    defaults: list[ast.expr | None] = [None] * (len(plain) - len(a.defaults))
    pairs = list(zip(plain, [*defaults, *a.defaults]))
    if pairs and pairs[0][0].arg in ("self", "cls"):
        pairs = pairs[1:]
    shown = [_argument(argument, default) for argument, default in pairs]
    if a.vararg is not None:
        shown.append(f"*{ast.unparse(a.vararg)}")
    elif a.kwonlyargs:
        shown.append("*")
    shown += [_argument(*pair) for pair in zip(a.kwonlyargs, a.kw_defaults)]
    if a.kwarg is not None:
        shown.append(f"**{ast.unparse(a.kwarg)}")
    return shown


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    if default is None:
        return ast.unparse(argument)
    equals = "=" if argument.annotation is None else " = "
    return f"{ast.unparse(argument)}{equals}{ast.unparse(default)}"


def _call(name: str, arguments: list[str], returns: str) -> str:
    line = f"{name}({', '.join(arguments)}){returns}"
    if len(line) <= 88:
        return line
    inner = "".join(f"    {argument},\n" for argument in arguments)
    return f"{name}(\n{inner}){returns}"


def render(docstring: str) -> str:
    """Turns a Google docstring into Markdown.

    Args:
        docstring: As `ast.get_docstring` gives it, without its indentation.
    """
    blocks: list[tuple[str | None, list[str]]] = [(None, [])]
    for line in docstring.splitlines():
        heading = _SECTION.match(line)
        if heading:
            blocks.append((heading[1], []))
        elif line and not line.startswith(" ") and blocks[-1][0] is not None:
            blocks.append((None, [line]))
        else:
            blocks[-1][1].append(line)
    parts = []
    for heading_text, lines in blocks:
        text = textwrap.dedent("\n".join(lines)).strip()
        if heading_text in _LISTS:
            text = _entries(text)
        text = _fenced(text)
        if heading_text is not None:
            text = f"**{heading_text}**\n\n{text}"
        if text:
            parts.append(text)
    return "\n\n".join(parts)


def _entries(text: str) -> str:
    """Makes a list item of every `name: what it is`."""
    items: list[str] = []
    for line in text.splitlines():
        entry = _ENTRY.match(line)
        if entry:
            items.append(f"- `{entry[1]}`: {entry[2] or ''}".rstrip())
        elif line.strip():
            items.append(f"  {line.strip()}")
    return "\n".join(items)


def _fenced(text: str) -> str:
    """Puts fences around the examples, which begin with >>> and end at a blank line."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if line.lstrip().startswith(">>>") and not inside:
            lines.append("```python")
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line)
    if inside:
        lines.append("```")
    return "\n".join(lines)


def written() -> dict[str, str]:
    """Gives the whole reference: each file's name and content."""
    found = list(pages())
    index = "\n".join(
        f"- [{page.module}]({page.module}.md): {_summary(page)}" for page in found
    )
    start = "# Reference\n\nEvery public name, from its docstring (`make reference`).\n"
    return {
        "README.md": f"{start}\n{index}\n",
        **{f"{page.module}.md": page.text for page in found},
    }


def _summary(page: Page) -> str:
    return " ".join(page.text.split("\n\n")[1].split())


def main() -> int:
    """Writes the pages, or says which are not as they would be written."""
    wanted = written()
    there = {path.name: path.read_text("utf-8") for path in PAGES.glob("*.md")}
    changed = sorted(n for n in {*wanted, *there} if wanted.get(n) != there.get(n))
    if "--check" in sys.argv[1:]:
        for name in changed:
            print(f"docs/reference/{name} is not up to date: make reference")
        return int(bool(changed))
    PAGES.mkdir(parents=True, exist_ok=True)
    for name in changed:
        if name in wanted:
            (PAGES / name).write_text(wanted[name], encoding="utf-8")
        else:
            (PAGES / name).unlink()
    print(f"{len(wanted)} pages, {len(changed)} of them changed.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
