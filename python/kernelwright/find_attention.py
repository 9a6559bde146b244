"""Operators of a problem's reference that PyTorch gives to cuDNN: convolutions, and softmax(scale * q @ k^T + mask) @ v."""

import ast

from .expression_graph import Graph, NoOperator, is_call, is_product, made_call, operands, rest_of

CALL = "cudnn_attention"
CONVOLUTIONS = ("conv", "conv_transpose")


class FoundForCudnn:
    """`problem`: rewritten, with calls of CALL; `what`: cuDNN's part in words; `rest`: PyTorch's."""

    def __init__(self, problem):
        graph = Graph(problem)
        convolutions = [node for node in graph.nodes() if is_call(node, *CONVOLUTIONS)]
        attentions, why_not = [], ""
        for node in graph.products():
            p = graph.resolved(operands(node)[0])
            if not is_call(p, "softmax") or len(p.args) + len(p.keywords) > 1 and ast.unparse(axis_of(p)) != "-1":
                continue
            try:
                attentions.append((node, attention_of(graph, p.args[0], operands(node)[1])))
            except NoOperator as error:
                why_not = f": {error}"
        if not attentions and not convolutions:
            raise NoOperator(f"cudnn: the problem has neither a convolution nor an attention that PyTorch gives to cuDNN{why_not}")
        for node, call in attentions:
            graph.replace(node, call)
        self.problem, self.rest = graph.problem, list(rest_of(graph, CALL, *CONVOLUTIONS))
        self.what = ["attention"] * bool(attentions) + ["transposed convolution" if is_call(each, "conv_transpose") else "convolution" for each in convolutions]


def axis_of(node):
    return node.args[1] if len(node.args) > 1 else next(each.value for each in node.keywords)


def is_minus_infinity(node):
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Name) and node.operand.id == "inf"


def attention_of(graph, scores, v):
    """From the softmax's argument inwards: masks and biases first, then factors, then the product."""
    words, x = {}, graph.resolved(scores)
    while not is_product(x):
        if is_call(x, "where") and len(x.args) == 3 and is_minus_infinity(graph.resolved(x.args[2])) and not {"scale", "where", "past"} & set(words):
            words.update(mask_of(graph, x.args[0]))
            x = x.args[1]
        elif isinstance(x, ast.BinOp) and isinstance(x.op, ast.Add) and not {"scale", "bias"} & set(words):
            sides = [each for each in (x.left, x.right) if has_product(graph, each)]
            if len(sides) != 1:
                raise NoOperator(f"line {x.lineno}: its scores are no sum of one product and a bias")
            words["bias"] = x.right if sides[0] is x.left else x.left
            x = sides[0]
        elif isinstance(x, ast.BinOp) and isinstance(x.op, (ast.Mult, ast.Div)) and graph.is_number(x.right):
            words["scale"] = ast.BinOp(words.get("scale", ast.Constant(1.0)), x.op, x.right)
            x = x.left
        elif isinstance(x, ast.BinOp) and isinstance(x.op, ast.Mult) and graph.is_number(x.left):
            words["scale"] = ast.BinOp(words.get("scale", ast.Constant(1.0)), x.op, x.left)
            x = x.right
        else:
            name = f"{x.func.id}()" if isinstance(x, ast.Call) else ast.unparse(x)
            raise NoOperator(f"line {x.lineno}: its scores pass through {name}, which scaled_dot_product_attention lacks")
        x = graph.resolved(x)
    q, keys = operands(x)
    words.setdefault("scale", ast.Constant(1.0))
    turned = graph.resolved(keys)
    k = turned.args[0] if is_call(turned, "transpose") else ast.Call(ast.Name("transpose", ast.Load()), [keys], [])
    return made_call(CALL, (q, k, v), words)


def has_product(graph, node):
    return any(is_product(each) or isinstance(each, ast.Name) and each.id in graph.defined and has_product(graph, graph.defined[each.id].value)
               for each in ast.walk(node))


def mask_of(graph, node):
    """`past`: key j is seen by query i when j <= i + past."""
    x = graph.resolved(node)
    if not (isinstance(x, ast.Compare) and isinstance(x.ops[0], ast.LtE) and is_call(graph.resolved(x.left), "arange")):
        return {"where": node}
    rows, past = graph.resolved(x.comparators[0]), ast.Constant(0)
    if isinstance(rows, ast.BinOp) and isinstance(rows.op, ast.Add) and graph.is_number(rows.right):
        rows, past = graph.resolved(rows.left), rows.right
    column = isinstance(rows, ast.Subscript) and ast.unparse(rows.slice) in (":, None", "(:, None)") and is_call(graph.resolved(rows.value), "arange")
    return {"past": past} if column and len(graph.resolved(rows.value).args) == len(graph.resolved(x.left).args) == 1 else {"where": node}
