// The error budget of each output, derived and never guessed.
//
// An element passes when |got - ref| <= atol + rtol * |ref|, ref being the fp64 reference, unrounded.
//
// Honest evaluations of the same graph on the same inputs give the error that good work makes:
//   plain      every node in fp32 (accumulation too, in blocks as kernels do), stored names rounded to
//              their dtypes, the output not yet rounded;
//   disturbed  fp64, but each node v becomes v + s * b, s = ±1 by a hash of node and element, b the error
//              that its operator may honestly make:
//                + - *                         2^-24 |v|                (IEEE fp32, rounded once)
//                division, tanh, rsqrt, erf …  2^-22 |v|                (approximate instructions, PTX
//                ISA 9.7.3)
//                exp(x), exp2, expm1           (2^-22 + 2^-24 |x|) |v|  (the argument is scaled to base 2)
//                sinh, cosh                    (2^-22 + 2^-24 |x|) cosh x  (halves of exponentials)
//                log(x), log2, log10           2^-22 where 1/2 < x < 2, else 2^-22 |v|
//                asinh, acosh, atanh, lgamma   2^-22 max(1, |v|)        (logarithms)
//                sin, cos                      2^-21
//                tan                           2^-21 sqrt(1 + v^2) (1 + |v|)  (sin / cos)
//                a ** b                        2^-22 (1 + |log2 |v||) |v|
//                sum, mean, avg_pool of n terms t
//                                              2^-24 (1 + n^(1/4) / 4) sum |t|   (sqrt(n) chains of sqrt(n))
//                matmul, conv, cumsum, n terms t
//                                              2^-24 (1 + sqrt(n) / 32) sum |t|  (one chain)
//                scan of n steps               the same; the terms of h are the b, each times the a after it
//                scatter_add                   the same; n counts the updates that the element takes, 0 for none
//                prod, cumprod of n            2^-24 n |v|
//                stored as dtype d             u_d |v|                  (u_d = half the spacing at 1)
//                a Python function             2^-21 (|v| + rms of its finite values)
//              moves, selections and casts add nothing. In a problem with an f64 output 2^-53 replaces 2^-24
//              and 2^-51 replaces 2^-22.
// What a Python function (docs/formats/problem.md) computes is unknown: plain runs it in fp32, rounding where
// its text casts to a narrower dtype, and is what tells how it adds up; the reference and disturbed run it in fp64 with those
// casts undone, the latter on disturbed operands, and its values are pushed as the table says. A function that rounds its
// result to the output's dtype thereby widens the budget by F u.
// Small outputs (fewer than 256 elements) are disturbed up to eight times with other signs: one draw may let
// all errors of the only element cancel. With d_i = the largest of these errors at element i, S = rms of the
// finite ref, u = u of the output dtype, F = the problem's factor (4 unless it says otherwise):
//   relative  r = max d_i / |ref_i|  over elements with |ref_i| >= S
//   absolute  a = max over all of (d_i - r |ref_i|), those below 1e-9 d_i left out
//   rtol = F r + 2 u            (one rounding, and one more unit for a candidate that rounds twice)
//   atol = F a + smallest denormal of the output dtype
// Outputs of fewer than eight bits get u and half a denormal: whatever a candidate rounds to first is so much finer that it
// does not show, and 2 u of e2m1 would let 0 pass for 1.
// Where the graph is exact for this output (only moves and selections of inputs whose values the output's
// dtype holds), atol = rtol = 0. An integer or boolean output has rtol = 0 and atol = max d_i, which is 0
// unless honest evaluations disagree. An integer output whose reference is real asks for the nearest integer:
// u = 0, and 1/2 takes the place of the smallest denormal. A problem whose budget accepts wrong answers is
// refused by admit(). Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "problem/evaluate.h"
#include "problem/problem.h"
#include "tensor/error_metrics.h"
#include "tensor/tensor.h"

namespace kw::problem {

// One output's budget with the numbers it came from, to be shown.
struct OutputTolerance {
  std::string output;
  tensor::Budget budget;
  bool exact = false;                 // atol = rtol = 0 because nothing may round
  double factor = 4;                  // F
  double rounding = 0;                // u of the output dtype
  int roundings = 2;                  // how many of it are allowed
  bool whole = false;                 // the nearest integer is asked for
  double reference_rms = 0;           // S
  double plain_error = 0;             // max |plain - ref|
  double disturbed_error = 0;         // max |disturbed - ref|
  double relative = 0;                // r
  double absolute = 0;                // a
  std::int64_t reduction_length = 1;  // the longest reduction on the way to this output
  // "rtol 1.2e-3 = 4 x 5.5e-5 + 2 x 4.9e-4; atol …": one line for a person.
  std::string text() const;
};

// Whether the output is integer and its reference real: a kernel gives the nearest integer.
bool rounds_to_integers(const Problem& problem, const TensorDecl& output);

struct Tolerance {
  std::vector<OutputTolerance> outputs;  // in the order of problem.outputs
};

// `reference` is the kReference evaluation of the same inputs (evaluated here when null). Costs about three
// reference evaluations, up to ten of small workloads. `options` gives limits and threads; its precision is
// ignored.
Result<Tolerance> derive_tolerance(const Problem& problem, const Workload& workload,
                                   const std::vector<tensor::Tensor>& inputs,
                                   const Evaluation* reference = nullptr,
                                   const EvaluateOptions& options = {});

// Compares a candidate's output `index`: its dtype and shape must be the declared ones (kInvalid).
Result<tensor::ErrorMetrics> compare_output(const Problem& problem, const Workload& workload,
                                            std::size_t index, const tensor::Tensor& got,
                                            const Evaluation& reference, const Tolerance& tolerance);

}  // namespace kw::problem
