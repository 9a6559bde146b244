"""The generated cases of floats and comparisons; see make_cases.py."""
import itertools

import reference as R
from case_text import float_inputs, hexes, pairs, wrap, EDGE16, EDGE32, EDGE64, EDGEB, File, PREFIX, TYPES
from reference import BF16, F16, F32, F64


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
    float32()
    float64()
    half()
    compare()
