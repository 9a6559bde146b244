// The few functions of the NVIDIA driver that the makers of golden data need, loaded at run time.
// Every failure ends the program with a message. Not thread-safe.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace kw::golden {

class Gpu {
 public:
  Gpu() {
    library_ = dlopen("libcuda.so.1", RTLD_NOW);
    if (library_ == nullptr) stop("no NVIDIA driver (libcuda.so.1) on this machine", 0);
    check(call<int (*)(unsigned)>("cuInit")(0), "cuInit");
    int device = 0;
    check(call<int (*)(int*, int)>("cuDeviceGet")(&device, 0), "cuDeviceGet");
    void* context = nullptr;
    check(call<int (*)(void**, int)>("cuDevicePrimaryCtxRetain")(&context, device), "cuDevicePrimaryCtxRetain");
    check(call<int (*)(void*)>("cuCtxSetCurrent")(context), "cuCtxSetCurrent");
    check(call<int (*)(uint64_t*, size_t)>("cuMemAlloc_v2")(&in_, kBytes), "cuMemAlloc");
    check(call<int (*)(uint64_t*, size_t)>("cuMemAlloc_v2")(&out_, kBytes), "cuMemAlloc");
  }

  // Runs entry "k"(in, out) of the text, on one warp if not told otherwise; empty when the driver refuses the text.
  std::vector<uint8_t> run(const std::string& ptx, const std::vector<uint8_t>& input, size_t output_bytes,
                           unsigned blocks = 1, unsigned threads = 32) {
    if (input.size() > kBytes || output_bytes > kBytes) stop("a case is too large", 0);
    char log[4096] = {};
    int options[2] = {5, 6};   // error log, its size
    void* values[2] = {log, reinterpret_cast<void*>(sizeof(log))};
    void* module = nullptr;
    const int loaded = call<int (*)(void**, const void*, unsigned, int*, void**)>("cuModuleLoadDataEx")(
        &module, ptx.c_str(), 2, options, values);
    if (loaded != 0) {
      std::fprintf(stderr, "refused (%d): %s\n", loaded, log);
      return {};
    }
    void* function = nullptr;
    check(call<int (*)(void**, void*, const char*)>("cuModuleGetFunction")(&function, module, "k"), "cuModuleGetFunction");
    check(call<int (*)(uint64_t, const void*, size_t)>("cuMemcpyHtoD_v2")(in_, input.data(), input.size()), "copy");
    check(call<int (*)(uint64_t, unsigned char, size_t)>("cuMemsetD8_v2")(out_, 0, output_bytes), "cuMemsetD8");
    void* parameters[2] = {&in_, &out_};
    check(call<int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                       void**)>("cuLaunchKernel")(function, blocks, 1, 1, threads, 1, 1, 0, nullptr, parameters, nullptr),
          "cuLaunchKernel");
    std::vector<uint8_t> output(output_bytes);
    check(call<int (*)(void*, uint64_t, size_t)>("cuMemcpyDtoH_v2")(output.data(), out_, output_bytes), "copy back");
    check(call<int (*)(void*)>("cuModuleUnload")(module), "cuModuleUnload");
    return output;
  }

 private:
  static constexpr size_t kBytes = 4 << 20;
  [[noreturn]] static void stop(const char* what, int code) {
    std::fprintf(stderr, "%s (%d)\n", what, code);
    std::exit(1);
  }
  static void check(int code, const char* what) {
    if (code != 0) stop(what, code);
  }
  template <typename F>
  F call(const char* name) {
    void* const symbol = dlsym(library_, name);
    if (symbol == nullptr) stop(name, -1);
    return reinterpret_cast<F>(symbol);
  }
  void* library_ = nullptr;
  uint64_t in_ = 0, out_ = 0;
};

}  // namespace kw::golden
