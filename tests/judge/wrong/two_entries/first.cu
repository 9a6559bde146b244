#include <kernelwright/candidate.h>
__global__ void one(float* y) { y[0] = 1; }
KW_ENTRY(kw::Out y, cudaStream_t stream) { one<<<1, 1, 0, stream>>>(y.data<float>()); }
