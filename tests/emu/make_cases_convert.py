"""The generated cases of cvt, approximations, moves and video instructions; see make_cases.py."""
import itertools
import math
import random
from fractions import Fraction

import reference as R
from case_text import EDGE16, EDGE32, EDGE64, EDGEB, File, PREFIX, clamp, edges, hexes, pairs, signed, wrap
from reference import BF16, E4M3, E5M2, F16, F32, F64, TF32

FLOATS = {'f16': (F16, '%h'), 'bf16': (BF16, '%h'), 'f32': (F32, '%f'), 'f64': (F64, '%fd')}
EDGE = {'f16': EDGE16, 'bf16': EDGEB, 'f32': EDGE32, 'f64': EDGE64 + [0x7ff8000000000000]}
INTS = [('u8', 8, False), ('s8', 8, True), ('u16', 16, False), ('s16', 16, True), ('u32', 32, False), ('s32', 32, True), ('u64', 64, False), ('s64', 64, True)]


def of(fmt, number):
    return fmt.round(Fraction(number))


def convert():
    f = File('convert')
    holder = {8: ('%r', 32), 16: ('%rs', 16), 32: ('%r', 32), 64: ('%rd', 64)}   # a byte lives in a wider register
    for (ts, bs, ss), (td, bd, sd) in itertools.product(INTS, repeat=2):
        ps, ws = holder[bs]
        pd, wd = holder[bd]
        a = edges(bs, 'cvt' + ts) + [x | 0xabcd00 for x in edges(8, ts)] if bs == 8 else edges(max(bs, 8), 'cvt' + ts)
        values = [wrap(x, bs, ss) for x in a]
        ins = {ps + '1': hexes(a, ws)}
        f.case(f'cvt.{td}.{ts}', f'cvt.{td}.{ts} {pd}2, {ps}1;', ins, {pd + '2:x': hexes([wrap(v, bd, sd) for v in values], wd)})
        if (bs, ss) != (bd, sd) and not (bd > bs and (sd or not ss)):   # otherwise PTX has no .sat
            f.case(f'cvt.sat.{td}.{ts}', f'cvt.sat.{td}.{ts} {pd}2, {ps}1;', ins, {pd + '2:x': hexes([clamp(v, bd, sd) for v in values], wd)})
    # Integers to floats.
    for (ts, bs, ss), (td, (fmt, pd)) in itertools.product(INTS, FLOATS.items()):
        if td == 'bf16' and bs == 8:
            continue   # no such form
        ps, ws = holder[bs]
        a = edges(bs, 'i2f' + ts) + ([(1 << 24) + 1, (1 << 53) + 1, (1 << 62) + (1 << 38), 0x7fffff8000000001, 0xfffffffffffffbff, (1 << 25) + 2] if bs == 64 else [0x1000001, 0x7fffffff, 0x80000001] if bs == 32 else [])
        for mode in ('rn', 'rz', 'rm', 'rp'):
            r = [fmt.round(Fraction(wrap(x, bs, ss)), mode) for x in a]
            f.case(f'cvt.{mode}.{td}.{ts}', f'cvt.{mode}.{td}.{ts} {pd}2, {ps}1;', {ps + '1': hexes(a, ws)}, {pd + '2:x': hexes(r, fmt.bits)},
                   target='sm_90' if td == 'bf16' else 'sm_80')
    # Floats to integers: clamped; NaN is 0, or 1 << (width - 1) from f64 or to 64 bits.
    extra = [Fraction(1, 2), Fraction(3, 2), Fraction(5, 2), Fraction(-1, 2), Fraction(-3, 2), Fraction(-5, 2), Fraction(127), Fraction(255, 1), Fraction(-129),
             Fraction(256), Fraction(2**31 - 1), Fraction(2**31), Fraction(-2**31), Fraction(2**32), Fraction(2**63), Fraction(2**64), Fraction(-2**63 - 2**40), Fraction(65535), Fraction(1, 3), Fraction(999, 1000)]
    for (ts, (fmt, ps)), (td, bd, sd) in itertools.product(FLOATS.items(), INTS):
        if ts == 'bf16' and bd == 8:
            continue
        pd, wd = holder[bd]
        a = (EDGE[ts] + [fmt.round(v) for v in extra])[:44]
        for mode, ftz in itertools.product(('rni', 'rzi', 'rmi', 'rpi'), (False, True) if ts == 'f32' else (False,)):
            r = []
            for x in a:
                v = fmt.value(fmt.flush(x) if ftz else x)
                if v == 'nan':
                    r.append(1 << (bd - 1) if ts == 'f64' or bd == 64 else 0)
                elif v in ('inf', '-inf'):
                    r.append(clamp(1 << 70 if v == 'inf' else -(1 << 70), bd, sd))
                else:
                    r.append(clamp(R.integer_part(v, mode), bd, sd))
            r = [wrap(x, bd, sd) for x in r]
            # 44 values do not fit one warp: two cases.
            for part, (lo, hi) in enumerate(((0, 32), (len(a) - 32, len(a)))):
                name = f'cvt.{mode}{".ftz" if ftz else ""}.{td}.{ts}'
                f.case(f'{name} ({part})', f'{name} {pd}2, {ps}1;', {ps + '1': hexes(a[lo:hi], fmt.bits)}, {pd + '2:x': hexes(r[lo:hi], wd)},
                       target='sm_90' if ts == 'bf16' else 'sm_80')
    # Floats to floats.
    def source(ts, td):
        fs, ft = FLOATS[ts][0], FLOATS[td][0]
        rng = random.Random(ts + td)
        out = list(EDGE[ts])
        if fs.m > ft.m:      # ties and their neighbours
            for code in [1, ft.last, ft.last - 1, 1 << ft.m, (1 << ft.m) - 1] + [rng.randrange(ft.last) for _ in range(4)]:
                middle = (ft.magnitude(code) + ft.magnitude(code + 1)) / 2
                c = fs.round(middle)
                out += [c, c + 1, (c - 1) | fs.sign]
        return out[:32] if len(out) <= 32 else out[:12] + out[-20:]
    order = ['f16', 'bf16', 'f32', 'f64']
    for ts, td in itertools.product(order, repeat=2):
        (fs, ps), (ft, pd) = FLOATS[ts], FLOATS[td]
        target = 'sm_90' if 'bf16' in (ts, td) and 'f32' not in (ts, td) else 'sm_80'
        a = source(ts, td)
        if ts == td:
            if ts == 'bf16':
                continue
            for mode in ('rni', 'rzi', 'rmi', 'rpi'):
                r = []
                for x in a:
                    v = fs.value(x)
                    r.append(fs.round(v, negative_zero=False) if isinstance(v, str) else fs.round(Fraction(R.integer_part(v, mode)), negative_zero=fs.negative(x)))
                rows = [(x, y) for x, y in zip(a, r) if fs.value(x) != 'nan']
                f.case(f'cvt.{mode}.{td}.{ts}', f'cvt.{mode}.{td}.{ts} {pd}2, {ps}1;', {ps + '1': hexes([x for x, _ in rows], fs.bits)},
                       {pd + '2:x': hexes([y for _, y in rows], fs.bits)})
            f.case(f'cvt.sat.{td}.{ts}', f'cvt.sat.{td}.{ts} {pd}2, {ps}1;', {ps + '1': hexes(a, fs.bits)}, {pd + '2:x': hexes([R.saturate(fs, x) for x in a], fs.bits)})
            continue
        widens = td == 'f64' or (td == 'f32' and ts != 'f64')
        if widens:
            rows = [x for x in a if fs.value(x) != 'nan']
            r = [ft.round(fs.value(x), negative_zero=fs.negative(x)) for x in rows]
            f.case(f'cvt.{td}.{ts}', f'cvt.{td}.{ts} {pd}2, {ps}1;', {ps + '1': hexes(rows, fs.bits)}, {pd + '2:x': hexes(r, ft.bits)}, target=target)
            continue
        for mode in ('rn', 'rz', 'rm', 'rp'):
            if target == 'sm_80' and td == 'bf16' and mode in ('rm', 'rp'):
                continue
            r = [ft.round(fs.value(x), mode, negative_zero=fs.negative(x)) for x in a]
            f.case(f'cvt.{mode}.{td}.{ts}', f'cvt.{mode}.{td}.{ts} {pd}2, {ps}1;', {ps + '1': hexes(a, fs.bits)}, {pd + '2:x': hexes(r, ft.bits)}, target=target)
    a = EDGE32
    f.case('cvt.ftz.f32.f32, cvt.ftz.sat.f32.f32', ['cvt.ftz.f32.f32 %f2, %f1;', 'cvt.ftz.sat.f32.f32 %f3, %f1;'],
           {'%f1': hexes([x for x in a if F32.value(x) != 'nan'], 32)},
           {'%f2:x': hexes([F32.flush(x) for x in a if F32.value(x) != 'nan'], 32), '%f3:x': hexes([R.saturate(F32, F32.flush(x)) for x in a if F32.value(x) != 'nan'], 32)})
    d = source('f64', 'f32')
    def tiny(x):   # flushed when denormal after rounding to 24 bits, whatever its size: rounded further up
        v = F64.value(x)
        return x & 1 << 63 if not isinstance(v, str) and F32.magnitude(F32.round(abs(v) * 2 ** 64)) < Fraction(2) ** -62 else x
    d += [0x380fffffffffffff, 0x380ffffff0000000, 0x380ffffff0000001, 0x380fffffefffffff, 0x380fffffe0000000]
    d = d[-32:]
    f.case('cvt.rn.ftz.sat.f32.f64', 'cvt.rn.ftz.sat.f32.f64 %f2, %fd1;', {'%fd1': hexes(d, 64)},
           {'%f2:x': hexes([R.saturate(F32, F32.round(F64.value(tiny(x)), negative_zero=F64.negative(x))) for x in d], 32)})
    # relu and packed.
    relu = lambda fmt, v: v if fmt.value(v) == 'nan' else (0 if fmt.negative(v) else v)
    for td in ('f16', 'bf16'):
        ft = FLOATS[td][0]
        a = source('f32', td)
        b = a[::-1]
        one = lambda x, mode, sat: ft.round(F32.value(x), mode, negative_zero=F32.negative(x), satfinite=sat)
        for mode, rl, sf in itertools.product(('rn', 'rz'), (False, True), (False, True)):
            end = (lambda v: relu(ft, v)) if rl else (lambda v: v)
            s = f'{mode}{".relu" if rl else ""}{".satfinite" if sf else ""}'
            f.case(f'cvt.{s}.{td}.f32', f'cvt.{s}.{td}.f32 %h2, %f1;', {'%f1': hexes(a, 32)}, {'%h2:x': hexes([end(one(x, mode, sf)) for x in a], 16)}, target='sm_89')
            f.case(f'cvt.{s}.{td}x2.f32', f'cvt.{s}.{td}x2.f32 %r2, %f1, %f2;', {'%f1': hexes(a, 32), '%f2': hexes(b, 32)},
                   {'%r2:x': hexes([end(one(x, mode, sf)) << 16 | end(one(y, mode, sf)) for x, y in zip(a, b)], 32)}, target='sm_89')
    a = EDGE32 + [0x3f801000, 0x3f800fff, 0x3f803000, 0xbf801000, 0x7f7ff000, 0x3f801001, 0x00000fff, 0x00001000]
    for mode, target in (('rna', 'sm_80'), ('rn', 'sm_90'), ('rz', 'sm_90')):
        r = [(x & 0xffffe000 if mode == 'rna' else 0x7fffe000) if F32.value(x) == 'nan' else TF32.round(F32.value(x), mode, negative_zero=F32.negative(x)) << 13 for x in a]
        f.case(f'cvt.{mode}.tf32.f32', f'cvt.{mode}.tf32.f32 %r2, %f1;', {'%f1': hexes(a, 32)}, {'%r2:x': hexes(r, 32)}, target=target)
    for td, ft in (('e4m3', E4M3), ('e5m2', E5M2)):
        rng = random.Random(td)
        a = list(EDGE32[:14])
        for code in (0, 1, 7, 8, ft.last, ft.last - 1, 0x38, 0x41, 0x52):
            middle = F32.round((ft.magnitude(code) + ft.magnitude(code + 1)) / 2)
            a += [middle, middle + 1, (middle - 1) | 0x80000000]
        a = a[-32:]
        b = a[::-1]
        e = lambda fmt, x: ft.round(fmt.value(x), negative_zero=fmt.negative(x), satfinite=True)
        for rl in (False, True):
            end = (lambda v: relu(ft, v)) if rl else (lambda v: v)
            s = '.relu' if rl else ''
            f.case(f'cvt.rn.satfinite{s}.{td}x2.f32', f'cvt.rn.satfinite{s}.{td}x2.f32 %h2, %f1, %f2;', {'%f1': hexes(a, 32), '%f2': hexes(b, 32)},
                   {'%h2:x': hexes([end(e(F32, x)) << 8 | end(e(F32, y)) for x, y in zip(a, b)], 16)}, target='sm_89')
            h = EDGE16[:12] + [F16.round((ft.magnitude(c) + ft.magnitude(c + 1)) / 2) + k for c in (1, 0x38, 0x41, 0x52, ft.last - 1) for k in (-1, 0, 1)]
            w = [x | y << 16 for x, y in zip(h, h[::-1])]
            f.case(f'cvt.rn.satfinite{s}.{td}x2.f16x2', f'cvt.rn.satfinite{s}.{td}x2.f16x2 %h2, %r1;', {'%r1': hexes(w, 32)},
                   {'%h2:x': hexes([end(e(F16, y)) << 8 | end(e(F16, x)) for x, y in zip(h, h[::-1])], 16)}, target='sm_89')
            for start in range(0, 256, 32):   # every code
                codes = list(range(start, start + 32))
                back = lambda c: (lambda v: relu(F16, v) if rl else v)(F16.round(ft.value(c), negative_zero=ft.negative(c)))
                f.case(f'cvt.rn{s}.f16x2.{td}x2 from 0x{start:02x}', f'cvt.rn{s}.f16x2.{td}x2 %r2, %h1;', {'%h1': hexes([c << 8 | (255 - c) for c in codes], 16)},
                       {'%r2:x': hexes([back(c) << 16 | back(255 - c) for c in codes], 32)}, target='sm_89')
    # cvt.pack
    a, b = pairs(32, 'pack')
    c = edges(32, 'packc')[::-1] * 2
    ins = {'%r1': hexes(a, 32), '%r2': hexes(b, 32)}
    for t, n, sgn in (('u16', 16, False), ('s16', 16, True), ('u8', 8, False), ('s8', 8, True), ('u4', 4, False), ('s4', 4, True), ('u2', 2, False), ('s2', 2, True)):
        m = (1 << n) - 1
        r = [(clamp(signed(x, 32), n, sgn) & m) << n | (clamp(signed(y, 32), n, sgn) & m) for x, y in zip(a, b)]
        if n == 16:
            f.case(f'cvt.pack.sat.{t}.s32', f'cvt.pack.sat.{t}.s32 %r3, %r1, %r2;', ins, {'%r3:x': hexes(r, 32)})
        else:
            f.case(f'cvt.pack.sat.{t}.s32.b32', f'cvt.pack.sat.{t}.s32.b32 %r4, %r1, %r2, %r3;', {**ins, '%r3': hexes(c, 32)},
                   {'%r4:x': hexes([v | z << (2 * n) for v, z in zip(r, c)], 32)})
    f.write()


def approximations():
    import mpmath
    mpmath.mp.prec = 200
    f = File('approx')
    exact = lambda code: mpmath.mpf(F32.value(code).numerator) / F32.value(code).denominator
    fraction = lambda m: Fraction(int(mpmath.floor(m * mpmath.mpf(2) ** 400)), 2 ** 400)

    def unary(name, inputs, fn, within, special):
        """special: code -> code, for what has an exact answer."""
        for ftz in (False, True):
            fl = F32.flush if ftz else (lambda x: x)
            a = [x for x in inputs if x not in special]
            r = [fl(F32.round(fraction(fn(exact(fl(x)))))) for x in a]
            full = f'{name}.approx{".ftz" if ftz else ""}.f32'
            for i in range(0, len(a), 32):
                f.case(full, f'{full} %f2, %f1;', {'%f1': hexes(a[i:i + 32], 32)}, {f'%f2:x within {within if isinstance(within, str) else within[i // 32]}': hexes(r[i:i + 32], 32)})
            rows = [(k, v) for k, v in special.items() if not (ftz and (F32.is_subnormal(k) or F32.is_subnormal(v)))]
            f.case(full + ' exact', f'{full} %f2, %f1;', {'%f1': hexes([k for k, _ in rows], 32)}, {'%f2:x': hexes([v for _, v in rows], 32)})
    nan, inf, ninf = 0x7fffffff, 0x7f800000, 0xff800000
    rng = random.Random(1)
    some = lambda lo, hi, n: [of(F32, Fraction(rng.uniform(lo, hi))) for _ in range(n)]
    two = lambda n: of(F32, Fraction(2) ** n)
    special = {of(F32, n): two(n) for n in list(range(-126, 128, 11)) + [0, 1, -1, 127]}
    special |= {0: 0x3f800000, 0x80000000: 0x3f800000, 1: 0x3f800000, 0x80000001: 0x3f800000, inf: inf, ninf: 0, 0x7fc00000: nan, of(F32, 128): inf, of(F32, 1000): inf,
                of(F32, -1000): 0, of(F32, -149): 1, of(F32, -127): 0x00400000}
    unary('ex2', some(-126, 127, 40) + some(-1, 1, 24), lambda x: mpmath.power(2, x), '2 ulp', special)
    unary('lg2', some(0.5, 2, 32) + some(2.1, 1000, 30) + [0x00800000, 0x7f7fffff], lambda x: mpmath.log(x, 2), ('2.5e-07 abs', '2.5e-07 rel'),
          {0x3f800000: 0, 0: ninf, 0x80000000: ninf, 0xbf800000: nan, inf: inf, ninf: nan, 0x7fc00000: nan, of(F32, 8): of(F32, 3)})
    unary('sin', some(-3.14, 3.14, 32) + some(-100, 100, 32), mpmath.sin, ('4.76e-07 abs', '5e-05 abs'), {0: 0, 0x80000000: 0x80000000, inf: nan, ninf: nan, 0x7fc00000: nan})
    unary('cos', some(-3.14, 3.14, 32) + some(-100, 100, 32), mpmath.cos, ('4.76e-07 abs', '5e-05 abs'), {0: 0x3f800000, inf: nan, ninf: nan, 0x7fc00000: nan})
    unary('rsqrt', some(0.01, 1000, 32) + [0x00800000, 0x7f7fffff], lambda x: 1 / mpmath.sqrt(x), '2 ulp',
          {0: inf, 0x80000000: ninf, inf: 0, ninf: nan, 0xbf800000: nan, 0x7fc00000: nan, of(F32, 4): 0x3f000000})
    unary('sqrt', some(0.01, 1000, 32) + [0x00800000, 0x7f7fffff], mpmath.sqrt, '2 ulp', {0: 0, 0x80000000: 0x80000000, inf: inf, ninf: nan, 0xbf800000: nan, 0x7fc00000: nan, of(F32, 4): 0x40000000})
    unary('rcp', some(0.01, 1000, 32) + some(-1000, -0.01, 32), lambda x: 1 / x, '1 ulp', {0: inf, 0x80000000: ninf, inf: 0, ninf: 0x80000000, 0x7fc00000: nan, of(F32, 4): 0x3e800000})
    a = some(-4, 4, 32)
    f.case('tanh.approx.f32', 'tanh.approx.f32 %f2, %f1;', {'%f1': hexes(a, 32)}, {'%f2:x within 0.0005 rel': hexes([F32.round(fraction(mpmath.tanh(exact(x)))) for x in a], 32)})
    f.case('tanh.approx.f32 exact', 'tanh.approx.f32 %f2, %f1;', {'%f1': hexes([0, 0x80000000, inf, ninf, 0x7fc00000], 32)}, {'%f2:x': hexes([0, 0x80000000, 0x3f800000, 0xbf800000, nan], 32)})
    a, b = some(-100, 100, 32), some(0.5, 100, 32)
    for kind, ftz in itertools.product(('approx', 'full'), ('', '.ftz')):
        f.case(f'div.{kind}{ftz}.f32', f'div.{kind}{ftz}.f32 %f3, %f1, %f2;', {'%f1': hexes(a, 32), '%f2': hexes(b, 32)},
               {'%f3:x within 2 ulp': hexes([F32.round(F32.value(x) / F32.value(y)) for x, y in zip(a, b)], 32)})
    huge = of(F32, Fraction(2) ** 127)
    f.case('div.approx.f32 by more than 2^126', 'div.approx.f32 %f3, %f1, %f2;', {'%f1': hexes([0x3f800000, inf, 0x7f000000], 32), '%f2': hexes([huge], 32)}, {'%f3:x': hexes([0, nan, 0], 32)})
    f.case('ex2.approx.f16, ex2.approx.f16x2, tanh.approx.f16', ['ex2.approx.f16 %h2, %h1;', 'tanh.approx.f16 %h3, %h1;'],
           {'%h1': hexes([of(F16, n) for n in (0, 1, -1, 15, -14, -24, 16, -30)], 16)},
           {'%h2:x': hexes([of(F16, Fraction(2) ** n) if n < 16 and n > -25 else (0x7c00 if n > 0 else 0) for n in (0, 1, -1, 15, -14, -24, 16, -30)], 16),
            '%h3:x within 2 ulp': hexes([F16.round(fraction(mpmath.tanh(n))) for n in (0, 1, -1, 15, -14, -24, 16, -30)], 16)})
    f.case('ex2.approx.ftz.bf16, tanh.approx.bf16', ['ex2.approx.ftz.bf16 %h2, %h1;', 'tanh.approx.bf16 %h3, %h1;'],
           {'%h1': hexes([of(BF16, n) for n in (0, 1, -1, 15, -14)], 16)},
           {'%h2:x': hexes([of(BF16, Fraction(2) ** n) for n in (0, 1, -1, 15, -14)], 16),
            '%h3:x within 1 ulp': hexes([BF16.round(fraction(mpmath.tanh(n))) for n in (0, 1, -1, 15, -14)], 16)}, target='sm_90')
    # f64: the upper word is read and written; 2^-20 relative.
    a = [of(F64, Fraction(v)) for v in (1, 2, 3, 10, 0.1, 1000, 1e10)]
    f.case('rcp.approx.ftz.f64, rsqrt.approx.f64, rsqrt.approx.ftz.f64',
           ['rcp.approx.ftz.f64 %fd2, %fd1;', 'rsqrt.approx.f64 %fd3, %fd1;', 'rsqrt.approx.ftz.f64 %fd4, %fd1;'], {'%fd1': hexes(a, 64)},
           {'%fd2:x within 2e-06 rel': hexes([R.div(F64, 0x3ff << 52, x) for x in a], 64),
            '%fd3:x within 1e-15 rel': hexes([R.div(F64, 0x3ff << 52, R.sqrt(F64, x)) for x in a], 64),
            '%fd4:x within 2e-06 rel': hexes([R.div(F64, 0x3ff << 52, R.sqrt(F64, x)) for x in a], 64)})
    f.write()


def move():
    f = File('move')
    a, b = pairs(32, 'move')
    ins = {'%r1': hexes(a, 32), '%r2': hexes(b, 32)}
    s = [(i * 0x9e3779b1) & 0xffff for i in range(32)]
    r = []
    for x, y, sel in zip(a, b, s):
        bytes_ = [(x >> 8 * i) & 255 for i in range(4)] + [(y >> 8 * i) & 255 for i in range(4)]
        v = 0
        for n in range(4):
            k = (sel >> 4 * n) & 15
            byte = bytes_[k & 7]
            v |= ((255 if byte & 128 else 0) if k & 8 else byte) << 8 * n
        r.append(v)
    f.case('prmt.b32', 'prmt.b32 %r4, %r1, %r2, %r3;', {**ins, '%r3': hexes(s, 32)}, {'%r4:x': hexes(r, 32)})
    modes = {'f4e': lambda i, n: i + n, 'b4e': lambda i, n: (i - n) % 8, 'rc8': lambda i, n: i, 'ecl': lambda i, n: max(i, n), 'ecr': lambda i, n: min(i, n),
             'rc16': lambda i, n: 2 * (i & 1) + (n & 1)}
    for mode, pick in modes.items():
        sel = [i % 4 for i in range(32)]
        r = []
        for x, y, i in zip(a, b, sel):
            bytes_ = [(x >> 8 * k) & 255 for k in range(4)] + [(y >> 8 * k) & 255 for k in range(4)]
            r.append(sum(bytes_[pick(i, n)] << 8 * n for n in range(4)))
        f.case(f'prmt.b32.{mode}', f'prmt.b32.{mode} %r4, %r1, %r2, %r3;', {**ins, '%r3': [str(i) for i in sel]}, {'%r4:x': hexes(r, 32)})
    f.case('mov.b32, mov.b64 unpack and pack',
           ['mov.b32 {%rs1, %rs2}, %r1;', 'mov.b32 %r3, {%rs2, %rs1};', 'mov.b64 %rd1, {%r1, %r2};', 'mov.b64 {%rs3, %rs4, %rs5, %rs6}, %rd1;', 'mov.b64 {%r4, _}, %rd1;',
            'mov.b64 %rd2, {%rs6, %rs5, %rs4, %rs3};'], ins,
           {'%rs1:x': hexes(a, 16), '%rs2:x': hexes([x >> 16 for x in a], 16), '%r3:x': hexes([x >> 16 | (x & 0xffff) << 16 for x in a], 32),
            '%rd1:x': hexes([y << 32 | x for x, y in zip(a, b)], 64), '%rs5:x': hexes(b, 16), '%r4:x': hexes(a, 32),
            '%rd2:x': hexes([y >> 16 | (y & 0xffff) << 16 | (x >> 16) << 32 | (x & 0xffff) << 48 for x, y in zip(a, b)], 64)})
    f.case('mov of every type', ['mov.u16 %rs2, %rs1;', 'mov.s32 %r2, %r1;', 'mov.u64 %rd2, %rd1;', 'mov.f32 %f2, %f1;', 'mov.f64 %fd2, %fd1;', 'mov.b32 %r3, %f1;', 'mov.u32 %r4, 4294967295;',
                                 'mov.f32 %f3, 0f40490FDB;', 'mov.f64 %fd3, 0d400921FB54442D18;', 'mov.s16 %rs3, -5;'],
           {'%rs1': ['7', '65535'], '%r1': ['1', '-2'], '%rd1': ['0x123456789abcdef0'], '%f1': ['1.5', '-0.0'], '%fd1': ['2.5']},
           {'%rs2': ['7', '65535'], '%r2': ['1', '-2'], '%rd2': ['0x123456789abcdef0'], '%f2': ['1.5', '-0.0'], '%fd2': ['2.5'], '%r3:x': ['0x3fc00000', '0x80000000'],
            '%r4': ['-1'], '%f3:x': ['0x40490fdb'], '%fd3:x': ['0x400921fb54442d18'], '%rs3': ['-5']})
    f.write()


def video():
    f = File('video')
    a, b = pairs(32, 'video')
    c = edges(32, 'videoc')[::-1] * 2
    ins = {'%r1': hexes(a, 32), '%r2': hexes(b, 32), '%r3': hexes(c, 32)}
    ops = {'vadd': lambda x, y: x + y, 'vsub': lambda x, y: x - y, 'vabsdiff': lambda x, y: abs(x - y), 'vmin': min, 'vmax': max}
    part = {'': (0, 32), 'b0': (0, 8), 'b3': (24, 8), 'h0': (0, 16), 'h1': (16, 16)}
    for op, fn in ops.items():
        for d, ta, tb in itertools.product(('u32', 's32'), repeat=3):
            # Whole words with an unsigned saturated result: compilers for today's GPUs wrap at 32 bits first, against
            # the text of the ISA; not tested. Nor is saturation merged into a byte.
            for sat, pa, pb in (('', 'b0', 'h1'), ('.sat', '', ''), ('.sat', 'b3', 'h0')):
                if sat and not pa and d == 'u32':
                    continue
                pick = lambda w, p, t: wrap(w >> part[p][0], part[p][1], t == 's32')
                v = [fn(pick(x, pa, ta), pick(y, pb, tb)) for x, y in zip(a, b)]
                if sat:
                    v = [clamp(x, 32, d == 's32') for x in v]
                sa, sb = ('.' + pa if pa else ''), ('.' + pb if pb else '')
                name = f'{op}.{d}.{ta}.{tb}{sat}'
                f.case(f'{name} {sa} {sb}', f'{name} %r4, %r1{sa}, %r2{sb};', {k: ins[k] for k in ('%r1', '%r2')}, {'%r4:x': hexes(v, 32)})
        s = [clamp(fn(signed(x, 32), signed(y, 32)), 32, True) for x, y in zip(a, b)]
        f.case(f'{op}.s32.s32.s32.sat.add', f'{op}.s32.s32.s32.sat.add %r4, %r1, %r2, %r3;', ins, {'%r4:x': hexes([x + z for x, z in zip(s, c)], 32)})
        f.case(f'{op}.s32.s32.s32.sat.max', f'{op}.s32.s32.s32.sat.max %r4, %r1, %r2, %r3;', ins, {'%r4:x': hexes([max(x, signed(z, 32)) for x, z in zip(s, c)], 32)})
        s = [fn(signed(x, 32), signed(y, 32)) & 255 for x, y in zip(a, b)]
        f.case(f'{op}.s32.s32.s32 merged into b2', f'{op}.s32.s32.s32 %r4.b2, %r1, %r2, %r3;', ins, {'%r4:x': hexes([z & 0xff00ffff | x << 16 for x, z in zip(s, c)], 32)})
    n = [0, 1, 4, 31, 32, 33, 64, 255] * 4
    sins = {'%r1': hexes(a, 32), '%r2': [str(k) for k in n]}
    for mode, amount in (('clamp', lambda k: min(k, 32)), ('wrap', lambda k: k & 31)):
        f.case(f'vshl.u32.u32.u32.{mode}', f'vshl.u32.u32.u32.{mode} %r4, %r1, %r2;', sins, {'%r4:x': hexes([x << amount(k) for x, k in zip(a, n)], 32)})
        f.case(f'vshr.s32.s32.u32.{mode}', f'vshr.s32.s32.u32.{mode} %r4, %r1, %r2;', sins, {'%r4:x': hexes([signed(x, 32) >> amount(k) for x, k in zip(a, n)], 32)})
    for cmp, fn in (('eq', lambda x, y: x == y), ('lt', lambda x, y: x < y), ('ge', lambda x, y: x >= y)):
        r = [int(fn(x, signed(y, 32))) for x, y in zip(a, b)]
        f.case(f'vset.u32.s32.{cmp}', f'vset.u32.s32.{cmp} %r4, %r1, %r2;', {k: ins[k] for k in ('%r1', '%r2')}, {'%r4': [str(x) for x in r]})
        f.case(f'vset.u32.s32.{cmp}.add', f'vset.u32.s32.{cmp}.add %r4, %r1, %r2, %r3;', ins, {'%r4:x': hexes([x + z for x, z in zip(r, c)], 32)})
    for scale, sh in (('', 0), ('.shr7', 7), ('.shr15', 15)):
        v = [(signed(x, 32) * signed(y, 32) + signed(z, 32)) >> sh for x, y, z in zip(a, b, c)]
        f.case(f'vmad.s32.s32.s32{scale}', f'vmad.s32.s32.s32{scale} %r4, %r1, %r2, %r3;', ins, {'%r4:x': hexes(v, 32)})
        f.case(f'vmad.s32.s32.s32.sat{scale}', f'vmad.s32.s32.s32.sat{scale} %r4, %r1, %r2, %r3;', ins, {'%r4:x': hexes([clamp(x, 32, True) for x in v], 32)})
    v = [x * y + z + 1 for x, y, z in zip(a, b, c)]
    f.case('vmad.u32.u32.u32.po', 'vmad.u32.u32.u32.po %r4, %r1, %r2, %r3;', ins, {'%r4:x': hexes(v, 32)})
    ops['vavrg'] = lambda x, y: (x + y + (1 if x + y >= 0 else 0)) >> 1
    for op, fn in ops.items():
        for count in (2, 4):
            w = 32 // count
            for t in ('u32', 's32'):
                sgn = t == 's32'
                lanes = [[fn(wrap(x >> k * w, w, sgn), wrap(y >> k * w, w, sgn)) for k in range(count)] for x, y in zip(a, b)]
                pack = lambda row: sum((v & ((1 << w) - 1)) << k * w for k, v in enumerate(row))
                name = f'{op}{count}.{t}.{t}.{t}'
                f.case(name, f'{name} %r4, %r1, %r2, %r3;', ins, {'%r4:x': hexes([pack(row) for row in lanes], 32)})
                f.case(name + '.sat', f'{name}.sat %r4, %r1, %r2, %r3;', ins, {'%r4:x': hexes([pack([clamp(v, w, sgn) for v in row]) for row in lanes], 32)})
                f.case(name + '.add', f'{name}.add %r4, %r1, %r2, %r3;', ins,
                       {'%r4:x': hexes([z + sum(row) for row, z in zip(lanes, c)], 32)})
    for count in (2, 4):
        w = 32 // count
        r = [[int(signed(x >> k * w, w) < signed(y >> k * w, w)) for k in range(count)] for x, y in zip(a, b)]
        f.case(f'vset{count}.s32.s32.lt', f'vset{count}.s32.s32.lt %r4, %r1, %r2, %r3;', ins, {'%r4:x': hexes([sum(v << k * w for k, v in enumerate(row)) for row in r], 32)})
        f.case(f'vset{count}.s32.s32.lt.add', f'vset{count}.s32.s32.lt.add %r4, %r1, %r2, %r3;', ins, {'%r4:x': hexes([z + sum(row) for row, z in zip(r, c)], 32)})
    # Selectors pick from both sources together, digits from the top; the mask says which parts of c are replaced or added to.
    for op, count, t, mask, sa, sb in (('vadd', 4, 's32', '3210', '3210', '7654'), ('vadd', 4, 'u32', '20', '0123', '4747'), ('vsub', 4, 's32', '3', '7654', '0000'),
                                       ('vmax', 4, 's32', '210', '5140', ''), ('vabsdiff', 4, 'u32', '', '', '1032'), ('vadd', 2, 's32', '10', '10', '32'),
                                       ('vsub', 2, 'u32', '1', '31', '02'), ('vavrg', 2, 's32', '0', '', '11'), ('vmin', 2, 's32', '', '23', '')):
        w, letter, sgn = 32 // count, 'b' if count == 4 else 'h', t == 's32'
        written = [int(k) for k in mask] or list(range(count))
        chosen = lambda sel, first: [int(k) for k in reversed(sel)] or list(range(first, first + count))
        pick = lambda x, y, k: wrap((y << 32 | x) >> k * w, w, sgn)
        lanes = [[ops[op](pick(x, y, ka), pick(x, y, kb)) for ka, kb in zip(chosen(sa, 0), chosen(sb, count))] for x, y in zip(a, b)]
        part_mask = ((1 << w) - 1)
        for second in ('', '.sat', '.add'):
            rows = [[clamp(v, w, sgn) if second == '.sat' else v for v in row] for row in lanes]
            if second == '.add':
                v = [z + sum(row[k] for k in written) for row, z in zip(rows, c)]
            else:
                v = []
                for row, z in zip(rows, c):
                    for k in written:
                        z = z & ~(part_mask << k * w) | (row[k] & part_mask) << k * w
                    v.append(z)
            dot = lambda sel: f'.{letter}{sel}' if sel else ''
            text = f'{op}{count}.{t}.{t}.{t}{second} %r4{dot(mask)}, %r1{dot(sa)}, %r2{dot(sb)}, %r3;'
            f.case(text[:-1], text, ins, {'%r4:x': hexes(v, 32)})
    for text in ('vadd4.s32.s32.s32 %r4.b02, %r1, %r2, %r3;', 'vadd4.s32.s32.s32 %r4, %r1.b01, %r2, %r3;', 'vadd2.s32.s32.s32 %r4, %r1.b3210, %r2, %r3;',
                 'vadd4.s32.s32.s32 %r4, %r1, %r2, %r3.b3210;', 'vadd2.s32.s32.s32 %r4, %r1.h1, %r2, %r3;', 'vadd.s32.s32.s32 %r4, %r1.b3210, %r2;'):
        f.error(text[:-1], text, 'selector|selected')
    f.write()


def main():
    convert()
    approximations()
    move()
    video()
