"""What a problem's text says in one word and PyTorch in several. Called by the functions that to_torch.py writes."""

import math

import torch
import torch.nn.functional as F


def conv(x, w, **options):
    return (F.conv1d, F.conv2d, F.conv3d)[x.ndim - 3](x, w, **options)


def conv_transpose(x, w, **options):
    return (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[x.ndim - 3](x, w, **options)


def each(value, count):
    return list(value) if isinstance(value, (list, tuple)) else [value] * count


def pad(x, axis, before=0, after=0, value=0):
    axes = each(axis, 1)
    widths = [0] * (2 * x.ndim)
    for one, front, back in zip(axes, each(before, len(axes)), each(after, len(axes))):
        widths[2 * (x.ndim - 1 - one % x.ndim)] = front
        widths[2 * (x.ndim - 1 - one % x.ndim) + 1] = back
    return F.pad(x, widths, value=value)


def windows(x, axis, size, step=1, dilation=1):
    rank, axes = x.ndim, each(axis, 1)
    for one, length, stride, spread in zip(axes, *(each(value, len(axes)) for value in (size, step, dilation))):
        x = x.unfold(one % rank, spread * (length - 1) + 1, stride)[..., ::spread]
    return x


def reversed_scan(scan, x, axis):
    return scan(x.flip(axis), axis).flip(axis)


def linear_scan(a, b, axis=-1, initial=None, reverse=False):
    """h = a h + b along the axis, in as many steps as the length has doublings."""
    a, b = (torch.movedim(each, axis, -1) for each in torch.broadcast_tensors(a, b))
    if reverse:
        a, b = a.flip(-1), b.flip(-1)
    if initial is not None:
        b = torch.cat((b[..., :1] + a[..., :1] * initial[..., None], b[..., 1:]), -1)
    step = 1
    while step < b.shape[-1]:
        b = torch.cat((b[..., :step], b[..., step:] + a[..., step:] * b[..., :-step]), -1)
        a = torch.cat((a[..., :step], a[..., step:] * a[..., :-step]), -1)
        step *= 2
    return torch.movedim(b.flip(-1) if reverse else b, -1, axis)


def scattered(x, index, updates, axis, how=None):
    shape = [size if i == axis % x.ndim else x.shape[i] for i, size in enumerate(index.shape)]
    index = index.long().expand(shape)
    updates = torch.broadcast_to(torch.as_tensor(updates, dtype=x.dtype, device=x.device), shape)
    if how is None:
        return x.scatter(axis, index, updates)
    return x.scatter_reduce(axis, index, updates, how)


def bincount(x, size, weights=None):
    weights = torch.ones_like(x) if weights is None else torch.broadcast_to(weights, x.shape)
    return torch.zeros(size, dtype=weights.dtype, device=x.device).scatter_add(0, x.reshape(-1).long(), weights.reshape(-1))


def matmul_f32(a, b):
    """The product of tensors of f16 or bf16, in f32: on a GPU by tensor cores, as they accumulate it."""
    if not a.is_cuda or a.ndim < 2 or b.ndim < 2:
        return a.float() @ b.float()
    if a.ndim == b.ndim == 2:
        return torch.mm(a, b, out_dtype=torch.float32)
    shape = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = a.expand(*shape, *a.shape[-2:]), b.expand(*shape, *b.shape[-2:])
    return torch.bmm(a.reshape(-1, *a.shape[-2:]), b.reshape(-1, *b.shape[-2:]), out_dtype=torch.float32).reshape(*shape, a.shape[-2], b.shape[-1])


def int8_matmul(a, b):
    """The exact product, in int32."""
    if a.is_cuda and a.ndim == b.ndim == 2 and a.shape[0] > 16 and a.shape[1] % 8 == 0 and b.shape[1] % 8 == 0:
        return torch._int_mm(a, b)
    return (a.double() @ b.double()).int()


def fp8_matmul(a, b, dtype):
    if a.is_cuda and a.ndim == b.ndim == 2 and a.shape[1] % 16 == 0 and b.shape[1] % 16 == 0 and b.stride(0) == 1:
        one = torch.ones((), device=a.device)
        return torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=dtype)
    return (a.float() @ b.float()).to(dtype)


# Four bits an element, two to a byte, the low ones first; bytes come as one axis.


def nibbles(packed, shape):
    return torch.stack((packed & 15, packed >> 4), -1).reshape(-1)[:math.prod(shape)].reshape(shape)


def unpack_i4(packed, shape):
    return (nibbles(packed, shape).to(torch.int8) ^ 8) - 8


def unpack_u4(packed, shape):
    return nibbles(packed, shape)


def unpack_e2m1(packed, shape, dtype):
    code = nibbles(packed, shape)
    size = (code & 7).to(dtype)
    size = torch.where(size < 4, size / 2, torch.where(size < 6, size - 2, 2 * size - 8))
    return torch.where(code < 8, size, -size)


def pack_nibbles(x):
    x = x.reshape(-1).to(torch.uint8) & 15
    x = F.pad(x, (0, x.numel() % 2)).reshape(-1, 2)
    return x[:, 0] | x[:, 1] << 4


# Philox4x32-10 (Salmon et al. 2011) as cuRAND counts it; words are int64 between 0 and 2^32 - 1.

MASK = 0xFFFFFFFF


def wide_product(word, factor):
    """The high and the low word."""
    upper = word * (factor >> 16) + (word * (factor & 0xFFFF) >> 16)
    return upper >> 16, word * factor & MASK


def philox4x32(counter, key):
    c, k = list(counter.long().unbind(-1)), list(key.long().unbind(-1))
    for _ in range(10):
        (left_high, left), (right_high, right) = wide_product(c[0], 0xD2511F53), wide_product(c[2], 0xCD9E8D57)
        c = [right_high ^ c[1] ^ k[0], right, left_high ^ c[3] ^ k[1], left]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return torch.stack(torch.broadcast_tensors(*c), -1)


def philox(seed, subsequence, offset):
    seed, subsequence, offset = torch.broadcast_tensors(*(one.long() for one in (seed, subsequence, offset)))

    def block(number):
        return philox4x32(torch.stack((number & MASK, number >> 32, subsequence & MASK, subsequence >> 32), -1),
                          torch.stack((seed & MASK, seed >> 32), -1))
    words = torch.cat((block(offset // 4), block(offset // 4 + 1)), -1)
    return words.gather(-1, (offset % 4)[..., None] + torch.arange(4, device=words.device))


def curand_uniform(words):
    return (words.float() * 2.0**-32 + 2.0**-33).to(torch.get_default_dtype())


def torch_uniform(words):
    u = curand_uniform(words)
    return torch.where(u == 1, 0, u)


def curand_normal(words):
    u = curand_uniform(words).reshape(*words.shape[:-1], -1, 2)
    radius, angle = torch.sqrt(-2 * torch.log(u[..., 0])), 2 * math.pi * u[..., 1]
    return torch.stack((radius * torch.sin(angle), radius * torch.cos(angle)), -1).reshape(words.shape)
