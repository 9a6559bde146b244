// Candidates from source to plan, with the real compiler and jail. Skipped where there is no nvcc.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/file.h"
#include "base/jail.h"
#include "toolchain/installation.h"
#include "toolchain/toolchain.h"

namespace kw::toolchain {
namespace {

const std::optional<Nvcc>& nvcc_here() {
  static const std::optional<Nvcc> found = [] {
    auto nvcc = find_nvcc();
    return nvcc ? std::optional<Nvcc>(*nvcc) : std::nullopt;
  }();
  return found;
}

#define KW_NEEDS_NVCC() \
  if (!nvcc_here() || jail_support().kind == JailKind::kNone) GTEST_SKIP() << "no nvcc or no jail"

struct Built {
  TempDir folder;
  std::variant<Compiled, CompileErrors> outcome;
};

Built build(const std::string& text, const char* target = "sm_80") {
  auto folder = TempDir::create("kw-record-test");
  EXPECT_TRUE(folder);
  const std::string path = *folder / "candidate.cu";
  EXPECT_TRUE(write_file(path, text));
  Candidate candidate;
  candidate.path = path;
  candidate.target = target;
  CompileOptions options;
  options.cache_folder = *folder / "cache";
  auto compiled = compile(*nvcc_here(), candidate, options);
  EXPECT_TRUE(compiled) << (compiled ? "" : format_error(compiled.error()));
  return {std::move(*folder), std::move(*compiled)};
}

Argument tensor(Argument::Kind kind, const char* name, std::vector<int64_t> shape, const char* dtype = "f32") {
  Argument argument;
  argument.kind = kind;
  argument.name = name;
  argument.dtype = dtype;
  argument.shape = std::move(shape);
  return argument;
}

Workload workload(int64_t n) {
  Workload out;
  out.arguments.push_back(tensor(Argument::Kind::kInput, "x", {n}));
  out.arguments.push_back(tensor(Argument::Kind::kOutput, "y", {n}));
  Argument axis;
  axis.kind = Argument::Kind::kInteger;
  axis.name = "N";
  axis.integer = n;
  out.arguments.push_back(axis);
  Argument scale;
  scale.kind = Argument::Kind::kReal;
  scale.name = "scale";
  scale.real = 0.5;
  out.arguments.push_back(scale);
  return out;
}

std::variant<plan::Plan, Unrecordable> recorded(const Built& built, const Workload& shape, RecordOptions options = {}) {
  const auto* compiled = std::get_if<Compiled>(&built.outcome);
  if (compiled == nullptr) {
    ADD_FAILURE() << std::get<CompileErrors>(built.outcome).log;
    return Unrecordable{};
  }
  auto result = record(*compiled, shape, options);
  EXPECT_TRUE(result) << (result ? "" : format_error(result.error()));
  return result ? std::move(*result) : Unrecordable{};
}

Unrecordable refused(const std::string& body, RecordOptions options = {}) {
  const Built built = build("#include <kernelwright/candidate.h>\n#include <cstdlib>\n#include <unistd.h>\n"
                            "__global__ void k(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }\n" + body);
  auto result = recorded(built, workload(32), options);
  if (std::holds_alternative<plan::Plan>(result)) {
    ADD_FAILURE() << "recorded, but should not be: " << body;
    return {};
  }
  return std::get<Unrecordable>(result);
}

constexpr char kEverything[] = R"(#include <kernelwright/candidate.h>
__device__ int counter;
__constant__ float weights[4];
struct Params { float a; const float* x; struct { float* y; int n; } out; };
__global__ void plain(Params p) { if (threadIdx.x < p.out.n) p.out.y[threadIdx.x] = p.x[threadIdx.x] * p.a * weights[1]; }
template <typename T> __global__ void templated(const T* x, T* y, int* c) { y[threadIdx.x] = x[threadIdx.x]; *c = 1; }
__global__ void clustered(float* y) { y[0] = 1; }
KW_ENTRY(kw::In x, kw::Out y, int64_t N, float scale, cudaStream_t stream) {
  float* workspace;
  cudaMallocAsync(&workspace, N * 4, stream);
  cudaMemsetAsync(workspace, 0, N * 4, stream);
  float table[4] = {1, 2, 3, 4};
  cudaMemcpyToSymbolAsync(weights, table, sizeof table, 0, cudaMemcpyHostToDevice, stream);
  plain<<<1, 32, 16, stream>>>(Params{scale, x.data<float>() + 4, {workspace, static_cast<int>(N) - 4}});
  cudaStream_t side;
  cudaEvent_t event;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  cudaEventCreate(&event);
  cudaEventRecord(event, stream);
  cudaStreamWaitEvent(side, event);
  cudaMemcpyAsync(y.data<float>(), workspace, N * 4, cudaMemcpyDeviceToDevice, side);
  cudaEventRecord(event, side);
  cudaStreamWaitEvent(stream, event);
  int* counter_address;
  cudaGetSymbolAddress(reinterpret_cast<void**>(&counter_address), counter);
  templated<float><<<dim3(1, 2), 32, 0, stream>>>(x.data<float>(), y.data<float>(), counter_address);
  void* arguments[] = {&workspace};
  cudaLaunchCooperativeKernel(reinterpret_cast<void*>(clustered), dim3(2), dim3(64), arguments, 0, stream);
  cudaFreeAsync(workspace, stream);
}
)";

TEST(Record, EveryKindOfStep) {
  KW_NEEDS_NVCC();
  const Built built = build(kEverything);
  auto result = recorded(built, workload(32));
  ASSERT_TRUE(std::holds_alternative<plan::Plan>(result)) << std::get<Unrecordable>(result).message;
  const auto& plan = std::get<plan::Plan>(result);
  ASSERT_EQ(plan.steps.size(), 6u) << plan::show(plan);
  ASSERT_EQ(plan.buffers.size(), 3u);
  EXPECT_EQ(plan.buffers[2].name, "workspace 0");
  EXPECT_EQ(plan.buffers[2].bytes, 128u);
  const auto& launch = std::get<plan::Launch>(plan.steps[2].action);
  EXPECT_EQ(launch.dynamic_shared_bytes, 16u);
  ASSERT_EQ(launch.relocations.size(), 2u);
  EXPECT_EQ(launch.relocations[0], (plan::Relocation{8, {.buffer = 0, .offset = 16}}));
  EXPECT_EQ(launch.relocations[1], (plan::Relocation{16, {.buffer = 2}}));
  EXPECT_EQ(plan.steps[2].source_file, "candidate.cu");
  EXPECT_EQ(plan.steps[2].source_line, 14u);
  EXPECT_EQ(plan.steps[3].source_line, 21u);
  EXPECT_EQ(plan.steps[3].after, (std::vector<uint32_t>{2}));
  EXPECT_EQ(plan.steps[4].after, (std::vector<uint32_t>{3}));
  const auto& second = std::get<plan::Launch>(plan.steps[4].action);
  EXPECT_EQ(second.relocations.back().target.variable, "counter");
  EXPECT_TRUE(std::get<plan::Launch>(plan.steps[5].action).cooperative);
  EXPECT_TRUE(plan.unjoined.empty());
}

TEST(Record, CompiledOnceThenFromTheCache) {
  KW_NEEDS_NVCC();
  const Built built = build("#include <kernelwright/candidate.h>\n__global__ void k(float* y) { y[0] = 1; }\n"
                            "KW_ENTRY(kw::Out y, cudaStream_t s) { k<<<1, 1, 0, s>>>(y.data<float>()); }\n");
  Candidate candidate;
  candidate.path = built.folder / "candidate.cu";
  CompileOptions options;
  options.cache_folder = built.folder / "cache";
  auto again = compile(*nvcc_here(), candidate, options);
  ASSERT_TRUE(again);
  EXPECT_TRUE(std::get<Compiled>(*again).from_cache);
  // An installation elsewhere finds it in the same cache: the program must not name this one's folder.
  const auto library = record_library();
  const auto program = read_file(std::get<Compiled>(*again).program);
  ASSERT_TRUE(library && program);
  EXPECT_EQ(program->find(std::filesystem::path(*library).parent_path().string()), std::string::npos);
}

TEST(Record, CompileErrorsHaveTheirPlace) {
  KW_NEEDS_NVCC();
  const Built built = build("#include <kernelwright/candidate.h>\n__global__ void k(float* y) { y[0] = undefined_name; }\n");
  const auto* errors = std::get_if<CompileErrors>(&built.outcome);
  ASSERT_NE(errors, nullptr);
  ASSERT_FALSE(errors->diagnostics.empty()) << errors->log;
  EXPECT_EQ(errors->diagnostics[0].place.file, "candidate.cu");
  EXPECT_EQ(errors->diagnostics[0].place.line, 2);
}

TEST(Record, SourcesSeeNothingOutside) {
  KW_NEEDS_NVCC();
  const Built included = build("#include \"/etc/passwd\"\n");
  ASSERT_TRUE(std::holds_alternative<CompileErrors>(included.outcome));
  EXPECT_EQ(std::get<CompileErrors>(included.outcome).log.find("root:"), std::string::npos);
  const Built assembled = build("__asm__(\".incbin \\\"/etc/passwd\\\"\");\n#include <kernelwright/candidate.h>\n"
                                "KW_ENTRY(kw::Out y) {}\n");
  ASSERT_TRUE(std::holds_alternative<CompileErrors>(assembled.outcome));
  EXPECT_EQ(std::get<CompileErrors>(assembled.outcome).log.find("kw-compile"), std::string::npos)
      << std::get<CompileErrors>(assembled.outcome).log;
}

TEST(Record, CopiesToTheHostAreRefusedWithTheirLine) {
  KW_NEEDS_NVCC();
  const Unrecordable reason = refused("KW_ENTRY(kw::In x, kw::Out y, cudaStream_t s) {\n  float first;\n"
                                      "  cudaMemcpy(&first, x.data<float>(), 4, cudaMemcpyDeviceToHost);\n"
                                      "  if (first > 0) k<<<1, 32, 0, s>>>(x.data<float>(), y.data<float>());\n}\n");
  EXPECT_EQ(reason.kind, Unrecordable::Kind::kCall);
  EXPECT_EQ(reason.call, "cudaMemcpy");
  EXPECT_EQ(reason.place.line, 7) << reason.message;
}

TEST(Record, HostAccessToDeviceMemoryIsNamed) {
  KW_NEEDS_NVCC();
  const Unrecordable reason = refused("KW_ENTRY(kw::In x, kw::Out y, cudaStream_t s) {\n"
                                      "  volatile float v = x.data<float>()[2];\n  (void)v;\n}\n");
  EXPECT_EQ(reason.kind, Unrecordable::Kind::kCrash);
  EXPECT_NE(reason.message.find("'x' + 8"), std::string::npos) << reason.message;
  EXPECT_EQ(reason.place.line, 6);
}

TEST(Record, ContractErrors) {
  KW_NEEDS_NVCC();
  EXPECT_NE(refused("KW_ENTRY(kw::In nothing, kw::Out y) {}\n").message.find("'nothing'"), std::string::npos);
  EXPECT_NE(refused("KW_ENTRY(kw::In x) {}\n").message.find("output 'y'"), std::string::npos);
  EXPECT_NE(refused("KW_ENTRY(kw::Out x, kw::Out y) {}\n").message.find("kw::Out"), std::string::npos);
  EXPECT_NE(refused("").message.find("no KW_ENTRY"), std::string::npos);
  const Unrecordable type = refused("KW_ENTRY(kw::In x, kw::Out y) {\n  k<<<1, 1>>>(reinterpret_cast<const float*>(x.data<double>()), y.data<float>());\n}\n");
  EXPECT_EQ(type.kind, Unrecordable::Kind::kContract);
  EXPECT_NE(type.message.find("float32"), std::string::npos) << type.message;
  EXPECT_EQ(type.place.line, 6);
}

TEST(Record, IntegersOfFourBitsArePacked) {
  KW_NEEDS_NVCC();
  const Built built = build(R"(#include <kernelwright/candidate.h>
__global__ void k(const uint32_t* x, const uint4* y, unsigned char* z) { z[threadIdx.x] = x[0] + y[0].x; }
KW_ENTRY(kw::In x, kw::In y, kw::Out z, cudaStream_t stream) {
  const bool known = x.dtype() == kw::DType::kInt4 && y.dtype() == kw::DType::kUInt4 && z.dtype() == kw::DType::kInt4;
  k<<<known ? 3 : 1, 32, 0, stream>>>(x.data<uint32_t>(), y.data<uint4>(), z.data<unsigned char>());
}
)");
  Workload packed;
  packed.arguments = {tensor(Argument::Kind::kInput, "x", {3, 8}, "i4"), tensor(Argument::Kind::kInput, "y", {32}, "u4"),
                      tensor(Argument::Kind::kOutput, "z", {3, 5}, "i4")};
  auto result = recorded(built, packed);
  ASSERT_TRUE(std::holds_alternative<plan::Plan>(result)) << std::get<Unrecordable>(result).message;
  const auto& plan = std::get<plan::Plan>(result);
  EXPECT_EQ(std::get<plan::Launch>(plan.steps.at(0).action).grid[0], 3u);
  EXPECT_EQ(plan.buffers.at(0).bytes, 12u);
  EXPECT_EQ(plan.buffers.at(1).bytes, 16u);
  EXPECT_EQ(plan.buffers.at(2).bytes, 8u);  // 15 elements
}

TEST(Record, LaunchesOutsideTheLimits) {
  KW_NEEDS_NVCC();
  const Unrecordable shared = refused("KW_ENTRY(kw::In x, kw::Out y) {\n  k<<<1, 32, 100000>>>(x.data<float>(), y.data<float>());\n}\n");
  EXPECT_EQ(shared.kind, Unrecordable::Kind::kLaunch);
  EXPECT_NE(shared.message.find("cudaFuncSetAttribute"), std::string::npos) << shared.message;
  EXPECT_EQ(shared.place.line, 6);
  EXPECT_EQ(refused("KW_ENTRY(kw::In x, kw::Out y) { k<<<1, 2000>>>(x.data<float>(), y.data<float>()); }\n").kind, Unrecordable::Kind::kLaunch);
  EXPECT_EQ(refused("KW_ENTRY(kw::In x, kw::Out y) { cudaMemsetAsync(y.data<float>(), 0, 129); }\n").kind, Unrecordable::Kind::kLaunch);
}

TEST(Record, HostCodeThatMisbehavesIsContained) {
  KW_NEEDS_NVCC();
  EXPECT_EQ(refused("KW_ENTRY(kw::In x, kw::Out y) { for (volatile int i = 0;; i = i + 1) {} }\n", {.wall_seconds = 2}).kind, Unrecordable::Kind::kTimeout);
  EXPECT_EQ(refused("KW_ENTRY(kw::In x, kw::Out y) { _exit(0); }\n").kind, Unrecordable::Kind::kCrash);
  EXPECT_EQ(refused("KW_ENTRY(kw::In x, kw::Out y) { std::abort(); }\n").kind, Unrecordable::Kind::kCrash);
  EXPECT_EQ(refused("KW_ENTRY(kw::In x, kw::Out y) { throw 3; }\n").kind, Unrecordable::Kind::kCrash);
  EXPECT_EQ(refused("KW_ENTRY(kw::In x, kw::Out y) { cudaArray_t a; cudaChannelFormatDesc d{}; cudaMallocArray(&a, &d, 4); }\n").call, "cudaMallocArray");
}

TEST(Record, WhatDependsOnAddressesIsNondeterministic) {
  KW_NEEDS_NVCC();
  const Unrecordable reason = refused("KW_ENTRY(kw::In x, kw::Out y) {\n"
                                      "  unsigned blocks = reinterpret_cast<unsigned long>(x.data()) >> 40 & 255;\n"
                                      "  k<<<blocks + 1, 32>>>(x.data<float>(), y.data<float>());\n}\n");
  EXPECT_EQ(reason.kind, Unrecordable::Kind::kNondeterministic);
  EXPECT_NE(reason.message.find("grid"), std::string::npos) << reason.message;
}

TEST(Record, ClustersAndTensorMaps) {
  KW_NEEDS_NVCC();
  const Built built = build(R"(#include <kernelwright/candidate.h>
#include <cuda.h>
__global__ void k(const __grid_constant__ CUtensorMap map, float* y) { y[0] = 1; }
using Encode = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*, const cuuint64_t*, const cuuint32_t*,
                            const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
KW_ENTRY(kw::In x, kw::Out y, cudaStream_t stream) {
  void* function;
  cudaDriverEntryPointQueryResult found;
  cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found);
  CUtensorMap map;
  cuuint64_t extent[2] = {32, 16}, stride[1] = {128};
  cuuint32_t box[2] = {32, 8}, step[2] = {1, 1};
  reinterpret_cast<Encode>(function)(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, const_cast<float*>(x.data<float>()) + 4, extent, stride, box, step,
                                     CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                     CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  cudaLaunchConfig_t config{};
  config.gridDim = 8;
  config.blockDim = 128;
  config.stream = stream;
  cudaLaunchAttribute cluster;
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {4, 1, 1};
  config.attrs = &cluster;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, k, map, y.data<float>());
}
)", "sm_90a");
  auto result = recorded(built, workload(512));
  ASSERT_TRUE(std::holds_alternative<plan::Plan>(result)) << std::get<Unrecordable>(result).message;
  const auto& launch = std::get<plan::Launch>(std::get<plan::Plan>(result).steps.at(0).action);
  EXPECT_EQ(launch.cluster, (std::array<uint32_t, 3>{4, 1, 1}));
  EXPECT_EQ(launch.tensor_maps, (std::vector<uint32_t>{0}));
  ASSERT_EQ(launch.relocations.size(), 2u);
  EXPECT_EQ(launch.relocations[0], (plan::Relocation{0, {.buffer = 0, .offset = 16}}));
}

TEST(Record, SideStreamsThatAreNotJoined) {
  KW_NEEDS_NVCC();
  const Built built = build("#include <kernelwright/candidate.h>\n__global__ void k(float* y) { y[0] = 1; }\n"
                            "KW_ENTRY(kw::Out y, cudaStream_t s) {\n  cudaStream_t side;\n  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);\n"
                            "  k<<<1, 1, 0, s>>>(y.data<float>());\n  k<<<1, 1, 0, side>>>(y.data<float>());\n}\n");
  auto result = recorded(built, workload(4));
  ASSERT_TRUE(std::holds_alternative<plan::Plan>(result));
  EXPECT_EQ(std::get<plan::Plan>(result).unjoined, (std::vector<uint32_t>{1}));
}

}  // namespace
}  // namespace kw::toolchain
