"""Tensors without contents, and what is written down of a call. No Triton is needed. Run: python3 -m unittest discover -s python/tests"""

import itertools
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from kernelwright import recording  # noqa: E402

TYPES = {"f32": ("float32", 32), "f16": ("float16", 16), "i4": ("uint8", 4)}
ARGUMENTS = [{"name": "x", "kind": "input", "dtype": "f16", "shape": [4, 6], "strides": [6, 1]},
             {"name": "y", "kind": "output", "dtype": "f32", "shape": [4], "strides": [1]},
             {"name": "piece", "kind": "piece", "dtype": "f32", "shape": [4], "strides": [1]},
             {"name": "q", "kind": "input", "dtype": "i4", "shape": [8], "strides": [1]},
             {"name": "N", "kind": "integer", "integer": 6, "real": 0}, {"name": "eps", "kind": "integer", "integer": 1, "real": 1.0}]


def recorder(seed=0):
    return recording.Recorder({"path": __file__, "seed": seed, "arguments": ARGUMENTS}, TYPES)


def elements(tensor):
    """The elements' numbers within the buffer, as their strides say."""
    return [tensor._offset + sum(i * stride for i, stride in zip(index, tensor.stride())) for index in itertools.product(*map(range, tensor.shape))]


class Views(unittest.TestCase):
    def setUp(self):
        self.x = recorder().bind(lambda x, y: None)["x"]

    def test_an_index_or_slice_begins_where_its_first_element_lies(self):
        rows = [list(range(6 * i, 6 * i + 6)) for i in range(4)]
        self.assertEqual(elements(self.x[1]), rows[1])
        self.assertEqual(elements(self.x[-1]), rows[3])
        self.assertEqual(elements(self.x[1:3, 2:5:2]), [rows[1][2], rows[1][4], rows[2][2], rows[2][4]])
        self.assertEqual(elements(self.x[2, 1:]), rows[2][1:])
        self.assertEqual(elements(self.x[:, 4]), [row[4] for row in rows])
        self.assertEqual(self.x[3:1].numel(), 0)
        self.assertEqual(self.x[1].byte_offset, 12)
        self.assertRaises(IndexError, lambda: self.x[4])
        self.assertRaises(IndexError, lambda: self.x[0, 0, 0])

    def test_a_tensor_is_walked_over_row_by_row(self):
        self.assertEqual([elements(row)[0] for row in self.x], [0, 6, 12, 18])

    def test_turned_tensors_are_no_longer_contiguous(self):
        turned = self.x.T
        self.assertEqual((turned.shape, turned.stride(), turned.is_contiguous()), ((6, 4), (1, 6), False))
        self.assertEqual(elements(turned), elements(self.x.permute(1, 0)))
        self.assertRaises(recording.Refused, turned.view, -1)
        self.assertRaises(recording.Refused, turned.contiguous)
        self.assertRaises(recording.Refused, turned.zero_)
        self.assertRaises(recording.Refused, self.x.permute, 0, 0)

    def test_another_shape_has_as_many_elements(self):
        self.assertEqual(self.x.view(2, -1, 3).shape, (2, 4, 3))
        self.assertEqual(self.x.reshape([24]).stride(), (1,))
        self.assertRaises(recording.Refused, self.x.view, 5, -1)
        self.assertRaises(recording.Refused, self.x.view, -3, -8)

    def test_contents_are_refused_and_absent_methods_too(self):
        for ask in (lambda: bool(self.x), lambda: self.x.sum(), lambda: self.x.item()):
            self.assertRaises(recording.Refused, ask)


class Binding(unittest.TestCase):
    def test_by_name_with_defaults_and_annotations(self):
        def entry(y, N, x, eps: float, block=128): ...
        mine = recorder()
        values = mine.bind(entry)
        self.assertEqual(mine.parameters, ["y", "x"])
        self.assertEqual((values["N"], values["eps"], type(values["eps"])), (6, 1.0, float))
        self.assertNotIn("block", values)

    def test_a_piece_may_be_left_out_and_an_output_not(self):
        self.assertRaisesRegex(recording.Refused, "output 'y'", recorder().bind, lambda x: None)
        self.assertRaisesRegex(recording.Refused, "'z' names nothing", recorder().bind, lambda y, z: None)
        self.assertRaisesRegex(recording.Refused, "'more' names nothing", recorder().bind, lambda y, *more: None)

    def test_two_recordings_have_no_address_in_common(self):
        one, two = (recorder(seed).bind(lambda x, y: None) for seed in (0, 1))
        self.assertNotEqual(one["x"].data_ptr(), two["x"].data_ptr())
        self.assertEqual({tensor.data_ptr() % 256 for values in (one, two) for tensor in values.values()}, {0})
        self.assertEqual(one["x"][1].data_ptr() - one["x"].data_ptr(), 12)


class Steps(unittest.TestCase):
    def test_workspace_is_counted_behind_the_parameters(self):
        mine = recorder()
        mine.bind(lambda x, y: None)
        first, second = mine.empty((3,), "float32"), mine.zeros((2, 5), "float16")
        self.assertEqual((first._buffer, second._buffer, mine.workspace), (2, 3, [12, 20]))
        self.assertEqual([step["fill"] for step in mine.steps], [{"buffer": 3, "offset": 0, "bytes": 20}])
        self.assertGreater(mine.steps[0]["line"], 0)
        self.assertRaises(recording.Refused, mine.empty, (3,), "float33")
        self.assertRaises(recording.Refused, mine.empty, (-3,), "float32")

    def test_elements_of_four_bits_are_whole_bytes_without_views(self):
        q = recorder().bind(lambda q, y: None)["q"]
        q.zero_()
        self.assertEqual(q._recorder.steps[0]["fill"]["bytes"], 4)
        self.assertRaises(recording.Refused, lambda: q[1:])

    def test_an_empty_grid_launches_nothing(self):
        mine = recorder()
        mine.launch("kernel", [4, 0, 1], [])
        self.assertEqual((mine.steps, mine.kernels), ([], {}))
        mine.launch("kernel", [4, 1, 1], [])
        mine.launch("kernel", [5, 1, 1], [])
        self.assertEqual([step["launch"]["kernel"] for step in mine.steps], [0, 0])
        self.assertRaises(recording.Refused, mine.launch, "kernel", [1.5, 1, 1], [])


if __name__ == "__main__":
    unittest.main()
