// Instruction tests as text: reading `.test` files (docs/formats/test.md) and generating, for each case, a
// self-contained PTX module with one entry `kw_case(.param .u64 results)`. The module carries its inputs as
// initialised global variables, so that whatever can run PTX (the emulator, a GPU through the driver)
// can run the case: it loads the module, gives a zeroed buffer of `result_bytes`, and passes what comes back
// to mismatch().
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kw::emu {

struct CaseInput { std::string reg; std::vector<std::string> values; };
struct CaseVariable {              // of the module (.global) or the block (.shared)
  std::string name;
  bool shared = false;
  uint64_t bytes = 0;
  std::string init;                // "zero", "iota", "random"
  std::string type = "b8";         // of iota and of listed values
  std::vector<std::string> values;
};
// `%r1 = …` or `buffer:b32 = …`.
struct Expectation {
  std::string name;                // register, or variable
  std::string type;                // of a variable's elements
  bool hexadecimal = false;
  enum class Within : uint8_t { kExact, kUlp, kAbsolute, kRelative } within = Within::kExact;
  double tolerance = 0;
  std::vector<std::string> values; // cyclic over the threads (registers) or elements (variables)
  int line = 0;
};
struct ExpectedFinding { std::string kind, pattern; };

struct Case {
  std::string name;                // the comment above it, or its line
  int line = 0;
  bool expects_error = false;
  std::string error_pattern;
  std::map<std::string, std::string> options;
  uint32_t block[3] = {32, 1, 1}, grid[3] = {1, 1, 1};
  std::string target = "sm_80", version = "8.7";
  std::vector<std::string> body;
  std::vector<CaseInput> inputs;
  std::vector<CaseVariable> variables;
  std::vector<Expectation> expected;
  std::vector<ExpectedFinding> findings;
  uint32_t threads() const { return block[0] * block[1] * block[2] * grid[0] * grid[1] * grid[2]; }
};

struct CaseFile {
  std::string path, text;
  bool independent_lanes = false;  // results of a lane do not depend on which other lanes run
  std::vector<Case> cases;
};
Result<CaseFile> read_case_file(std::string text, std::string path);

enum class Variant : uint8_t {
  kPlain,
  kOddLanes,   // the body runs in odd threads only: the others must find their registers untouched (zero)
  kPartWarp,   // three threads fewer than the block asks for
};
struct CaseKernel {
  struct Field { std::string reg; uint64_t offset = 0; uint32_t bytes = 0; };   // element t at offset + 16 * t
  std::string ptx;
  Variant variant = Variant::kPlain;
  uint32_t threads = 0, block_x = 0;
  uint64_t result_bytes = 0;
  std::vector<Field> fields;
};
Result<CaseKernel> generate(const Case& test, Variant variant = Variant::kPlain);

// What differs from what the case expects; empty when nothing does. `read_variable` gives the bytes of a
// module variable after the run.
using ReadVariable = Result<std::vector<uint8_t>> (*)(void* context, const std::string& name);
std::string mismatch(const Case& test, const CaseKernel& kernel, std::span<const uint8_t> results,
                     ReadVariable read_variable, void* context);

// The expectation line with the values found, for KW_UPDATE.
std::string updated_line(const Case& test, const Expectation& expectation, const CaseKernel& kernel,
                         std::span<const uint8_t> results, ReadVariable read_variable, void* context);

}  // namespace kw::emu
