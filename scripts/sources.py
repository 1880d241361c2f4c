"""The files that the checks look at, and which of them a C file includes."""
import os
import re
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
GENERATED = re.compile(r"(\.|build|data$|runs$|__pycache__$)")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:([<"])([^>"\n]+)[>"])?', re.MULTILINE)


def all_files(root):
    """Paths, relative to root, of all files that git tracks or would track; without git, of the whole tree."""
    git = ["git", "-c", "safe.directory=*", "-C", root]
    try:
        top = subprocess.run([*git, "rev-parse", "--show-toplevel"], capture_output=True, text=True,
                             check=True).stdout.strip()
        if os.path.realpath(top) == os.path.realpath(root):
            listed = subprocess.run([*git, "ls-files", "-z", "--cached", "--others",
                                     "--exclude-standard"], capture_output=True, text=True, check=True)
            paths = sorted(set(listed.stdout.split("\0")))
            return [path for path in paths if os.path.isfile(os.path.join(root, path))]
    except (OSError, subprocess.CalledProcessError):
        pass
    return sorted(walk(root))


def walk(root):
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not GENERATED.match(name)]
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), root)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def language(root, path):
    """"c", "rows", "python", "shell", "build", or None if it is not code of ours."""
    name = os.path.basename(path)
    if name.endswith((".c", ".h")):
        return "c"
    if name.endswith(".def"):
        return "rows"
    if name.endswith(".py"):
        return "python"
    if name in ("CMakeLists.txt", "Makefile") or name.endswith(".cmake"):
        return "build"
    if name.endswith((".sh", ".bash")):
        return "shell"
    if "." not in name.lstrip("."):
        with open(os.path.join(root, path), "rb") as file:
            first = file.readline(100)
        if first.startswith(b"#!"):
            return "python" if b"python" in first else "shell"
    return None


def resolve(root, path, name, quoted):
    """The project's file to which an include of name in path refers; None for a system header."""
    folders = ([os.path.dirname(path)] if quoted else []) + ["src", "include", ""]
    for folder in folders:
        candidate = os.path.normpath(os.path.join(folder, name))
        if os.path.isfile(os.path.join(root, candidate)):
            return candidate
    return None


def includes(root, path):
    """(line, name as written, the project's file or None) of each include; the name is None if it comes
    from a macro."""
    text = read(root, path)
    for match in INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        mark, name = match.groups()
        yield line, name, resolve(root, path, name, mark == '"') if name else None


def closure(root, path):
    """path and all of the project's files that it includes, directly or not."""
    seen = {path}
    waiting = [path]
    while waiting:
        for _, _, file in includes(root, waiting.pop()):
            if file and file not in seen:
                seen.add(file)
                waiting.append(file)
    return sorted(seen)
