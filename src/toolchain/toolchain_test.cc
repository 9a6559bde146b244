#include "toolchain/toolchain.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "toolchain/diagnostics.h"

namespace kw::toolchain {
namespace {

TEST(Diagnostics, ThreeVoicesOfNvcc) {
  const auto found = parse_diagnostics(
      "/c/softmax.cu(12): error: identifier \"foo\" is undefined\n"
      "      foo = 3;\n"
      "      ^\n"
      "\n"
      "/c/softmax.cu(14): warning #177-D: variable \"a\" was declared but never referenced\n"
      "/c/part.h:3:10: fatal error: missing.h: No such file or directory\n"
      "    3 | #include \"missing.h\"\n"
      "      |          ^~~~~~~~~~~\n"
      "ptxas /tmp/x.ptx, line 31; error   : Arguments mismatch for instruction 'add'\n"
      "nvcc fatal   : Unknown option '--zzz'\n"
      "/c/softmax.cu(12): error: identifier \"foo\" is undefined\n"
      "1 error detected in the compilation of \"/c/softmax.cu\".\n",
      "/c");
  ASSERT_EQ(found.size(), 5u);
  EXPECT_EQ(found[0].place.file, "softmax.cu");
  EXPECT_EQ(found[0].place.line, 12);
  EXPECT_EQ(found[0].message, "identifier \"foo\" is undefined");
  EXPECT_EQ(found[0].source_line, "foo = 3;");
  EXPECT_EQ(found[1].place.file, "part.h");
  EXPECT_EQ(found[1].place.column, 10);
  EXPECT_EQ(found[2].place.line, 31);
  EXPECT_EQ(found[3].message, "Unknown option '--zzz'");
  EXPECT_EQ(found[4].severity, Diagnostic::Severity::kWarning);
}

TEST(Diagnostics, AnyTextIsAccepted) {
  EXPECT_TRUE(parse_diagnostics("", "/c").empty());
  EXPECT_TRUE(parse_diagnostics("((((:::::\n(): error:\n:::error\n", "").empty());
}

std::string joined(const std::vector<std::string>& command) {
  std::string text;
  for (const std::string& argument : command) text += argument + " ";
  return text;
}

TEST(NvccCommand, ReplacesTargetsAndRuntime) {
  const Nvcc nvcc{"/cuda/bin/nvcc", "/cuda", "/cuda/include", "13.0", 13, 0, ""};
  auto command = nvcc_command(nvcc, {"-arch=sm_86", "-O2", "--cudart=static", "-c", "a.cu", "-o", "a.o"});
  ASSERT_TRUE(command);
  EXPECT_EQ(joined(*command), "/cuda/bin/nvcc -gencode arch=compute_86,code=compute_86 --no-compress -cudart none -lineinfo -O2 -c a.cu -o a.o ");
  command = nvcc_command(nvcc, {"-gencode", "arch=compute_80,code=sm_80", "-gencode=arch=compute_90a,code=sm_90a", "-c", "a.cu"});
  ASSERT_TRUE(command);
  EXPECT_NE(joined(*command).find("arch=compute_80,code=compute_80"), std::string::npos);
  EXPECT_EQ(joined(*command).find("90"), std::string::npos);
}

TEST(NvccCommand, RefusesWhatCannotRun) {
  const Nvcc nvcc{"/cuda/bin/nvcc", "/cuda", "/cuda/include", "13.0", 13, 0, ""};
  auto command = nvcc_command(nvcc, {"-arch=sm_90a", "-c", "a.cu"});
  ASSERT_FALSE(command);
  EXPECT_NE(command.error().message.find("sm_90"), std::string::npos);
  EXPECT_FALSE(nvcc_command(nvcc, {"-rdc=true", "a.cu"}));
  EXPECT_FALSE(nvcc_command(nvcc, {"-dc", "a.cu"}));
  EXPECT_FALSE(nvcc_command(nvcc, {"a.cu", "-arch"}));
}

}  // namespace
}  // namespace kw::toolchain
