"""The text of a sound problem file as Python sees it: what `kw problem check` has passed needs no checking here."""

import ast
import re


class Tensor:
    def __init__(self, name, dtype, shape):
        self.name, self.dtype, self.shape = name, dtype, shape   # shape: the text of a Python list


class ProblemFile:
    def __init__(self, text):
        sections, lines = {}, {}
        current = None
        for number, line in enumerate(text.split("\n"), 1):
            head = re.match(r"([a-z]+)\s*:", line)
            if head:
                current = head.group(1)
                sections[current], lines[current] = [], number
            elif current:
                sections[current].append(line)
        self.name = re.search(r"^problem\s+(\w+)", text, re.M).group(1)
        self.inputs, self.outputs = (list(map(tensor, items(sections.get(part, [])))) for part in ("inputs", "outputs"))
        self.axes = sorted(set(re.findall(r"[A-Za-z_]\w*", " ".join(items(sections.get("axes", []))))))
        pairs = (re.match(r"(\w+)\s*=\s*(\S+)", item).groups() for item in items(sections.get("attributes", [])))
        self.attributes = {name: ast.literal_eval(value) for name, value in pairs}
        body = sections["reference"]
        margin = min(len(line) - len(line.lstrip()) for line in body if without_comment(line).strip())
        source = "\n".join(line[margin:] if without_comment(line).strip() else "" for line in body)
        self.statements = ast.parse("\n" * lines["reference"] + source).body   # with the lines of the file

    def needed(self):
        """The statements that outputs come from; the others are of pieces alone."""
        wanted, found = {each.name for each in self.outputs}, []
        for statement in reversed(self.statements):
            if target_of(statement) in wanted:
                found.append(statement)
                wanted.update(each.id for each in ast.walk(statement.value) if isinstance(each, ast.Name))
        return found[::-1]


def target_of(statement):
    return (statement.targets[0] if isinstance(statement, ast.Assign) else statement.target).id


def without_comment(line):
    return line.split("#")[0]


def items(lines):
    """One text an item, whatever number of lines it takes."""
    found, item = [], ""
    for line in lines:
        item += without_comment(line)
        if item.strip() and item.count("[") == item.count("]") and item.count("(") == item.count(")") and not item.rstrip().endswith(","):
            found.append(item.strip())
            item = ""
    return found


def tensor(item):
    return Tensor(*re.match(r"(\w+)\s*:\s*(\w+)\s*(\[[^\]]*\])", item).groups())
