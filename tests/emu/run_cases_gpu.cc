// Runs cases on the GPU of this machine through the driver and says which expected values hardware does not give:
//   kw_run_cases_gpu FILE.test…
// With KW_UPDATE=1 the lines of differing cases follow as hardware would have them (line number | text).
// Cases of a target newer than the GPU, cases that expect errors or findings, cases `only=emulator`, and what the driver
// refuses are counted as skipped. Exit code 1 when a value differs.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "emu/case_file.h"

namespace {

using namespace kw::emu;

class Driver {
 public:
  Driver() {
    library_ = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library_) stop("no NVIDIA driver (libcuda.so.1) on this machine", 0);
    check(call<int (*)(unsigned)>("cuInit")(0), "cuInit");
    int device = 0;
    check(call<int (*)(int*, int)>("cuDeviceGet")(&device, 0), "cuDeviceGet");
    void* context = nullptr;
    check(call<int (*)(void**, int)>("cuDevicePrimaryCtxRetain")(&context, device), "cuDevicePrimaryCtxRetain");
    check(call<int (*)(void*)>("cuCtxSetCurrent")(context), "cuCtxSetCurrent");
  }
  // False when the driver refuses the module.
  bool load(const std::string& ptx, std::string& why) {
    char log[4096] = {};
    int options[2] = {5, 6};   // error log, its size
    void* values[2] = {log, reinterpret_cast<void*>(sizeof log)};
    const int code = call<int (*)(void**, const void*, unsigned, int*, void**)>("cuModuleLoadDataEx")(&module_, ptx.c_str(), 2, options, values);
    why = log;
    return code == 0;
  }
  std::vector<uint8_t> run(const Case& test, const CaseKernel& kernel) {
    void* function = nullptr;
    check(call<int (*)(void**, void*, const char*)>("cuModuleGetFunction")(&function, module_, "kw_case"), "cuModuleGetFunction");
    uint64_t buffer = 0;
    check(call<int (*)(uint64_t*, size_t)>("cuMemAlloc_v2")(&buffer, kernel.result_bytes), "cuMemAlloc");
    check(call<int (*)(uint64_t, unsigned char, size_t)>("cuMemsetD8_v2")(buffer, 0, kernel.result_bytes), "cuMemsetD8");
    void* parameters[1] = {&buffer};
    const auto shared = test.options.find("shared");
    const unsigned bytes = shared == test.options.end() ? 0 : static_cast<unsigned>(std::strtoul(shared->second.c_str(), nullptr, 0));
    const auto launch = [&](const char* name, auto... last) {
      check(call<int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, decltype(last)...)>(name)(
                function, test.grid[0], test.grid[1], test.grid[2], kernel.block_x, test.block[1], test.block[2], bytes, nullptr, parameters, last...),
            name);
    };
    if (test.options.count("cooperative") != 0) launch("cuLaunchCooperativeKernel");
    else launch("cuLaunchKernel", static_cast<void**>(nullptr));
    std::vector<uint8_t> results(kernel.result_bytes);
    check(call<int (*)(void*, uint64_t, size_t)>("cuMemcpyDtoH_v2")(results.data(), buffer, results.size()), "copy back");
    check(call<int (*)(uint64_t)>("cuMemFree_v2")(buffer), "cuMemFree");
    return results;
  }
  kw::Result<std::vector<uint8_t>> variable(const std::string& name) {
    uint64_t address = 0;
    size_t bytes = 0;
    if (call<int (*)(uint64_t*, size_t*, void*, const char*)>("cuModuleGetGlobal_v2")(&address, &bytes, module_, name.c_str()) != 0)
      return kw::fail(kw::ErrorCode::kNotFound, "no variable '{}'", name);
    std::vector<uint8_t> out(bytes);
    check(call<int (*)(void*, uint64_t, size_t)>("cuMemcpyDtoH_v2")(out.data(), address, bytes), "copy back");
    return out;
  }
  void unload() { call<int (*)(void*)>("cuModuleUnload")(module_); }

 private:
  [[noreturn]] static void stop(const char* what, int code) {
    std::fprintf(stderr, "%s (%d)\n", what, code);
    std::exit(2);
  }
  static void check(int code, const char* what) {
    if (code != 0) stop(what, code);
  }
  template <typename F>
  F call(const char* name) {
    void* symbol = dlsym(library_, name);
    if (!symbol) stop(name, 0);
    return reinterpret_cast<F>(symbol);
  }
  void* library_ = nullptr;
  void* module_ = nullptr;
};

kw::Result<std::vector<uint8_t>> read_variable(void* context, const std::string& name) {
  return static_cast<Driver*>(context)->variable(name);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: kw_run_cases_gpu FILE.test...\n");
    return 2;
  }
  Driver driver;
  int ran = 0, skipped = 0, differ = 0;
  for (int i = 1; i < argc; ++i) {
    std::ifstream in(argv[i], std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    const auto file = read_case_file(text.str(), argv[i]);
    if (!file) {
      std::fprintf(stderr, "%s\n", kw::format_error(file.error()).c_str());
      return 2;
    }
    for (const Case& test : file->cases) {
      if (test.expects_error || !test.findings.empty() || test.options.count("only") != 0) {
        ++skipped;
        continue;
      }
      const auto kernel = generate(test);
      std::string why;
      if (!kernel || !driver.load(kernel->ptx, why)) {
        std::printf("skipped %s:%d %s: %.300s\n", argv[i], test.line, test.name.c_str(), why.c_str());
        ++skipped;
        continue;
      }
      const std::vector<uint8_t> results = driver.run(test, *kernel);
      const std::string difference = mismatch(test, *kernel, results, read_variable, &driver);
      struct Unload { Driver& driver; ~Unload() { driver.unload(); } } unload{driver};
      if (difference.empty()) {
        ++ran;
        continue;
      }
      ++ran;
      ++differ;
      std::printf("%s:%d: %s\n%s", argv[i], test.line, test.name.c_str(), difference.c_str());
      if (!std::getenv("KW_UPDATE")) continue;
      for (const Expectation& e : test.expected)
        std::printf("%d| %s\n", e.line, updated_line(test, e, *kernel, results, read_variable, &driver).c_str());
    }
  }
  std::printf("%d cases ran, %d differ, %d skipped\n", ran, differ, skipped);
  return differ ? 1 : 0;
}
