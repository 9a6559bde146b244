"""kw problem import on the tasks beside this file, as a user runs it. 77 (skipped) where no Python has torch.

    import_test.py KW
"""

import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, cwd=HERE)
    return done.returncode, done.stdout, done.stderr


def expect(holds, what, text=""):
    if not holds:
        sys.exit(f"import_test: {what}\n{text}")


def rows_of(report):
    return {cells[1]: cells for line in open(report) if line.startswith("|") for cells in [[c.strip() for c in line.split("|")]]}


def ended_early(kw, folder):
    """The report holds what was finished when the command is ended."""
    report = f"{folder}/early.md"
    with subprocess.Popen([kw, "problem", "import", "kernelbench", "--out", folder, "--report", report, "--jobs", "2", "tasks/endless.py", "tasks/linear_relu.py"],
                          cwd=HERE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as command:
        deadline = time.monotonic() + 200
        while time.monotonic() < deadline and not (os.path.exists(report) and "1 of 2 files so far" in open(report).read()):
            time.sleep(0.1)
        command.terminate()
        command.wait()
    expect(os.path.exists(report) and "linear_relu" in rows_of(report), "a report of what was finished", "")


def main(kw):
    with tempfile.TemporaryDirectory() as folder:
        tasks = [f"tasks/{name}" for name in ("linear_relu.py", "normalised_image.py", "attention.py", "recurrent.py", "kept_tables.py", "no_task.py",
                                               "outside.py", "random_output.py", "absent.py")]
        code, out, err = run(kw, "problem", "import", "kernelbench", "--out", folder, "--report", f"{folder}/report.md", "--jobs", "2", *tasks)
        if "no Python with torch" in err:
            print("SKIP: " + err.strip())
            return 77
        expect(code == 1, f"exit code {code}: four of the files are no tasks", out + err)
        rows = rows_of(f"{folder}/report.md")
        expect([name.split("/")[-1].removesuffix(".py") for name in rows][2:] == [task.split("/")[-1].removesuffix(".py") for task in tasks],
               "the rows are in the order of the files", "\n".join(rows))
        expect("No such file" in rows["tasks/absent.py"][7], "absent: a file that cannot be read is a row", out)

        for name in ("linear_relu", "normalised_image", "attention", "recurrent", "kept_tables"):
            expect(name in rows and rows[name][2] == "yes", f"{name} is imported", out + err)
            expect(float(rows[name][5]) <= 1e-9, f"{name}: the reference and PyTorch agree in fp64", out)
            code, out_check, err_check = run(kw, "problem", "check", f"{folder}/{name}.problem")
            expect(code == 0 and not err_check, f"{name}.problem passes kw problem check", out_check + err_check)
        expect("get_inputs" in rows["no_task"][7], "no_task: says what is missing", out)
        expect("FileNotFoundError" in rows["outside"][7] or "PermissionError" in rows["outside"][7], "outside: the jail hides the machine", out)
        expect("random" in rows["random_output"][7], "random_output: says why", out)

        linear = open(f"{folder}/linear_relu.problem").read()
        for line in ("x: f32[rows, features_in] ~ uniform(0, 1)", "layer_bias: f32[features_out] ~ uniform(-0.0316227766, 0.0316227766)",
                     "real task: rows=4096, features_in=1000, features_out=520"):
            expect(line in linear, f"linear_relu.problem says '{line}'", linear)
        expect("unused" not in linear, "a layer that no output needs is left out", linear)

        attention = open(f"{folder}/attention.problem").read()
        expect("mask = where(arange(64) <= arange(64)[:, None], 1.0, 0.0)" in attention, "the mask is computed", attention)
        expect("python:" not in attention, "attention needs no opaque operator", attention)

        recurrent = open(f"{folder}/recurrent.problem").read()
        expect(recurrent.count("= python(lstm_") == 1 and recurrent.count("= python(gru_") == 1, "a recurrent layer is one call", recurrent)
        expect(re.search(r"randn: f32\[4, (\w+), 20\] ~ normal\(0, 1\)", recurrent), "what forward draws is an input", recurrent)
        expect(re.search(r"x: f32\[\w+, [A-Za-z]\w*, 12\]", recurrent), "the sequence may have any length", recurrent)
        expect(rows["recurrent"][4] == "gru lstm", "the table names the opaque operators", out)

        tables = open(f"{folder}/kept_tables.problem").read()
        for name in ("ahead", "places", "scale"):
            expect(not re.search(rf"^  {name}: ", tables, re.M), f"{name} is computed, no input", tables)
        expect("norm_running_mean: f32[" in tables, "running statistics are inputs", tables)

        code, out, err = run(kw, "problem", "import", "kernelbench", "--out", folder, "--admit", "--admit-seconds", "0.001", tasks[0])
        expect("not asked: it takes over 0.001 s" in out and "0 admitted, 1 not asked, 0 rejected" in out, "admission has a time limit", out + err)
        ended_early(kw, folder)
        code, out, err = run(kw, "problem", "import", "kernelbench", "--out", folder, tasks[0], tasks[0])
        expect(code == 1 and "1 of 2 imported" in out and "is called linear_relu too" in out, "two problems of one name", out + err)

        code, out, err = run(kw, "problem", "import", "module", "--out", folder, "modules/distances.py:nearest")
        expect(code == 0 and re.search(r"distances +yes", out), "a function is imported", out + err)
        distances = open(f"{folder}/distances.problem").read()
        expect('"The squared distance to the nearest centre, and which it is."' in distances, "its first line describes it", distances)
        expect("y0: f32[" in distances and "y1: i64[" in distances, "both results are outputs", distances)

        code, out, err = run(kw, "problem", "evaluate", f"{folder}/distances.problem", "--workload", "least", "--out", f"{folder}/values")
        expect(code == 0 and sorted(os.listdir(f"{folder}/values/outputs")) == ["y0.npy", "y1.npy"], "kw problem evaluate writes values", out + err)
        code, _, err = run(kw, "problem", "evaluate", f"{folder}/distances.problem", "--workload", "odd", "--inputs", f"{folder}/values/inputs",
                           "--out", f"{folder}/other")
        expect(code == 2 and "wants f32" in err, "inputs of another workload are refused", err)
    return 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
