"""Which sizes a problem is run at: real, smallest, odd shapes, and a copy scaled down for the emulator. Pure.

A choice of axes is sound when every constraint holds and every shape of the graph is positive.
"""

import itertools

from . import sizes

MOST_WORK = 2e7        # multiply-adds of the emulator's workload
MOST_ELEMENTS = 4e6    # of all its tensors
LONGEST_SEARCH = 5000  # sizes tried for one axis
ODD = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31)


class Space:
    def __init__(self, real, constraints, shapes, work, groups=()):
        """`real`: {axis: size}; `shapes`: sizes that must be positive; `work`: (multiply-adds, elements) as lists of sizes;
        `groups`: sizes that the emulator's workload keeps above one, where another operator would do."""
        self.real, self.constraints, self.work = real, constraints, work
        self.groups = [size for size in groups if not sizes.is_number(size) and sizes.evaluate(size, real) > 1]
        self.shapes = list(dict.fromkeys(size for size in shapes if not sizes.is_number(size)))

    def sound(self, axes):
        return all(sizes.holds(c, axes) for c in self.constraints) and all(self.positive(size, axes) for size in self.shapes)

    @staticmethod
    def positive(size, axes):
        try:
            return sizes.evaluate(size, axes) >= 1
        except ZeroDivisionError:
            return False

    def cost(self, axes):
        multiplies, elements = (sum(sizes.evaluate(size, axes) for size in each) for each in self.work)
        return max(multiplies / MOST_WORK, elements / MOST_ELEMENTS)

    def toward(self, start, wanted):
        """`start`, each axis in turn at the first sound size of wanted(axis)."""
        axes = dict(start)
        for axis in axes:
            for size in itertools.islice(wanted(axis), LONGEST_SEARCH):
                if size == axes[axis]:
                    break
                if self.sound({**axes, axis: size}):
                    axes[axis] = size
                    break
        return axes

    def settle(self, start, wanted):
        """toward() until nothing changes: an axis that held another up may have moved."""
        axes = dict(start)
        for _ in range(8):
            nearer = self.toward(axes, wanted)
            if nearer == axes:
                break
            axes = nearer
        return axes

    def smallest(self):
        return self.settle(self.real, lambda axis: range(2, max(2, self.real[axis]) + 1))

    def odd(self, number):
        """Different odd primes for the axes, so that no two can be mixed up; the next sound size where one is not."""
        order = {axis: ODD[(i + number) % len(ODD)] for i, axis in enumerate(self.real)}
        return self.settle(self.smallest(), lambda axis: range(order[axis], order[axis] + LONGEST_SEARCH))

    def emulator(self):
        """The real sizes, halved as often as needed, longest axis first; residues modulo 32, 16 or 8 stay."""
        axes, fixed = dict(self.real), set()
        while self.cost(axes) > 1:
            free = [axis for axis in axes if axis not in fixed]
            if not free:
                break
            longest = max(free, key=lambda axis: axes[axis])
            smaller = next(self.scaled(axes, longest), None)
            if smaller is None:
                fixed.add(longest)
            else:
                axes[longest] = smaller
        return axes

    def scaled(self, axes, axis):
        now, real = axes[axis], self.real[axis]
        for half, modulus in itertools.product((now // 2, now * 3 // 4), (32, 16, 8, 1)):
            for size in range(half - (half - real) % modulus, 1, -modulus):
                if size < half // 2:
                    break
                smaller = {**axes, axis: size}
                if size < now and self.sound(smaller) and all(sizes.evaluate(group, smaller) > 1 for group in self.groups):
                    yield size

    def chosen(self):
        """[(role, name, axes)], without repetitions but for what the emulator runs; the note is the caller's."""
        if not self.real:
            return [("smallest", "fixed", {}), ("real", "task", {})]
        found = [("smallest", "least", self.smallest()), ("shape", "odd", self.odd(1)), ("shape", "odd_too", self.odd(4))]
        emulator = self.emulator()
        if self.cost(emulator) <= 1:
            found.append(("emulator", "scaled", emulator))
        kept = []
        for role, name, axes in found:
            if role == "emulator" or axes not in [other for _, _, other in kept]:
                kept.append((role, name, axes))
        return kept + [("real", "task", dict(self.real))]


def implied(constraint, known, axes):
    """Does `constraint` follow from `known` and from sizes being positive? Decided by trying sizes: sound for keeping too
    many, and what is dropped wrongly only admits a workload that PyTorch would refuse."""
    used = sorted(sizes.axes_of(constraint[1]) | sizes.axes_of(constraint[2]))
    if not used:
        return True
    steps = [1, 2, 3, 4, 6, 8, 12, 16, 64, 96, 256, 768] if len(used) < 3 else [1, 2, 3, 8, 64]
    near = [-64, -16, -8, -3, -2, -1, 0, 1, 2, 3, 8, 16, 64] if len(used) < 3 else [0]
    choices = itertools.product(*(sorted({size for size in steps + [axes[axis] + n for n in near] if size > 0}) for axis in used))
    if len(used) == 1:
        choices = ((size,) for size in itertools.chain(range(1, 3000), range(max(3000, axes[used[0]] - 500), axes[used[0]] + 500)))
    for choice in itertools.islice(choices, 4000):
        tried = {**axes, **dict(zip(used, choice))}
        if all(sizes.holds(c, tried) for c in known) and not sizes.holds(constraint, tried):
            return False
    return True


def needed(constraints, axes):
    """The constraints that are not implied by shorter ones. `!=` comes from PyTorch's special cases for size one,
    where the text of a problem means the same without them: left out."""
    kept = []
    for constraint in sorted(constraints, key=lambda each: len(str(each))):   # S % 64 == 0 before what follows from it
        if constraint[0] != "!=" and not implied(constraint, kept, axes):
            kept.append(constraint)
    return kept
