// A plan: what a candidate does on a device for one workload, as data. Device code, buffers, and the exact
// launches, fills, copies and writes, with explicit order and no host code. Recorded by the CUDA runtime in
// plan/runtime, executed by device/, stored and shipped as JSON (docs/formats/plan.md).
//
// Pointers: every device address inside a parameter block, a written block of bytes or a tensor map is a
// Relocation; the eight bytes at its offset are zero in the plan and are replaced by the address of its
// target when the plan is loaded. No other byte depends on where anything lies.
//
// Values; no shared state. `parse` accepts any bytes and gives an Error for what is not a plan; `check`
// proves that every reference, size and offset is in range, so that a device may rely on a checked plan.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace kw::plan {

inline constexpr int kFormatVersion = 1;

// Bounds on what a plan may hold; parse and check refuse more.
inline constexpr uint64_t kMaxBufferBytes = uint64_t{1} << 40;
inline constexpr size_t kMaxSteps = 100'000;
inline constexpr size_t kMaxBuffers = 10'000;
inline constexpr size_t kMaxModules = 256;
inline constexpr size_t kMaxPlanText = size_t{512} << 20;

enum class Role : uint8_t { kInput, kOutput, kInOut, kWorkspace };
std::string_view name_of(Role role);  // "input", "output", "inout", "workspace"

struct Buffer {
  std::string name;              // the problem's name of the tensor; "workspace 0", … for the others
  Role role = Role::kWorkspace;
  uint64_t bytes = 0;
  std::string dtype;             // "float16", …; empty for workspace
  std::vector<int64_t> shape, strides;  // in elements; empty for workspace and for rank 0
};

struct Module {
  std::string ptx;
  std::string hash;              // 32 hex digits of XXH3-128 over ptx
};

// Where a pointer points: a byte of a buffer or of a module's variable.
struct Address {
  static constexpr uint32_t kNone = 0xffffffffu;
  uint32_t buffer = kNone;       // index into Plan::buffers, or kNone and then:
  uint32_t module = kNone;       // index into Plan::modules
  std::string variable;          // .global or .const variable of that module
  int64_t offset = 0;            // bytes; may point one past the end, never below the start
  bool in_buffer() const { return buffer != kNone; }
  bool operator==(const Address&) const = default;
};

struct Relocation {
  uint32_t offset = 0;           // of the eight address bytes within their block
  Address target;
  bool operator==(const Relocation&) const = default;
};

struct Launch {
  uint32_t module = 0;
  std::string kernel;            // the .entry's name in the PTX
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  uint32_t dynamic_shared_bytes = 0;
  bool cooperative = false;
  bool programmatic_order = false;           // programmatic stream serialization (overlap with the predecessor)
  int32_t shared_carveout_percent = -1;      // preferred; -1 default
  bool nonportable_cluster = false;
  std::vector<uint8_t> params;               // the parameter block, as the PTX lays it out
  std::vector<Relocation> relocations;       // sorted by offset, disjoint
  std::vector<uint32_t> tensor_maps;         // offsets in params of 128-byte tensor maps (plan/tensor_map.h)
};

// `rows` rows of `row_bytes`, row starts `pitch` bytes apart; a plain block has rows = 1.
struct Fill {
  Address to;
  std::vector<uint8_t> pattern;  // 1, 2 or 4 bytes, repeated; row_bytes is a multiple of its size
  uint64_t row_bytes = 0, rows = 1, pitch = 0;
};
struct Copy {
  Address to, from;
  uint64_t row_bytes = 0, rows = 1, to_pitch = 0, from_pitch = 0;
};
struct Write {                   // bytes that the host code computed without seeing tensor contents
  Address to;
  std::vector<uint8_t> data;
  std::vector<Relocation> relocations;
};

struct Step {
  std::variant<Launch, Fill, Copy, Write> action;
  std::vector<uint32_t> after;   // indices of earlier steps that must have completed; transitive ones left out
  std::string source_file;       // the candidate's line that made the call; empty when not known
  uint32_t source_line = 0;
};

struct Plan {
  std::string target;            // "sm_80"
  std::string candidate;         // a name for people
  std::vector<Module> modules;
  std::vector<Buffer> buffers;   // inputs, inouts and outputs in the candidate's order, then workspace
  std::vector<Step> steps;       // in issue order: `after` only points backwards, so it is also a valid order
  std::vector<uint32_t> unjoined;  // steps on side streams that the entry's stream never waited for
  const Buffer* find_buffer(std::string_view name) const;
};

std::string hash_of(std::string_view ptx);

// Bytes a tensor of this dtype, shape and strides spans; errors on unknown names, negatives and overflow.
Result<uint64_t> bytes_of(std::string_view dtype, const std::vector<int64_t>& shape,
                          const std::vector<int64_t>& strides);
// Width in bits of an element: "float16" → 16; 0 for a name that is not a dtype.
// Names: bool, int8 … int64, uint8 … uint64, float4_e2m1, float8_e4m3fn, float8_e5m2, float8_e8m0fnu,
// float16, bfloat16, float32, float64.
unsigned bits_of_dtype(std::string_view dtype);
std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& shape);

// JSON text, stable: equal plans give equal bytes. With kHashes the PTX is left out: who reads the text has it elsewhere.
enum class Code : uint8_t { kWhole, kHashes };
std::string write(const Plan& plan, Code code = Code::kWhole);
// Parses and checks. `file_name` is for messages; `find_ptx` gives the PTX of modules that come as a hash alone, by that hash.
using FindPtx = std::function<Result<std::string>(const std::string& hash)>;
Result<Plan> parse(std::string_view json, std::string_view file_name, const FindPtx& find_ptx = {});
// Internal consistency and the target's limits (threads, grid, shared memory, cluster, parameter bytes).
// The first violation, naming the step and the remedy.
Status check(const Plan& plan);
// A page for people: buffers, modules, steps with their order.
std::string show(const Plan& plan);

}  // namespace kw::plan
