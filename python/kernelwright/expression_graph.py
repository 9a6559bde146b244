"""The text of a problem's reference as a graph: what names stand for, and where a value goes."""

import ast
import copy

from .problem_file import target_of


class NoOperator(Exception):
    """Why a library has no operator that computes the problem."""


class Graph:
    """Of a copy of the problem, which may be rewritten."""

    def __init__(self, problem):
        self.problem = copy.deepcopy(problem)
        self.problem.statements = self.problem.needed()
        self.inputs = {each.name: each for each in self.problem.inputs}
        self.outputs = {each.name for each in self.problem.outputs}
        self.defined = {target_of(each): each for each in self.problem.statements}
        self.numbers = {*self.problem.axes, *self.problem.attributes, "inf", "nan"}
        self.parents, self.reads = {}, {}
        for statement in self.problem.statements:
            self.parents[statement.value] = statement
            for node in ast.walk(statement.value):
                self.parents.update((child, node) for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr_context))
                if isinstance(node, ast.Name):
                    self.reads.setdefault(node.id, []).append(node)

    def nodes(self):
        return (node for statement in self.problem.statements for node in ast.walk(statement.value))

    def products(self):
        return [node for node in self.nodes() if is_product(node)]

    def resolved(self, node):
        """Through names of what is computed; dtypes that values are kept in count for nothing."""
        while isinstance(node, ast.Name) and node.id in self.defined:
            node = self.defined[node.id].value
        return node

    def is_number(self, node):
        functions = {each.func for each in ast.walk(node) if isinstance(each, ast.Call)}
        return all(each.id in self.numbers or each.id in self.defined and self.is_number(self.defined[each.id].value)
                   for each in ast.walk(node) if isinstance(each, ast.Name) and each not in functions)

    def use(self, node):
        """The one place that takes the value: an expression, through an unkept name; None: several do, or it is kept or an output."""
        parent = self.parents[node]
        if isinstance(parent, (ast.expr, ast.keyword)):
            return node, parent
        if isinstance(parent, ast.AnnAssign) or target_of(parent) in self.outputs or len(self.reads.get(target_of(parent), [])) != 1:
            return None
        return self.use(self.reads[target_of(parent)][0])

    def replace(self, old, new):
        parent = self.parents[old]
        for field, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, field, new)
            elif isinstance(value, list) and any(each is old for each in value):
                value[:] = [new if each is old else each for each in value]
        ast.copy_location(new, old)
        self.problem.statements = self.problem.needed()


def is_call(node, *names):
    return isinstance(node, ast.Call) and node.func.id in names


def is_product(node):
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult) or is_call(node, "matmul")


def operands(product):
    return (product.left, product.right) if isinstance(product, ast.BinOp) else (product.args[0], product.args[1])


def made_call(name, arguments, words):
    """A call that no text can have; to be translated by library_function.py."""
    keywords = [ast.keyword(word, value if isinstance(value, ast.expr) else ast.Constant(value)) for word, value in words.items() if value is not None]
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), keywords)


SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.MatMult: "@", ast.Pow: "**", ast.FloorDiv: "//", ast.Mod: "%"}
MOVES = ("transpose", "permute", "reshape", "broadcast")   # most are views


def rest_of(graph, *library):
    """What is computed from tensors outside of calls of these names, in the order of the text; calls and signs, each once."""
    found = {}

    def visit(node):
        if isinstance(node, ast.expr) and graph.is_number(node):
            return
        if is_call(node, *library):
            for each in node.args + [keyword.value for keyword in node.keywords]:
                visit(each)
            return
        if isinstance(node, ast.Call):
            if node.func.id not in MOVES:
                found[node.func.id + "()"] = node
            for each in node.args + [keyword.value for keyword in node.keywords]:
                visit(each)
            return
        if isinstance(node, ast.BinOp):
            found[SIGNS.get(type(node.op), "?")] = node
        elif isinstance(node, ast.UnaryOp):
            found["not" if isinstance(node.op, ast.Not) else "-"] = node
        elif isinstance(node, (ast.Compare, ast.BoolOp)):
            found["comparisons"] = node
        for each in ast.iter_child_nodes(node):
            visit(each)
    for statement in graph.problem.statements:
        visit(statement.value)
    return found
