#!/usr/bin/env python3
"""Fails when a source of src/<m> includes a header of a module that is not among m's declared dependencies.

Reads kw_layer() from the root CMakeLists.txt and kw_module(... DEPENDS ...) of each module, so the build's own words
are the rule. Tests and programs may also use what they link (kw_<name> in their CMakeLists.txt).
Usage: check_layers.py [root]
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"/]+)/[^"]+"', re.MULTILINE)
KEYWORDS = {"SOURCES", "DEPENDS", "LIBRARIES", "PRIVATE", "PUBLIC", "INTERFACE"}


def calls(text, function):
    text = re.sub(r"#[^\n]*", "", text)
    for match in re.finditer(rf"\b{function}\s*\(([^()]*)\)", text):
        yield match.group(1).split()


def section(words, keyword):
    if keyword not in words:
        return []
    out = []
    for word in words[words.index(keyword) + 1:]:
        if word in KEYWORDS:
            break
        out.append(word)
    return out


def closure(module, depends):
    seen, todo = set(), [module]
    while todo:
        at = todo.pop()
        if at not in seen:
            seen.add(at)
            todo += depends.get(at, [])
    return seen


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent)
    declared = {word for words in calls((root / "CMakeLists.txt").read_text(), "kw_layer") for word in words[1:]}
    depends, linked = {}, {}
    for listing in sorted(root.glob("src/*/CMakeLists.txt")):
        module, text = listing.parent.name, listing.read_text()
        depends[module] = [d for words in calls(text, "kw_module") for d in section(words, "DEPENDS")]
        linked[module] = set(re.findall(r"\bkw_([a-z0-9]+)\b", text)) & declared
    problems = []
    for folder in sorted(p for p in (root / "src").iterdir() if p.is_dir()):
        module = folder.name
        if module not in declared:
            problems.append(f"src/{module}: not among the layers of CMakeLists.txt")
            continue
        allowed = closure(module, depends)
        program = not depends.get(module)
        for source in sorted(p for p in folder.rglob("*") if p.suffix in {".h", ".cc", ".cu", ".cuh", ".inc"}):
            more = set()
            if source.name.endswith("_test.cc") or program:
                more = set().union(*(closure(name, depends) for name in linked.get(module, set())), set())
            text = source.read_text(errors="replace")
            for match in INCLUDE.finditer(text):
                used = match.group(1)
                if used in declared and used not in allowed | more:
                    line = text.count("\n", 0, match.start()) + 1
                    problems.append(f"{source.relative_to(root)}:{line}: {module} includes {used}, which is not "
                                    f"among its DEPENDS in src/{module}/CMakeLists.txt")
    for problem in problems:
        print(problem)
    print(f"{len(depends)} modules, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
