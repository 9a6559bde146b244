"""The importer's parts that need no torch: sizes, names, workloads. Run: python3 -m unittest discover -s python/tests"""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from kernelwright import names, sizes, workloads  # noqa: E402


def sympy_like(kind, *args, **more):
    """An expression as sympy hands it out: a class name and args."""
    return type(kind, (), {"args": args, "__int__": lambda self: more["value"], "__str__": lambda self: more["name"]})()


def symbol(name):
    return sympy_like("Symbol", name=name)


def integer(value):
    return sympy_like("Integer", value=value)


class Sizes(unittest.TestCase):
    def test_text_has_the_brackets_that_it_needs(self):
        for size, text in [(("*", ("+", "A", 1), 2), "(A + 1) * 2"), (("-", "A", ("-", "B", "C")), "A - (B - C)"),
                           (("-", ("-", "A", "B"), "C"), "A - B - C"), (("//", "A", ("*", "B", 2)), "A // (B * 2)"),
                           (("+", ("//", "A", 2), 1), "A // 2 + 1"), (("*", -1, "A"), "(-1) * A"), (-3, "-3")]:
            self.assertEqual(sizes.text(size), text)
            if not isinstance(size, int):
                axes = {"A": 17, "B": 3, "C": 5}
                self.assertEqual(eval(sizes.text(size), {}, axes), sizes.evaluate(size, axes))

    def test_max_has_no_text(self):
        self.assertRaises(sizes.Untold, sizes.text, ("max", "A", "B"))

    def test_make_folds_what_is_plain(self):
        self.assertEqual(sizes.make("*", 1, "A"), "A")
        self.assertEqual(sizes.make("//", "A", 1), "A")
        self.assertEqual(sizes.make("-", "A", "A"), 0)
        self.assertEqual(sizes.rename(("+", ("*", 2, "s0"), "s1"), {"s0": 4, "s1": 3}), 11)

    def test_from_sympy(self):
        # ((s0 - 7) // 4) + 1 as torch writes a convolution's height.
        less = sympy_like("Add", symbol("s0"), integer(-7))
        height = sympy_like("Add", sympy_like("FloorDiv", less, integer(4)), integer(1))
        self.assertEqual(sizes.text(sizes.from_sympy(height)), "(s0 - 7) // 4 + 1")
        self.assertEqual(sizes.from_sympy(sympy_like("Pow", symbol("s0"), integer(2))), ("*", "s0", "s0"))
        self.assertEqual(sizes.text(sizes.from_sympy(sympy_like("ModularIndexing", symbol("s0"), integer(2), integer(3)))), "s0 // 2 % 3")
        self.assertRaises(sizes.Untold, sizes.from_sympy, sympy_like("Gamma", symbol("s0"), name="gamma"))

    def test_relations_have_their_numbers_on_the_right(self):
        padded = sympy_like("GreaterThan", sympy_like("Add", symbol("s0"), integer(4)), integer(11))
        self.assertEqual(sizes.relation(padded), (">=", "s0", 7))
        self.assertTrue(sizes.holds((">=", "s0", 7), {"s0": 7}))
        both = sympy_like("Eq", sympy_like("Add", symbol("s0"), symbol("s1")), sympy_like("Add", symbol("s1"), symbol("s2")))
        self.assertEqual(sizes.relation(both), ("==", "s0", "s2"))
        self.assertFalse(sizes.holds(("==", ("%", "s0", 4), 0), {"s0": 7}))


class Names(unittest.TestCase):
    def test_constants_of_the_file_name_axes(self):
        named = names.name_axes([("a", 128), ("b", 64), ("c", 64), ("d", 9)], [("batch", 128), ("height", 64), ("width", 64)], set())
        self.assertEqual(named, {"a": "batch", "b": "height", "c": "width", "d": "S0"})

    def test_one_constant_for_several_axes_is_numbered(self):
        self.assertEqual(names.name_axes([("a", 8), ("b", 8)], [("N", 8)], set()), {"a": "N", "b": "N_2"})

    def test_what_is_ambiguous_is_called_by_its_place(self):
        constants = [("rows", 8), ("columns", 8)]
        self.assertEqual(names.name_axes([("a", 8)], constants, set(), {"a": "fc_out"}), {"a": "fc_out"})

    def test_equal_sizes_take_the_constant_that_suits_their_place(self):
        named = names.name_axes([("a", 24), ("b", 24)], [("out_channels", 24), ("D", 24)], set(), {"a": "D", "b": "conv_out"})
        self.assertEqual(named, {"a": "D", "b": "out_channels"})

    def test_identifiers(self):
        taken = set()
        self.assertEqual([names.identifier(n, taken) for n in ("fc.weight", "fc.weight", "relu", "0", "not")],
                         ["fc_weight", "fc_weight_2", "relu_", "x0", "not_"])


class Workloads(unittest.TestCase):
    space = workloads.Space({"M": 4096, "C": 512}, [("==", ("%", "C", 8), 0)], [("-", "M", 2)], ([("*", ("*", "M", "C"), "C")], [("*", "M", "C")]))

    def test_the_emulators_groups_keep_more_than_one_member(self):
        divisible, work = [("==", ("%", "C", 64), 0)], [[("*", ("*", "C", "C"), 8192)], []]
        self.assertEqual(workloads.Space({"C": 4096}, divisible, [], work).emulator(), {"C": 64})
        self.assertEqual(workloads.Space({"C": 4096}, divisible, [], work, [("//", "C", 64)]).emulator(), {"C": 128})

    def test_smallest_is_sound(self):
        self.assertEqual(self.space.smallest(), {"M": 3, "C": 8})

    def test_every_choice_is_sound_and_the_last_is_real(self):
        chosen = self.space.chosen()
        self.assertEqual([role for role, _, _ in chosen], ["smallest", "shape", "shape", "emulator", "real"])
        for role, _, axes in chosen:
            self.assertTrue(self.space.sound(axes), role)
        self.assertEqual(chosen[-1][2], {"M": 4096, "C": 512})

    def test_the_emulator_gets_less_work_and_the_same_residues(self):
        space = workloads.Space({"M": 4095, "K": 1000}, [], [], ([("*", "M", "K"), ("*", ("*", "M", "K"), 64)], []))
        axes = space.emulator()
        self.assertLessEqual(space.cost(axes), 1)
        self.assertEqual(axes["M"] % 32, 4095 % 32)
        self.assertEqual(axes["K"] % 8, 1000 % 8)

    def test_no_emulator_where_nothing_can_shrink(self):
        space = workloads.Space({"M": 3}, [], [], ([10**12], []))
        self.assertNotIn("emulator", [role for role, _, _ in space.chosen()])

    def test_implied_constraints_go(self):
        found = workloads.needed([("!=", "M", 1), (">=", "M", 0), ("==", ("%", "M", 4), 0), ("==", ("%", "M", 2), 0)], {"M": 8})
        self.assertEqual(found, [("==", ("%", "M", 4), 0)])


if __name__ == "__main__":
    unittest.main()
