#include "codesearch/terms.h"

#include <gtest/gtest.h>

#include "codesearch/question.h"

namespace kw::codesearch {
namespace {

using Terms = std::vector<std::string>;

Terms words_of(std::string_view text, bool prose) {
  Terms out;
  for (size_t at = 0;;) {
    const std::string_view word = next_word(text, at, prose);
    if (word.empty()) return out;
    out.emplace_back(word);
  }
}

TEST(Terms, OneThingWrittenInThreeWaysIsTheSame) {
  const Terms wanted = {"cp", "cp_async", "async", "async_wait", "wait", "cp_async_wait"};
  for (const char* word : {"cpAsyncWait", "cp_async_wait", "cp.async.wait", "CP_ASYNC_WAIT", "cp_async_waits"}) EXPECT_EQ(terms_of(word), wanted) << word;
}

TEST(Terms, PartsOfNames) {
  EXPECT_EQ(parts_of("MainloopSm90TmaGmma"), (Terms{"mainloop", "sm90", "tma", "gmma"}));
  EXPECT_EQ(parts_of("HTTPServer"), (Terms{"http", "serv"}));
  EXPECT_EQ(parts_of("kM16"), (Terms{"k", "m16"}));
  EXPECT_EQ(joined("sm", "90a"), "sm90a");
  EXPECT_EQ(parts_of("___"), Terms{});
  EXPECT_EQ(parts_of(""), Terms{});
}

TEST(Terms, EndingsAreTakenOff) {
  for (const auto& [a, b] : {std::pair{"reduction", "reduce"}, {"quantization", "quantized"}, {"stages", "staging"}, {"swizzled", "swizzling"}, {"mapped", "map"},
                             {"warps", "warp"}, {"normalization", "normalize"}})
    EXPECT_EQ(parts_of(a), parts_of(b)) << a;
  EXPECT_NE(parts_of("row"), parts_of("rose"));
  EXPECT_EQ(parts_of("class"), Terms{"class"});
}

TEST(Terms, WordsOfCodeAndOfProse) {
  EXPECT_EQ(words_of("a-b = cp.async(x.y, 1.5f);", false), (Terms{"a", "b", "cp.async", "x.y", "1.5f"}));
  EXPECT_EQ(words_of("split-k, top-k. -x- end", true), (Terms{"split-k", "top-k", "x", "end"}));
  EXPECT_EQ(words_of(std::string(kLongestWord + 1, 'x') + " y", true), Terms{"y"});
  EXPECT_EQ(words_of("\x80\xff \xe2\x82\xac z", true), Terms{"z"});
}

TEST(Question, SaysWhatItsWordsStandFor) {
  bool mma = false, joined_up = false;
  for (const Concept& wanted : concepts_of("how does the tensor core top k work"))
    for (const Terms& way : wanted.ways) {
      mma = mma || way == Terms{"wgmma"};
      joined_up = joined_up || way == Terms{"topk"};
      EXPECT_NE(way, Terms{"how"});
    }
  EXPECT_TRUE(mma);
  EXPECT_TRUE(joined_up);
  EXPECT_TRUE(concepts_of("how do I").empty());
  EXPECT_TRUE(concepts_of("").empty());
  EXPECT_TRUE(concepts_of("--- ... ___").empty());
}

}  // namespace
}  // namespace kw::codesearch
