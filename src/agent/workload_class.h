// What kind of work a problem is: which optimisations are suggested, and from which depth of a run on profiles are shown. Pure; thread-safe.
#pragma once

#include <string_view>

#include "problem/problem.h"

namespace kw::agent {

enum class WorkloadClass { kElementwise, kReduction, kLoss, kGemm, kGemv, kAttention, kConvolution, kMovement };
std::string_view name_of(WorkloadClass each);   // "elementwise"; of the prompt file class/NAME

// By the reference's operators: two products with what depends on one of them between are attention; one product, or more, is gemm, or gemv where
// one side of each is a vector;
// then convolution; reductions whose outputs are all smaller than the largest input by the reduced axis, of a logarithm: loss; other reductions,
// scans and sorts; what moves elements to other places; else elementwise.
WorkloadClass class_of(const problem::Problem& problem);

// A profile is shown to a model once more changes than these lie between the start and the kernel: advice on a structure that is still to
// change misleads. The numbers are CuTeGen's (6 matmul, matrix times vector, attention and convolution, 5 reductions and norms, 3 losses, 2 activations); movement is ours.
int profile_after(WorkloadClass each);

}  // namespace kw::agent
