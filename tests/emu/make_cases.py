"""Writes the generated instruction cases (tests/emu/*.gen.test): python3 make_cases.py

Expected values come from the definitions in the PTX ISA through Python integers and reference.py.
"""
import itertools
import pathlib
import random

import reference as R
from reference import BF16, F16, F32, F64

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


def integer():
    f = File('integer')
    trunc_div = lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)

    def two(name, bits, sgn, function, out_bits=None, suffix=None, type_name=None):
        out_bits = out_bits or bits
        a, b = pairs(bits, name)
        r = [function(wrap(x, bits, sgn), wrap(y, bits, sgn)) for x, y in zip(a, b)]
        p, d = PREFIX[bits], PREFIX[out_bits]
        dst = d + '3'
        f.case(name, f'{name} {dst}, {p}1, {p}2;', {p + '1': hexes(a, bits), p + '2': hexes(b, bits)}, {dst + ':x': hexes(r, out_bits)})

    def three(name, bits, sgn, function, c_bits=None):
        c_bits = c_bits or bits
        a, b = pairs(bits, name)
        c = (edges(c_bits, name + 'c')[::-1]) * 2
        r = [function(wrap(x, bits, sgn), wrap(y, bits, sgn), wrap(z, c_bits, sgn)) for x, y, z in zip(a, b, c)]
        p, q = PREFIX[bits], PREFIX[c_bits]
        f.case(name, f'{name} {q}5, {p}1, {p}2, {q}3;',
               {p + '1': hexes(a, bits), p + '2': hexes(b, bits), q + '3': hexes(c, c_bits)}, {q + '5:x': hexes(r, c_bits)})

    for t, bits, sgn in TYPES:
        two(f'add.{t}', bits, sgn, lambda a, b: a + b)
        two(f'sub.{t}', bits, sgn, lambda a, b: a - b)
        two(f'mul.lo.{t}', bits, sgn, lambda a, b: a * b)
        two(f'mul.hi.{t}', bits, sgn, lambda a, b: (a * b) >> bits)
        three(f'mad.lo.{t}', bits, sgn, lambda a, b, c: a * b + c)
        three(f'mad.hi.{t}', bits, sgn, lambda a, b, c: ((a * b) >> bits) + c)
        if bits < 64:
            two(f'mul.wide.{t}', bits, sgn, lambda a, b: a * b, 2 * bits)
            three(f'mad.wide.{t}', bits, sgn, lambda a, b, c: a * b + c, 2 * bits)
        three(f'sad.{t}', bits, sgn, lambda a, b, c: c + abs(a - b))
        two(f'min.{t}', bits, sgn, min)
        two(f'max.{t}', bits, sgn, max)
        two(f'div.{t}', bits, sgn, lambda a, b: -1 if b == 0 else trunc_div(a, b))
        two(f'rem.{t}', bits, sgn, lambda a, b: -1 if b == 0 else a - b * trunc_div(a, b))
        if sgn:
            for op, fn in (('abs', abs), ('neg', lambda x: -x)):
                a = edges(bits, op)
                p = PREFIX[bits]
                f.case(f'{op}.{t}', f'{op}.{t} {p}2, {p}1;', {p + '1': hexes(a, bits)},
                       {p + '2:x': hexes([fn(signed(x, bits)) for x in a], bits)})
    two('add.sat.s32', 32, True, lambda a, b: clamp(a + b, 32, True))
    two('sub.sat.s32', 32, True, lambda a, b: clamp(a - b, 32, True))
    three('mad.hi.sat.s32', 32, True, lambda a, b, c: clamp(((a * b) >> 32) + c, 32, True))
    for t, sgn in (('u32', False), ('s32', True)):
        low = lambda v: wrap(v, 24, sgn)
        two(f'mul24.lo.{t}', 32, sgn, lambda a, b: low(a) * low(b))
        two(f'mul24.hi.{t}', 32, sgn, lambda a, b: (low(a) * low(b)) >> 16)
        three(f'mad24.lo.{t}', 32, sgn, lambda a, b, c: low(a) * low(b) + c)
        three(f'mad24.hi.{t}', 32, sgn, lambda a, b, c: ((low(a) * low(b)) >> 16) + c)
    three('mad24.hi.sat.s32', 32, True, lambda a, b, c: clamp(signed((signed(a, 24) * signed(b, 24)) >> 16, 32) + c, 32, True))

    # Packed halves (sm_90).
    def halves(name, function, sgn):
        a, b = pairs(32, name)
        r = []
        for x, y in zip(a, b):
            parts = [function(wrap(x >> s, 16, sgn), wrap(y >> s, 16, sgn)) & 0xffff for s in (0, 16)]
            r.append(parts[0] | parts[1] << 16)
        f.case(name, f'{name} %r3, %r1, %r2;', {'%r1': hexes(a, 32), '%r2': hexes(b, 32)}, {'%r3:x': hexes(r, 32)}, target='sm_90')
    for t, sgn in (('u16x2', False), ('s16x2', True)):
        halves(f'add.{t}', lambda a, b: a + b, sgn)
        halves(f'min.{t}', min, sgn)
        halves(f'max.{t}', max, sgn)
    halves('min.relu.s16x2', lambda a, b: max(0, min(a, b)), True)
    halves('max.relu.s16x2', lambda a, b: max(0, max(a, b)), True)
    for op, fn in (('min', min), ('max', max)):
        a, b = pairs(32, 'relu')
        r = [max(0, fn(signed(x, 32), signed(y, 32))) for x, y in zip(a, b)]
        f.case(f'{op}.relu.s32', f'{op}.relu.s32 %r3, %r1, %r2;', {'%r1': hexes(a, 32), '%r2': hexes(b, 32)}, {'%r3:x': hexes(r, 32)}, target='sm_90')

    # Dot products.
    for ta, tb in itertools.product(('u32', 's32'), repeat=2):
        a, b = pairs(32, ta + tb)
        c = edges(32, 'dot')[::-1] * 2
        byte = lambda w, n, t: wrap(w >> (8 * n), 8, t == 's32')
        half = lambda w, n, t: wrap(w >> (16 * n), 16, t == 's32')
        ins = {'%r1': hexes(a, 32), '%r2': hexes(b, 32), '%r3': hexes(c, 32)}
        r = [z + sum(byte(x, n, ta) * byte(y, n, tb) for n in range(4)) for x, y, z in zip(a, b, c)]
        f.case(f'dp4a.{ta}.{tb}', f'dp4a.{ta}.{tb} %r4, %r1, %r2, %r3;', ins, {'%r4:x': hexes(r, 32)})
        for part, base in (('lo', 0), ('hi', 2)):
            r = [z + sum(half(x, n, ta) * byte(y, base + n, tb) for n in range(2)) for x, y, z in zip(a, b, c)]
            f.case(f'dp2a.{part}.{ta}.{tb}', f'dp2a.{part}.{ta}.{tb} %r4, %r1, %r2, %r3;', ins, {'%r4:x': hexes(r, 32)})
    f.write()


def carry():
    f = File('carry')
    for t, bits in (('u32', 32), ('s32', 32), ('u64', 64), ('s64', 64)):
        p, mask = PREFIX[bits], (1 << bits) - 1
        a, b = pairs(bits, 'carry' + t)
        c, d = pairs(bits, 'carry2' + t)
        ins = {p + str(i + 1): hexes(v, bits) for i, v in enumerate((a, b, c, d))}
        zero = '0'
        low = [x + y for x, y in zip(a, b)]
        mid = [x + y + (l >> bits) for x, y, l in zip(c, d, low)]
        f.case(f'add.cc.{t}, addc.cc.{t}, addc.{t}',
               [f'add.cc.{t} {p}5, {p}1, {p}2;', f'addc.cc.{t} {p}6, {p}3, {p}4;', f'addc.{t} {p}7, {zero}, {zero};'], ins,
               {p + '5:x': hexes(low, bits), p + '6:x': hexes(mid, bits), p + '7': [str(m >> bits) for m in mid]})
        low = [x - y for x, y in zip(a, b)]
        mid = [x - y - (1 if l < 0 else 0) for x, y, l in zip(c, d, low)]
        f.case(f'sub.cc.{t}, subc.cc.{t}, subc.{t}',
               [f'sub.cc.{t} {p}5, {p}1, {p}2;', f'subc.cc.{t} {p}6, {p}3, {p}4;', f'subc.{t} {p}7, {zero}, {zero};'], ins,
               {p + '5:x': hexes(low, bits), p + '6:x': hexes(mid, bits), p + '7:x': hexes([-1 if m < 0 else 0 for m in mid], bits)})
        sgn = t[0] == 's'
        product = [wrap(x, bits, sgn) * wrap(y, bits, sgn) for x, y in zip(a, b)]
        low = [(m & mask) + z for m, z in zip(product, c)]
        high = [((m >> bits) & mask) + z + (l >> bits) for m, z, l in zip(product, d, low)]
        f.case(f'mad.lo.cc.{t}, madc.hi.cc.{t}, addc.{t}',
               [f'mad.lo.cc.{t} {p}5, {p}1, {p}2, {p}3;', f'madc.hi.cc.{t} {p}6, {p}1, {p}2, {p}4;', f'addc.{t} {p}7, {zero}, {zero};'],
               ins, {p + '5:x': hexes(low, bits), p + '6:x': hexes(high, bits), p + '7': [str(h >> bits) for h in high]})
        high = [((m >> bits) & mask) + z for m, z in zip(product, c)]
        low = [(m & mask) + z + (h >> bits) for m, z, h in zip(product, d, high)]
        f.case(f'mad.hi.cc.{t}, madc.lo.{t}',
               [f'mad.hi.cc.{t} {p}5, {p}1, {p}2, {p}3;', f'madc.lo.{t} {p}6, {p}1, {p}2, {p}4;'],
               ins, {p + '5:x': hexes(high, bits), p + '6:x': hexes(low, bits)})
    f.write()


def bits_file():
    f = File('bits')
    for bits in (32, 64):
        p, mask = PREFIX[bits], (1 << bits) - 1
        a = edges(bits, 'bits') + [1 << n for n in range(bits - 8, bits)] + [(1 << n) - 1 for n in range(1, 9)]
        ins = {p + '1': hexes(a, bits)}
        f.case(f'popc.b{bits}', f'popc.b{bits} %r2, {p}1;', ins, {'%r2': [str(bin(x).count('1')) for x in a]})
        f.case(f'clz.b{bits}', f'clz.b{bits} %r2, {p}1;', ins, {'%r2': [str(bits - x.bit_length()) for x in a]})
        f.case(f'brev.b{bits}', f'brev.b{bits} {p}2, {p}1;', ins, {p + '2:x': hexes([int(f'{x:0{bits}b}'[::-1], 2) for x in a], bits)})
        for t in ('u', 's'):
            found = []
            for x in a:
                v = x if t == 'u' or not x >> (bits - 1) else ~x & mask
                found.append(v.bit_length() - 1)
            f.case(f'bfind.{t}{bits}', f'bfind.{t}{bits} %r2, {p}1;', ins, {'%r2:x': hexes(found, 32)})
            f.case(f'bfind.shiftamt.{t}{bits}', f'bfind.shiftamt.{t}{bits} %r2, {p}1;', ins,
                   {'%r2:x': hexes([-1 if n < 0 else bits - 1 - n for n in found], 32)})
            pos = [0, 1, 5, 16, bits - 1, bits, 255, 24] * 4
            length = [0, 1, 8, bits, 255, 3, 16, bits - 1, 2] * 4
            length = length[:32]
            r = []
            for x, q, n in zip(a, pos, length):
                q, n = q & 255, n & 255
                sign = 0 if t == 'u' or n == 0 else (x >> min(q + n - 1, bits - 1)) & 1
                r.append(sum((((x >> (q + i)) & 1) if i < n and q + i < bits else sign) << i for i in range(bits)))
            f.case(f'bfe.{t}{bits}', f'bfe.{t}{bits} {p}2, {p}1, %r11, %r12;',
                   {**ins, '%r11': [str(v) for v in pos], '%r12': [str(v) for v in length]}, {p + '2:x': hexes(r, bits)})
        b = a[::-1]
        r = []
        for x, y, q, n in zip(a, b, pos, length):
            q, n = q & 255, n & 255
            for i in range(n):
                if q + i < bits:
                    y = (y & ~(1 << (q + i))) | (((x >> i) & 1) << (q + i))
            r.append(y)
        f.case(f'bfi.b{bits}', f'bfi.b{bits} {p}3, {p}1, {p}2, %r11, %r12;',
               {**ins, p + '2': hexes(b, bits), '%r11': [str(v) for v in pos], '%r12': [str(v) for v in length]}, {p + '3:x': hexes(r, bits)})
    a = edges(32, 'szext') * 2
    n = [0, 1, 5, 8, 16, 31, 32, 33, 24, 7, 12, 63, 64, 0x80000001, 3, 30] * 2
    for mode in ('clamp', 'wrap'):
        for t in ('u32', 's32'):
            r = []
            for x, k in zip(a, n):
                if mode == 'clamp' and k >= 32:
                    r.append(x)
                    continue
                k &= 31
                v = x & ((1 << k) - 1)
                r.append(v - (1 << k) if t == 's32' and k and v >> (k - 1) else v)
            f.case(f'szext.{mode}.{t}', f'szext.{mode}.{t} %r3, %r1, %r2;', {'%r1': hexes(a, 32), '%r2': hexes(n, 32)}, {'%r3:x': hexes(r, 32)})
        start, width = [0, 1, 31, 32, 5, 16, 33, 8], [0, 1, 4, 32, 33, 16, 31, 8, 40]
        combos = list(itertools.product(start, width))[:64:2]
        r = []
        for s, w in combos:
            if mode == 'clamp':
                first = 0 if s >= 32 else (0xffffffff << s) & 0xffffffff
                end = s % 32 + w % 32
                beyond = 0 if w >= 32 or end >= 32 else (0xffffffff << end) & 0xffffffff
            else:
                s, w = s % 32, w % 32
                first = (0xffffffff << s) & 0xffffffff
                beyond = 0 if s + w >= 32 else (0xffffffff << (s + w)) & 0xffffffff
            r.append(first & ~beyond)
        f.case(f'bmsk.{mode}.b32', f'bmsk.{mode}.b32 %r3, %r1, %r2;',
               {'%r1': [str(s) for s, _ in combos], '%r2': [str(w) for _, w in combos]}, {'%r3:x': hexes(r, 32)})
    mask = [0xaaaaaaaa, 0xffffffff, 0, 0x80000001] * 8
    base = [0, 3, 31, 16, 8, 0, 1, 30] * 4
    offset = [0, 1, -1, 2, -3, 4, 32, 16, -16] * 4
    r = []
    for m, s, o in zip(mask, base, offset):
        if o == 0:
            r.append(s if (m >> s) & 1 else -1)
            continue
        order = range(s, 32) if o > 0 else range(s, -1, -1)
        hits = [i for i in order if (m >> i) & 1]
        r.append(hits[abs(o) - 1] if abs(o) <= len(hits) else -1)
    f.case('fns.b32', 'fns.b32 %r4, %r1, %r2, %r3;',
           {'%r1': hexes(mask, 32), '%r2': [str(v) for v in base], '%r3': [str(v) for v in offset[:32]]}, {'%r4:x': hexes(r, 32)})
    f.write()


def logic():
    f = File('logic')
    for bits in (16, 32, 64):
        p, mask = PREFIX[bits], (1 << bits) - 1
        a, b = pairs(bits, 'logic')
        ins = {p + '1': hexes(a, bits), p + '2': hexes(b, bits)}
        for op, fn in (('and', lambda x, y: x & y), ('or', lambda x, y: x | y), ('xor', lambda x, y: x ^ y)):
            f.case(f'{op}.b{bits}', f'{op}.b{bits} {p}3, {p}1, {p}2;', ins, {p + '3:x': hexes(map(fn, a, b), bits)})
        f.case(f'not.b{bits}', f'not.b{bits} {p}3, {p}1;', {p + '1': hexes(a, bits)}, {p + '3:x': hexes([~x for x in a], bits)})
        f.case(f'cnot.b{bits}', f'cnot.b{bits} {p}3, {p}1;', {p + '1': hexes(a, bits)}, {p + '3': ['1' if x == 0 else '0' for x in a]})
        n = [0, 1, 4, 15, 16, 17, 31, 32, 33, 63, 64, 65, 0x80000000, 0xffffffff, 7, 8] * 2
        ins = {p + '1': hexes(a, bits), '%r9': hexes(n, 32)}
        f.case(f'shl.b{bits}', f'shl.b{bits} {p}3, {p}1, %r9;', ins, {p + '3:x': hexes([x << k if k < bits else 0 for x, k in zip(a, n)], bits)})
        for t in ('b', 'u'):
            f.case(f'shr.{t}{bits}', f'shr.{t}{bits} {p}3, {p}1, %r9;', ins, {p + '3:x': hexes([x >> k if k < bits else 0 for x, k in zip(a, n)], bits)})
        f.case(f'shr.s{bits}', f'shr.s{bits} {p}3, {p}1, %r9;', ins,
               {p + '3:x': hexes([signed(x, bits) >> min(k, bits - 1) for x, k in zip(a, n)], bits)})
    a, b = pairs(32, 'shf')
    n = [0, 1, 4, 15, 16, 17, 31, 32, 33, 63, 64, 65, 0x80000000, 0xffffffff, 7, 8] * 2
    ins = {'%r1': hexes(a, 32), '%r2': hexes(b, 32), '%r3': hexes(n, 32)}
    for mode in ('clamp', 'wrap'):
        k = [min(v, 32) if mode == 'clamp' else v & 31 for v in n]
        f.case(f'shf.l.{mode}.b32', f'shf.l.{mode}.b32 %r4, %r1, %r2, %r3;', ins,
               {'%r4:x': hexes([(((y << 32 | x) << s) >> 32) for x, y, s in zip(a, b, k)], 32)})
        f.case(f'shf.r.{mode}.b32', f'shf.r.{mode}.b32 %r4, %r1, %r2, %r3;', ins,
               {'%r4:x': hexes([(y << 32 | x) >> s for x, y, s in zip(a, b, k)], 32)})
    c = edges(32, 'lop3')[::-1] * 2
    ins = {'%r1': hexes(a, 32), '%r2': hexes(b, 32), '%r3': hexes(c, 32)}

    def lop3(x, y, z, table):
        return sum(((table >> (((x >> i) & 1) * 4 + ((y >> i) & 1) * 2 + ((z >> i) & 1))) & 1) << i for i in range(32))
    for table in (0x00, 0x80, 0x96, 0xfe, 0xca, 0xe8, 0x1d, 0x6a, 0xc0, 0xaa, 0x0f, 0xff):
        f.case(f'lop3.b32 0x{table:02x}', f'lop3.b32 %r4, %r1, %r2, %r3, 0x{table:x};', ins,
               {'%r4:x': hexes([lop3(x, y, z, table) for x, y, z in zip(a, b, c)], 32)})
    q = ['0', '1', '1', '0', '1'] * 7
    for op in ('or', 'and'):
        r = [lop3(x, y, z, 0x80) for x, y, z in zip(a, b, c)]
        p = [int(bool(v) or k == '1') if op == 'or' else int(bool(v) and k == '1') for v, k in zip(r, q)]
        f.case(f'lop3.{op}.b32', f'lop3.{op}.b32 %r4|%p1, %r1, %r2, %r3, 0x80, %p2;', {**ins, '%p2': q[:32]},
               {'%r4:x': hexes(r, 32), '%p1': [str(v) for v in p]})
    ins = {'%p1': ['0', '0', '1', '1'], '%p2': ['0', '1', '0', '1']}
    f.case('and.pred, or.pred, xor.pred, not.pred',
           ['and.pred %p3, %p1, %p2;', 'or.pred %p4, %p1, %p2;', 'xor.pred %p5, %p1, %p2;', 'not.pred %p6, %p1;', 'mov.pred %p7, %p2;'], ins,
           {'%p3': ['0', '0', '0', '1'], '%p4': ['0', '1', '1', '1'], '%p5': ['0', '1', '1', '0'], '%p6': ['1', '1', '0', '0'], '%p7': ['0', '1', '0', '1']})
    f.write()


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


def float32():
    f = File('float32')
    for mode in ('', '.rn', '.rz', '.rm', '.rp'):
        m = mode[1:] or 'rn'
        for ftz, sat in itertools.product((False, True), repeat=2):
            fl = (lambda x: F32.flush(x)) if ftz else (lambda x: x)
            end = lambda x: R.saturate(F32, fl(x)) if sat else fl(x)
            suffix = mode + ('.ftz' if ftz else '') + ('.sat' if sat else '') + '.f32'
            for op, fn in (('add', R.add), ('sub', R.sub), ('mul', R.mul)):
                a, b, _ = float_inputs(EDGE32, 32, op + suffix)
                f.case(op + suffix, f'{op}{suffix} %f3, %f1, %f2;', {'%f1': hexes(a, 32), '%f2': hexes(b, 32)},
                       {'%f3:x': hexes([end(fn(F32, fl(x), fl(y), m)) for x, y in zip(a, b)], 32)})
            if mode:
                for op in ('fma', 'mad'):
                    a, b, c = float_inputs(EDGE32, 32, op + suffix)
                    f.case(op + suffix, f'{op}{suffix} %f4, %f1, %f2, %f3;',
                           {'%f1': hexes(a, 32), '%f2': hexes(b, 32), '%f3': hexes(c, 32)},
                           {'%f4:x': hexes([end(R.fma(F32, fl(x), fl(y), fl(z), m)) for x, y, z in zip(a, b, c)], 32)})
            if mode and not sat:
                a, b, _ = float_inputs(EDGE32, 32, 'div' + suffix)
                f.case('div' + suffix, f'div{suffix} %f3, %f1, %f2;', {'%f1': hexes(a, 32), '%f2': hexes(b, 32)},
                       {'%f3:x': hexes([fl(R.div(F32, fl(x), fl(y), m)) for x, y in zip(a, b)], 32)})
                f.case('rcp' + suffix, f'rcp{suffix} %f3, %f1;', {'%f1': hexes(a, 32)},
                       {'%f3:x': hexes([fl(R.div(F32, 0x3f800000, fl(x), m)) for x in a], 32)})
                f.case('sqrt' + suffix, f'sqrt{suffix} %f3, %f1;', {'%f1': hexes(a, 32)},
                       {'%f3:x': hexes([fl(R.sqrt(F32, fl(x), m)) for x in a], 32)})
    for op, largest in (('min', False), ('max', True)):
        for ftz, nan, xor in itertools.product((False, True), repeat=3):
            fl = (lambda x: F32.flush(x)) if ftz else (lambda x: x)
            name = op + ('.ftz' if ftz else '') + ('.NaN' if nan else '') + ('.xorsign.abs' if xor else '') + '.f32'
            a, b, _ = float_inputs(EDGE32, 32, name)
            r = []
            for x, y in zip(a, b):
                x, y = fl(x), fl(y)
                if xor:
                    v = R.minmax(F32, x & 0x7fffffff, y & 0x7fffffff, largest, nan)
                    r.append(v if F32.value(v) == 'nan' else v | ((x ^ y) & 0x80000000))
                else:
                    r.append(R.minmax(F32, x, y, largest, nan))
            f.case(name, f'{name} %f3, %f1, %f2;', {'%f1': hexes(a, 32), '%f2': hexes(b, 32)}, {'%f3:x': hexes(r, 32)}, target='sm_86')
    a = [x for x in EDGE32 if F32.value(x) != 'nan']
    for op, fn in (('abs', lambda x: x & 0x7fffffff), ('neg', lambda x: x ^ 0x80000000)):
        f.case(f'{op}.f32', f'{op}.f32 %f2, %f1;', {'%f1': hexes(a, 32)}, {'%f2:x': hexes(map(fn, a), 32)})
        f.case(f'{op}.ftz.f32', f'{op}.ftz.f32 %f2, %f1;', {'%f1': hexes(a, 32)}, {'%f2:x': hexes([fn(F32.flush(x)) for x in a], 32)})
    f.case('copysign.f32', 'copysign.f32 %f3, %f1, %f2;', {'%f1': ['-1', '1'], '%f2': ['2', '2', '-3', '-3']}, {'%f3': ['-2', '2', '-3', '3']})
    f.write()


def float64():
    f = File('float64')
    ok = lambda code: F64.value(code) != 'nan'
    for mode in ('.rn', '.rz', '.rm', '.rp'):
        m = mode[1:]
        for op, fn, n in (('add', R.add, 2), ('sub', R.sub, 2), ('mul', R.mul, 2), ('fma', R.fma, 3), ('mad', R.fma, 3), ('div', R.div, 2)):
            a, b, c = float_inputs(EDGE64, 64, op + mode, 80)
            rows = [(x, y, z, fn(F64, *(x, y, z)[:n], m)) for x, y, z in zip(a, b, c)]
            rows = [row for row in rows if ok(row[3])][:32]
            ins = {f'%fd{i + 1}': hexes([row[i] for row in rows], 64) for i in range(n)}
            f.case(op + mode + '.f64', f'{op}{mode}.f64 %fd4, ' + ', '.join(ins) + ';', ins, {'%fd4:x': hexes([row[3] for row in rows], 64)})
        a = [x for x in float_inputs(EDGE64, 64, 'u' + mode)[0] if ok(x)]
        f.case('rcp' + mode + '.f64', f'rcp{mode}.f64 %fd2, %fd1;', {'%fd1': hexes(a, 64)}, {'%fd2:x': hexes([R.div(F64, 0x3ff << 52, x, m) for x in a], 64)})
        a = [x for x in a if not x >> 63 or x == 1 << 63]
        f.case('sqrt' + mode + '.f64', f'sqrt{mode}.f64 %fd2, %fd1;', {'%fd1': hexes(a, 64)}, {'%fd2:x': hexes([R.sqrt(F64, x, m) for x in a], 64)})
    for op, largest in (('min', False), ('max', True)):
        a, b, _ = float_inputs(EDGE64, 64, op)
        b[3] = 0x7ff8000000000000
        f.case(op + '.f64', f'{op}.f64 %fd3, %fd1, %fd2;', {'%fd1': hexes(a, 64), '%fd2': hexes(b, 64)},
               {'%fd3:x': hexes([R.minmax(F64, x, y, largest, False) for x, y in zip(a, b)], 64)})
    for op, fn in (('abs', lambda x: x & ~(1 << 63)), ('neg', lambda x: x ^ 1 << 63)):
        f.case(f'{op}.f64', f'{op}.f64 %fd2, %fd1;', {'%fd1': hexes(EDGE64, 64)}, {'%fd2:x': hexes(map(fn, EDGE64), 64)})
    f.case('copysign.f64', 'copysign.f64 %fd3, %fd1, %fd2;', {'%fd1': ['-1', '1'], '%fd2': ['2', '2', '-3', '-3']}, {'%fd3': ['-2', '2', '-3', '3']})
    f.write()


def half():
    f = File('half')
    for t, fmt, edge in (('f16', F16, EDGE16), ('bf16', BF16, EDGEB)):
        arithmetic_target = 'sm_80' if t == 'f16' else 'sm_90'

        def packed(values):
            return [x | y << 16 for x, y in zip(values, values[::-1])]

        def both(name, n, fn, target='sm_80', reads=None):
            for packing in ('', 'x2'):
                sets = float_inputs(edge, 16, name + t)[:n]
                r = [fn(*row) for row in zip(*sets)]
                p, w = ('%r', 32) if packing else ('%h', 16)
                if packing:
                    sets, r = [packed(s) for s in sets], packed(r)
                ins = {f'{p}{i + 1}': hexes(s, w) for i, s in enumerate(sets)}
                full = f'{name}.{t}{packing}'
                f.case(full, f'{full} {p}9, ' + ', '.join(ins) + ';', ins, {p + '9:x': hexes(r, w)}, target=target)
        for ftz, sat in itertools.product((False, True), repeat=2):
            if t == 'bf16' and (ftz or sat):
                continue
            fl = (lambda x: fmt.flush(x)) if ftz else (lambda x: x)
            end = (lambda x: R.saturate(fmt, fl(x))) if sat else fl
            s = ('.ftz' if ftz else '') + ('.sat' if sat else '')
            for op, fn in (('add', R.add), ('sub', R.sub), ('mul', R.mul)):
                both(op + s, 2, lambda x, y: end(fn(fmt, fl(x), fl(y))), arithmetic_target)
                both(op + '.rn' + s, 2, lambda x, y: end(fn(fmt, fl(x), fl(y))), arithmetic_target)
            both('fma.rn' + s, 3, lambda x, y, z: end(R.fma(fmt, fl(x), fl(y), fl(z))))
            if not sat:
                relu = lambda v: v if fmt.value(v) == 'nan' else (0 if fmt.negative(v) else v)
                both('fma.rn' + s + '.relu', 3, lambda x, y, z: relu(end(R.fma(fmt, fl(x), fl(y), fl(z)))))
        for op, largest in (('min', False), ('max', True)):
            for ftz, nan, xor in itertools.product((False, True), repeat=3):
                if t == 'bf16' and ftz:
                    continue
                fl = (lambda x: fmt.flush(x)) if ftz else (lambda x: x)

                def pick(x, y):
                    x, y = fl(x), fl(y)
                    if not xor:
                        return R.minmax(fmt, x, y, largest, nan)
                    v = R.minmax(fmt, x & 0x7fff, y & 0x7fff, largest, nan)
                    return v if fmt.value(v) == 'nan' else v | ((x ^ y) & 0x8000)
                both(op + ('.ftz' if ftz else '') + ('.NaN' if nan else '') + ('.xorsign.abs' if xor else ''), 2, pick, 'sm_86')
        numbers = [x for x in edge if fmt.value(x) != 'nan']
        edge_all, edge = edge, numbers
        for op, fn in (('abs', lambda x: x & 0x7fff), ('neg', lambda x: x ^ 0x8000)):
            for packing in ('', 'x2'):
                p, w = ('%r', 32) if packing else ('%h', 16)
                a = packed(numbers) if packing else numbers
                r = [fn(x) for x in numbers]
                f.case(f'{op}.{t}{packing}', f'{op}.{t}{packing} {p}2, {p}1;', {p + '1': hexes(a, w)}, {p + '2:x': hexes(packed(r) if packing else r, w)})
                if t == 'f16':
                    r = [fn(fmt.flush(x)) for x in numbers]
                    f.case(f'{op}.ftz.{t}{packing}', f'{op}.ftz.{t}{packing} {p}2, {p}1;', {p + '1': hexes(a, w)}, {p + '2:x': hexes(packed(r) if packing else r, w)})
        edge = edge_all
    f.write()


def compare():
    f = File('compare')
    ordered = {'eq': lambda a, b: a == b, 'ne': lambda a, b: a != b, 'lt': lambda a, b: a < b, 'le': lambda a, b: a <= b,
               'gt': lambda a, b: a > b, 'ge': lambda a, b: a >= b}
    unsigned = {'lo': ordered['lt'], 'ls': ordered['le'], 'hi': ordered['gt'], 'hs': ordered['ge']}
    for t, bits, sgn in TYPES + [('b16', 16, False), ('b32', 32, False), ('b64', 64, False)]:
        p = PREFIX[bits]
        a, b = pairs(bits, 'cmp' + t)
        b[::5] = a[::5]
        ins = {p + '1': hexes(a, bits), p + '2': hexes(b, bits)}
        table = {k: v for k, v in ordered.items() if t[0] != 'b' or k in ('eq', 'ne')}
        if t[0] == 'u':
            table = {**table, **unsigned}
        for op, fn in table.items():
            r = [int(fn(wrap(x, bits, sgn), wrap(y, bits, sgn))) for x, y in zip(a, b)]
            f.case(f'setp.{op}.{t}', f'setp.{op}.{t} %p1, {p}1, {p}2;', ins, {'%p1': [str(v) for v in r]})
            f.case(f'set.{op}.u32.{t}, set.{op}.f32.{t}', [f'set.{op}.u32.{t} %r8, {p}1, {p}2;', f'set.{op}.f32.{t} %f8, {p}1, {p}2;'], ins,
                   {'%r8:x': hexes([-v for v in r], 32), '%f8': [str(v) for v in r]})

    def value(fmt, code):
        v = fmt.value(code)
        return {'inf': float('inf'), '-inf': float('-inf'), 'nan': float('nan')}.get(v, v) if isinstance(v, str) else v
    for t, fmt, edge, p in (('f32', F32, EDGE32, '%f'), ('f64', F64, EDGE64 + [0x7ff8000000000000], '%fd'), ('f16', F16, EDGE16, '%h'), ('bf16', BF16, EDGEB, '%h')):
        a, b, _ = float_inputs(edge, fmt.bits, 'cmp' + t)
        b[::5] = a[::5]
        b[0], a[1], b[1] = 1 << (fmt.bits - 1), 1, 1 << (fmt.bits - 1)
        target = 'sm_90' if t == 'bf16' else 'sm_80'
        ins = {p + '1': hexes(a, fmt.bits), p + '2': hexes(b, fmt.bits)}
        for ftz in ((False, True) if t in ('f32', 'f16') else (False,)):
            fl = (lambda x: fmt.flush(x)) if ftz else (lambda x: x)
            values = [(value(fmt, fl(x)), value(fmt, fl(y))) for x, y in zip(a, b)]
            isnan = lambda x, y: x != x or y != y
            for op, fn in ordered.items():
                for u in ('', 'u'):
                    r = [int(bool(u) if isnan(x, y) else fn(x, y)) for x, y in values]
                    name = f'{op}{u}{".ftz" if ftz else ""}'
                    f.case(f'setp.{name}.{t}', f'setp.{name}.{t} %p1, {p}1, {p}2;', ins, {'%p1': [str(v) for v in r]}, target=target)
            for op in ('num', 'nan'):
                r = [int(isnan(x, y) == (op == 'nan')) for x, y in values]
                name = f'{op}{".ftz" if ftz else ""}'
                f.case(f'setp.{name}.{t}', f'setp.{name}.{t} %p1, {p}1, {p}2;', ins, {'%p1': [str(v) for v in r]}, target=target)
        r = [int(not isnan(x, y) and x < y) for x, y in [(value(fmt, x), value(fmt, y)) for x, y in zip(a, b)]]
        f.case(f'set.lt.u32.{t}, set.lt.f32.{t}', [f'set.lt.u32.{t} %r8, {p}1, {p}2;', f'set.lt.s32.{t} %r9, {p}1, {p}2;'], ins,
               {'%r8:x': hexes([-v for v in r], 32), '%r9:x': hexes([-v for v in r], 32)}, target=target)
        if t in ('f16', 'bf16'):
            one = 0x3c00 if t == 'f16' else 0x3f80
            f.case(f'set.lt.{t}.{t}', f'set.lt.{t}.{t} %h9, %h1, %h2;', ins, {'%h9:x': hexes([one * v for v in r], 16)}, target=target)
            wa, wb = [x | y << 16 for x, y in zip(a, a[::-1])], [x | y << 16 for x, y in zip(b, b[::-1])]
            ins2 = {'%r1': hexes(wa, 32), '%r2': hexes(wb, 32)}
            f.case(f'setp.lt.{t}x2', f'setp.lt.{t}x2 %p1|%p2, %r1, %r2;', ins2, {'%p1': [str(v) for v in r], '%p2': [str(v) for v in r[::-1]]}, target=target)
            f.case(f'setp.lt.and.{t}x2', f'setp.lt.and.{t}x2 %p1|%p2, %r1, %r2, %p3;', {**ins2, '%p3': ['1', '0']},
                   {'%p1': [str(v if i % 2 == 0 else 0) for i, v in enumerate(r)], '%p2': [str(v if i % 2 == 0 else 0) for i, v in enumerate(r[::-1])]}, target=target)
            f.case(f'set.lt.{t}x2.{t}x2', f'set.lt.{t}x2.{t}x2 %r9, %r1, %r2;', ins2,
                   {'%r9:x': hexes([one * x | one * y << 16 for x, y in zip(r, r[::-1])], 32)}, target=target)
    ins = {'%r1': ['1', '2', '3', '4', '1', '2', '3', '4'], '%r2': ['2'], '%p3': ['0', '0', '0', '0', '1', '1', '1', '1']}
    lt, c = [1, 0, 0, 0] * 2, [0] * 4 + [1] * 4
    for op, fn in (('and', lambda x, y: x & y), ('or', lambda x, y: x | y), ('xor', lambda x, y: x ^ y)):
        for neg in ('', '!'):
            k = [1 - v if neg else v for v in c]
            f.case(f'setp.lt.{op}.s32 p|q, {neg}c', f'setp.lt.{op}.s32 %p1|%p2, %r1, %r2, {neg}%p3;', ins,
                   {'%p1': [str(fn(x, y)) for x, y in zip(lt, k)], '%p2': [str(fn(1 - x, y)) for x, y in zip(lt, k)]})
            f.case(f'set.lt.{op}.u32.s32 {neg}c', f'set.lt.{op}.u32.s32 %r9, %r1, %r2, {neg}%p3;', ins, {'%r9:x': hexes([-fn(x, y) for x, y in zip(lt, k)], 32)})
    f.case('setp p|q', 'setp.lt.s32 %p1|%p2, %r1, %r2;', {'%r1': ['1', '2', '3'], '%r2': ['2']}, {'%p1': ['1', '0', '0'], '%p2': ['0', '1', '1']})
    for bits, types in ((16, ('b16', 'u16', 's16')), (32, ('b32', 'u32', 's32')), (64, ('b64', 'u64', 's64'))):
        p = PREFIX[bits]
        a, b = pairs(bits, 'selp')
        c = [str(i * 7 % 3 % 2) for i in range(32)]
        d = [1, -1, 0, -2147483648, 2147483647] * 7
        fl = ['0x3f800000', '0xbf800000', '0x80000000', '0x7fc00000', '0x80000001', '0x00000001'] * 6
        for t in types:
            f.case(f'selp.{t}', f'selp.{t} {p}3, {p}1, {p}2, %p1;', {p + '1': hexes(a, bits), p + '2': hexes(b, bits), '%p1': c},
                   {p + '3:x': hexes([x if k == '1' else y for x, y, k in zip(a, b, c)], bits)})
            f.case(f'slct.{t}.s32', f'slct.{t}.s32 {p}3, {p}1, {p}2, %r9;',
                   {p + '1': hexes(a, bits), p + '2': hexes(b, bits), '%r9': [str(v) for v in d[:32]]},
                   {p + '3:x': hexes([x if k >= 0 else y for x, y, k in zip(a, b, d)], bits)})
            yes = [True, False, True, False, False, True] * 6
            f.case(f'slct.{t}.f32', f'slct.{t}.f32 {p}3, {p}1, {p}2, %f9;', {p + '1': hexes(a, bits), p + '2': hexes(b, bits), '%f9': fl[:32]},
                   {p + '3:x': hexes([x if k else y for x, y, k in zip(a, b, yes)], bits)})
            yes = [True, False, True, False, True, True] * 6
            f.case(f'slct.ftz.{t}.f32', f'slct.ftz.{t}.f32 {p}3, {p}1, {p}2, %f9;', {p + '1': hexes(a, bits), p + '2': hexes(b, bits), '%f9': fl[:32]},
                   {p + '3:x': hexes([x if k else y for x, y, k in zip(a, b, yes)], bits)})
    for t, fmt, edge, p in (('f32', F32, EDGE32, '%f'), ('f64', F64, EDGE64 + [0x7ff8000000000000], '%fd')):
        kinds = {'finite': lambda v, s: v not in ('inf', '-inf', 'nan'), 'infinite': lambda v, s: v in ('inf', '-inf'), 'number': lambda v, s: v != 'nan',
                 'notanumber': lambda v, s: v == 'nan', 'normal': lambda v, s: v not in ('inf', '-inf', 'nan') and not s, 'subnormal': lambda v, s: s}
        for kind, fn in kinds.items():
            f.case(f'testp.{kind}.{t}', f'testp.{kind}.{t} %p1, {p}1;', {p + '1': hexes(edge, fmt.bits)},
                   {'%p1': [str(int(fn(fmt.value(x), fmt.is_subnormal(x)))) for x in edge]})
    f.write()


def main():
    integer()
    carry()
    bits_file()
    logic()
    float32()
    float64()
    half()
    compare()
    import make_cases_convert
    make_cases_convert.main()


if __name__ == '__main__':
    main()
