#include "toolchain/triton.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "arch/target.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/jail.h"
#include "base/json_fields.h"
#include "toolchain/compile_cache.h"

namespace kw::toolchain {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Kind = Unrecordable::Kind;

constexpr uint64_t kMaxSource = uint64_t{4} << 20;
constexpr uint64_t kMaxDescription = uint64_t{32} << 20, kMaxPtx = uint64_t{64} << 20;
constexpr double kImport_s = 30;
constexpr uint64_t kProcesses = 1024;   // threads too, of which the compiler takes one for each core
constexpr const char* kFiles[] = {"__init__.py", "candidate.py", "recording.py", "triton_worker.py"};
const std::vector<std::string> kNotes = {"The file runs up to its end and returns from its entry; it ends no process."};

// A regular file that a jail left, which may have left anything; empty when it is none or too large.
std::string left_behind(const std::string& path, uint64_t limit) {
  std::error_code ignored;
  if (!fs::is_regular_file(fs::symlink_status(path, ignored))) return "";
  auto text = read_file(path, limit);
  return text ? std::move(*text) : "";
}

Kind kind_named(const std::string& name) {
  for (const Kind kind : {Kind::kCall, Kind::kContract, Kind::kLimit, Kind::kLaunch, Kind::kCompile})
    if (name_of(kind) == name) return kind;
  return Kind::kCrash;
}

Unrecordable failure_of(const std::string& text, const std::string& path) {
  const Json json = parse_json(text);
  JsonFields fields;
  Unrecordable reason;
  reason.kind = kind_named(fields.words(json, "kind"));
  reason.message = fields.words(json, "message").substr(0, 4096);
  for (const std::string& note : fields.texts(json, "notes"))
    if (reason.notes.size() < 8) reason.notes.push_back(note.substr(0, 1024));
  reason.place = Span{path, fields.number<int>(json, "line", 0), fields.number<int>(json, "column", 0), 0};
  return reason;
}

// kernel.json, from the same process as the code. Nothing of it is believed beyond its form: plan::check holds launches against it.
std::optional<DescribedKernel> kernel_of(const std::string& about, std::string ptx) {
  const Json json = parse_json(about);
  JsonFields fields;
  DescribedKernel kernel;
  kernel.name = fields.text(json, "name");
  kernel.ptx = std::move(ptx);
  kernel.threads = 32 * std::min(fields.number<uint32_t>(json, "warps", 0), 1024u);
  kernel.shared_bytes = fields.number<uint32_t>(json, "shared_bytes", 0);
  const Json& cluster = fields.list(json, "cluster");
  for (size_t i = 0; i < 3 && i < cluster.size(); ++i) kernel.cluster[i] = cluster[i].is_number_unsigned() ? cluster[i].get<uint32_t>() : 0;
  kernel.cooperative = fields.flag(json, "cooperative");
  kernel.dependent = fields.flag(json, "dependent");
  for (const Json& bytes : fields.list(json, "scratch_bytes")) {
    if (!bytes.is_number_unsigned() || kernel.scratch_bytes.size() >= 4) return std::nullopt;
    kernel.scratch_bytes.push_back(bytes.get<uint64_t>());
  }
  if (kernel.ptx.empty() || !fields.complaint("the kernel", "")) return std::nullopt;
  return kernel;
}

// A compiler that did not come to its end, or whose files are not its own.
Unrecordable not_compiled(const ProcessOutcome& outcome) {
  Unrecordable reason;
  reason.kind = Kind::kCompile;
  reason.message = "the compiler was stopped: " + kw::describe(outcome);
  return with_output(std::move(reason), outcome);
}

}  // namespace

TritonCandidate::TritonCandidate(Triton triton, std::string path, std::string text, const arch::Target& target, CompileOptions options, std::string cache)
    : triton_(std::move(triton)), path_(std::move(path)), text_(std::move(text)), target_(target), options_(std::move(options)), cache_(std::move(cache)) {
  Hasher hasher;
  hasher.add("triton 1").add(triton_.python.version).add(triton_.python.found).add(triton_.python.packages).add(target_.name).add(path_).add(text_);
  for (const char* file : kFiles) hasher.add(read_file(triton_.package + "/kernelwright/" + file).value_or(""));
  key_ = hasher.hex();
}

std::string TritonCandidate::request(const std::string& more) const {
  Json json = more.empty() ? Json::object() : Json::parse(more);
  json["path"] = path_;
  json["target"] = {{"number", target_.number()}, {"multiprocessors", target_.part.sm_count}, {"shared_bytes", target_.limits.shared_per_block_optin_bytes},
                    {"registers", target_.limits.registers_per_sm}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<TritonCandidate::Ended> TritonCandidate::run(const std::string& request, const Bounds& bounds, const std::string& first, const std::string& second) const {
  KW_TRY(const TempDir work, TempDir::create("kw-triton"));
  KW_TRY_VOID(write_file(work / "candidate.py", text_));
  KW_TRY_VOID(write_file(work / "request.json", request));
  const std::string ours = triton_.package + "/kernelwright/";
  Command command;
  command.argv = {triton_.python.program, "-I", "-B", ours + "triton_worker.py", work.path(), triton_.package, triton_.python.packages};
  command.wall_seconds = bounds.wall_seconds;
  command.stdout_limit_bytes = command.stderr_limit_bytes = 1u << 20;
  command.limits.processes = kProcesses;
  JailOptions jail;
  jail.read_only = jail_system_paths();
  jail.read_only.insert(jail.read_only.end(), triton_.python.installation.begin(), triton_.python.installation.end());
  for (const char* file : kFiles) jail.read_only.push_back(ours + file);
  jail.work_dir = work.path();
  jail.work_bytes = uint64_t{512} << 20;
  jail.memory_bytes = bounds.memory_bytes;
  Ended ended;
  KW_TRY(ended.outcome, run_jailed(command, jail));
  if (const std::string failure = left_behind(work / "failure.json", 1u << 20); !failure.empty() && ended.outcome.reason == StopReason::kExited) {
    ended.failure = with_output(failure_of(failure, path_), ended.outcome);
  } else if (ended.outcome.succeeded()) {
    if (!first.empty()) ended.first = left_behind(work / first, kMaxDescription);
    if (!second.empty()) ended.second = left_behind(work / second, kMaxPtx);
  }
  return ended;
}

Result<std::optional<Unrecordable>> TritonCandidate::import() const {
  KW_TRY(Ended ended, run(request(""), {std::min(kImport_s, options_.wall_seconds), options_.memory_bytes}, "", ""));
  if (!ended.failure && !ended.outcome.succeeded()) return std::optional(with_output(unrecordable_of(ended.outcome, kNotes), ended.outcome));
  return std::move(ended.failure);
}

TritonCandidate::Kernel TritonCandidate::kernel(const std::string& what) {
  std::promise<Kernel> mine;
  {
    std::unique_lock lock(mutex_);
    const auto [it, fresh] = kernels_.try_emplace(what, mine.get_future().share());
    if (!fresh) {
      const std::shared_future<Kernel> theirs = it->second;
      lock.unlock();
      return theirs.get();
    }
  }
  Kernel kernel = compile(what);
  mine.set_value(kernel);
  return kernel;
}

double TritonCandidate::compiled_seconds() {
  const std::lock_guard lock(mutex_);
  return compiled_s_;
}

TritonCandidate::Kernel TritonCandidate::compile(const std::string& what) {
  const std::string place = cache_ + "/" + Hasher().add(key_).add(what).hex();
  if (options_.use_cache) {
    const std::string about = left_behind(place + "/kernel.json", kMaxDescription);
    if (auto kernel = about.empty() ? std::nullopt : kernel_of(about, left_behind(place + "/kernel.ptx", kMaxPtx))) return std::move(*kernel);
  }
  const double left_s = options_.wall_seconds - compiled_seconds();
  if (left_s <= 0) {
    Unrecordable reason;
    reason.kind = Kind::kCompile;
    reason.message = fmt::format("its kernels are not compiled within {:.0f} s", options_.wall_seconds);
    return reason;
  }
  KW_TRY(Ended ended, run(request(Json{{"kernel", what}}.dump()), {left_s, options_.memory_bytes}, "kernel.json", "kernel.ptx"));
  {
    const std::lock_guard lock(mutex_);
    compiled_s_ += ended.outcome.wall_seconds;
  }
  if (ended.failure) {   // what Triton raises by itself is about the kernel too
    if (ended.failure->kind == Kind::kCrash) ended.failure->kind = Kind::kCompile;
    return std::move(*ended.failure);
  }
  auto kernel = kernel_of(ended.first, ended.second);
  if (!kernel) return not_compiled(ended.outcome);
  KW_TRY_VOID(keep_compiled(cache_, place, "kernel.json", options_.use_cache, [&](const std::string& folder) -> Status {
    KW_TRY_VOID(write_file(folder + "/kernel.ptx", ended.second));
    return write_file(folder + "/kernel.json", ended.first);
  }));
  return std::move(*kernel);
}

Result<Outcome> TritonCandidate::record(const std::string& call, const Workload& workload, const RecordOptions& options, int seed) {
  Json json = Json::parse(call);
  json["seed"] = seed;
  KW_TRY(Ended ended, run(request(json.dump(-1, ' ', false, Json::error_handler_t::replace)), {options.wall_seconds, options.memory_bytes}, "recording.json", ""));
  if (ended.failure) return Outcome(std::move(*ended.failure));
  if (ended.first.empty()) return Outcome(with_output(unrecordable_of(ended.outcome, kNotes), ended.outcome));
  const Description description{std::move(ended.first), path_, std::string(target_.name), fs::path(path_).filename().string()};
  KW_TRY(auto plan, plan_of(description, workload, [this](const std::string& what) { return kernel(what); }));
  if (auto* reason = std::get_if<Unrecordable>(&plan)) return Outcome(std::move(*reason));
  return Outcome(Recording{std::move(std::get<plan::Plan>(plan)), {}});
}

double seconds_of_kernels(const Compiled& compiled) { return compiled.triton ? compiled.triton->compiled_seconds() : 0; }

Result<std::variant<Compiled, CompileErrors>> compile_triton(const Triton& triton, const Candidate& candidate, const CompileOptions& options) {
  KW_TRY(const arch::Target* target, arch::find_target(candidate.target));
  if (!candidate.flags.empty()) return fail(ErrorCode::kInvalid, "the flag '{}' is nvcc's; a candidate in Triton has none", candidate.flags.front());
  std::error_code error;
  const fs::path path = fs::canonical(candidate.path, error);
  if (error) return fail(ErrorCode::kNotFound, "{}: {}", candidate.path, error.message());
  KW_TRY(std::string text, read_file(path.string(), kMaxSource));
  KW_TRY(std::string cache, compile_cache(options));
  Compiled compiled;
  compiled.name = path.filename().string();
  compiled.target = std::string(target->name);
  compiled.source_folder = path.parent_path().string();
  compiled.triton = std::make_shared<TritonCandidate>(triton, path.string(), std::move(text), *target, options, std::move(cache));
  compiled.key = compiled.triton->key();
  const auto begin = std::chrono::steady_clock::now();
  KW_TRY(const auto reason, compiled.triton->import());
  compiled.compile_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!reason) return compiled;
  CompileErrors errors;
  std::string message = reason->message;
  for (const std::string& note : reason->notes) message += "; " + note;
  errors.diagnostics.push_back({Diagnostic::Severity::kError, Span{compiled.name, reason->place.line, reason->place.column, 0}, std::move(message), ""});
  errors.log = reason->output;
  return errors;
}

}  // namespace kw::toolchain
