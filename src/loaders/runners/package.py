"""Runs the entrypoint of a package, or code that was written for one run, once.

A request as JSON on stdin; on stdout, after the mark, one line of JSON that holds the result or the error. What the code
prints goes to stderr. Packages are modules by their dotted names below `skills`, wherever their files lie.

argv: the mark.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import json
import os
import sys
import traceback
import types


class PackageFinder(importlib.abc.MetaPathFinder):
    """Finds `skills.a.b` in the entrypoint of the package a.b, and what lies beside that file below it."""

    def __init__(self, files):
        self.files = files

    def find_spec(self, fullname, path=None, target=None):
        root, _, name = fullname.partition(".")
        if root != "skills":
            return None
        file = self.files.get(name)
        if file is not None:
            folder = os.path.dirname(file)
            return importlib.util.spec_from_file_location(fullname, file, submodule_search_locations=[folder])
        if name == "" or any(known.startswith(name + ".") for known in self.files):
            spec = importlib.machinery.ModuleSpec(fullname, None, is_package=True)
            spec.submodule_search_locations = []
            return spec
        return None


class Blobs:
    """The blobs that were handed to this run, by their handles."""

    def path(self, blob_id):
        if not isinstance(blob_id, str) or "/" in blob_id:
            raise ValueError(f"{blob_id!r} is no handle of a blob")
        return os.path.join("/blobs", blob_id)

    def read_bytes(self, blob_id):
        with open(self.path(blob_id), "rb") as blob:
            return blob.read()

    def read_text(self, blob_id):
        return self.read_bytes(blob_id).decode("utf-8")


def main():
    mark = sys.argv[1]
    request = json.load(sys.stdin)
    answer = os.dup(1)
    os.dup2(2, 1)
    sys.argv = [""]
    outcome = run(request)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    with os.fdopen(answer, "w", encoding="utf-8") as channel:
        channel.write(f"\n{mark}{outcome}\n")
    os._exit(0)  # A thread that the code left behind would keep us.


def run(request):
    try:
        result = call(prepare(request), request["entrypoint"], request["args"])
        return json.dumps({"output": result}, allow_nan=False)
    except BaseException as error:
        traceback.print_exc()
        return json.dumps({"error": {"type": type(error).__name__, "message": str(error) or type(error).__name__}})


def prepare(request):
    files = request["packages"]
    sys.meta_path.insert(0, PackageFinder(files))
    sys.modules["runtime"] = types.ModuleType("runtime")
    sys.modules["runtime"].blobs = Blobs()
    sys.path[0] = os.path.dirname(files[request["target"]]) if request["target"] else "/workspace"
    if request["target"]:
        return importlib.import_module("skills." + request["target"])
    module = types.ModuleType("program")
    module.runtime = sys.modules["runtime"]
    sys.modules["program"] = module
    exec(compile(request["code"], "<code>", "exec"), module.__dict__)
    return module


def call(module, name, arguments):
    function = getattr(module, name, None)
    if not callable(function):
        raise AttributeError(f"there is no function {name} to call")
    result = function(arguments) if takes_arguments(function) else function()
    if inspect.iscoroutine(result):
        import asyncio  # slow to load, and seldom needed

        result = asyncio.run(result)
    return result


def takes_arguments(function):
    try:
        return len(inspect.signature(function).parameters) > 0
    except (TypeError, ValueError):
        return True


main()
