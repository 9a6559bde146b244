// `kw nvcc`: an nvcc command for a whole program, turned into one whose device code is PTX that the emulator runs
// and whose CUDA runtime is the emulated one.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>

#include "base/subprocess.h"
#include "toolchain/installation.h"
#include "toolchain/toolchain.h"

namespace kw::toolchain {
namespace {

constexpr int kNewestTarget = 89;
constexpr int kDefaultTarget = 80;

// Options whose value is this program's business; with "=value" or the next argument.
struct Taken {
  const char* name;
  enum What { kArchitecture, kDropped } what;
};
constexpr Taken kTaken[] = {
    {"-arch", Taken::kArchitecture},           {"--gpu-architecture", Taken::kArchitecture}, {"-gencode", Taken::kArchitecture},
    {"--generate-code", Taken::kArchitecture}, {"-code", Taken::kDropped},                   {"--gpu-code", Taken::kDropped},
    {"-cudart", Taken::kDropped},              {"--cudart", Taken::kDropped},                {"-compress-mode", Taken::kDropped},
    {"--compress-mode", Taken::kDropped},
};
constexpr const char* kNoLink[] = {"-c", "--compile", "-E", "--preprocess", "-M", "--generate-dependencies", "-MM", "-ptx", "--ptx", "-lib", "--lib",
                                   "-cuda", "--cuda", "--version", "-V", "--help", "-h"};
constexpr const char* kRefused[] = {"-rdc=true", "--relocatable-device-code=true", "-dc", "--device-c", "-dlink", "--device-link", "-cubin", "--cubin",
                                    "-fatbin", "--fatbin", "-optix-ir", "-ltoir", "-dlto"};

// The numbers of "arch=compute_90a,code=[sm_90a,compute_90a]", "sm_80", "native".
std::vector<int> architectures(const std::string& value) {
  std::vector<int> found;
  for (size_t i = 0; i < value.size(); ++i) {
    if (value[i] != '_' || i + 1 >= value.size()) continue;
    int number = 0;
    const auto parsed = std::from_chars(value.data() + i + 1, value.data() + value.size(), number);
    if (parsed.ec == std::errc()) found.push_back(number);
  }
  return found;
}

template <size_t N> bool among(const char* const (&list)[N], const std::string& argument) {
  return std::find(std::begin(list), std::end(list), argument) != std::end(list);
}

}  // namespace

Result<std::vector<std::string>> nvcc_command(const Nvcc& nvcc, const std::vector<std::string>& arguments) {
  std::vector<std::string> kept;
  std::vector<int> asked;
  bool links = true, debug = false, has_input = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (among(kRefused, argument) || (argument == "-rdc" && i + 1 < arguments.size() && arguments[i + 1] == "true"))
      return fail(ErrorCode::kUnsupported, "{}: device code is run as PTX, one module for each source; build without it", argument);
    const Taken* taken = nullptr;
    std::string value;
    for (const Taken& each : kTaken) {
      const std::string name = each.name;
      if (argument == name) {
        if (i + 1 >= arguments.size()) return fail(ErrorCode::kInvalid, "{} needs a value", argument);
        taken = &each;
        value = arguments[++i];
        break;
      }
      if (argument.compare(0, name.size() + 1, name + "=") == 0) {
        taken = &each;
        value = argument.substr(name.size() + 1);
        break;
      }
    }
    if (taken != nullptr) {
      if (taken->what == Taken::kArchitecture)
        for (const int number : architectures(value)) asked.push_back(number);
      continue;
    }
    if (argument == "-lcudart" || argument == "-lcudart_static" || argument == "-lcudadevrt") continue;
    if (among(kNoLink, argument)) links = false;
    if (argument == "-G" || argument == "--device-debug" || argument == "-lineinfo" || argument == "--generate-line-info") debug = true;
    if (!argument.empty() && argument[0] != '-') has_input = true;
    kept.push_back(argument);
  }
  int target = 0;
  for (const int number : asked)
    if (number <= kNewestTarget) target = std::max(target, number);
  if (target == 0 && !asked.empty())
    return fail(ErrorCode::kUnsupported, "sm_{}: the emulator runs targets up to sm_{}; add -arch=compute_{} if the program has code for it",
                *std::min_element(asked.begin(), asked.end()), kNewestTarget, kDefaultTarget);
  if (target == 0) target = kDefaultTarget;

  std::vector<std::string> command{nvcc.program, "-gencode", fmt::format("arch=compute_{0},code=compute_{0}", target), "--no-compress", "-cudart", "none"};
  if (!debug) command.push_back("-lineinfo");
  if (!nvcc.host_compiler.empty()) command.insert(command.end(), {"-ccbin", nvcc.host_compiler});
  command.insert(command.end(), kept.begin(), kept.end());
  if (links && has_input) {
    KW_TRY(const std::string library, emulated_library());
    const std::string folder = std::filesystem::path(library).parent_path().string();
    command.insert(command.end(), {"-L" + folder, "-lkw_cuda_emulated", "-Xlinker", "-rpath=" + folder});
  }
  return command;
}

Result<int> nvcc(const std::vector<std::string>& arguments) {
  KW_TRY(const Nvcc found, find_nvcc());
  Command command;
  KW_TRY(command.argv, nvcc_command(found, arguments));
  command.wall_seconds = 24 * 3600;
  command.stdout_limit_bytes = command.stderr_limit_bytes = 256u << 20;
  KW_TRY(const ProcessOutcome outcome, run_process(command));
  std::fwrite(outcome.out.data(), 1, outcome.out.size(), stdout);
  std::fwrite(outcome.err.data(), 1, outcome.err.size(), stderr);
  return outcome.reason == StopReason::kExited ? outcome.exit_code : 1;
}

}  // namespace kw::toolchain
