#include "command/command.h"

#include <gtest/gtest.h>

#include <set>

namespace kw::command {
namespace {

Command sample() {
  return {{"sample"},
          "a sample",
          "",
          {{"file", ArgumentKind::kPath, true, true, "", "the file", {}},
           {"count", ArgumentKind::kInteger, false, false, "7", "how many", {}},
           {"width", ArgumentKind::kReal, false, false, "", "how wide", {}},
           {"mode", ArgumentKind::kText, false, false, "", "which", {"a", "b"}}},
          nullptr};
}

TEST(Bind, FillsDefaults) {
  const auto bound = bind(sample(), {{"file", "x"}}, {});
  ASSERT_TRUE(bound.has_value());
  EXPECT_EQ(bound->integer("count"), 7u);
  EXPECT_FALSE(bound->has("mode"));
}

TEST(Bind, EveryRefusalNamesTheArgument) {
  const std::pair<std::map<std::string, std::string>, const char*> cases[] = {
      {{}, "file"},
      {{{"file", "x"}, {"count", "many"}}, "count"},
      {{{"file", "x"}, {"count", "-1"}}, "count"},
      {{{"file", "x"}, {"width", "nan"}}, "width"},
      {{{"file", "x"}, {"width", "0"}}, "width"},
      {{{"file", ""}}, "file"},
      {{{"file", "x"}, {"mode", "c"}}, "mode"},
      {{{"file", "x"}, {"colour", "red"}}, "colour"},
  };
  for (const auto& [values, name] : cases) {
    const auto bound = bind(sample(), values, {});
    ASSERT_FALSE(bound.has_value()) << name;
    EXPECT_NE(bound.error().message.find(name), std::string::npos) << bound.error().message;
    EXPECT_FALSE(bound.error().notes.empty());
  }
}

TEST(Bind, RepeatedArguments) {
  const Command command{{"sample"},
                        "a sample",
                        "",
                        {{"in", ArgumentKind::kPath, false, false, "", "where", {}, true}, {"words", ArgumentKind::kText, true, true, "", "what", {}, true}},
                        nullptr};
  const auto bound = bind(command, {}, {}, {{"words", {"a", "b"}}, {"in", {"x", "y"}}});
  ASSERT_TRUE(bound.has_value());
  EXPECT_EQ(bound->texts("words"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(bound->texts("in"), (std::vector<std::string>{"x", "y"}));
  EXPECT_TRUE(bind(command, {}, {}, {{"words", {"a"}}})->texts("in").empty());
  EXPECT_NE(bind(command, {}, {}).error().message.find("words is missing"), std::string::npos);
  EXPECT_NE(bind(command, {}, {}, {{"words", {"a"}}, {"in", {""}}}).error().message.find("in is empty"), std::string::npos);
  EXPECT_NE(bind(command, {}, {}, {{"words", {"a"}}, {"out", {"x"}}}).error().message.find("out"), std::string::npos);
  EXPECT_FALSE(bind(command, {{"in", "x"}}, {}, {{"words", {"a"}}}).has_value());
}

TEST(Table, NamesAreUniqueAndHelpIsThere) {
  std::set<std::vector<std::string>> paths;
  for (const Command& command : commands()) {
    EXPECT_TRUE(paths.insert(command.path).second);
    EXPECT_FALSE(command.summary.empty());
    EXPECT_NE(command.run, nullptr);
    for (const Argument& argument : command.arguments) EXPECT_FALSE(argument.help.empty()) << argument.name;
  }
}

}  // namespace
}  // namespace kw::command
