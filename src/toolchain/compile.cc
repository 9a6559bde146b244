// A candidate's sources to a program that records itself, in the jail, kept in a cache by content. The cache entry is a
// folder: program, log.txt.
#include <algorithm>
#include <filesystem>

#include "arch/target.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/jail.h"
#include "base/source_text.h"
#include "toolchain/call_site.h"
#include "toolchain/compile_cache.h"
#include "toolchain/diagnostics.h"
#include "toolchain/installation.h"
#include "toolchain/toolchain.h"
#include "toolchain/triton.h"

namespace kw::toolchain {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxFiles = 2000;
constexpr uint64_t kMaxSourceBytes = uint64_t{64} << 20;
constexpr size_t kMaxLog = 65536;

// Every regular file of the candidate, sorted. Links are not followed: a link out of the folder names a file
// that the candidate does not hold.
Result<std::vector<Source>> read_sources(const fs::path& path, bool folder) {
  std::vector<Source> sources;
  if (!folder) {
    KW_TRY(std::string text, read_file(path.string(), kMaxSourceBytes));
    sources.push_back({path.filename().string(), std::move(text)});
    return sources;
  }
  uint64_t total = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (it->is_symlink()) continue;
    if (it->is_directory() && !name.empty() && name[0] == '.') {
      it.disable_recursion_pending();
      continue;
    }
    if (!it->is_regular_file()) continue;
    if (sources.size() >= kMaxFiles) return fail(ErrorCode::kLimit, "{} has more than {} files", path.string(), kMaxFiles);
    KW_TRY(std::string text, read_file(it->path().string(), kMaxSourceBytes));
    total += text.size();
    if (total > kMaxSourceBytes) return fail(ErrorCode::kLimit, "{} has more than {} bytes of files", path.string(), kMaxSourceBytes);
    sources.push_back({fs::relative(it->path(), path, error).string(), std::move(text)});
  }
  if (error) return fail(ErrorCode::kIo, "{} cannot be read: {}", path.string(), error.message());
  std::sort(sources.begin(), sources.end(), [](const Source& a, const Source& b) { return a.path < b.path; });
  return sources;
}

bool is_cuda(const std::string& name) { return name.size() > 3 && name.compare(name.size() - 3, 3, ".cu") == 0; }

// nvcc hands the names of files to a shell, and takes commas for separators.
Status check_name(const std::string& path) {
  for (const char c : path) {
    if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f && std::string_view("\"'`$,").find(c) == std::string_view::npos) continue;
    return fail(Error{ErrorCode::kInvalid, fmt::format("nvcc cannot compile a file of this name: {}", printable_text(path)), {}, {},
                      {"name it, and the folders it is in, without quotes, backquotes, dollar signs, commas and control characters"}});
  }
  return {};
}

// Flags that a candidate may add: definitions, includes, and choices of code generation. Nothing that names files
// to write, other programs, or passes text to another stage.
Status check_flag(const std::string& flag) {
  static const char* kPrefixes[] = {"-D", "-U", "-I", "--define-macro=", "-std=", "--use_fast_math", "-use_fast_math", "--ftz=", "--prec-div=",
                                    "--prec-sqrt=", "--fmad=", "-maxrregcount=", "--maxrregcount=", "--expt-relaxed-constexpr", "-expt-relaxed-constexpr",
                                    "--expt-extended-lambda", "--extended-lambda", "-O", "-diag-suppress", "--diag-suppress"};
  for (const char* prefix : kPrefixes)
    if (flag.compare(0, std::string_view(prefix).size(), prefix) == 0) return {};
  return fail(ErrorCode::kInvalid, "the flag '{}' is not one a candidate may set (-D, -U, -I, -std, -O, --use_fast_math, --maxrregcount=…)", flag);
}

std::vector<Diagnostic> warnings_of(const std::string& log, const std::string& folder) {
  std::vector<Diagnostic> all = parse_diagnostics(log, folder);
  std::erase_if(all, [](const Diagnostic& each) { return each.severity != Diagnostic::Severity::kWarning; });
  return all;
}

std::string without(std::string text, const std::string& what) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) text.erase(at, what.size());
  return text;
}

// nvcc leaves PTX and objects of each stage in the work folder; 1 GiB is far more than a candidate needs.
constexpr uint64_t kWorkBytes = uint64_t{1} << 30;

}  // namespace

Result<std::vector<Source>> candidate_sources(const std::string& path) {
  std::error_code error;
  const fs::path whole = fs::canonical(path, error);
  if (error) return fail(ErrorCode::kNotFound, "{}: {}", path, error.message());
  return read_sources(whole, fs::is_directory(whole, error));
}

namespace {

Result<std::variant<Compiled, CompileErrors>> compile_cuda(const Nvcc& nvcc, const Candidate& candidate, const CompileOptions& options) {
  KW_TRY(const arch::Target* target, arch::find_target(candidate.target));
  std::error_code error;
  const fs::path path = fs::canonical(candidate.path, error);
  if (error) return fail(ErrorCode::kNotFound, "{}: {}", candidate.path, error.message());
  const bool is_folder = fs::is_directory(path, error);
  const fs::path folder = is_folder ? path : path.parent_path();
  KW_TRY(const std::vector<Source> sources, read_sources(path, is_folder));
  std::vector<std::string> units;
  for (const Source& source : sources)
    if (is_cuda(source.path) || !is_folder) units.push_back(source.path);
  if (units.empty()) return fail(ErrorCode::kNotFound, "{} holds no .cu file", path.string());
  for (const std::string& unit : units) KW_TRY_VOID(check_name((folder / unit).string()));
  for (const std::string& flag : candidate.flags) KW_TRY_VOID(check_flag(flag));

  KW_TRY(const std::string include, include_folder());
  KW_TRY(const std::string library, record_library());
  KW_TRY(const std::vector<Source> headers, read_sources(fs::path(include) / "kernelwright", true));
  KW_TRY(const std::string runtime, read_file(library));
  Hasher hasher;
  hasher.add("compile 2").add(nvcc.version).add(nvcc.root).add(nvcc.host_compiler).add(target->name).add(hash_hex(runtime));
  for (const Source& header : headers) hasher.add(header.path).add(header.text);
  hasher.add(folder.string());   // the program's line tables carry it
  for (const std::string& flag : candidate.flags) hasher.add(flag);
  for (const std::string& trusted : options.include_folders) hasher.add(trusted);
  for (const Source& source : sources) hasher.add(source.path).add(source.text);

  Compiled compiled;
  compiled.key = hasher.hex();
  compiled.name = path.filename().string();
  compiled.target = std::string(target->name);
  compiled.source_folder = folder.string();
  KW_TRY(const std::string cache, compile_cache(options));
  const std::string place = cache + "/" + compiled.key;
  compiled.program = place + "/program";
  compiled.call_sites = std::make_shared<CallSites>(compiled.program, compiled.source_folder);
  if (options.use_cache && fs::exists(compiled.program, error)) {
    if (auto log = read_file(place + "/log.txt", kMaxLog)) compiled.warnings = warnings_of(*log, compiled.source_folder);
    compiled.from_cache = true;
    return compiled;
  }

  KW_TRY(const TempDir work, TempDir::create("kw-compile"));
  JailOptions jail;
  jail.read_only = jail_system_paths();
  jail.read_only.push_back(nvcc.root);
  jail.read_only.push_back(include);
  jail.read_only.push_back(library);
  // A single file sees itself only, not its neighbours.
  jail.read_only.push_back(is_folder ? folder.string() : path.string());
  for (const std::string& trusted : options.include_folders) jail.read_only.push_back(trusted);
  jail.work_dir = work.path();
  jail.work_bytes = kWorkBytes;
  jail.memory_bytes = options.memory_bytes;

  Command command;
  const std::string number(target->name.substr(3));
  command.argv = {nvcc.program, "-gencode", fmt::format("arch=compute_{0},code=compute_{0}", number), "--no-compress", "-lineinfo", "-cudart", "none",
                  "-O3", "-Xcompiler", "-g1,-fno-optimize-sibling-calls,-fno-omit-frame-pointer", "-I", include};
  const bool standard = std::any_of(candidate.flags.begin(), candidate.flags.end(), [](const std::string& f) { return f.compare(0, 5, "-std=") == 0; });
  if (!standard) command.argv.push_back("-std=c++17");
  if (!nvcc.host_compiler.empty()) command.argv.insert(command.argv.end(), {"-ccbin", nvcc.host_compiler});
  if (is_folder) command.argv.insert(command.argv.end(), {"-I", folder.string()});
  for (const std::string& trusted : options.include_folders) command.argv.insert(command.argv.end(), {"-I", trusted});
  for (const std::string& flag : candidate.flags) {
    if (flag.compare(0, 2, "-I") == 0 && flag.size() > 2 && flag[2] != '/') {
      command.argv.push_back("-I" + (folder / flag.substr(2)).string());
    } else {
      command.argv.push_back(flag);
    }
  }
  if (units.size() == 1 && !is_cuda(units[0])) command.argv.insert(command.argv.end(), {"-x", "cu"});
  for (const std::string& unit : units) command.argv.push_back((folder / unit).string());
  // No -rpath: an installation elsewhere, with the same runtime, finds this program in the same cache.
  command.argv.insert(command.argv.end(), {"-L" + fs::path(library).parent_path().string(), "-lkw_record", "-o", work / "program"});
  command.cwd = work.path();
  command.wall_seconds = options.wall_seconds;
  command.stdout_limit_bytes = command.stderr_limit_bytes = 4u << 20;
  KW_TRY(const ProcessOutcome outcome, run_jailed(command, jail));

  // The work folder is gone afterwards, and is nobody's business: what lies in it is called by its own name.
  const std::string log = without(outcome.err + outcome.out, work.path() + "/").substr(0, kMaxLog);
  if (!outcome.succeeded() || !fs::is_regular_file(work / "program", error)) {
    CompileErrors errors;
    errors.log = log;
    errors.diagnostics = parse_diagnostics(log, compiled.source_folder);
    if (outcome.reason != StopReason::kExited) {
      Diagnostic stopped;
      stopped.message = "the compiler was stopped: " + kw::describe(outcome);
      errors.diagnostics.insert(errors.diagnostics.begin(), std::move(stopped));
    }
    return errors;
  }
  compiled.compile_seconds = outcome.wall_seconds;
  compiled.warnings = warnings_of(log, compiled.source_folder);

  KW_TRY_VOID(keep_compiled(cache, place, "program", options.use_cache, [&](const std::string& fresh) -> Status {
    std::error_code failed;
    fs::copy_file(work / "program", fresh + "/program", failed);
    if (failed) return fail(ErrorCode::kIo, "{}", failed.message());
    return write_file(fresh + "/log.txt", log);
  }));
  return compiled;
}

}  // namespace

Result<std::variant<Compiled, CompileErrors>> compile(const Compiler& compiler, const Candidate& candidate, const CompileOptions& options) {
  if (const auto* triton = std::get_if<Triton>(&compiler)) return compile_triton(*triton, candidate, options);
  return compile_cuda(std::get<Nvcc>(compiler), candidate, options);
}

}  // namespace kw::toolchain
