"""cuDNN by PyTorch: what a library function (library_function.py) calls. Each call is cuDNN's or fails."""

import warnings

import torch
import torch.nn.functional as F

from .expression_graph import NoOperator


def version():
    number = torch.backends.cudnn.version() or 0
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


class Cudnn:
    """`tf32`: whether convolutions of f32 may be computed in it. On the CPU PyTorch's own operators take cuDNN's place: for tests."""

    def __init__(self, on_gpu, tf32):
        from torch.nn.attention import SDPBackend, sdpa_kernel   # torch 2.5; other rivals need it not
        self.on_gpu, self.tf32, self.masks = on_gpu, tf32, {}
        self.alone = lambda: sdpa_kernel(SDPBackend.CUDNN_ATTENTION if on_gpu else SDPBackend.MATH)

    # --- convolutions: of two axes at the least, chosen by measurement among the deterministic algorithms

    def conv(self, x, w, stride=1, padding=0, dilation=1, groups=1):
        axes = x.ndim - 2
        if not self.on_gpu:
            return (F.conv1d, F.conv2d, F.conv3d)[axes - 1](x, w, None, stride, padding, dilation, groups)
        if axes == 1:
            return self.conv(x[:, :, None], w[:, :, None], *(first + each(value, 1) for first, value in (([1], stride), ([0], padding), ([1], dilation))),
                             groups)[:, :, 0]
        stride, padding, dilation = (each(value, axes) for value in (stride, padding, dilation))
        return torch.cudnn_convolution(x, w, padding, stride, dilation, groups, benchmark=True, deterministic=True, allow_tf32=self.tf32)

    def conv_transpose(self, x, w, stride=1, padding=0, dilation=1, groups=1, output_padding=0):
        axes = x.ndim - 2
        if not self.on_gpu:
            return (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[axes - 1](x, w, None, stride, padding, output_padding, groups, dilation)
        if axes == 1:
            options = [first + each(value, 1) for first, value in (([1], stride), ([0], padding), ([1], dilation))]
            return self.conv_transpose(x[:, :, None], w[:, :, None], *options, groups, [0] + each(output_padding, 1))[:, :, 0]
        stride, padding, dilation, output_padding = (each(value, axes) for value in (stride, padding, dilation, output_padding))
        return torch.cudnn_convolution_transpose(x, w, padding, output_padding, stride, dilation, groups, benchmark=True, deterministic=True,
                                                 allow_tf32=self.tf32)

    # --- attention

    def attention(self, q, k, v, *, scale, where=None, past=None, bias=None):
        """softmax(scale * q @ k.mT + bias, where not masked -inf) @ v. `past`: key j is seen by query i when j <= i + past."""
        batch = q.shape[:-2]
        grouped = q.ndim == 5 and k.ndim == v.ndim == 5 and k.shape[:3] == v.shape[:3] == (*q.shape[:2], 1)   # as text writes it
        if not grouped and max(q.ndim, k.ndim, v.ndim) > 4:
            raise NoOperator("cudnn: the attention has more than two leading axes, and they are no groups of heads")
        q, k, v = (q.flatten(1, 2), k.squeeze(2), v.squeeze(2)) if grouped else (of_rank_4(each) for each in (q, k, v))
        causal = past == 0
        mask = None if past is None or causal or past >= k.shape[-2] - 1 else self.lower(q, k, past)
        if where is not None:
            mask = of_heads(where, batch)
            if bias is not None:
                mask = torch.where(mask, of_heads(bias, batch).to(q.dtype), float("-inf"))
        elif bias is not None:
            mask = of_heads(bias, batch).to(q.dtype)
            if past is not None:
                causal, mask = False, mask + self.lower(q, k, past)
        shared = k.shape[1] != q.shape[1]
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                with self.alone():
                    o = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal, scale=scale, enable_gqa=shared)
            except RuntimeError as error:
                if "No available kernel" not in str(error):
                    raise
                reasons = [str(each.message).split(" (Triggered internally")[0].strip() for each in told]
                raise NoOperator("cudnn: PyTorch gives this attention not to cuDNN: " + " ".join(reasons or [str(error)])) from error
        return o.reshape(*batch, *o.shape[-2:])

    def lower(self, q, k, past):
        """The mask as what is added: of sizes alone, so made once."""
        key = (q.shape[-2], k.shape[-2], past, q.dtype)
        if key not in self.masks:
            seen = torch.arange(key[1], device=q.device) <= torch.arange(key[0], device=q.device)[:, None] + past
            self.masks[key] = torch.zeros(seen.shape, dtype=q.dtype, device=q.device).masked_fill_(~seen, float("-inf"))
        return self.masks[key]


def each(value, count):
    return list(value) if isinstance(value, (list, tuple)) else [value] * count


def of_rank_4(x):
    return x[(None,) * (4 - x.ndim)]


def of_heads(mask, batch):
    """[batch, heads, rows, columns] or what broadcasts to it; `batch`: the query's leading axes, of three the last two are heads."""
    if mask.ndim > 2 and len(batch) == 3:
        mask = mask[(None,) * (5 - mask.ndim)]
        return mask.expand(-1, *batch[1:], *mask.shape[-2:]).flatten(1, 2)
    return of_rank_4(mask)
