// problem: problems/vector_add.problem
// verdict: compile-error
// rung: compile
// says: depth|recursi|nest
#include <kernelwright/candidate.h>
template <int N> struct Down { static constexpr int value = Down<N + 1>::value; };
__global__ void one(float* y) { y[0] = Down<0>::value; }
KW_ENTRY(kw::Out y, cudaStream_t stream) { one<<<1, 1, 0, stream>>>(y.data<float>()); }
