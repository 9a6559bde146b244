// problem: problems/vector_add.problem
// verdict: unsafe
// rung: smallest
//   A kernel's name is the candidate's to choose: the page must stay one page.
#include <kernelwright/candidate.h>
template <typename T, typename U, typename V, typename W> struct a_type_whose_name_goes_on_and_on_for_no_reason_at_all {};
template <typename T> using Again = a_type_whose_name_goes_on_and_on_for_no_reason_at_all<T, T*, T**, T***>;
template <typename T> __global__ void add(float* y, T) { y[1] = 0; }
KW_ENTRY(kw::Out y, cudaStream_t stream) { add<<<1, 1, 0, stream>>>(y.data<float>(), Again<Again<Again<int>>>{}); }
