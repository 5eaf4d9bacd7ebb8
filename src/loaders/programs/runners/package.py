"""Runs the entrypoint of a package, or code that was written for one run, once.

Reads a request as JSON from stdin. Writes the mark and one line of JSON with the result or the error to stdout. The
code's own output goes to stderr. Packages are modules below `skills`, wherever their files are.

argv: the mark.
"""

import builtins
import os
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader

# Modules that are slow to load are imported where they are needed. Most runs need none of them.

ModuleType = type(sys)


class PackageFinder:
    """Finds `skills.a.b` in the entrypoint of the package a.b, and submodules next to that file."""

    def __init__(self, files):
        self.files = files

    def find_spec(self, fullname, path=None, target=None):
        root, _, name = fullname.partition(".")
        if root != "skills":
            return None
        file = self.files.get(name)
        if file is not None:
            spec = ModuleSpec(fullname, SourceFileLoader(fullname, file), origin=file, is_package=True)
            spec.submodule_search_locations = [os.path.dirname(file)]
            spec.has_location = True
            return spec
        if name == "" or any(known.startswith(name + ".") for known in self.files):
            spec = ModuleSpec(fullname, None, is_package=True)
            spec.submodule_search_locations = []
            return spec
        return None


class Blobs:
    """The blobs that this run received, and those that it returns, by id."""

    HANDED = "/blobs"
    MADE = "/workspace/.runtime-blobs"

    def path(self, blob_id):
        if not isinstance(blob_id, str) or "/" in blob_id:
            raise ValueError(f"{blob_id!r} is not the handle of a blob")
        handed = os.path.join(self.HANDED, blob_id)
        made = os.path.join(self.MADE, blob_id.partition(":")[2])
        if os.path.exists(handed) or not os.path.exists(made):
            return handed
        return made

    def read_bytes(self, blob_id):
        try:
            with open(self.path(blob_id), "rb") as blob:
                return blob.read()
        except FileNotFoundError:
            raise LookupError(f"there is no blob {blob_id} here: name it in input_blobs") from None

    def read_text(self, blob_id):
        return self.read_bytes(blob_id).decode("utf-8")

    def create(self, content, kind=None):
        """Stores text or bytes as a blob that outlives this run, and returns its id."""
        import hashlib

        if not isinstance(content, (str, bytes, bytearray, memoryview)):
            raise TypeError(f"a blob holds text or bytes, not {type(content).__name__}")
        kind = kind or ("text/plain" if isinstance(content, str) else "application/octet-stream")
        data = content.encode("utf-8") if isinstance(content, str) else bytes(content)
        name = hashlib.sha256(kind.encode("utf-8") + b"\0" + data).hexdigest()[:32]
        os.makedirs(self.MADE, exist_ok=True)
        with open(os.path.join(self.MADE, name), "wb") as blob:
            blob.write(data)
        with open(os.path.join(self.MADE, name + ".kind"), "w", encoding="utf-8") as note:
            note.write(kind)
        return "blob:" + name


def main():
    mark = sys.argv[1]
    request = parse_json(sys.stdin.read())
    answer = os.dup(1)
    os.dup2(2, 1)
    sys.argv = [""]
    outcome = run(request)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    with os.fdopen(answer, "w", encoding="utf-8") as channel:
        channel.write(f"\n{mark}{outcome}\n")
    os._exit(0)  # Threads that the code left running must not keep the process alive.


def run(request):
    try:
        result = call(prepare(request), request["entrypoint"], request["args"])
        return write_json({"output": result})
    except BaseException as error:
        print_failure(error, request.get("code"))
        acted = {"acted": "no"} if getattr(error, "acted", None) == "no" else {}
        return write_json({"error": {"type": type(error).__name__, "message": str(error) or type(error).__name__, **acted}})


# The json module loads `re` and its dependencies, which takes as long as starting Python. Its C accelerator handles
# nearly everything. The module handles the rest, including errors.


class Parsing:
    strict = True
    object_hook = object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float
    memo = {}


def parse_json(text):
    try:
        from _json import make_scanner

        return make_scanner(Parsing)(text, 0)[0]
    except Exception:
        import json

        return json.loads(text)


def write_json(value):
    try:
        from _json import encode_basestring_ascii, make_encoder

        refuse = None  # not callable, so a value that is not JSON raises
        return "".join(make_encoder({}, refuse, encode_basestring_ascii, None, ": ", ", ", False, False, False)(value, 0))
    except Exception:
        import json

        return json.dumps(value, allow_nan=False)



def prepare(request):
    files = request["packages"]
    sys.meta_path.insert(0, PackageFinder(files))
    runtime = ModuleType("runtime")
    runtime.blobs = Blobs()
    sys.modules["runtime"] = builtins.runtime = runtime
    sys.path[0] = os.path.dirname(files[request["target"]]) if request["target"] else "/workspace"
    if request["target"]:
        name = "skills." + request["target"]
        __import__(name)
        return sys.modules[name]
    module = ModuleType("program")
    sys.modules["program"] = module
    exec(compile(request["code"], CODE, "exec"), module.__dict__)
    return module


CODE = "<code>"


def call(module, name, arguments):
    function = getattr(module, name, None)
    if not callable(function):
        raise AttributeError(f"there is no function {name} to call")
    result = function(arguments) if takes_arguments(function) else function()
    if type(result).__name__ == "coroutine":
        import asyncio

        result = asyncio.run(result)
    return result


TAKES_ANY = 0x04  # inspect.CO_VARARGS


def takes_arguments(function):
    code = getattr(function, "__code__", None)
    if code is not None and not hasattr(function, "__wrapped__") and not hasattr(function, "__self__"):
        return code.co_argcount > 0 or bool(code.co_flags & TAKES_ANY)
    import inspect

    try:
        return len(inspect.signature(function).parameters) > 0
    except (TypeError, ValueError):
        return True


def print_failure(error, code):
    """Prints the traceback as Python does, starting at the first frame of the author's code."""
    import linecache
    import traceback

    if code is not None:
        linecache.cache[CODE] = (len(code), None, code.splitlines(True), CODE)
    trace = error.__traceback__
    while trace is not None and not is_authors(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    traceback.print_exception(type(error), error, trace)


def is_authors(file):
    return file == CODE or file.startswith(("/skills/", "/workspace/"))


main()
