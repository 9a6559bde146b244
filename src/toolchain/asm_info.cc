#include "toolchain/asm_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/jail.h"
#include "base/subprocess.h"
#include "ptx/parser.h"
#include "toolchain/installation.h"

namespace kw::toolchain {
namespace {

namespace fs = std::filesystem;

// A tool of the toolkit: beside nvcc, or where one of its kind is.
std::string find_tool(const std::string& name) {
  if (auto nvcc = find_nvcc()) {
    const fs::path beside = fs::path(nvcc->root) / "bin" / name;
    std::error_code ignored;
    if (fs::exists(beside, ignored)) return beside.string();
  }
  const std::vector<std::string> programs = toolkit_programs(name);
  return programs.empty() ? "" : programs.front();
}

// PTX is the candidate's own text, so what reads it is jailed.
Result<ProcessOutcome> run_tool(const std::vector<std::string>& argv, const std::string& folder) {
  Command command;
  command.argv = argv;
  command.cwd = folder;
  command.wall_seconds = 120;
  command.stdout_limit_bytes = 256u << 20;
  JailOptions options;
  options.read_only = jail_system_paths();
  options.read_only.push_back(fs::path(argv.front()).parent_path().string());
  options.work_dir = folder;
  return run_jailed(command, options);
}

std::vector<uint32_t> block_sizes(const PtxFacts& facts) {
  if (facts.max_threads > 0) return {facts.max_threads};
  return {64, 128, 256, 512, 1024};
}

template <typename T>
const T* find(const std::vector<T>& list, const std::string& kernel) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const T& item) { return item.kernel == kernel; });
  return found == list.end() ? nullptr : &*found;
}

}  // namespace

Result<AsmInfo> asm_info(const std::string& ptx, const std::string& subject, const std::string& target_name, const std::vector<std::string>& only) {
  KW_TRY(const arch::Target* target, arch::find_target(target_name));
  KW_TRY(auto module, ptx::parse(ptx, subject));
  AsmInfo info;
  info.subject = subject;
  info.target = target_name;

  std::vector<Resources> resources;
  std::vector<SassFacts> sass;
  KW_TRY(auto folder, TempDir::create("kw-asm"));
  KW_TRY_VOID(write_file(folder / "kernel.ptx", ptx));
  const std::string cubin = folder / "kernel.cubin";
  if (const std::string ptxas = find_tool("ptxas"); ptxas.empty()) {
    info.missing.push_back("ptxas, for registers and spills: `make setup`");
  } else {
    std::vector<std::string> assemble = {ptxas, "-v", "-lineinfo", "-arch=" + target_name, "-o", cubin, folder / "kernel.ptx"};
    for (const std::string& kernel : only) assemble.insert(assemble.end(), {"--entry", kernel});
    KW_TRY(auto outcome, run_tool(assemble, folder.path()));
    if (!outcome.succeeded()) {
      Error error{ErrorCode::kInvalid, fmt::format("ptxas refuses {}: {}", subject, describe(outcome)), {}, {}, {}};
      error.notes.push_back(outcome.err.substr(0, 2000));
      return fail(std::move(error));
    }
    info.assembler = "ptxas";
    resources = ptxas_resources(outcome.err + outcome.out);

    std::vector<std::string> argv;
    if (const std::string nvdisasm = find_tool("nvdisasm"); !nvdisasm.empty()) {
      argv = {nvdisasm, "-c", "-g", cubin};
    } else if (const std::string cuobjdump = find_tool("cuobjdump"); !cuobjdump.empty()) {
      argv = {cuobjdump, "-sass", cubin};
    }
    if (argv.empty()) {
      info.missing.push_back("nvdisasm or cuobjdump, for machine code: `make setup`");
    } else {
      KW_TRY(auto disassembled, run_tool(argv, folder.path()));
      if (disassembled.succeeded()) {
        info.disassembler = fs::path(argv.front()).filename().string();
        sass = sass_facts(disassembled.out);
      } else {
        info.missing.push_back(fmt::format("machine code: {} failed ({})", argv.front(), describe(disassembled)));
      }
    }
  }

  for (PtxFacts& facts : ptx_facts(module)) {
    AsmInfo::Kernel kernel;
    if (const Resources* found = find(resources, facts.kernel)) kernel.resources = *found;
    if (const SassFacts* found = find(sass, facts.kernel)) kernel.sass = *found;
    if (kernel.resources) {
      for (uint32_t threads : block_sizes(facts)) {
        kernel.occupancy.push_back({threads, arch::occupancy(*target, static_cast<int>(kernel.resources->registers),
                                                             static_cast<int64_t>(kernel.resources->shared_bytes),
                                                             static_cast<int>(threads))});
      }
    }
    kernel.ptx = std::move(facts);
    info.kernels.push_back(std::move(kernel));
  }
  return info;
}

}  // namespace kw::toolchain
