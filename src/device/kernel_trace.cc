#include "device/kernel_trace.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

namespace kw::device {
namespace {

constexpr int kForced = 1;   // of a flush: records that are not whole, too
constexpr size_t kBufferBytes = 1 << 20, kAlignment = 8;

// Of a record. Its kind is the first word, and all that are asked for have the two times at the same place.
enum Kind : uint32_t { kCopy = 1, kFill = 2, kKernel = 10 };   // kernels that may run side by side
constexpr std::array kKinds = {kKernel, kCopy, kFill};
constexpr size_t kStartAt = 16, kEndAt = 24, kNameOfKernelAt = 104, kNodeOfKernelAt = 144, kNodeOfOthersAt = 64;

struct Cupti {
  int (*take_callbacks)(void (*give_buffer)(uint8_t**, size_t*, size_t*), void (*take_records)(void*, uint32_t, uint8_t*, size_t, size_t));
  int (*enable)(Kind kind);
  int (*disable)(Kind kind);
  int (*flush)(uint32_t flags);
  int (*next)(uint8_t* buffer, size_t bytes, uint8_t** record);
  int (*words_of)(int status, const char** words);

  Status tried(int status, const char* what) const {
    const char* words = nullptr;
    if (status == 0) return {};
    if (words_of(status, &words) != 0 || words == nullptr) words = "an error without a name";
    return fail(ErrorCode::kIo, "the trace of kernels (CUPTI): {}: {}", what, words);
  }
};

// What the library's own threads bring.
struct Records {
  std::mutex mutex;
  const Cupti* cupti = nullptr;
  struct Node {
    std::string kernel;
    uint64_t begin = 0, end = 0;
  };
  std::vector<Node> nodes;
};
Records& records() {
  static Records all;
  return all;
}

uint64_t word_at(const uint8_t* record, size_t offset) {
  uint64_t word = 0;
  std::memcpy(&word, record + offset, sizeof word);
  return word;
}

void give_buffer(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(kAlignment, kBufferBytes));
  *bytes = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;   // as many as there is room for
}

void take_records(void*, uint32_t, uint8_t* buffer, size_t, size_t bytes) {
  Records& all = records();
  const std::lock_guard lock(all.mutex);
  for (uint8_t* record = nullptr; bytes > 0 && all.cupti->next(buffer, bytes, &record) == 0;) {
    uint32_t kind = 0;
    std::memcpy(&kind, record, sizeof kind);
    if (std::find(kKinds.begin(), kKinds.end(), kind) == kKinds.end()) continue;
    const uint64_t begin = word_at(record, kStartAt), end = word_at(record, kEndAt);
    const bool of_graph = word_at(record, kind == kKernel ? kNodeOfKernelAt : kNodeOfOthersAt) != 0;
    if (!of_graph || begin == 0 || end == 0) continue;   // without times: memory for them was short
    const auto* const name = kind == kKernel ? reinterpret_cast<const char*>(static_cast<uintptr_t>(word_at(record, kNameOfKernelAt))) : nullptr;
    all.nodes.push_back({name == nullptr ? "" : name, begin, end});
  }
  std::free(buffer);
}

void* open_library() {
  if (const char* named = std::getenv("KW_CUPTI"); named != nullptr) return *named == '\0' ? nullptr : ::dlopen(named, RTLD_NOW | RTLD_LOCAL);
  std::vector<std::string> places = {""};
  if (const char* home = std::getenv("CUDA_HOME"); home != nullptr) places.push_back(std::string(home) + "/extras/CUPTI/lib64/");
  places.insert(places.end(), {"/usr/local/cuda/extras/CUPTI/lib64/", "/usr/local/cuda/lib64/"});
  for (const std::string& place : places)
    for (const char* name : {"libcupti.so.13", "libcupti.so.12", "libcupti.so"})
      if (void* const library = ::dlopen((place + name).c_str(), RTLD_NOW | RTLD_LOCAL); library != nullptr) return library;
  return nullptr;
}

Result<Cupti> load() {
  void* const library = open_library();
  if (library == nullptr) return fail(ErrorCode::kNotFound, "no libcupti is found; KW_CUPTI can name the file");
  Cupti out{};
  bool whole = true;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    whole = whole && function != nullptr;
  };
  find(out.take_callbacks, "cuptiActivityRegisterCallbacks");
  find(out.enable, "cuptiActivityEnable");
  find(out.disable, "cuptiActivityDisable");
  find(out.flush, "cuptiActivityFlushAll");
  find(out.next, "cuptiActivityGetNextRecord");
  find(out.words_of, "cuptiGetResultString");
  if (!whole) return fail(ErrorCode::kNotFound, "the libcupti that is found lacks a function; KW_CUPTI can name that of CUDA 12 or later");
  return out;
}

Result<const Cupti*> cupti() {
  static const Result<Cupti> loaded = []() -> Result<Cupti> {
    KW_TRY(const Cupti out, load());
    KW_TRY_VOID(out.tried(out.take_callbacks(&give_buffer, &take_records), "buffers for it"));
    return out;
  }();
  if (!loaded) return fail(loaded.error());
  return &*loaded;
}

}  // namespace

Status start_trace() {
  KW_TRY(const Cupti* const library, cupti());
  Records& all = records();
  {
    const std::lock_guard lock(all.mutex);
    all.cupti = library;
    all.nodes.clear();
  }
  for (const Kind kind : kKinds) KW_TRY_VOID(library->tried(library->enable(kind), "its start"));
  return {};
}

Result<Traced> stop_trace() {
  KW_TRY(const Cupti* const library, cupti());
  const Status flushed = library->tried(library->flush(kForced), "its end");
  for (const Kind kind : kKinds) KW_TRY_VOID(library->tried(library->disable(kind), "its end"));
  KW_TRY_VOID(flushed);
  Records& all = records();
  const std::lock_guard lock(all.mutex);
  std::sort(all.nodes.begin(), all.nodes.end(), [](const Records::Node& a, const Records::Node& b) { return a.begin < b.begin; });
  Traced out;
  for (Records::Node& node : all.nodes) {
    const auto since = [&](uint64_t moment) { return 1e-9 * static_cast<double>(moment - all.nodes.front().begin); };
    out.nodes.push_back({std::move(node.kernel), since(node.begin), since(std::max(node.begin, node.end))});
    out.seconds = std::max(out.seconds, out.nodes.back().end_s);
  }
  return out;
}

}  // namespace kw::device
