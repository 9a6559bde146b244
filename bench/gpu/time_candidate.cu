// Times one candidate on this machine's GPU, without the judge: to see how far a kernel is from the hardware's
// limit. Numbers are not checked here; `kw judge` does that.
//   nvcc -O3 -std=c++17 -arch=sm_90 -I include -o t bench/gpu/time_candidate.cu kernels/row_softmax.cu
//   ./t flops=0 x=f16:4096x4096:in y=f16:4096x4096:out [eps=1e-5]
// Prints the median and the range of 100 calls in ms, GB/s over the bytes of all tensors, TFLOP/s when flops is
// given. Each call uses the next of several copies of every tensor, so that L2 holds none of them.
#include <kernelwright/candidate.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

const kw::detail::Entry* g_entry = nullptr;

void require(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

// Random bits with a small exponent: finite in every floating type, and not constant (power depends on data).
__global__ void fill(uint16_t* data, size_t halves, bool words) {
  const size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < halves; i += stride) {
    uint32_t h = static_cast<uint32_t>(i) * 2654435761u;
    h ^= h >> 15;
    const bool high = !words || (i & 1) != 0;  // the half that holds the exponent
    data[i] = static_cast<uint16_t>(high ? (h & 0x83ff) | 0x3800 : h);
  }
}

struct Argument {
  std::string name, value;
};

kw::DType dtype_of(const std::string& text) {
  if (text == "f16") return kw::DType::kFloat16;
  if (text == "bf16") return kw::DType::kBFloat16;
  if (text == "f32") return kw::DType::kFloat32;
  std::fprintf(stderr, "unknown dtype %s\n", text.c_str());
  std::exit(2);
}

// "x" of "kw::In x, float eps".
std::vector<std::string> parameter_names(const char* list) {
  std::vector<std::string> names;
  std::string word;
  for (const char* c = list;; ++c) {
    if (std::isalnum(static_cast<unsigned char>(*c)) || *c == '_') {
      word += *c;
      continue;
    }
    if (*c == ',' || *c == '\0') {
      names.push_back(word);
    }
    word.clear();
    if (*c == '\0') return names;
  }
}

}  // namespace

namespace kw::detail {
extern "C" int kw_register_entry(const Entry* entry) {
  g_entry = entry;
  return 0;
}
extern "C" [[noreturn]] void kw_contract_failed(const TensorView* view, const char* what, int32_t detail) {
  std::fprintf(stderr, "%s: %s %d\n", view->name, what, detail);
  std::exit(2);
}
}  // namespace kw::detail

int main(int argc, char** argv) {
  std::vector<Argument> arguments;
  double flops = 0;
  for (int i = 1; i < argc; ++i) {
    const char* equals = std::strchr(argv[i], '=');
    if (equals == nullptr) return 2;
    arguments.push_back({std::string(argv[i], static_cast<size_t>(equals - argv[i])), equals + 1});
    if (arguments.back().name == "flops") flops = std::atof(equals + 1);
  }
  constexpr size_t kTotal = size_t{1} << 30;  // far beyond any L2
  const std::vector<std::string> names = parameter_names(g_entry->parameters);
  std::vector<std::vector<kw::detail::Value>> calls;
  size_t bytes = 0;
  int copies = 1;
  for (int pass = 0; pass < 2; ++pass) {  // the first finds the bytes of a call
    for (int copy = 0; copy < copies; ++copy) {
      std::vector<kw::detail::Value> values(names.size());
      for (size_t i = 0; i < names.size(); ++i) {
        kw::detail::Value& value = values[i];
        value = {};
        value.kind = g_entry->kinds[i];
        const auto found = std::find_if(arguments.begin(), arguments.end(), [&](const Argument& a) { return a.name == names[i]; });
        if (found == arguments.end()) continue;
        if (value.kind == kw::detail::ArgumentKind::kFloat32 || value.kind == kw::detail::ArgumentKind::kFloat64) {
          value.real = std::atof(found->value.c_str());
          continue;
        }
        auto& tensor = value.tensor;
        const size_t colon = found->value.find(':');
        tensor.dtype = dtype_of(found->value.substr(0, colon));
        tensor.name = found->name.c_str();
        int64_t size = 1;
        for (const char* c = found->value.c_str() + colon + 1; *c != '\0' && *c != ':';) {
          char* end = nullptr;
          tensor.shape[tensor.rank++] = std::strtoll(c, &end, 10);
          c = *end == 'x' ? end + 1 : end;
        }
        for (int d = tensor.rank - 1; d >= 0; --d) {
          tensor.strides[d] = size;
          size *= tensor.shape[d];
        }
        const size_t tensor_bytes = static_cast<size_t>(size) * kw::bits_of(tensor.dtype) / 8;
        if (pass == 0) {
          bytes += tensor_bytes;
          continue;
        }
        require(cudaMalloc(&tensor.data, tensor_bytes + 256), "cudaMalloc");
        fill<<<1024, 256>>>(static_cast<uint16_t*>(tensor.data), tensor_bytes / 2, kw::bits_of(tensor.dtype) == 32);
      }
      if (pass == 1) calls.push_back(values);
    }
    copies = static_cast<int>(std::min<size_t>(64, std::max<size_t>(2, kTotal / std::max<size_t>(1, bytes))));
  }
  require(cudaDeviceSynchronize(), "fill");

  // All calls are queued before the first ends, so that the host's launches are not timed.
  constexpr int kWarm = 10, kCalls = 100;
  std::vector<cudaEvent_t> marks(2 * (kWarm + kCalls));
  for (cudaEvent_t& mark : marks) require(cudaEventCreate(&mark), "cudaEventCreate");
  for (int i = 0; i < kWarm + kCalls; ++i) {
    cudaEventRecord(marks[2 * i]);
    g_entry->invoke(calls[static_cast<size_t>(i) % calls.size()].data());
    cudaEventRecord(marks[2 * i + 1]);
  }
  require(cudaDeviceSynchronize(), "calls");
  std::vector<float> times;
  for (int i = kWarm; i < kWarm + kCalls; ++i) {
    float ms = 0;
    cudaEventElapsedTime(&ms, marks[2 * i], marks[2 * i + 1]);
    times.push_back(ms);
  }
  require(cudaGetLastError(), "launch");
  std::sort(times.begin(), times.end());
  const float median = times[times.size() / 2];
  std::printf("median %.4f ms (%.4f to %.4f), %.0f GB/s", median, times.front(), times.back(), static_cast<double>(bytes) / median * 1e-6);
  if (flops > 0) std::printf(", %.1f TFLOP/s", flops / median * 1e-9);
  std::printf("\n");
  return 0;
}
