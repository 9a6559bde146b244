#!/usr/bin/env python3
"""Breaks the judge on purpose, one small way at a time, and sees whether the named test notices.

Usage: judge_mutants.py [--check] [--only WORD] [--jobs N] [--keep DIR]. Reads tools/judge_mutants.txt, which says how it is written.
Works on a copy of the tree (below $TMPDIR, or DIR, which is kept and used again). Prints a line for each mutant and
`N of M mutants killed`; exit code 1 when one survives or a test fails on the unbroken tree. --check breaks nothing: it says
which entries no longer fit the sources.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEADLINE_S = 600
CMAKE = ROOT / ".venv/bin/cmake" if (ROOT / ".venv/bin/cmake").exists() else "cmake"


def read_mutants(path):
    """The data file's entries: dicts with name, file, replace, with, by (program and GoogleTest filter)."""
    mutants, last = [], None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        key, colon, value = line.partition(":")
        value = value.removeprefix(" ")
        if not colon or key not in ("mutant", "file", "replace", "with", "by"):
            sys.exit(f"{path}:{number}: expected mutant, file, replace, with or by")
        if key == "mutant":
            mutants.append({"name": value})
        elif key in mutants[-1] and key != last:
            sys.exit(f"{path}:{number}: '{key}' again")
        else:
            mutants[-1][key] = f"{mutants[-1][key]}\n{value}" if key in mutants[-1] else value
        last = key
    stale = []
    for mutant in mutants:
        if missing := {"file", "replace", "with", "by"} - mutant.keys():
            sys.exit(f"{path}: '{mutant['name']}' lacks {', '.join(sorted(missing))}")
        text = (ROOT / mutant["file"]).read_text()
        if text.count(mutant["replace"]) != 1:
            stale.append(f"{path}: '{mutant['name']}': its text occurs {text.count(mutant['replace'])} times in {mutant['file']}")
    if stale:
        sys.exit("\n".join(stale))
    return mutants


class Copy:
    """A copy of the tree with a build folder of its own."""

    def __init__(self, folder, jobs):
        self.folder, self.jobs = folder, jobs
        files = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                               capture_output=True).stdout.decode().split("\0")
        for name in filter(None, files):
            self.put(name, (ROOT / name).read_bytes() if (ROOT / name).is_file() else None)
        if (ROOT / ".venv").is_dir() and not (folder / ".venv").exists():
            (folder / ".venv").symlink_to(ROOT / ".venv")
        self.built = folder / "build/release"   # as deep as the tree's own, so that a compiler cache knows the paths
        if not (self.built / "build.ninja").exists():
            cache = {}
            for line in (ROOT / "build/release/CMakeCache.txt").read_text().splitlines() if (ROOT / "build/release").is_dir() else []:
                name, _, value = line.partition("=")
                cache[name.partition(":")[0]] = value
            compiler = cache.get("CMAKE_CXX_COMPILER", os.environ.get("CXX", "g++"))
            subprocess.run([CMAKE, "-S", ".", "-B", self.built, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_CXX_COMPILER={compiler}"],
                           cwd=folder, check=True, stdout=subprocess.DEVNULL)

    def put(self, name, content):
        """Writes a file, unless it holds that already: what is untouched is not built again."""
        path = self.folder / name
        if content is None:
            path.unlink(missing_ok=True)
        elif not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            shutil.copymode(ROOT / name, path)

    def build(self, program):
        return subprocess.run([CMAKE, "--build", self.built, "-j", str(self.jobs), "--target", program], cwd=self.folder, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def passes(self, by):
        """Whether the test passes; None when it does not run."""
        program, _, pattern = by.partition(" ")
        built = self.build(program)
        if built.returncode != 0:
            print(built.stdout[-3000:])
            return None
        path = next(p for p in self.built.rglob(program) if p.is_file())
        try:
            ran = subprocess.run([path, f"--gtest_filter={pattern}"], cwd=self.folder, text=True, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, timeout=DEADLINE_S)
        except subprocess.TimeoutExpired:
            return False
        if ran.returncode == 0 and ("[  PASSED  ] 0 tests" in ran.stdout or "[  PASSED  ]" not in ran.stdout):   # skipped, or none there
            print(ran.stdout[-1000:])
            return None
        return ran.returncode == 0


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--check", action="store_true", help="only say which entries no longer fit the sources")
    arguments.add_argument("--only", default="", help="mutants whose name, file or test has this word")
    arguments.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments.add_argument("--keep", help="folder of the copy")
    options = arguments.parse_args()
    mutants = [m for m in read_mutants(ROOT / "tools/judge_mutants.txt") if any(options.only in m[key] for key in ("name", "file", "by"))]
    if options.check:
        return 0
    folder = pathlib.Path(options.keep or tempfile.mkdtemp(prefix="kw-mutants-")).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        copy = Copy(folder, options.jobs)
        bad = 0
        for by in sorted({m["by"] for m in mutants}):
            if not copy.passes(by):
                print(f"{by}: does not pass, or does not run, on the unbroken tree", flush=True)
                bad += 1
        killed = 0
        for mutant in mutants:
            begin = time.time()
            whole = (ROOT / mutant["file"]).read_bytes()
            copy.put(mutant["file"], whole.replace(mutant["replace"].encode(), mutant["with"].encode()))
            passed = copy.passes(mutant["by"])
            copy.put(mutant["file"], whole)
            killed += passed is False
            bad += passed is None
            word = {True: "SURVIVED", False: "killed", None: "no mutant"}[passed]
            print(f"{word:<9} {mutant['name']:<58} {mutant['by']:<70} {time.time() - begin:5.0f} s", flush=True)
        print(f"{killed} of {len(mutants)} mutants killed")
        return 0 if killed == len(mutants) and bad == 0 else 1
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
