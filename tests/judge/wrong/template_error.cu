// problem: problems/vector_add.problem
// verdict: compile-error
// rung: compile
// says: template_error\.cu:[0-9]+
#include <kernelwright/candidate.h>

template <typename T, int V> struct Wide {
  static_assert(V <= 4, "at most four");
  typename T::element at[V];
};
template <int V> __global__ void add(const float* a, float* y) { y[0] = reinterpret_cast<const Wide<float, V>*>(a)->at[0]; }

KW_ENTRY(kw::In a, kw::Out y, cudaStream_t stream) { add<8><<<1, 1, 0, stream>>>(a.data<float>(), y.data<float>()); }
