// kw doctor: what this machine has of what Kernelwright uses, what is missing, and what to type.
#include <fmt/format.h>

#include <thread>

#include "base/jail.h"
#include "base/subprocess.h"
#include "command/command.h"
#include "device/device.h"
#include "problem/python_place.h"
#include "toolchain/installation.h"
#include "toolchain/toolchain.h"

namespace kw::command {
namespace {

struct Check {
  std::string what;
  bool here = false;
  bool needed = true;   // without it kw cannot judge
  std::string found;    // when here
  std::string remedy;   // when not
};

Check nvcc_check() {
  auto nvcc = toolchain::find_nvcc();
  if (nvcc) return {"CUDA compiler", true, true, fmt::format("nvcc {} at {}", nvcc->version, nvcc->program), ""};
  return {"CUDA compiler", false, true, "", nvcc.error().notes.empty() ? "`make setup` installs it" : nvcc.error().notes.front()};
}

Check host_compiler_check() {
  auto path = toolchain::find_host_compiler();
  return {"host compiler", path.has_value(), true, path ? *path : "", "apt-get install g++"};
}

Check program_check(const std::string& name, const std::string& purpose, bool needed, const std::string& remedy) {
  auto path = find_program(name);
  return {purpose, path.has_value(), needed, path ? *path : "", remedy};
}

Check disassembler_check() {
  for (const char* name : {"nvdisasm", "cuobjdump"}) {
    const auto programs = toolchain::toolkit_programs(name);
    if (!programs.empty()) return {"SASS disassembler", true, false, programs.front(), ""};
  }
  return {"SASS disassembler", false, false, "", "`make setup` installs it (kw asm goes without)"};
}

Check jail_check() {
  const JailSupport& support = jail_support();
  Check check{"jail for untrusted code", support.kind != JailKind::kNone, true, "", support.remedy};
  check.found = std::string(name(support.kind));
  if (support.kind == JailKind::kLandlock) check.found += fmt::format(" (namespaces: {}; {})", support.namespaces_problem, support.remedy);
  return check;
}

Check python_check() {
  const auto python = problem::find_python();
  return {"Python with torch", python.has_value(), false,
          python ? fmt::format("torch {} of Python {} at {}", python->found, python->version, python->program) : "",
          "python3 -m venv .venv && .venv/bin/pip install torch (kw problem import, rivals and candidates in Python need it)"};
}

Check triton_check() {
  const auto python = problem::find_python("triton");
  return {"Python with Triton", python.has_value(), false,
          python ? fmt::format("Triton {} of Python {} at {}", python->found, python->version, python->program) : "",
          "python3 -m venv .venv && .venv/bin/pip install triton (candidates in Triton need it)"};
}

Check gpu_check() {
  const auto gpus = device::list_gpus();
  if (!gpus) return {"NVIDIA GPU", false, false, "", fmt::format("{}: everything works without one, but for real sizes (kw judge --gpu)", gpus.error().message)};
  return {"NVIDIA GPU", true, false, fmt::format("{}{} ({}), driver for CUDA {}", gpus->size() == 1 ? "" : fmt::format("{}, the first ", gpus->size()),
                                                 gpus->front().name, gpus->front().target, gpus->front().driver_version), ""};
}

bool has_avx2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
#else
  return true;
#endif
}

Result<int> run(const Invocation&, const Output& output) {
  std::vector<Check> checks = {
      nvcc_check(),
      host_compiler_check(),
      jail_check(),
      {"processor", has_avx2(), true, fmt::format("{} cores, AVX2", std::thread::hardware_concurrency()),
       "the emulator was built for AVX2: configure with -DKW_BASELINE=ON and build again"},
      disassembler_check(),
      python_check(),
      triton_check(),
      program_check("addr2line", "source lines of host code", false, "apt-get install binutils"),
      gpu_check(),
  };
  int missing = 0;
  for (const Check& check : checks) {
    const char* state = check.here ? "ok" : check.needed ? "MISSING" : "absent";
    output.out(fmt::format("  {:<8} {:<26} {}\n", state, check.what, check.here ? check.found : check.remedy));
    missing += !check.here && check.needed;
  }
  output.out(missing == 0 ? "Everything that judging needs is here.\n" : fmt::format("{} missing: the lines above say what to do.\n", missing));
  return missing == 0 ? 0 : 1;
}

}  // namespace

Command doctor_command() {
  return {{"doctor"}, "what is here, what is missing, what to type", "", {}, run};
}

}  // namespace kw::command
