// What a search shows while it goes on: the lines themselves, and what is on a terminal after they were written over each other.
#include "command/optimize_view.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/source_text.h"
#include "base/text_table.h"

namespace kw::command {
namespace {

// A search of `count` candidates, each made from the one before and faster than it.
View deep_view(search::NodeId count, const std::string& idea) {
  View view;
  view.evaluations = 40;
  for (search::NodeId node = 0; node <= count; ++node)
    view.attempts[node] = {node == 0 ? 0 : node - 1, "", node == 0 ? "the start" : idea, "correct", {.works = true, .seconds = 40e-6 / (1 + node)}};
  return view;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

TEST(OptimizeView, HasBudgetBestAndTheWayThere) {
  View view = deep_view(2, "kVector = 4 instead of 2");
  view.attempts[3] = {1, "", "kStaged = true instead of false", "wrong at shapes", {}};
  view.trying[4] = {2, "kThreads = 256 instead of 64"};
  view.last = 3;
  EXPECT_EQ(joined(view_lines(view, 100)),
            "[#.......................] 3 of 40 evaluated, 2 of them right\n"
            "best so far: 3.00x the start, 13.33 us by estimate\n"
            "   1.00x  0 the start\n"
            "   2.00x    1 kVector = 4 instead of 2\n"
            "   3.00x      2 kVector = 4 instead of 2\n"
            "now: 4 from 2: kThreads = 256 instead of 64\n"
            "last: 3 wrong at shapes: kStaged = true instead of false\n"
            "Ctrl-C stops after what is being evaluated\n");
  view.ended = true;
  view.grade = profile::Grade::kMeasured;
  const std::string end = joined(view_lines(view, 100));
  EXPECT_EQ(end.find("now:"), std::string::npos) << end;
  EXPECT_EQ(end.find("Ctrl-C"), std::string::npos) << end;
  EXPECT_NE(end.find("13.33 us measured\n"), std::string::npos) << end;
}

TEST(OptimizeView, BeforeAnythingIsKnown) {
  View view;
  view.evaluations = 16;
  view.trying[0] = {0, "the start"};
  const std::string text = joined(view_lines(view, 80));
  EXPECT_NE(text.find("0 of 16 evaluated, 0 of them right\nthe start is being judged\nnow: 0 the start\n"), std::string::npos) << text;
  view.trying.clear();
  view.attempts[0] = {0, "", "the start", "wrong at smallest", {}};
  EXPECT_NE(joined(view_lines(view, 80)).find("best so far: none is right\n       -  0 the start\nnow: choosing what to try\n"), std::string::npos) << joined(view_lines(view, 80));
}

TEST(OptimizeView, LongWaysAndManyAtOnceAreShortened) {
  View view = deep_view(30, "wider");
  for (search::NodeId node = 31; node < 39; ++node) view.trying[node] = {30, "another"};
  view.last = 30;
  const auto lines = view_lines(view, 80);
  EXPECT_EQ(lines.size(), kMostViewLines);
  const std::string text = joined(lines);
  EXPECT_NE(text.find("   1.00x  0 the start\n     ...  27 more steps\n"), std::string::npos) << text;
  EXPECT_NE(text.find("31.00x                  30 wider\n"), std::string::npos) << text;
  EXPECT_NE(text.find("     and 6 more\n"), std::string::npos) << text;
}

// Whatever an idea is: its lines keep their number and their width, and move no cursor.
TEST(OptimizeView, KeepsItsShapeWhateverTextsSay) {
  const std::string long_word(5000, 'x');
  std::string wide;
  for (int i = 0; i < 200; ++i) wide += "\xe6\xbc\xa2";   // 漢
  for (const std::string& text : {std::string("\x1b[2J\x1b[999A\r\b\x07 end"), std::string("two\nlines\r\nand a\ttab"), std::string("\xff\xfe\xc0 \xc2\x9b" "31m"), long_word, wide, std::string(),
                                  std::string("\xe2\x80\xae turned"), std::string("a\xe2\x80\xa8" "b")}) {
    for (size_t width = 20; width <= 200; ++width) {
      View view = deep_view(12, text);
      view.attempts[5].verdict = text;
      view.trying[13] = {12, text};
      view.last = 5;
      const auto lines = view_lines(view, width);
      EXPECT_EQ(lines.size(), 10u);
      for (const std::string& line : lines) {
        EXPECT_EQ(line, printable_text(line));
        EXPECT_EQ(line.find_first_of("\n\t"), std::string::npos) << line;
        EXPECT_LE(display_width(line), width);
        EXPECT_EQ(line.find("\xe2\x80\xae"), std::string::npos);
        size_t columns = 0;
        for (size_t at = 0; at < line.size(); at += line.compare(at, 3, "\xe6\xbc\xa2") == 0 ? 3 : 1) columns += line.compare(at, 3, "\xe6\xbc\xa2") == 0 ? 2 : 1;
        EXPECT_LE(columns, width) << line;
      }
    }
  }
}

// As much of a terminal as the block needs; what it does not know fails.
class Terminal {
 public:
  void write(std::string_view text) {
    for (size_t at = 0; at < text.size(); ++at) {
      if (text[at] == '\r') column_ = 0;
      else if (text[at] == '\n') ++row_, column_ = 0;
      else if (text[at] != '\033') put(text[at]);
      else at = escape(text, at);
    }
  }
  std::string screen() const {
    std::string out;
    for (const std::string& line : rows_) out += line + "\n";
    return out;
  }
  size_t row() const { return row_; }

 private:
  std::string& line() {
    if (rows_.size() <= row_) rows_.resize(row_ + 1);
    return rows_[row_];
  }
  void put(char c) {
    if (line().size() <= column_) line().resize(column_ + 1, ' ');
    line()[column_++] = c;
  }
  size_t escape(std::string_view text, size_t at) {
    size_t end = at + 2;
    size_t number = 0;
    for (; end < text.size() && text[end] >= '0' && text[end] <= '9'; ++end) number = 10 * number + static_cast<size_t>(text[end] - '0');
    const char kind = end < text.size() ? text[end] : '\0';
    if (kind == 'A' && number <= row_) row_ -= number;
    else if (kind == 'K' && number == 0) line().resize(std::min(line().size(), column_));
    else if (kind == 'J' && number == 0) line().resize(std::min(line().size(), column_)), rows_.resize(row_ + (column_ > 0 ? 1 : 0));
    else ADD_FAILURE() << "an escape sequence that is none of ours: " << text.substr(at + 1, 8);
    return end;
  }
  std::vector<std::string> rows_;
  size_t row_ = 0, column_ = 0;
};

struct Scene {
  Terminal terminal;
  std::string notes;
  Output output;
  agent::ReportData before;
  explicit Scene(bool live, Extent extent = {}) {
    output.note = [this](std::string_view text) {
      notes += text;
      if (output.live) terminal.write(text);
    };
    output.live = live;
    output.extent = [extent] { return extent; };
    before.settings.evaluations = 16;
  }
  static search::Assignment assignment(search::NodeId node, const std::string& idea) { return {0, node, 0, {"state", idea, 0.5}}; }
  static void tell(SearchProgress& progress, search::NodeId node, const std::string& idea, double seconds) {
    agent::Evaluation evaluation;
    evaluation.name = seconds > 0 ? "correct" : "wrong";
    if (seconds <= 0) evaluation.rung = "shapes";
    evaluation.outcome = {.works = seconds > 0, .seconds = seconds};
    progress.evaluated({{node, 0, {"state", idea, 0.5}, evaluation.outcome}, evaluation});
  }
};

TEST(SearchProgress, OnATerminalTheBlockStandsOnce) {
  Scene scene(true);
  scene.terminal.write("what was there\n");
  SearchProgress progress(scene.output, scene.before);
  progress.begins(Scene::assignment(0, "the start"));
  Scene::tell(progress, 0, "the start", 40e-6);
  for (search::NodeId node = 1; node < 5; ++node) {
    progress.begins(Scene::assignment(node, "an idea"));
    if (node == 3) scene.terminal.write("^C");   // the terminal's echo
    Scene::tell(progress, node, "an idea", node == 2 ? 0 : 40e-6 / node);
  }
  progress.ended();
  EXPECT_EQ(scene.terminal.screen(),
            "what was there\n"
            "[######..................] 4 of 16 evaluated, 3 of them right\n"
            "best so far: 4.00x the start, 10 us by estimate\n"
            "   1.00x  0 the start\n"
            "   4.00x    4 an idea\n"
            "last: 4 correct, 4.00x: an idea\n");
  EXPECT_EQ(scene.terminal.row(), 6u) << "what is said next stands below";
}

TEST(SearchProgress, NeverTallerThanTheTerminal) {
  Scene scene(true, {.columns = 40, .rows = 4});
  SearchProgress progress(scene.output, scene.before);
  progress.begins(Scene::assignment(0, "the start"));
  Scene::tell(progress, 0, "the start", 40e-6);
  Scene::tell(progress, 1, "an idea", 20e-6);
  EXPECT_EQ(scene.terminal.row(), 3u) << scene.terminal.screen();
}

TEST(SearchProgress, ElsewhereALineForEachCandidate) {
  Scene scene(false);
  SearchProgress progress(scene.output, scene.before);
  progress.begins(Scene::assignment(0, "the start"));
  Scene::tell(progress, 0, "the start", 161.3e-6);
  Scene::tell(progress, 1, "kThreads = 128 instead of 256", 191.2e-6);
  Scene::tell(progress, 2, "kVector\n= 2 \x1b[2J", 0);
  Scene::tell(progress, 3, "kVector = 4", 80.65e-6);
  progress.ended();
  EXPECT_EQ(scene.notes,
            "  0/16  the start                                correct                161.3 us\n"
            "  1/16  kThreads = 128 instead of 256            correct                191.2 us  0.84x the start, best 1.00x\n"
            "  2/16  kVector = 2 ?[2J                         wrong at shapes     \n"
            "  3/16  kVector = 4                              correct                80.65 us  2.00x the start, best 2.00x\n");
}

TEST(SearchProgress, KnowsWhatAnEarlierLifeFound) {
  Scene scene(false);
  scene.before.attempts[0] = {0, "", "the start", "correct", {.works = true, .seconds = 80e-6}};
  scene.before.attempts[1] = {0, "", "an idea", "correct", {.works = true, .seconds = 20e-6}};
  SearchProgress progress(scene.output, scene.before);
  Scene::tell(progress, 2, "another", 40e-6);
  EXPECT_NE(scene.notes.find("40 us  2.00x the start, best 4.00x\n"), std::string::npos) << scene.notes;
}

TEST(SearchProgress, FromManyThreads) {
  Scene scene(true);
  SearchProgress progress(scene.output, scene.before);
  Scene::tell(progress, 0, "the start", 40e-6);
  std::vector<std::thread> threads;
  for (search::NodeId thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&progress, thread] {
      for (search::NodeId i = 0; i < 20; ++i) {
        const search::NodeId node = 1 + 4 * i + thread;
        progress.begins(Scene::assignment(node, "an idea"));
        Scene::tell(progress, node, "an idea", 39e-6);
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_NE(scene.terminal.screen().find("80 of 16 evaluated, 80 of them right"), std::string::npos) << scene.terminal.screen();
}

}  // namespace
}  // namespace kw::command
