"""Runs the handler of a Python file once.

Reads the arguments as JSON from stdin. Writes the mark and one line of JSON with the result or the error to stdout. The
handler's own output goes to stderr. A file without the function runs as a script.

argv: the file, the function, the mark, and a JSON list of the folders and files that are its code.
"""

import ast
import errno
import importlib.machinery
import importlib.util
import inspect
import json
import os
import sys


def main():
    file, name, mark, code = sys.argv[1:5]
    sys.argv = [file]
    sys.path[0] = os.path.dirname(file)
    if not defines(file, name):
        os.execv(sys.executable, [sys.executable, "-B", "-X", "utf8", file])
    sys.meta_path.insert(0, OwnCode([os.path.dirname(file), *json.loads(code)], os.getcwd()))
    answer = os.dup(1)
    os.dup2(2, 1)
    outcome = run(file, name)
    sys.stdout.flush()
    with os.fdopen(answer, "w", encoding="utf-8") as channel:
        channel.write(f"\n{mark}{outcome}\n")


class OwnCode:
    """Blocks imports from the working directory, except of files that the user trusted as code."""

    def __init__(self, code, work_dir):
        self.code = code
        self.work_dir = work_dir

    def find_spec(self, name, path=None, target=None):
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        file = spec and spec.has_location and os.path.realpath(spec.origin)
        if file and is_in(file, self.work_dir) and not any(is_in(file, place) for place in self.code):
            raise ImportError(f"{file} is not run: it is not a file of the skill, and no import names it in plain text")
        return None


def is_in(file, place):
    return file == place or file.startswith(place.rstrip("/") + "/")


def defines(file, name):
    """Checks whether the module defines the name at its top level. The import reports syntax errors."""
    try:
        with open(file, "rb") as source:
            tree = ast.parse(source.read())
    except (SyntaxError, ValueError):
        return True
    return any(binds(node, name) for node in statements(tree.body))


def statements(body):
    for node in body:
        yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        for field in ("body", "orelse", "finalbody"):
            yield from statements(getattr(node, field, []))
        for handler in getattr(node, "handlers", []):
            yield from statements(handler.body)


def binds(node, name):
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return node.name == name
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return any((alias.asname or alias.name) in (name, "*") for alias in node.names)
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return any(isinstance(target, ast.Name) and target.id == name for target in targets)
    return False


def run(file, name):
    try:
        arguments = json.load(sys.stdin)
        result = getattr(load(file), name)(arguments)
        if inspect.iscoroutine(result):
            import asyncio  # slow to load, and seldom needed

            result = asyncio.run(result)
    except Exception as error:
        code = errno.errorcode.get(getattr(error, "errno", None))
        acted = {"acted": "no"} if getattr(error, "acted", None) == "no" else {}
        return json.dumps({"error": describe(error), "code": code, **acted})
    try:
        return json.dumps({"result": result}, allow_nan=False)
    except Exception as error:
        return json.dumps({"error": f"the result is not JSON: {refusal(error)}"})


def load(file):
    spec = importlib.util.spec_from_file_location("handler_file", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def describe(error):
    text = str(error)
    if text == "":
        return type(error).__name__
    return f"{type(error).__name__}: {text}" if isinstance(error, (LookupError, NameError, SyntaxError)) else text


def refusal(error):
    if "Out of range float" in str(error):
        return "it holds NaN or Infinity, which JSON does not have"
    return "it refers to itself" if "Circular" in str(error) or isinstance(error, RecursionError) else describe(error)


main()
