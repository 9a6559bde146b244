// The program kw from outside: exit codes, messages, JSON, and no file left where it ran. Cases are text
// (docs/formats/cli_case.md); each runs in a fresh folder, with TMPDIR and the cache in folders of their own.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include "base/file.h"
#include "base/jail.h"
#include "base/subprocess.h"
#include "toolchain/toolchain.h"

namespace kw::cli_cases {
namespace {

namespace fs = std::filesystem;

struct File {
  std::string name, content;
};
struct Case {
  std::string title, place;
  std::vector<File> files;
  std::vector<std::string> arguments;
  std::string redirect;                 // for a shell: where stdout goes
  std::vector<std::string> pipes;       // named ones
  std::map<std::string, std::string> env;
  bool needs_nvcc = false;
  int exit_code = -1;
  std::vector<std::string> out, err, not_out, json_keys;
  std::string leaves;   // a folder in which files may be left
  double within_s = 60;
};

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

std::string from_hex(const std::string& hex) {
  std::string out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    int byte = 0;
    std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
    out += static_cast<char>(byte);
  }
  return out;
}

// Cases are separated by blank lines; a file that is no case file throws, since nothing can be registered then.
std::vector<Case> read_cases(const std::string& path) {
  auto text = read_file(path);
  if (!text) throw std::runtime_error(text.error().message);
  std::vector<Case> cases;
  std::istringstream in(*text);
  bool open = false;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const std::string place = path + ":" + std::to_string(number);
    if (line.empty()) {
      open = false;
      continue;
    }
    if (line[0] == '#') {
      if (!open) cases.push_back({line.size() > 2 ? line.substr(2) : "", place});
      open = true;
      continue;
    }
    if (!open) throw std::runtime_error(place + ": a case begins with '# title'");
    Case& c = cases.back();
    if (line.rfind("  ", 0) == 0 && !c.files.empty()) {
      c.files.back().content += line.substr(2) + "\n";
      continue;
    }
    const size_t blank = line.find(' ');
    const std::string key = line.substr(0, blank), value = blank == std::string::npos ? "" : line.substr(blank + 1);
    if (key == "file") c.files.push_back({value, ""});
    else if (key == "bytes") c.files.push_back({words(value).at(0), from_hex(words(value).at(1))});
    else if (key == "fill") {
      const auto parts = words(value);
      File file{parts.at(0), ""};
      for (int i = std::stoi(parts.at(1)); i > 0; --i) file.content += parts.at(2);
      c.files.push_back(file);
    } else if (key == "pipe") c.pipes.push_back(value);
    else if (key == "env") c.env[value.substr(0, value.find('='))] = value.substr(value.find('=') + 1);
    else if (key == "stdout" && (value == "full" || value == "closed")) c.redirect = value == "full" ? ">/dev/full" : ">&-";
    else if (key == "kw") c.arguments = words(value);
    else if (key == "needs-nvcc") c.needs_nvcc = true;
    else if (key == "exit") c.exit_code = std::stoi(value);
    else if (key == "out") c.out.push_back(value);
    else if (key == "not-out") c.not_out.push_back(value);
    else if (key == "err") c.err.push_back(value);
    else if (key == "json") c.json_keys = words(value);
    else if (key == "leaves") c.leaves = value;
    else if (key == "within") c.within_s = std::stod(value);
    else throw std::runtime_error(place + ": unknown key '" + key + "'; docs/formats/cli_case.md lists them");
  }
  for (const Case& c : cases) {
    if (c.exit_code < 0) throw std::runtime_error(c.place + ": no 'exit'");
  }
  return cases;
}

std::string name_of(const std::string& title) {
  std::string name;
  for (const char c : title) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

class CliCase : public testing::Test {
 public:
  explicit CliCase(Case c) : case_(std::move(c)) {}

  void TestBody() override {
    if (case_.needs_nvcc) {
      if (auto nvcc = toolchain::find_nvcc(); !nvcc) GTEST_SKIP() << nvcc.error().message;
      if (jail_support().kind == JailKind::kNone) GTEST_SKIP() << "no jail: " << jail_support().remedy;
    }
    const std::string root = std::string(KW_CLI_BUILD_DIR) + "/" + name_of(case_.title);
    fs::remove_all(root);
    const std::string folder = root + "/work", temporary = root + "/tmp";
    ASSERT_TRUE(make_folder(folder) && make_folder(temporary));
    std::set<std::string> given;
    for (const File& file : case_.files) {
      const fs::path path = fs::path(folder) / file.name;
      ASSERT_TRUE(make_folder(path.parent_path().string()));
      ASSERT_TRUE(write_file(path.string(), file.content));
      given.insert(path.string());
    }
    Command command;
    for (const std::string& pipe : case_.pipes) {
      ASSERT_EQ(mkfifo((folder + "/" + pipe).c_str(), 0600), 0);
      given.insert(folder + "/" + pipe);
    }
    if (!case_.redirect.empty()) command.argv = {"/bin/sh", "-c", "exec \"$0\" \"$@\" " + case_.redirect};
    command.argv.push_back(KW_PROGRAM);
    for (std::string argument : case_.arguments) {
      if (const size_t at = argument.find("{src}"); at != std::string::npos) argument.replace(at, 5, KW_SOURCE_DIR);
      command.argv.push_back(argument);
    }
    command.cwd = folder;
    command.wall_seconds = case_.within_s;
    std::map<std::string, std::string> environment;
    for (char** variable = environ; *variable != nullptr; ++variable) {
      const std::string text = *variable;
      environment[text.substr(0, text.find('='))] = text.substr(std::min(text.size(), text.find('=') + 1));
    }
    environment["TMPDIR"] = temporary;
    environment["KW_CACHE"] = std::string(KW_CLI_BUILD_DIR) + "/cache";
    for (const auto& [name, value] : case_.env) environment[name] = value;
    command.env = environment;
    auto outcome = run_process(command);
    ASSERT_TRUE(outcome) << outcome.error().message;
    const std::string said = "stdout:\n" + outcome->out.substr(0, 4000) + "\nstderr:\n" + outcome->err.substr(0, 4000);
    ASSERT_EQ(outcome->reason, StopReason::kExited) << describe(*outcome) << "\n" << said;
    EXPECT_EQ(outcome->exit_code, case_.exit_code) << case_.place << "\n" << said;
    for (const auto& regex : case_.out) EXPECT_TRUE(std::regex_search(outcome->out, std::regex(regex))) << "not on stdout: " << regex << "\n" << said;
    for (const auto& regex : case_.err) EXPECT_TRUE(std::regex_search(outcome->err, std::regex(regex))) << "not on stderr: " << regex << "\n" << said;
    for (const auto& regex : case_.not_out) EXPECT_FALSE(std::regex_search(outcome->out + outcome->err, std::regex(regex))) << "said: " << regex << "\n" << said;
    if (case_.exit_code == 2) {
      EXPECT_FALSE(outcome->err.empty() && outcome->out.empty()) << "an error without a word";
      EXPECT_LE(outcome->err.size(), 64u << 10) << "an error as long as its input";
    }
    if (!case_.json_keys.empty()) {
      const auto json = nlohmann::ordered_json::parse(outcome->out, nullptr, false);
      ASSERT_TRUE(json.is_object()) << said;
      for (const auto& key : case_.json_keys) EXPECT_TRUE(json.contains(key)) << "no key " << key << "\n" << said;
    }
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.is_directory() || (!case_.leaves.empty() && entry.path().string().starts_with(folder + "/" + case_.leaves + "/"))) continue;
      EXPECT_EQ(given.count(entry.path().string()), 1u) << "left behind: " << entry.path();
    }
    for (const std::string& pipe : case_.pipes) EXPECT_TRUE(fs::is_fifo(folder + "/" + pipe)) << "replaced: " << pipe;
    for (const auto& entry : fs::directory_iterator(temporary)) ADD_FAILURE() << "left in TMPDIR: " << entry.path();
  }

 private:
  const Case case_;
};

// However a judge is told to stop while it compiles, it dies of that signal and leaves nothing.
TEST(Interrupted, AJudgeTakesItsTemporaryFoldersAlong) {
  if (auto nvcc = toolchain::find_nvcc(); !nvcc) GTEST_SKIP() << nvcc.error().message;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    auto temporary = TempDir::create();
    ASSERT_TRUE(temporary);
    Command command;
    // The cache is in the folder too, under a name of its own: compiling takes long enough to be interrupted.
    command.argv = {"/bin/sh", "-c",
                    "KW_CACHE=$3-cache TMPDIR=$3 \"$0\" judge \"$1\" \"$2\" & while [ -z \"$(ls $3)\" ]; do sleep 0.01; done; kill -$4 $!; wait $!",
                    KW_PROGRAM, KW_SOURCE_DIR "/problems/vector_add.problem", KW_SOURCE_DIR "/kernels/vector_add.cu", temporary->path(),
                    std::to_string(number)};
    const auto outcome = run_process(command);
    fs::remove_all(temporary->path() + "-cache");
    ASSERT_TRUE(outcome);
    // A shell starts what is in the background with SIGINT ignored, and so it stays.
    EXPECT_EQ(outcome->exit_code, number == SIGINT ? 0 : 128 + number) << outcome->err;
    EXPECT_TRUE(fs::is_empty(temporary->path())) << fs::directory_iterator(temporary->path())->path();
  }
}

TEST(Interrupted, AProgramThatIsAskedEndsWithItsChildren) {
  auto place = TempDir::create();
  ASSERT_TRUE(place);
  Command command;
  command.argv = {"/bin/sh", "-c",
                  "\"$0\" llm ask --llm \"command:sleep 100 & echo \\$! > $1/pid; wait\" hello & while [ ! -s $1/pid ]; do sleep 0.01; done; kill -TERM $!; wait $!",
                  KW_PROGRAM, place->path()};
  const auto outcome = run_process(command);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->exit_code, 128 + SIGTERM) << outcome->err;
  // The child is dead when its memory is gone, though nobody may have waited for it.
  const std::string statm = "/proc/" + std::to_string(std::stoi(*read_file(*place / "pid"))) + "/statm";
  std::string pages = "?";
  for (int i = 0; i < 200 && !(pages.empty() || pages == "0"); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    pages.clear();
    std::ifstream file(statm);
    file >> pages;
  }
  EXPECT_TRUE(pages.empty() || pages == "0") << pages;
}

// Asked to stop it ends what it does, reports, and goes on when told to.
TEST(Interrupted, AnOptimisationReportsAndGoesOn) {
  if (auto nvcc = toolchain::find_nvcc(); !nvcc) GTEST_SKIP() << nvcc.error().message;
  auto place = TempDir::create();
  ASSERT_TRUE(place);
  const std::string temporary = *place / "tmp";
  ASSERT_TRUE(make_folder(temporary));
  Command command;
  command.argv = {"/bin/sh", "-c",
                  "TMPDIR=$2 \"$0\" optimize \"$1\" --store $3/store --seed 1 --evaluations 2 2> $3/err & while ! grep -q ' 0/2' $3/err; do sleep 0.01; done; kill -TERM $!; wait $!",
                  KW_PROGRAM, KW_SOURCE_DIR "/problems/silu.problem", temporary, place->path()};
  command.wall_seconds = 300;
  const auto stopped = run_process(command);
  ASSERT_TRUE(stopped);
  EXPECT_EQ(stopped->exit_code, 128 + SIGTERM);
  EXPECT_NE(stopped->out.find("candidates evaluated so far"), std::string::npos) << stopped->out << *read_file(*place / "err");
  EXPECT_TRUE(fs::is_empty(temporary)) << fs::directory_iterator(temporary)->path();
  Command resume;
  resume.argv = {KW_PROGRAM, "optimize", "--resume", "1", "--store", *place / "store"};
  resume.wall_seconds = 300;
  const auto whole = run_process(resume);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->exit_code, 0) << whole->err;
  EXPECT_NE(whole->out.find("2 of 2 candidates evaluated, "), std::string::npos) << whole->out;
}

// What a judge that is killed leaves, whenever that is, the next one takes away; cache and evidence stay whole.
TEST(Interrupted, AKilledJudgeLeavesNothingForLong) {
  if (auto nvcc = toolchain::find_nvcc(); !nvcc) GTEST_SKIP() << nvcc.error().message;
  auto place = TempDir::create();
  ASSERT_TRUE(place);
  const std::string temporary = *place / "tmp", cache = *place / "cache", evidence = *place / "evidence";
  ASSERT_TRUE(make_folder(temporary));
  const auto run = [&](const std::string& script) {
    Command command;
    command.argv = {"/bin/sh", "-c", script, KW_PROGRAM, KW_SOURCE_DIR "/problems/row_softmax.problem", KW_SOURCE_DIR "/kernels/row_softmax.cu",
                    temporary, cache, evidence};
    command.wall_seconds = 300;
    return run_process(command);
  };
  const std::string judge = "KW_CACHE=$4 TMPDIR=$3 \"$0\" judge \"$1\" \"$2\" --seed 1 --evidence $5";
  int left = 0;
  for (const char* seconds : {"0", "0.1", "0.5", "2", "4"}) {
    const auto killed = run(judge + " & while [ -z \"$(ls $3)\" ]; do sleep 0.01; done; sleep " + seconds + "; kill -9 $!; wait $!");
    ASSERT_TRUE(killed);
    for (const auto& entry : fs::directory_iterator(temporary)) left += entry.is_directory();
  }
  EXPECT_GE(left, 1) << "the kill came too late to show anything";
  // As if all that had been a while ago.
  ASSERT_TRUE(run("find \"$3\" \"$4\" -depth -exec touch -h -d '20 minutes ago' {} +"));
  const auto last = run(judge);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->exit_code, 0) << last->err;
  EXPECT_EQ(last->out.substr(0, 8), "CORRECT:") << last->out;
  EXPECT_TRUE(fs::is_empty(temporary)) << fs::directory_iterator(temporary)->path();
  for (const std::string& folder : {cache + "/compiled", evidence + "/objects", evidence + "/verdicts"}) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      const bool whole = entry.is_directory() ? fs::exists(entry.path() / "program") && fs::exists(entry.path() / "log.txt") : fs::file_size(entry) > 0;
      EXPECT_TRUE(whole && name.find_last_of('.') != name.size() - 7) << entry.path();
    }
  }
  // What the last one stored judges the same again.
  const auto again = run("for each in $5/verdicts/*.json; do KW_CACHE=$4 TMPDIR=$3 \"$0\" judge --recheck $each || exit 1; done");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->exit_code, 0) << again->out << again->err;
}

int register_cases() {
  int registered = 0;
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(KW_CLI_CASES_DIR)) {
    if (entry.path().extension() == ".test") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    for (const Case& c : read_cases(file)) {
      testing::RegisterTest("cli", name_of(c.title).c_str(), nullptr, nullptr, __FILE__, __LINE__, [c]() -> testing::Test* { return new CliCase(c); });
      ++registered;
    }
  }
  return registered;
}

}  // namespace
}  // namespace kw::cli_cases

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  try {
    if (kw::cli_cases::register_cases() == 0) throw std::runtime_error("no cases");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return RUN_ALL_TESTS();
}
