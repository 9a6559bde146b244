"""The generated cases of integers, carries, bits and logic; see make_cases.py."""
import itertools

from case_text import clamp, edges, hexes, pairs, signed, wrap, File, PREFIX, TYPES


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


def main():
    integer()
    carry()
    bits_file()
    logic()
