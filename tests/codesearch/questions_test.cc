// questions.test: each question's file among the first three passages, but for the known misses; and the mean reciprocal rank of all.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "base/file.h"
#include "codesearch/index.h"

namespace kw::codesearch {
namespace {

constexpr size_t kFirst = 3;
constexpr double kLeastMeanReciprocalRank = 0.8;   // of all questions, those missed with 0

struct Question {
  int line = 0;
  std::string words, miss;
  std::vector<std::string> files;
};

std::vector<Question> questions() {
  const auto text = read_file(KW_SOURCE_DIR "/tests/codesearch/questions.test");
  EXPECT_TRUE(text.has_value());
  std::vector<Question> out;
  std::istringstream lines(text.value_or(""));
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    std::string key, rest;
    words >> key >> std::ws;
    std::getline(words, rest);
    if (key == "ask") out.push_back({number, rest, "", {}});
    else if (key == "miss" && !out.empty()) out.back().miss = rest;
    else if (key == "in" && !out.empty()) {
      std::istringstream files(rest);
      for (std::string file; files >> file;) out.back().files.push_back(file);
    } else {
      EXPECT_TRUE(key.empty() || key.starts_with('#')) << "questions.test:" << number << ": " << line;
    }
  }
  return out;
}

TEST(Questions, AreAnsweredAmongTheFirstThree) {
  // This tree alone, whatever else is installed.
  Roots roots;
  for (const char* name : {"kernels", "include/kernelwright", "docs"}) roots.places.push_back({name, std::string(KW_SOURCE_DIR "/") + name});
  const auto index = codesearch::index(roots);
  ASSERT_TRUE(index.has_value());
  const std::vector<Question> all = questions();
  ASSERT_GE(all.size(), 25u);
  double reciprocal = 0;
  size_t first = 0, among = 0;
  for (const Question& question : all) {
    EXPECT_FALSE(question.files.empty()) << question.words;
    for (const std::string& file : question.files) EXPECT_TRUE(index->read(file, 1, 1).has_value()) << "questions.test names " << file;
    const std::vector<Passage> found = index->find(question.words, {20, 1 << 20, 2});
    size_t rank = 0;
    for (size_t i = 0; i < found.size() && rank == 0; ++i)
      if (std::count(question.files.begin(), question.files.end(), found[i].path) > 0) rank = i + 1;
    if (rank > 0) reciprocal += 1.0 / static_cast<double>(rank);
    first += rank == 1 ? 1 : 0;
    among += rank > 0 && rank <= kFirst ? 1 : 0;
    std::string said;
    for (size_t i = 0; i < std::min<size_t>(found.size(), 5); ++i)
      said += "\n  " + found[i].path + ":" + std::to_string(found[i].from) + "-" + std::to_string(found[i].to) + "  " + found[i].name;
    const bool answered = rank > 0 && rank <= kFirst;
    if (question.miss.empty())
      EXPECT_TRUE(answered) << "questions.test:" << question.line << ": " << question.words << ": at place " << rank << said;
    else
      EXPECT_FALSE(answered) << "questions.test:" << question.line << ": is answered now: take its miss off";
  }
  const double mean = reciprocal / static_cast<double>(all.size());
  std::printf("%zu questions: %zu answered by the first passage, %zu by the first %zu; mean reciprocal rank %.3f\n", all.size(), first, among, kFirst, mean);
  EXPECT_GE(mean, kLeastMeanReciprocalRank);
}

}  // namespace
}  // namespace kw::codesearch
