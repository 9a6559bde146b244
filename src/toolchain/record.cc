// A compiled candidate and a workload to a plan: runs its host code twice in the jail with device memory at different
// addresses, merges what came out, and finds the source lines.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>

#include "base/demangle.h"
#include "base/file.h"
#include "base/jail.h"
#include "kernelwright_dtype.h"
#include "plan/ptx_outline.h"
#include "tensor/dtype.h"
#include "toolchain/call_site.h"
#include "toolchain/installation.h"
#include "toolchain/recording.h"
#include "toolchain/toolchain.h"
#include "toolchain/triton.h"

namespace kw::toolchain {

Unrecordable unrecordable_of(const ProcessOutcome& outcome, std::vector<std::string> notes) {
  Unrecordable reason;
  using Kind = Unrecordable::Kind;
  switch (outcome.reason) {
    case StopReason::kDeadline:
    case StopReason::kCancelled:
    case StopReason::kCpuLimit: reason.kind = Kind::kTimeout; break;
    case StopReason::kOutputLimit:
    case StopReason::kFileLimit:
    case StopReason::kProcessLimit:
    case StopReason::kMemoryLimit:
    case StopReason::kDiskLimit: reason.kind = Kind::kLimit; break;
    case StopReason::kSignalled:
    case StopReason::kExited: reason.kind = Kind::kCrash; break;
  }
  reason.message = fmt::format("the host code ended before the recording did: {}", kw::describe(outcome));
  if (outcome.reason == StopReason::kExited)
    reason.notes = std::move(notes);
  return reason;
}

Unrecordable with_output(Unrecordable reason, const ProcessOutcome& outcome) {
  reason.output = outcome.out + outcome.err;
  if (reason.output.size() > 4096) reason.output.erase(0, reason.output.size() - 4096);
  return reason;
}

size_t step_named_in(const std::string& message, size_t none) {
  size_t index = none;
  if (const size_t at = message.find("step "); at != std::string::npos) {
    const auto parsed = std::from_chars(message.data() + at + 5, message.data() + message.size(), index);
    if (parsed.ec != std::errc()) return none;
  }
  return index;
}

namespace {

using Json = nlohmann::json;

constexpr uint64_t kMaxOutput = uint64_t{256} << 20, kMaxSites = uint64_t{8} << 20;   // an empty list of JSON takes a hundred times its text

std::string_view kind_name(Argument::Kind kind) {
  switch (kind) {
    case Argument::Kind::kInput: return "input";
    case Argument::Kind::kOutput: return "output";
    case Argument::Kind::kPiece: return "piece";
    case Argument::Kind::kInOut: return "inout";
    case Argument::Kind::kInteger: return "integer";
    case Argument::Kind::kReal: return "real";
    case Argument::Kind::kBool: return "bool";
  }
  return "?";
}

Result<std::string> workload_text(const Compiled& compiled, const Workload& workload) {
  Json root;
  root["candidate"] = compiled.name;
  root["arguments"] = Json::array();
  for (const Argument& argument : workload.arguments) {
    Json json;
    json["name"] = argument.name;
    json["kind"] = kind_name(argument.kind);
    json["integer"] = argument.integer;
    json["real"] = argument.real;
    using Kind = Argument::Kind;
    if (argument.kind != Kind::kInteger && argument.kind != Kind::kReal && argument.kind != Kind::kBool) {
      KW_TRY(const tensor::DType type, tensor::dtype_named(argument.dtype));
      const int code = candidate_dtype(type);
      if (code < 0) return fail(ErrorCode::kUnsupported, "'{}': candidates cannot take tensors of {}", argument.name, argument.dtype);
      const std::vector<int64_t> strides = argument.strides.empty() ? plan::contiguous_strides(argument.shape) : argument.strides;
      auto bytes = plan::bytes_of(argument.dtype, argument.shape, strides);
      if (!bytes) return fail(bytes.error().code, "'{}': {}", argument.name, bytes.error().message);
      json["dtype"] = tensor::name_of(type);
      json["dtype_code"] = code;
      json["bytes"] = *bytes;
      json["shape"] = argument.shape;
      json["strides"] = strides;
    }
    root["arguments"].push_back(std::move(json));
  }
  return root.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<uint64_t> frames_of(const Json& json) {
  std::vector<uint64_t> frames;
  if (!json.is_array()) return frames;
  for (const Json& frame : json)
    if (frame.is_number_unsigned() && frames.size() < 64) frames.push_back(frame.get<uint64_t>());
  return frames;
}

std::string text_of(const Json& json, const char* name) {
  const auto it = json.is_object() ? json.find(name) : json.end();
  return it != json.end() && it->is_string() ? it->get<std::string>().substr(0, 4096) : "";
}

Unrecordable reason_of(const Json& json, CallSites& places) {
  Unrecordable reason;
  const std::string kind = text_of(json, "kind");
  using Kind = Unrecordable::Kind;
  reason.kind = kind == "contract" ? Kind::kContract : kind == "crash" ? Kind::kCrash : kind == "limit" ? Kind::kLimit
                : kind == "launch" ? Kind::kLaunch : Kind::kCall;
  reason.call = text_of(json, "call");
  reason.message = text_of(json, "message");
  if (const auto it = json.find("notes"); it != json.end() && it->is_array())
    for (const Json& note : *it)
      if (note.is_string() && reason.notes.size() < 8) reason.notes.push_back(note.get<std::string>().substr(0, 1024));
  if (const auto it = json.find("frames"); it != json.end()) reason.place = places.place_of(frames_of(*it));
  return reason;
}

const std::vector<std::string> kEntryNotes = {"A candidate has a KW_ENTRY, no main() and no call of exit(); whole programs are for `kw nvcc` and `kw emu run`."};

Result<Outcome> run_program(const Compiled& compiled, const std::string& workload, CallSites& places, const RecordOptions& options, int seed) {
  KW_TRY(const TempDir work, TempDir::create("kw-record"));
  KW_TRY_VOID(write_file(work / "workload.json", workload));
  KW_TRY(const std::string library, record_library());
  JailOptions jail;
  jail.read_only = jail_system_paths();
  jail.read_only.push_back(compiled.program);
  jail.read_only.push_back(library);
  jail.work_dir = work.path();
  jail.work_bytes = uint64_t{512} << 20;
  jail.memory_bytes = options.memory_bytes;
  Command command;
  command.argv = {compiled.program, work / "workload.json", work.path()};
  command.env = {{{"KW_RECORD_TARGET", compiled.target}, {"LD_LIBRARY_PATH", std::filesystem::path(library).parent_path().string()},
                  {"KW_RECORD_SEED", std::to_string(seed)}, {"PATH", "/usr/bin:/bin"}, {"LANG", "C.UTF-8"}}};
  command.wall_seconds = options.wall_seconds;
  command.stdout_limit_bytes = command.stderr_limit_bytes = 1u << 20;
  command.limits.processes = 64;
  KW_TRY(const ProcessOutcome outcome, run_jailed(command, jail));
  std::error_code ignored;
  if (std::filesystem::exists(work / "error.json", ignored)) {
    KW_TRY(const std::string text, read_file(work / "error.json", 1u << 20));
    const Json json = Json::parse(text, nullptr, false);
    if (json.is_object()) return Outcome(with_output(reason_of(json, places), outcome));
  }
  if (!outcome.succeeded() || !std::filesystem::exists(work / "plan.json", ignored)) return Outcome(with_output(unrecordable_of(outcome, kEntryNotes), outcome));
  const auto refused = [&](Unrecordable::Kind kind, const std::string& message) {
    Unrecordable reason;
    reason.kind = kind;
    reason.message = message;
    return Outcome(with_output(std::move(reason), outcome));
  };
  auto plan_text = read_file(work / "plan.json", kMaxOutput);
  auto sites_text = read_file(work / "sites.json", kMaxSites);
  for (const auto* text : {&plan_text, &sites_text}) {
    if (*text) continue;
    const bool large = text->error().code == ErrorCode::kLimit;
    return refused(large ? Unrecordable::Kind::kLimit : Unrecordable::Kind::kContract, large ? "the recording is too large" : "a file of the recording is not what was recorded");
  }
  Recording recording;
  const Json sites = Json::parse(*sites_text, nullptr, false);
  if (sites.is_object() && sites.contains("steps") && sites["steps"].is_array())
    for (const Json& step : sites["steps"]) recording.sites.push_back(frames_of(step));
  // Beside the plan, by hash, which parse() checks; the name comes from the candidate's process.
  const auto find_ptx = [&work](const std::string& hash) -> Result<std::string> {
    if (hash.find_first_not_of("0123456789abcdef") != std::string::npos) return fail(ErrorCode::kInvalid, "'{}' is no hash", hash);
    auto text = read_file(work / (hash + ".ptx"), kMaxOutput);
    if (!text) return fail(text.error().code, "the PTX of module {} is not what was recorded", hash);
    return std::move(*text);
  };
  auto plan = plan::parse(*plan_text, "recording", find_ptx);
  if (!plan) {
    // The message begins with the step; its line is among the sites.
    Outcome out = refused(Unrecordable::Kind::kLaunch, plan.error().message);
    auto& reason = std::get<Unrecordable>(out);
    if (const size_t step = step_named_in(reason.message, recording.sites.size()); step < recording.sites.size())
      reason.place = places.place_of(recording.sites[step]);
    reason.notes = plan.error().notes;
    return out;
  }
  recording.plan = std::move(*plan);
  return Outcome(std::move(recording));
}

// Bytes of a parameter block that differ between two recordings are, inside a struct, taken for padding and become
// zero: every replay is the same then, and a kernel that reads them computes from zero. A parameter that is one value
// has no padding: it is left different. Its number, if there is one.
std::optional<size_t> settle(std::vector<uint8_t>& a, const std::vector<uint8_t>& b, const plan::EntryOutline* entry) {
  std::optional<size_t> different;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (a[i] == b[i]) continue;
    bool value = false;
    for (size_t p = 0; entry != nullptr && p < entry->params.size(); ++p) {
      const plan::ParamLayout& param = entry->params[p];
      if (!param.scalar || i < param.offset || i >= param.offset + param.bytes) continue;
      value = true;
      if (!different) different = p;
    }
    if (!value) a[i] = 0;
  }
  return different;
}

// Makes `a` what both recordings agree on. The place where they do not, in words.
std::optional<std::string> merge(plan::Plan& a, plan::Plan& b) {
  if (a.buffers.size() != b.buffers.size()) return "the number of allocations";
  for (size_t i = 0; i < a.buffers.size(); ++i)
    if (a.buffers[i].bytes != b.buffers[i].bytes || a.buffers[i].name != b.buffers[i].name) return fmt::format("the size of {}", a.buffers[i].name);
  if (a.modules.size() != b.modules.size()) return "which kernels are launched";
  if (a.steps.size() != b.steps.size()) return fmt::format("the number of steps ({} and {})", a.steps.size(), b.steps.size());
  std::vector<std::shared_ptr<const plan::PtxOutline>> outlines;
  for (const plan::Module& module : a.modules) outlines.push_back(plan::remembered_outline(module.ptx));
  for (size_t i = 0; i < a.steps.size(); ++i) {
    auto* left = std::get_if<plan::Launch>(&a.steps[i].action);
    auto* right = std::get_if<plan::Launch>(&b.steps[i].action);
    if (left != nullptr && right != nullptr && left->relocations == right->relocations && left->kernel == right->kernel) {
      const plan::EntryOutline* entry = left->module < outlines.size() ? outlines[left->module]->find_entry(left->kernel) : nullptr;
      if (const auto param = settle(left->params, right->params, entry)) {
        return fmt::format("step {}: the value of parameter {} (from 0) of {}", i, *param, readable_name(left->kernel));
      }
      right->params = left->params;
    }
  }
  if (plan::write(a, plan::Code::kHashes) == plan::write(b, plan::Code::kHashes)) return std::nullopt;
  for (size_t i = 0; i < a.steps.size(); ++i) {
    const auto* left = std::get_if<plan::Launch>(&a.steps[i].action);
    const auto* right = std::get_if<plan::Launch>(&b.steps[i].action);
    if (left != nullptr && right != nullptr) {
      if (left->kernel != right->kernel) return fmt::format("step {}: which kernel is launched", i);
      if (left->grid != right->grid || left->block != right->block) return fmt::format("step {}: the grid or block of {}", i, readable_name(left->kernel));
      if (left->module < a.modules.size() && right->module < b.modules.size() && a.modules[left->module].hash != b.modules[right->module].hash)
        return fmt::format("step {}: the code of {}", i, readable_name(left->kernel));
      if (left->relocations != right->relocations) return fmt::format("step {}: the pointers given to {}", i, readable_name(left->kernel));
    }
    if (a.steps[i].action.index() != b.steps[i].action.index()) return fmt::format("step {}: what it is", i);
  }
  return "the bytes or places of a copy";
}

}  // namespace

std::string_view name_of(Unrecordable::Kind kind) {
  switch (kind) {
    case Unrecordable::Kind::kCall: return "call";
    case Unrecordable::Kind::kContract: return "contract";
    case Unrecordable::Kind::kCrash: return "crash";
    case Unrecordable::Kind::kTimeout: return "timeout";
    case Unrecordable::Kind::kLimit: return "limit";
    case Unrecordable::Kind::kNondeterministic: return "nondeterministic";
    case Unrecordable::Kind::kLaunch: return "launch";
    case Unrecordable::Kind::kCompile: return "compile";
  }
  return "?";
}

Result<std::variant<plan::Plan, Unrecordable>> record(const Compiled& compiled, const Workload& workload, const RecordOptions& options) {
  KW_TRY(const std::string text, workload_text(compiled, workload));
  const auto run = [&](int seed) {
    return compiled.triton ? compiled.triton->record(text, workload, options, seed) : run_program(compiled, text, *compiled.call_sites, options, seed);
  };
  auto other = std::async(std::launch::async, [&] { return run(1); });
  auto one = run(0);
  auto two = other.get();
  KW_TRY(Outcome first, std::move(one));
  if (auto* reason = std::get_if<Unrecordable>(&first)) return std::move(*reason);
  KW_TRY(Outcome second, std::move(two));
  if (auto* reason = std::get_if<Unrecordable>(&second)) return std::move(*reason);
  auto& recording = std::get<Recording>(first);
  if (const auto difference = merge(recording.plan, std::get<Recording>(second).plan)) {
    Unrecordable reason;
    reason.kind = Unrecordable::Kind::kNondeterministic;
    reason.message = fmt::format("two recordings differ: {}", *difference);
    reason.notes.push_back("Host code must depend on shapes and attributes only: not on addresses, time, random numbers or memory that was never set.");
    return reason;
  }
  if (!compiled.call_sites) return std::move(recording.plan);
  const std::vector<Span> spans = compiled.call_sites->places_of(recording.sites);
  for (size_t i = 0; i < recording.plan.steps.size() && i < spans.size(); ++i) {
    recording.plan.steps[i].source_file = spans[i].file;
    recording.plan.steps[i].source_line = static_cast<uint32_t>(spans[i].line);
  }
  return std::move(recording.plan);
}

}  // namespace kw::toolchain
