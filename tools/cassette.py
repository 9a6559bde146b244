#!/usr/bin/env python3
"""Makes a cassette of a recorded run: what is needed to make its decisions again without the model and without judging.

Usage: kw run export RUN --out FOLDER && cassette.py FOLDER PROBLEM > tests/agent/cassettes/NAME.json
PROBLEM: the problem file, as found from the source tree. src/agent/cassette_test.cc reads cassettes.
"""
import json
import pathlib
import sys


def main(folder, problem):
    folder = pathlib.Path(folder)
    run = json.loads((folder / "run.json").read_text())
    read = lambda digest: (folder / "objects" / digest).read_text()
    evaluations = {}
    for row in run["evaluations"]:
        whole = json.loads(read(row["evaluation"]))
        evaluations[row["candidate"]] = {key: whole[key] for key in ("works", "seconds", "spread", "learned", "name", "rung", "times", "measured")}
    options = json.loads(run["run"]["options"])
    start = read(options["kernel"]) if (folder / "objects" / options["kernel"]).exists() else ""
    print(json.dumps({
        "kernelwright_cassette": 1,
        "problem": problem,
        "provider": options["model"]["spec"].split(":")[0],
        "options": {key: options[key] for key in ("kernel_file", "target", "strategy", "seed", "evaluations")},
        "fixes": options["model"]["fixes"],
        "start": start,
        "replies": [json.loads(read(row["reply"]))["text"] for row in run["exchanges"]],
        "tokens": [sum(row["tokens_in"] for row in run["exchanges"]), sum(row["tokens_out"] for row in run["exchanges"])],
        "evaluations": evaluations,
        "nodes": [{key: node[key] for key in ("index", "parent", "note", "state", "candidate")} for node in run["nodes"]],
    }, indent=1))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
