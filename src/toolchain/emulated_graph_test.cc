// CUDA graphs in a whole program on the emulator. Skipped where there is no nvcc or no emulated runtime.
#include <gtest/gtest.h>

#include "toolchain/emulated_program_for_test.h"

namespace kw::toolchain {
namespace {

constexpr char kProgram[] = R"(
#include <cstdio>
#include <cuda_runtime.h>
__global__ void add(int* x, int by) { x[threadIdx.x] += by; }
__global__ void sum(const int* x, const int* y, int* out) { out[threadIdx.x] = x[threadIdx.x] * 1000 + y[threadIdx.x]; }
static int called = 0;
static void on_host(void*) { ++called; }
static int *x, *y, *z, host[32];
static int first() { cudaMemcpy(host, z, sizeof host, cudaMemcpyDeviceToHost); return host[7]; }

int main() {
  cudaMalloc(&x, 128), cudaMalloc(&y, 128), cudaMalloc(&z, 128);
  cudaStream_t a, b;
  cudaStreamCreate(&a), cudaStreamCreate(&b);
  cudaEvent_t fork, join;
  cudaEventCreate(&fork), cudaEventCreate(&join);

  // A fork and a join; nothing runs before the launch.
  int start[32];
  for (int& v : start) v = 5;
  cudaMemset(x, 0, 128), cudaMemset(z, 0, 128);
  cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal);
  cudaEventRecord(fork, a);
  cudaStreamWaitEvent(b, fork, 0);
  add<<<1, 32, 0, a>>>(x, 1);
  cudaMemcpyAsync(y, start, 128, cudaMemcpyHostToDevice, b);
  add<<<1, 32, 0, b>>>(y, 2);
  cudaEventRecord(join, b);
  cudaStreamWaitEvent(a, join, 0);
  sum<<<1, 32, 0, a>>>(x, y, z);
  cudaLaunchHostFunc(a, on_host, nullptr);
  cudaStreamCaptureStatus status;
  cudaStreamIsCapturing(b, &status);
  std::printf("capturing %d sync %s\n", status == cudaStreamCaptureStatusActive, cudaGetErrorName(cudaStreamSynchronize(a)));
  cudaGraph_t graph;
  cudaStreamEndCapture(a, &graph);
  size_t nodes = 0, roots = 0;
  cudaGraphGetNodes(graph, nullptr, &nodes), cudaGraphGetRootNodes(graph, nullptr, &roots);
  std::printf("nodes %zu roots %zu before %d", nodes, roots, first());
  cudaGraphExec_t exec;
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphLaunch(exec, a);
  std::printf(" once %d", first());
  start[7] = 6;   // read again at each launch
  cudaGraphLaunch(exec, a);
  std::printf(" twice %d host %d\n", first(), called);

  // Work of another stream that does not come back.
  cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal);
  cudaEventRecord(fork, a);
  cudaStreamWaitEvent(b, fork, 0);
  add<<<1, 32, 0, b>>>(x, 1);
  cudaGraph_t lost;
  std::printf("unjoined %s", cudaGetErrorName(cudaStreamEndCapture(a, &lost)));
  cudaStreamIsCapturing(b, &status);
  std::printf(" after %d end %s\n", status == cudaStreamCaptureStatusActive, cudaGetErrorName(cudaStreamEndCapture(a, &lost)));

  // By hand, the edges against the order of creation.
  cudaGraph_t made;
  cudaGraphCreate(&made, 0);
  int by = 3;
  void *sum_arguments[] = {&x, &y, &z}, *add_arguments[] = {&x, &by};
  cudaKernelNodeParams parameters{};
  parameters.func = (void*)sum;
  parameters.gridDim = dim3(1), parameters.blockDim = dim3(32);
  parameters.kernelParams = sum_arguments;
  cudaGraphNode_t last, middle, head, edge;
  cudaGraphAddKernelNode(&last, made, nullptr, 0, &parameters);
  parameters.func = (void*)add;
  parameters.kernelParams = add_arguments;
  cudaGraphAddKernelNode(&middle, made, nullptr, 0, &parameters);
  cudaMemsetParams zero{};
  zero.dst = x, zero.elementSize = 4, zero.width = 32, zero.height = 1;
  cudaGraphAddMemsetNode(&head, made, nullptr, 0, &zero);
  cudaGraphAddDependencies(made, &middle, &last, nullptr, 1);
  cudaGraphAddDependencies(made, &head, &middle, nullptr, 1);
  cudaGraphExec_t run, update;
  cudaGraphInstantiate(&run, made, 0);
  cudaGraphLaunch(run, b);
  std::printf("made %d", first());
  by = 4;   // parameters were copied
  cudaGraphLaunch(run, b);
  std::printf(" %d", first());
  cudaGraphExecKernelNodeSetParams(run, middle, &parameters);
  cudaGraphLaunch(run, b);
  std::printf(" %d", first());
  cudaGraphExecUpdateResultInfo result;
  std::printf(" %s", cudaGetErrorName(cudaGraphExecUpdate(run, graph, &result)));
  cudaGraphExecUpdate(run, made, &result);
  cudaGraphLaunch(run, b);
  std::printf(" %d\n", first());
  std::printf("twice %s", cudaGetErrorName(cudaGraphAddDependencies(made, &head, &middle, nullptr, 1)));
  cudaGraphAddDependencies(made, &last, &head, nullptr, 1);
  std::printf(" cycle %s", cudaGetErrorName(cudaGraphInstantiate(&update, made, 0)));
  zero.value = 0x01020304;
  std::printf(" pattern %s foreign %s\n", cudaGetErrorName(cudaGraphAddMemsetNode(&edge, made, nullptr, 0, &zero)),
              cudaGetErrorName(cudaGraphAddEmptyNode(&edge, made, (cudaGraphNode_t*)&x, 1)));

  // A graph within a graph, with memory of its own.
  cudaGraph_t outer;
  cudaGraphCreate(&outer, 0);
  cudaMemAllocNodeParams memory{};
  memory.poolProps.allocType = cudaMemAllocationTypePinned;
  memory.poolProps.location = {cudaMemLocationTypeDevice, 0};
  memory.bytesize = 128;
  cudaGraphNode_t allocated, filled, child, copied;
  cudaGraphAddMemAllocNode(&allocated, outer, nullptr, 0, &memory);
  const auto graph_memory = [](cudaGraphMemAttributeType which) {
    unsigned long long bytes = 0;
    cudaDeviceGetGraphMemAttribute(0, which, &bytes);
    return bytes;
  };
  std::printf("memory %llu ", graph_memory(cudaGraphMemAttrUsedMemCurrent));
  zero.dst = memory.dptr, zero.value = 0x01010101;
  cudaGraphAddMemsetNode(&filled, outer, &allocated, 1, &zero);
  cudaGraphAddChildGraphNode(&child, outer, &filled, 1, graph);
  cudaGraphAddMemcpyNode1D(&copied, outer, &child, 1, z, memory.dptr, 128, cudaMemcpyDeviceToDevice);
  cudaGraphExec_t whole;
  cudaGraphInstantiate(&whole, outer, 0);
  cudaGraphDestroy(outer);
  cudaGraphLaunch(whole, a);
  std::printf("outer %#x host %d", first(), called);
  std::printf(" destroyed %s\n", cudaGetErrorName(cudaGraphLaunch((cudaGraphExec_t)outer, a)));
  // Its memory can be freed between launches and comes back where it was.
  cudaFreeAsync(memory.dptr, a);
  std::printf("again %s", cudaGetErrorName(cudaFree(memory.dptr)));
  cudaMemset(z, 0, 128);
  cudaGraphLaunch(whole, a);
  std::printf(" %#x", first());
  cudaGraphExecDestroy(whole);
  int kept = 0;
  cudaMemcpy(&kept, memory.dptr, 4, cudaMemcpyDeviceToHost);
  std::printf(" kept %#x", kept);
  std::printf(" free %s", cudaGetErrorName(cudaFree(memory.dptr)));
  std::printf(" gone %s", cudaGetErrorName(cudaMemcpy(&kept, memory.dptr, 4, cudaMemcpyDeviceToHost)));
  std::printf(" left %llu of %llu", graph_memory(cudaGraphMemAttrReservedMemCurrent), graph_memory(cudaGraphMemAttrReservedMemHigh));
  unsigned long long nothing = 0;
  cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &nothing);
  std::printf(", then %llu\n", graph_memory(cudaGraphMemAttrReservedMemHigh));
  return cudaDeviceSynchronize();
}
)";

TEST(EmulatedGraph, CapturedAndMadeByHand) {
  if (!can_emulate_programs()) GTEST_SKIP() << "no nvcc or no emulated runtime";
  const auto program = build_emulated(kProgram);
  ASSERT_TRUE(program);
  Command run;
  run.argv = {program->path};
  const auto done = run_process(run);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->exit_code, 0) << done->err;
  EXPECT_EQ(done->out,
            "capturing 1 sync cudaErrorStreamCaptureUnsupported\n"
            "nodes 5 roots 2 before 0 once 1007 twice 2008 host 2\n"
            "unjoined cudaErrorStreamCaptureUnjoined after 0 end cudaErrorIllegalState\n"
            "made 3008 3008 4008 cudaErrorGraphExecUpdateFailure 3008\n"
            "twice cudaErrorInvalidValue cycle cudaErrorInvalidValue pattern cudaErrorNotSupported foreign cudaErrorInvalidValue\n"
            "memory 128 outer 0x1010101 host 3 destroyed cudaErrorInvalidValue\n"
            "again cudaErrorInvalidValue 0x1010101 kept 0x1010101 free cudaSuccess gone cudaErrorInvalidValue left 0 of 128, then 0\n")
      << done->err;
}

}  // namespace
}  // namespace kw::toolchain
