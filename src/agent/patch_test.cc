// Edits that a model answers: applied as meant, or refused with a message that it can use.
#include "agent/patch.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace kw::agent {
namespace {

constexpr char kSource[] = "one\ntwo\nthree\nfour\n";

std::string patched(const std::string& json) {
  const auto patch = patch_from(json);
  if (!patch) return patch.error().message;
  const auto out = apply(*patch, kSource);
  return out ? *out : out.error().message;
}

TEST(Patch, EditsAreMadeWhereTheyWereMeant) {
  const struct {
    const char *json, *expected;
  } cases[] = {
      {R"([{"action": "replace", "line": 2, "code": "TWO"}])", "one\nTWO\nthree\nfour\n"},
      {R"([{"action": "replace", "line": 2, "count": 2, "code": ["a", "b", "c"]}])", "one\na\nb\nc\nfour\n"},
      {R"([{"action": "delete", "line": 1, "count": 4}])", ""},
      {R"([{"action": "insert", "line": 1, "code": "zero"}])", "zero\none\ntwo\nthree\nfour\n"},
      {R"([{"action": "insert", "line": 5, "code": "five\nsix\n"}])", "one\ntwo\nthree\nfour\nfive\nsix\n"},
      // Lines are those of the kernel as it was shown, whatever other edits do, in whatever order they stand.
      {R"([{"action": "delete", "line": 1}, {"action": "replace", "line": 4, "code": "IV"}, {"action": "insert", "line": 3, "code": "2.5"}])", "two\n2.5\nthree\nIV\n"},
      {R"([{"action": "replace", "line": 4, "code": "IV"}, {"action": "insert", "line": 3, "code": "2.5"}, {"action": "delete", "line": 1}])", "two\n2.5\nthree\nIV\n"},
      {R"([{"action": "insert", "line": 2, "code": "a"}, {"action": "insert", "line": 2, "code": "b"}])", "one\na\nb\ntwo\nthree\nfour\n"},
      {R"([{"action": "insert", "line": 2, "code": "a"}, {"action": "delete", "line": 2, "count": 2}])", "one\na\nfour\n"},
      {R"([{"action": "replace", "line": 1, "code": ["a", "", "b"]}])", "a\n\nb\ntwo\nthree\nfour\n"},
      {R"([{"action": "replace", "line": 1, "code": ""}])", "\ntwo\nthree\nfour\n"},
      // The names that the method's authors use.
      {R"([{"action": "replace", "line_number": 2, "num_lines": 2, "new_code": "x"}])", "one\nx\nfour\n"},
      {R"({"reasoning": "…", "edits": [{"action": "delete", "line": 4}]})", "one\ntwo\nthree\n"},
  };
  for (const auto& each : cases) EXPECT_EQ(patched(each.json), each.expected) << each.json;
}

TEST(Patch, WhatCannotBeMeantIsRefused) {
  const struct {
    const char *json, *says;
  } cases[] = {
      {R"([{"action": "replace", "line": 5, "code": "x"}])", "edit 1 reaches line 5, and the kernel has 4"},
      {R"([{"action": "delete", "line": 3, "count": 3}])", "edit 1 reaches line 5"},
      {R"([{"action": "delete", "line": 3, "count": 2147483647}])", "edit 1 reaches line"},
      {R"([{"action": "insert", "line": 6, "code": "x"}])", "edit 1 reaches line 6"},
      {R"([{"action": "delete", "line": 0}])", "a number from 1 on"},
      {R"([{"action": "delete", "line": -1}])", "a number from 1 on"},
      {R"([{"action": "delete", "line": 99999999999999}])", "a number from 1 on"},
      {R"([{"action": "delete", "line": "2"}])", "a number from 1 on"},
      {R"([{"action": "delete"}])", "a number from 1 on"},
      {R"([{"action": "replace", "line": 1}])", "\"code\" is to be a text"},
      {R"([{"action": "replace", "line": 1, "code": []}])", "\"code\" is to be a text"},
      {R"([{"action": "replace", "line": 1, "code": ["a", 7]}])", "\"code\" is to be a text"},
      {R"([{"action": "rewrite", "line": 1, "code": "x"}])", "\"action\" is to be"},
      {R"([{"action": "replace", "line": 2, "count": 2, "code": "x"}, {"action": "delete", "line": 3}])", "edits 1 and 2 overlap at line 3"},
      {R"([{"action": "replace", "line": 2, "count": 2, "code": "x"}, {"action": "insert", "line": 3, "code": "y"}])", "edit 2 inserts at line 3, which edit 1 takes away"},
      {R"({"revision": "00000000", "edits": [{"action": "delete", "line": 1}]})", "the edits are for revision 00000000, and the kernel is at"},
      {R"({"edits": []})", "there are no edits"},
      {R"({"edits": 7})", "there are no edits"},
      {R"([7])", "edit 1 is no object"},
      {R"({})", "there are no edits"},
      {R"("edits")", "there are no edits"},
      {"[{", "no JSON"},
      {"", "no JSON"},
  };
  for (const auto& each : cases) EXPECT_NE(patched(each.json).find(each.says), std::string::npos) << each.json << ": " << patched(each.json);
}

TEST(Patch, TheRevisionThatWasShownIsTheOneThatIsEdited) {
  const std::string json = fmt::format(R"({{"revision": "{}", "edits": [{{"action": "delete", "line": 1}}]}})", revision_of(kSource));
  EXPECT_EQ(patched(json), "two\nthree\nfour\n");
  EXPECT_EQ(numbered("a\nb"), "   1| a\n   2| b\n");
}

TEST(Patch, AKernelDoesNotGrowWithoutEnd) {
  Patch patch;
  patch.edits.push_back({Edit::Action::kInsert, 1, 1, std::vector<std::string>(100, std::string(20000, 'x'))});
  const auto out = apply(patch, kSource);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, ErrorCode::kLimit);
}

// Any edits that are accepted leave every line that none of them names.
TEST(Patch, AnyTextIsAPatchOrARefusal) {
  const std::string good = R"({"revision": "", "edits": [{"action": "replace", "line": 2, "count": 2, "code": ["a", "b"]}, {"action": "insert", "line": 1, "code": "c"}]})";
  Rng rng(5);
  for (int i = 0; i < 20000; ++i) {
    std::string text = good;
    for (uint64_t n = 1 + rng.below(4); n > 0; --n) text[rng.below(text.size())] = static_cast<char>(rng.below(3) == 0 ? rng.below(256) : '0' + rng.below(10));
    const auto patch = patch_from(text);
    if (!patch) continue;
    const auto out = apply(*patch, kSource);
    if (!out) continue;
    for (const auto& [line, name] : {std::pair{1, "one\n"}, {2, "two\n"}, {3, "three\n"}, {4, "four\n"}}) {
      bool named = false;
      for (const Edit& edit : patch->edits) named = named || (edit.action != Edit::Action::kInsert && edit.line <= static_cast<size_t>(line) && edit.line + edit.count > static_cast<size_t>(line));
      EXPECT_EQ(out->find(name) != std::string::npos, !named) << text;
    }
  }
}

}  // namespace
}  // namespace kw::agent
