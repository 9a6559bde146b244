// Whole modules as compilers write them: tests/ptx/modules/*.ptx (our own kernels compiled by nvcc), and,
// where nvcc is at hand, the same kernels compiled afresh.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ptx/parser.h"
#include "ptx/printer.h"
#include "ptx/verifier.h"
#include "ptx/token_stream_for_test.h"

namespace kw::ptx {
namespace {

namespace fs = std::filesystem;
const fs::path kTests = KW_SOURCE_DIR "/tests/ptx";

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void check_module(const std::string& text, const std::string& name) {
  auto module = parse(text, name);
  ASSERT_TRUE(module.has_value()) << format_error(module.error());
  const std::string printed = print(*module);
  EXPECT_EQ(tokens_of(printed), tokens_of(text)) << name;
  auto again = parse(printed, "printed");
  ASSERT_TRUE(again.has_value()) << format_error(again.error());
  EXPECT_EQ(print(*again), printed) << name;
  for (const Error& error : verify(*module)) ADD_FAILURE() << format_error(error);
  // What the structure alone says, without the text of declarations and headers, is the same module.
  for (Variable& variable : again->variables) variable.text = {};
  for (Function& function : again->functions) {
    function.header = {};
    for (Variable& variable : function.variables) variable.text = {};
  }
  auto rebuilt = parse(print(*again), "rebuilt");
  ASSERT_TRUE(rebuilt.has_value()) << format_error(rebuilt.error());
  EXPECT_TRUE(verify(*rebuilt).empty()) << name;
  EXPECT_EQ(rebuilt->functions.size(), module->functions.size());
  EXPECT_EQ(rebuilt->variables.size(), module->variables.size());
}

TEST(ModuleFiles, RoundTripAndVerify) {
  size_t count = 0;
  for (const auto& entry : fs::directory_iterator(kTests / "modules")) {
    if (entry.path().extension() != ".ptx") continue;
    ++count;
    check_module(read(entry.path()), entry.path().filename().string());
  }
  EXPECT_GE(count, 5u);
}

std::string find_nvcc() {
  if (const char* home = std::getenv("CUDA_HOME"))
    if (fs::exists(fs::path(home) / "bin/nvcc")) return (fs::path(home) / "bin/nvcc").string();
  if (const char* path = std::getenv("PATH")) {
    std::istringstream folders(path);
    for (std::string folder; std::getline(folders, folder, ':');)
      if (!folder.empty() && fs::exists(fs::path(folder) / "nvcc")) return (fs::path(folder) / "nvcc").string();
  }
  return {};
}

TEST(ModuleFiles, FreshlyCompiledKernelsRoundTripAndVerify) {
  const std::string nvcc = find_nvcc();
  if (nvcc.empty()) GTEST_SKIP() << "no nvcc on PATH or in CUDA_HOME";
  std::string pattern = (fs::temp_directory_path() / "kw_ptx_XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  struct { const char* kernel; const char* options; } const builds[] = {
      {"simt", "-arch=compute_90 -G"}, {"tensor_core", "-arch=compute_80 -O1"}, {"hopper", "-arch=compute_90a -lineinfo"}, {"blackwell_desktop", "-arch=compute_120a"}};
  for (const auto& build : builds) {
    const fs::path out = fs::path(pattern) / (std::string(build.kernel) + ".ptx");
    const std::string command = "'" + nvcc + "' -ptx " + build.options + " '" + (kTests / "kernels" / build.kernel).string() + ".cu' -o '" + out.string() + "' 2>'" + out.string() + ".log'";
    if (std::system(command.c_str()) != 0) {
      // An older toolkit lacks newer targets: that is no failure of ours.
      std::printf("  not compiled: %s %s\n", build.kernel, build.options);
      continue;
    }
    check_module(read(out), build.kernel);
  }
  fs::remove_all(pattern);
}

}  // namespace
}  // namespace kw::ptx
