#include <kernelwright/candidate.h>
__global__ void two(float* y) { y[0] = 2; }
KW_ENTRY(kw::Out y, cudaStream_t stream) { two<<<1, 1, 0, stream>>>(y.data<float>()); }
