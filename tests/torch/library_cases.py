"""Texts that the collection lacks, and what the libraries have of each: for recognition_test.py and library_test.py."""

import re

HEAD = """problem {name}: "A case"

axes:
  {axes}
{attributes}
inputs:
{inputs}

outputs:
  {output}

reference:
{reference}

workloads:
  smallest one: {smallest}
  shape    odd: {odd}
"""
SIZES = ({"B": 2, "H": 2, "G": 3, "M": 5, "N": 8, "K": 16}, {"B": 3, "H": 1, "G": 2, "M": 9, "N": 16, "K": 24})
DISTRIBUTIONS = {"bool": "integers(0, 1)", "i8": "integers(-9, 9)"}
F16 = "a: f16[M, K], w: f16[N, K], bias: f16[N], rows: f16[M], c: f16[M, N]"
F32 = F16.replace("f16", "f32")
FP8 = "a: e4m3[M, K], w: e4m3[N, K], sa: f32[M], sw: f32[N], bias: bf16[N]"
HEADS = "q: f16[B, H, M, K], k: f16[B, H, N, K], v: f16[B, H, N, 32], m: bool[N], bias: f16[H, M, N], one: f16[B, 1, N, K], hb: f16[B, H, G, M, N]"

# name, inputs, output, reference, what cuBLASLt has (or why it has nothing), the same of cuDNN.
NO_PRODUCT, NO_CUDNN = "the problem is not one matrix product (it has none)", "neither a convolution nor an attention"
CASES = [
    ("bias_relu", F32, "y: f32[M, N]", "y = relu(a @ transpose(w) + bias)", "product, bias, relu", NO_CUDNN),
    ("bias_gelu_tanh", F16, "y: f16[M, N]", "y = gelu_tanh(bias + a @ transpose(w))", "product, bias, gelu", NO_CUDNN),
    ("scaled_residual", F16, "y: f16[M, N]", "t = factor * (a @ transpose(w))\ny = c + t", "product, scale, residual", NO_CUDNN),
    ("all", F32, "y: f32[M, N]", "t = a @ transpose(w) / sqrt(K)\nu = t + bias\ny = relu(u + c)", "product, scale, residual, bias, relu", NO_CUDNN),
    ("kept", F16, "y: f16[M, N]", "t: f16 = a @ transpose(w)\ny = relu(t + bias)", "product; relu(), + in PyTorch", NO_CUDNN),
    ("twice", F16, "y: f16[M, N]", "t = a @ transpose(w)\ny = t * sigmoid(t)", "product; *, sigmoid() in PyTorch", NO_CUDNN),
    ("bias_of_rows", F16, "y: f16[M, N]", "y = a @ transpose(w) + rows[:, None]", "product; + in PyTorch", NO_CUDNN),
    ("scaled_after", F16, "y: f16[M, N]", "y = (a @ transpose(w) + bias) * factor", "product, bias; * in PyTorch", NO_CUDNN),
    ("over", F32, "y: f32[M, N]", "y = factor / (1 + square(a @ transpose(w)))", "product; /, +, square() in PyTorch", NO_CUDNN),
    ("turned_left", "a: f32[K, M], w: f32[K, N]", "y: f32[M, N]", "y = transpose(a) @ w", "product", NO_CUDNN),
    ("turned_both", "a: f16[K, M], w: f16[N, K]", "y: f16[M, N]", "y = transpose(a) @ transpose(w)", "product", NO_CUDNN),
    ("folded", "a: f32[B, M, K], w: f32[K, N], c: f32[B, M, N]", "y: f32[B, M, N]", "y = relu(a @ w + c)", "product, residual, relu", NO_CUDNN),
    ("shared_left", "a: f32[M, K], w: f32[B, K, N]", "y: f32[B, M, N]", "y = a @ w", "product", NO_CUDNN),
    ("shared_turned", "a: f32[B, K, M], w: f32[K, N]", "y: f32[B, M, N]", "y = transpose(a) @ w", "product", NO_CUDNN),
    ("two_batches", "a: f32[B, H, M, K], w: f32[B, H, N, K], bias: f32[N]", "y: f32[B, H, M, N]", "y = a @ transpose(w) + bias", "product, bias", NO_CUDNN),
    ("dot", "a: f32[K], w: f32[K]", "y: f32[1]", "y = reshape(a @ w, [1])", "product", NO_CUDNN),
    ("vector_left", "a: f32[K], w: f32[K, N], bias: f32[N]", "y: f32[N]", "y = a @ w + bias", "product, bias", NO_CUDNN),
    ("vector_right", "a: f32[M, K], w: f32[K], bias: f32[M]", "y: f32[M]", "y = relu(a @ w + bias)", "product, bias, relu", NO_CUDNN),
    ("batch_of_vectors", "a: f32[B, M, K], w: f32[K]", "y: f32[B, M]", "y = a @ w", "product", NO_CUDNN),
    ("reshaped", "a: f16[M, H, K], w: f16[N, H * K]", "y: f16[M, N]", "y = reshape(a, [M, H * K]) @ transpose(w)", "product", NO_CUDNN),
    ("fp8_bias", FP8, "y: bf16[M, N]", "y = (a @ transpose(w)) * sw * sa[:, None] + bias", "product, scales of rows and columns, bias", NO_CUDNN),
    ("fp8_one_scale", FP8, "y: bf16[M, N]", "y = (a @ transpose(w)) * sw", "product; * in PyTorch", NO_CUDNN),
    ("fp8_one_factor", FP8, "y: bf16[M, N]", "y = (a @ transpose(w)) * sa[:, None] * factor", "product; * in PyTorch", NO_CUDNN),
    ("fp8_one_scale_relu", FP8, "y: bf16[M, N]", "y = relu((a @ transpose(w)) * sw)", "product; relu(), * in PyTorch", NO_CUDNN),
    ("one_column", "a: i8[M, K], w: i8[1, K]", "y: i32[M, 1]", "y = a @ transpose(w)", "product", NO_CUDNN),
    ("read_twice", F16, "y: f16[M, N]", "t = a @ transpose(w)\ny = t + bias + square(t)", "product; +, square() in PyTorch", NO_CUDNN),
    ("output_too", F16, "t: f16[M, N]\n  y: f16[M, N]", "t = a @ transpose(w)\ny = relu(t)", "product; relu() in PyTorch", NO_CUDNN),
    ("mixed", "a: f16[M, K], w: f32[K, N]", "y: f32[M, N]", "y = a @ w", "cuBLASLt multiplies no f16 by f32", NO_CUDNN),
    ("computed", F16, "y: f16[M, N]", "y = relu(a) @ transpose(w)", "its operand relu(a) is computed", NO_CUDNN),
    ("softmax", F16, "y: f16[M, N]", "y = softmax(a @ transpose(w))", "softmax() beside it is not element by element", NO_CUDNN),
    ("attention_shared", HEADS, "y: f16[B, H, M, 32]", "y = softmax(factor * (q @ transpose(one)) + bias) @ v", "(it has 2)", "attention"),
    ("attention_masked", HEADS, "y: f16[B, H, M, 32]", "s = q @ transpose(k) * factor + bias\nt = where(m, s, -inf)\ny = softmax(t, axis=-1) @ v", "(it has 2)", "attention"),
    ("attention_of_one", "q: f32[M, K], k: f32[N, K], v: f32[N, 32]", "y: f32[M, 32]", "y = softmax(q @ transpose(k)) @ v", "(it has 2)", "attention"),
    ("attention_of_three", "q: f32[B, M, K], k: f32[B, N, K], v: f32[B, N, 32]", "y: f32[B, M, 32]",
     "y = softmax(where(arange(N) <= arange(M)[:, None] + 2, q @ transpose(k), -inf)) @ v", "(it has 2)", "attention"),
    ("attention_keys_turned", "q: f32[B, H, M, K], k: f32[B, H, K, N], v: f32[B, H, N, 32]", "y: f32[B, H, M, 32]", "y = softmax(q @ k / sqrt(K)) @ v", "(it has 2)", "attention"),
    ("attention_causal_bias", HEADS, "y: f16[B, H, M, 32]", "s = where(arange(N) <= arange(M)[:, None], q @ transpose(k) + bias, -inf)\ny = softmax(s) @ v", "(it has 2)", "attention"),
    ("attention_groups", "q: f32[B, H * G, M, K], k: f32[B, H, N, K], v: f32[B, H, N, 32], hb: f32[H, G, M, N]", "y: f32[B, H, G, M, 32]",
     "s = reshape(q, [B, H, G, M, K]) @ transpose(k[:, :, None]) + hb\ny = softmax(s) @ v[:, :, None]", "(it has 2)", "attention"),
    ("attention_scaled_mask", HEADS, "y: f16[B, H, M, 32]", "y = softmax(factor * (q @ transpose(k) + bias)) @ v", "(it has 2)", "its scores pass through"),
    ("attention_turned_mask", HEADS, "y: f16[B, H, M, 32]", "y = softmax(factor * where(m, q @ transpose(k), -inf)) @ v", "(it has 2)", "its scores pass through where()"),
    ("conv_1d", "x: f32[B, 4, N], w: f32[6, 2, 3]", "y: f32[B, 6, N // 2]", "y = relu(conv(x, w, step=2, padding=1, groups=2))", NO_PRODUCT, "convolution; relu() in PyTorch"),
    ("conv_3d", "x: f32[B, 2, M, N, 4], w: f32[6, 2, 1, 3, 2]", "y: f32[B, 6, M, N, 3]", "y = conv(x, w, padding=[0, 1, 0])", NO_PRODUCT, "convolution"),
    ("conv_transpose_1d", "x: f32[B, 4, N], w: f32[4, 3, 3]", "y: f32[B, 3, 2 * N + 2]", "y = conv_transpose(x, w, step=2, output_padding=1)", NO_PRODUCT, "transposed convolution"),
]


def text_of(name, inputs, output, reference):
    """The problem, with those inputs, axes and attributes that it uses."""
    tensors = [each.strip() for each in re.split(r",(?![^[]*\])", inputs)]
    tensors = [each for each in tensors if uses(each.split(":")[0], reference)]
    dtypes = [re.search(r": (\w+)", each).group(1) for each in tensors]
    lines = [f"  {each} ~ {DISTRIBUTIONS.get(dtype, 'normal(0, 1)')}" for each, dtype in zip(tensors, dtypes)]
    axes = [axis for axis in SIZES[0] if uses(axis, " ".join([*tensors, output]))]
    attributes = "\nattributes:\n  factor = 0.5\n" if uses("factor", reference) else ""
    sizes = [", ".join(f"{axis}={each[axis]}" for axis in axes) for each in SIZES]
    return HEAD.format(name=name, axes=", ".join(f"{axis} >= 1" for axis in axes), attributes=attributes, inputs="\n".join(lines), output=output,
                       reference="\n".join("  " + line for line in reference.split("\n")), smallest=sizes[0], odd=sizes[1])


def uses(name, text):
    return re.search(rf"\b{name}\b", text) is not None
