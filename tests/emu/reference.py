"""Exact arithmetic of PTX types for make_cases.py: floating-point values as fractions, rounded by definition.

Shares nothing with the emulator: no host floating point, no bit tricks, only the definitions of the formats.
"""
from fractions import Fraction


class Format:
    def __init__(self, exponent, mantissa, nan, infinity=True, has_nan=True):
        self.e, self.m, self.nan = exponent, mantissa, nan
        self.bias = 2 ** (exponent - 1) - 1
        self.infinity, self.has_nan = infinity, has_nan
        self.bits = 1 + exponent + mantissa
        self.sign = 1 << (exponent + mantissa)
        if infinity:
            self.last = ((2**exponent - 1) << mantissa) - 1
        elif has_nan:
            self.last = (1 << (exponent + mantissa)) - 2
        else:
            self.last = (1 << (exponent + mantissa)) - 1

    def value(self, code):
        """Fraction of a finite code, or 'inf', '-inf', 'nan'."""
        negative, magnitude = code & self.sign, code & (self.sign - 1)
        if magnitude > self.last:
            if self.infinity and magnitude == self.last + 1:
                return '-inf' if negative else 'inf'
            return 'nan'
        v = self.magnitude(magnitude)
        return -v if negative else v

    def magnitude(self, code):
        exponent, mantissa = code >> self.m, code & ((1 << self.m) - 1)
        if exponent == 0:
            return Fraction(mantissa) * Fraction(2) ** (1 - self.bias - self.m)
        return Fraction(mantissa + (1 << self.m)) * Fraction(2) ** (exponent - self.bias - self.m)

    def negative(self, code):
        return bool(code & self.sign)

    def is_subnormal(self, code):
        return 0 < (code & (self.sign - 1)) < (1 << self.m)

    def flush(self, code):
        return code & self.sign if (code & (self.sign - 1)) < (1 << self.m) else code

    def round(self, v, mode='rn', negative_zero=False, satfinite=False):
        if v == 'nan':
            return self.nan
        if v in ('inf', '-inf'):
            sign = self.sign if v == '-inf' else 0
            if satfinite or (not self.infinity and not self.has_nan):
                return sign | self.last
            return sign | (self.last + 1) if self.infinity else sign | self.nan
        if v == 0:
            return self.sign if negative_zero else 0
        negative, a = v < 0, abs(v)
        sign = self.sign if negative else 0
        low, high = 0, self.last + 1       # code of the largest value <= a, by bisection
        if a >= self.magnitude(high):
            low = high
        else:
            while high - low > 1:
                middle = (low + high) // 2
                if self.magnitude(middle) <= a:
                    low = middle
                else:
                    high = middle
        below, above = self.magnitude(low), self.magnitude(low + 1)
        code = low
        if low > self.last:
            code = low if mode in ('rn', 'rna') or (mode == 'rp' and not negative) or (mode == 'rm' and negative) else self.last
        elif a != below:
            half = (below + above) / 2
            up = {'rn': a > half or (a == half and low % 2 == 1), 'rna': a >= half, 'rz': False,
                  'rm': negative, 'rp': not negative}[mode]
            code = low + 1 if up else low
        if code > self.last:
            if satfinite or (not self.infinity and not self.has_nan):
                return sign | self.last
            return sign | (self.last + 1) if self.infinity else self.nan
        return sign | code


F32 = Format(8, 23, 0x7FFFFFFF)
F64 = Format(11, 52, 0x7FF8000000000000)
F16 = Format(5, 10, 0x7FFF)
BF16 = Format(8, 7, 0x7FFF)
E4M3 = Format(4, 3, 0x7F, infinity=False)
E5M2 = Format(5, 2, 0x7F)
TF32 = Format(8, 10, 0x7FFFFFFF >> 13)


def _zero_sign(fmt, mode, a_negative, b_negative):
    return a_negative if a_negative == b_negative else mode == 'rm'


def add(fmt, a, b, mode='rn'):
    x, y = fmt.value(a), fmt.value(b)
    if 'nan' in (x, y) or (x in ('inf', '-inf') and y in ('inf', '-inf') and x != y):
        return fmt.nan
    if x in ('inf', '-inf'):
        return fmt.round(x)
    if y in ('inf', '-inf'):
        return fmt.round(y)
    if x + y == 0:
        negative = _zero_sign(fmt, mode, fmt.negative(a), fmt.negative(b)) if x == 0 else mode == 'rm'
        return fmt.round(0, negative_zero=negative)
    return fmt.round(x + y, mode)


def sub(fmt, a, b, mode='rn'):
    return add(fmt, a, b ^ fmt.sign, mode)


def _product(fmt, a, b):
    """(value, negative) of a*b."""
    x, y = fmt.value(a), fmt.value(b)
    negative = fmt.negative(a) != fmt.negative(b)
    if 'nan' in (x, y):
        return 'nan', False
    infinite = [v in ('inf', '-inf') for v in (x, y)]
    if any(infinite):
        if x == 0 or y == 0:
            return 'nan', False
        return ('-inf' if negative else 'inf'), negative
    return x * y, negative


def mul(fmt, a, b, mode='rn'):
    v, negative = _product(fmt, a, b)
    return fmt.round(v, mode, negative_zero=negative)


def fma(fmt, a, b, c, mode='rn'):
    p, negative = _product(fmt, a, b)
    z = fmt.value(c)
    if 'nan' in (p, z) or (p in ('inf', '-inf') and z in ('inf', '-inf') and p != z):
        return fmt.nan
    if p in ('inf', '-inf'):
        return fmt.round(p)
    if z in ('inf', '-inf'):
        return fmt.round(z)
    if p + z == 0:
        same = p == 0 and negative == fmt.negative(c)
        return fmt.round(0, negative_zero=negative if same else mode == 'rm')
    return fmt.round(p + z, mode)


def div(fmt, a, b, mode='rn'):
    x, y = fmt.value(a), fmt.value(b)
    negative = fmt.negative(a) != fmt.negative(b)
    if 'nan' in (x, y):
        return fmt.nan
    if x in ('inf', '-inf'):
        return fmt.nan if y in ('inf', '-inf') else fmt.round('-inf' if negative else 'inf')
    if y in ('inf', '-inf'):
        return fmt.round(0, negative_zero=negative)
    if y == 0:
        return fmt.nan if x == 0 else fmt.round('-inf' if negative else 'inf')
    return fmt.round(x / y, mode, negative_zero=negative)


def sqrt(fmt, a, mode='rn'):
    """By bisection over codes: the exact root lies between two neighbours."""
    x = fmt.value(a)
    if x == 'nan':
        return fmt.nan
    if x == 0:
        return a
    if fmt.negative(a):
        return fmt.nan
    if x == 'inf':
        return a
    low, high = 0, fmt.last + 1
    while high - low > 1:
        middle = (low + high) // 2
        if fmt.magnitude(middle) ** 2 <= x:
            low = middle
        else:
            high = middle
    below, above = fmt.magnitude(low), fmt.magnitude(low + 1)
    if below ** 2 == x or mode in ('rz', 'rm'):
        return low
    if mode == 'rp':
        return low + 1
    half = (below + above) / 2
    return low + 1 if half ** 2 < x else low


def minmax(fmt, a, b, largest, nan_wins):
    x, y = fmt.value(a), fmt.value(b)
    if x == 'nan' or y == 'nan':
        if nan_wins or (x == 'nan' and y == 'nan'):
            return fmt.nan
        return b if x == 'nan' else a
    key = lambda code: (float('inf') if fmt.value(code) == 'inf' else float('-inf') if fmt.value(code) == '-inf' else fmt.value(code),
                        0 if fmt.negative(code) else 1)
    return max(a, b, key=key) if largest else min(a, b, key=key)


def saturate(fmt, code):
    v = fmt.value(code)
    if v == 'nan' or v == '-inf' or (v != 'inf' and v <= 0):
        return 0
    return fmt.round(Fraction(1)) if v == 'inf' or v >= 1 else code


def integer_part(v, mode):
    floor = v.numerator // v.denominator
    rest = v - floor
    if rest == 0:
        return floor
    if mode == 'rmi':
        return floor
    if mode == 'rpi':
        return floor + 1
    if mode == 'rzi':
        return floor if v > 0 else floor + 1
    if rest == Fraction(1, 2):
        return floor + (floor % 2)
    return floor + (1 if rest > Fraction(1, 2) else 0)
