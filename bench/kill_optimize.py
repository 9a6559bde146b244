#!/usr/bin/env python3
"""Kills `kw optimize` at random moments, goes on, and compares the end with that of a run that nobody disturbed.

Usage: kill_optimize.py KW [--kills 200] [--seed 1]
Each round begins a run, kills it again and again (SIGKILL, its whole process group) after a random time, resumes, and lets the last life end by itself.
Reports must be equal but for the times that judging took. Exit code 0: all rounds came to the same end.
"""
import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

PROBLEM = '''problem mixed: "an epilogue"

axes:
  M >= 1
  N >= 1

inputs:
  x: f16[M, N] ~ normal(0, 2)
  r: f16[N]    ~ normal(0, 1)

outputs:
  y: f16[M, N]

reference:
  y = tanh(x) + maximum(r, 0.5)

workloads:
  smallest one:    M=1,  N=1
  shape    odd:    M=7,  N=33
  emulator scaled: M=64, N=512
  real     block:  M=4096, N=4096 "a hidden state"
'''


def command(kw, folder, *more):
    return [kw, "optimize", *more, "--store", folder + "/store", "--report", folder + "/report.md"]


def run(argv, kill_after=None):
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True, text=True)
    if kill_after is None:
        error = process.communicate()[1]
        return process.returncode, error
    try:
        process.communicate(timeout=kill_after)
        return process.returncode, ""
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None, ""


def report(folder):
    text = open(folder + "/report.md").read()
    return re.sub(r"Run \d+,", "Run N,", text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kw")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    kw = os.path.abspath(options.kw)
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as root:
        problem = root + "/mixed.problem"
        open(problem, "w").write(PROBLEM)
        fresh = lambda folder: command(kw, folder, problem, "--seed", "7", "--evaluations", "6")
        whole = root + "/whole"
        os.mkdir(whole)
        start = time.time()
        code, error = run(fresh(whole))
        took = time.time() - start
        if code != 0:
            sys.exit(f"the undisturbed run ended with {code}: {error}")
        expected, kills, rounds, different = report(whole), 0, 0, 0
        while kills < options.kills:
            rounds += 1
            folder = f"{root}/{rounds}"
            os.mkdir(folder)
            begun = False
            while True:
                argv = command(kw, folder, "--resume", "1") if begun else fresh(folder)
                wait = rng.uniform(0, took / 4) if kills < options.kills else None
                code, error = run(argv, wait)
                kills += code is None
                begun = begun or os.path.exists(folder + "/store/store.db") and run([kw, "run", "show", "1", "--store", folder + "/store"])[0] == 0
                if code == 0:
                    break
                if code is not None:
                    sys.exit(f"round {rounds}, after {kills} kills: exit code {code}: {error}")
            if report(folder) != expected:
                different += 1
                print(f"round {rounds} came to another end:\n{report(folder)}", file=sys.stderr)
        print(f"{kills} kills in {rounds} runs of {took:.1f} s each: {rounds - different} came to the same end, {different} did not")
        sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
