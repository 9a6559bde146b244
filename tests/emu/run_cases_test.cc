// Runs every case of tests/emu/*.test on the emulator: one GoogleTest case per case, named file.line.
// KW_UPDATE=1 rewrites the expected values of cases that differ (read what it wrote before keeping it; refused where
// CI is set). Arguments that are not GoogleTest's are files to run instead.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>
#include <sstream>

#include "emu/case_file.h"
#include "emu/emulator.h"
#include "ptx/parser.h"
#include "ptx/verifier.h"

namespace kw::emu {
namespace {

struct Run {
  std::unique_ptr<Memory> memory;
  std::unique_ptr<Program> program;
  std::vector<uint8_t> results;
  LaunchReport report;
};

Result<Run> run_on_emulator(const Case& test, const CaseKernel& kernel) {
  KW_TRY(ptx::Module module, ptx::parse(kernel.ptx, "case.ptx"));
  const std::vector<Error> problems = ptx::verify(module, 1);
  if (!problems.empty()) return fail(problems.front());
  const auto option = [&](const char* name) {
    const auto found = test.options.find(name);
    return found == test.options.end() ? std::string() : found->second;
  };
  const std::string check = option("check");
  Run run;
  KW_TRY(run.memory, Memory::create(uint64_t{1} << 30, check.find("uninit") != std::string::npos));
  KW_TRY(run.program, Program::load(std::make_shared<const ptx::Module>(std::move(module)), *run.memory));
  KW_TRY(const uint64_t buffer, run.memory->allocate(kernel.result_bytes, "results"));
  run.results.assign(kernel.result_bytes, 0);
  KW_TRY_VOID(run.memory->write(buffer, run.results.data(), run.results.size()));
  Launch launch;
  launch.program = run.program.get();
  launch.kernel = "kw_case";
  launch.grid = {test.grid[0], test.grid[1], test.grid[2]};
  launch.block = {kernel.block_x, test.block[1], test.block[2]};
  launch.cooperative = option("cooperative") == "1";
  launch.dynamic_shared_bytes = static_cast<uint32_t>(std::strtoul(option("shared").c_str(), nullptr, 0));
  launch.params.resize(8);
  std::memcpy(launch.params.data(), &buffer, 8);
  Options options;
  options.threads = 1;
  options.check_races = check.find("races") != std::string::npos;
  options.check_uninitialised = check.find("uninit") != std::string::npos;
  options.schedule_seed = std::strtoull(option("seed").c_str(), nullptr, 0);
  if (option("completion") == "late") options.async_completion = Options::Completion::kLate;
  options.max_warp_instructions = 1u << 24;
  options.deadline_s = 20;
  KW_TRY(run.report, emu::run(launch, options));
  KW_TRY_VOID(run.memory->read(buffer, run.results.data(), run.results.size()));
  return run;
}

Result<std::vector<uint8_t>> read_symbol(void* context, const std::string& name) {
  Run& run = *static_cast<Run*>(context);
  KW_TRY(const Program::Symbol symbol, run.program->symbol(name));
  std::vector<uint8_t> bytes(symbol.bytes);
  KW_TRY_VOID(run.memory->read(symbol.address, bytes.data(), bytes.size()));
  return bytes;
}

std::map<std::string, std::map<int, std::string>> g_updates;   // file → line → text

class CaseTest : public testing::Test {
 public:
  CaseTest(std::shared_ptr<const CaseFile> file, const Case& test) : file_(std::move(file)), test_(test) {}

  void TestBody() override {
    check(Variant::kPlain);
    if (!file_->independent_lanes || test_.expects_error || !test_.findings.empty() || HasFailure()) return;
    check(Variant::kOddLanes);
    if (test_.block[0] > 3) check(Variant::kPartWarp);
  }

 private:
  void check(Variant variant) {
    const char* const names[] = {"", "with odd lanes only: ", "with a partial warp: "};
    const std::string place = fmt::format("{}:{}: {}: {}", file_->path, test_.line, test_.name, names[static_cast<int>(variant)]);
    const auto kernel = generate(test_, variant);
    ASSERT_TRUE(kernel.has_value()) << place << format_error(kernel.error());
    auto run = run_on_emulator(test_, *kernel);
    if (test_.expects_error) {
      ASSERT_FALSE(run.has_value()) << place << "ran, but should be an error";
      const std::string message = format_error(run.error());
      EXPECT_TRUE(std::regex_search(message, std::regex(test_.error_pattern)))
          << place << message << "\nexpected: " << test_.error_pattern;
      return;
    }
    ASSERT_TRUE(run.has_value()) << place << format_error(run.error());
    findings(place, run->report);
    const std::string difference = mismatch(test_, *kernel, run->results, read_symbol, &*run);
    if (difference.empty()) return;
    if (std::getenv("KW_UPDATE") && variant == Variant::kPlain) {
      for (const Expectation& e : test_.expected)
        g_updates[file_->path][e.line] = updated_line(test_, e, *kernel, run->results, read_symbol, &*run);
      return;
    }
    ADD_FAILURE() << place << "\n" << difference;
  }

  void findings(const std::string& place, const LaunchReport& report) {
    std::vector<bool> matched(report.findings.size(), false);
    for (const ExpectedFinding& wanted : test_.findings) {
      bool found = false;
      for (size_t i = 0; i < report.findings.size() && !found; ++i) {
        const Finding& f = report.findings[i];
        if (matched[i] || name_of(f.kind) != wanted.kind) continue;
        if (!wanted.pattern.empty() && !std::regex_search(f.message, std::regex(wanted.pattern))) continue;
        matched[i] = found = true;
      }
      EXPECT_TRUE(found) << place << "no finding '" << wanted.kind << "' that matches '" << wanted.pattern << "'";
    }
    for (size_t i = 0; i < report.findings.size(); ++i)
      EXPECT_TRUE(matched[i]) << place << "unexpected finding '" << name_of(report.findings[i].kind)
                              << "': " << report.findings[i].message << " at " << report.findings[i].party.instruction;
  }

  std::shared_ptr<const CaseFile> file_;
  const Case& test_;
};

std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

void write_updates() {
  for (const auto& [path, lines] : g_updates) {
    std::stringstream in(read_text(path)), out;
    std::string line;
    for (int n = 1; std::getline(in, line); ++n) {
      const auto update = lines.find(n);
      out << (update == lines.end() ? line : update->second) << '\n';
    }
    std::ofstream(path, std::ios::binary) << out.str();
    fmt::print("rewrote {} lines of {}\n", lines.size(), path);
  }
}

}  // namespace
}  // namespace kw::emu

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  testing::InitGoogleTest(&argc, argv);
  if (std::getenv("KW_UPDATE") && std::getenv("CI")) {
    fmt::print(stderr, "KW_UPDATE is refused where CI is set: expected values are changed by people\n");
    return 2;
  }
  std::vector<fs::path> paths(argv + 1, argv + argc);
  if (paths.empty())
    for (const auto& entry : fs::recursive_directory_iterator(KW_CASES_DIR))
      if (entry.path().extension() == ".test") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  int bad = 0;
  for (const fs::path& path : paths) {
    auto file = kw::emu::read_case_file(kw::emu::read_text(path), path.string());
    if (!file) {
      fmt::print(stderr, "{}\n", kw::format_error(file.error()));
      ++bad;
      continue;
    }
    auto shared = std::make_shared<const kw::emu::CaseFile>(std::move(*file));
    for (const kw::emu::Case& test : shared->cases)
      testing::RegisterTest(path.stem().c_str(), fmt::format("line_{}", test.line).c_str(), nullptr, nullptr, path.c_str(), test.line,
                            [shared, &test]() -> testing::Test* { return new kw::emu::CaseTest(shared, test); });
  }
  const int result = RUN_ALL_TESTS();
  if (std::getenv("KW_UPDATE")) kw::emu::write_updates();
  return bad ? 2 : result;
}
