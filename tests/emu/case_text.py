"""Instruction cases as text, and operands worth trying; for make_cases.py."""
import pathlib
import random

HERE = pathlib.Path(__file__).parent
PREFIX = {8: '%rb', 16: '%rs', 32: '%r', 64: '%rd'}


class File:
    def __init__(self, name):
        self.name, self.out = name, ['# Made by make_cases.py; change it there.', 'independent-lanes', '']

    def case(self, title, body, inputs, outputs, target='sm_80', note=''):
        """inputs: register -> list; outputs: register (with :x, or ' within …') -> list."""
        self.out.append(f'# {title}')
        self.out.append(f'run target={target}')
        for reg, values in inputs.items():
            self.out.append(f'  input {reg} = ' + ' '.join(values))
        for line in body if isinstance(body, list) else [body]:
            self.out.append('  ' + line)
        self.out.append('----')
        for reg, values in outputs.items():
            if len(set(values)) == 1:
                values = values[:1]
            self.out.append(f'{reg} = ' + ' '.join(values))
        self.out.append('')

    def error(self, title, body, pattern, target='sm_80'):
        self.out += [f'# {title}', f'run-error target={target}', '  ' + body, '----', pattern, '']

    def write(self):
        (HERE / f'{self.name}.gen.test').write_text('\n'.join(self.out))


def hexes(values, bits):
    return [f'0x{v & ((1 << bits) - 1):0{bits // 4}x}' for v in values]


def signed(v, bits):
    v &= (1 << bits) - 1
    return v - (1 << bits) if v >> (bits - 1) else v


def wrap(v, bits, is_signed):
    return signed(v, bits) if is_signed else v & ((1 << bits) - 1)


def clamp(v, bits, is_signed):
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed else (0, (1 << bits) - 1)
    return min(max(v, low), high)


def edges(bits, seed):
    rng = random.Random(seed)
    top = 1 << (bits - 1)
    return [0, 1, 2 * top - 1, 2, top, top - 1, top + 1, 0x5555555555555555 & (2 * top - 1), 7, 2 * top - 3,
            rng.getrandbits(bits), rng.getrandbits(bits), rng.getrandbits(bits // 2), 255, 65535 & (2 * top - 1), 24]


def pairs(bits, seed):
    """32 pairs of edges that meet zero, one, minus one and the extremes."""
    e = edges(bits, seed)
    a = e + e
    b = e[5:] + e[:5] + e[2:3] * 4 + e[0:1] * 4 + e[4:5] * 4 + e[::-1][:4]
    return a, b


TYPES = [('u16', 16, False), ('s16', 16, True), ('u32', 32, False), ('s32', 32, True), ('u64', 64, False), ('s64', 64, True)]


EDGE32 = [0, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 1, 0x80000001, 0x007fffff, 0x00800000,
          0x7f7fffff, 0xff7fffff, 0x3f7fffff, 0x3f800001, 0x40490fdb, 0x3dcccccd, 0x4b800000, 0x33800000, 0x00400000, 0x80800000, 0x3f000000, 0xc2c80000]
EDGE64 = [0, 1 << 63, 0x3ff0000000000000, 0xbff0000000000000, 0x7ff0000000000000, 0xfff0000000000000, 0x7fefffffffffffff, 0xffefffffffffffff, 1,
          0x8000000000000001, 0x000fffffffffffff, 0x0010000000000000, 0x3fefffffffffffff, 0x3ff0000000000001, 0x400921fb54442d18, 0x3fb999999999999a]
EDGE16 = [0, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 1, 0x8001, 0x03ff, 0x0400, 0x7bff, 0xfbff, 0x3bff, 0x3c01, 0x4248, 0x2e66, 0x3800, 0x1400]
EDGEB = [0, 0x8000, 0x3f80, 0xbf80, 0x7f80, 0xff80, 0x7fc0, 0xffc1, 1, 0x8001, 0x007f, 0x0080, 0x7f7f, 0xff7f, 0x3f7f, 0x3f81, 0x4049, 0x3dcd, 0x3f00, 0x3380]


def float_inputs(edge, bits, seed, count=32):
    rng = random.Random(seed)
    a = edge + [rng.getrandbits(bits) for _ in range(count)]
    near = lambda v: (v ^ rng.getrandbits(max(2, bits // 3)))
    a = a[:count]
    pool = edge + [rng.getrandbits(bits) for _ in range(8)] + [near(v) for v in a[2:8]]
    b = [pool[rng.randrange(len(pool))] for _ in range(count)]
    c = [pool[rng.randrange(len(pool))] for _ in range(count)]
    return a, b, c
