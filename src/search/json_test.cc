#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "search/event.h"
#include "search/memory.h"

namespace kw::search {
namespace {

const Event kAsked{3, Proposed{2, {{"state \"x\"\n\xc3\xa9", "idea", 0.1}, {"", "", 1}}}};
const Event kEvaluated{uint64_t{1} << 60,
                       Evaluated{7, 2, {"s", "i", 0.7}, {true, 1.0 / 3, 0.01, 5e-324, "learned", "made"}}};

TEST(SearchJson, EventsComeBackExactly) {
  for (const Event& event : {kAsked, kEvaluated, Event{0, Proposed{}}}) {
    const std::string text = event_json(event);
    EXPECT_EQ(text.find('\n'), std::string::npos) << "one line";
    const auto back = event_from(text);
    ASSERT_TRUE(back) << format_error(back.error());
    EXPECT_EQ(*back, event);
  }
  EXPECT_EQ(kind_of(kAsked), "proposed");
  EXPECT_EQ(kind_of(kEvaluated), "evaluated");
}

TEST(SearchJson, EventsFromBeforeThereWasMadeAreRead) {
  std::string text = event_json(kEvaluated);
  text.erase(text.find(R"(,"made":"made")"), 14);
  Event without = kEvaluated;
  std::get<Evaluated>(without.what).outcome.made.clear();
  const auto back = event_from(text);
  ASSERT_TRUE(back) << format_error(back.error());
  EXPECT_EQ(*back, without);
}

TEST(SearchJson, NumbersThatAreNone) {
  Event event = kEvaluated;
  for (const double odd : {NAN, INFINITY, -INFINITY}) {
    std::get<Evaluated>(event.what).outcome.seconds = odd;
    const auto back = event_from(event_json(event));
    ASSERT_TRUE(back);
    const double got = std::get<Evaluated>(back->what).outcome.seconds;
    EXPECT_TRUE(got == odd || (std::isnan(got) && std::isnan(odd)));
  }
}

TEST(SearchJson, BytesThatAreNoUtf8AreReplaced) {
  EXPECT_TRUE(event_from(event_json({0, Proposed{0, {{"\xff\xfe", "\x80", 0.5}}}})));
}

TEST(SearchJson, ExperienceComesBack) {
  const Experience experience{9, 5, 2, 0.75, {"a", "b"}};
  const auto back = experience_from(experience_json(experience));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, experience);
  EXPECT_FALSE(experience_from(R"({"tried":1,"worked":2,"faster":0,"gain":0,"remarks":[]})"))
      << "more worked than were tried";
}

TEST(SearchJson, AnythingElseIsAnError) {
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("[]"), std::string("null"), std::string("7"),
        std::string(100000, '['), std::string("{\"step\":-1,\"parent\":0,\"proposed\":[]}"),
        std::string("{\"step\":0,\"parent\":4294967296,\"proposed\":[]}")}) {
    EXPECT_EQ(event_from(text).error().code, ErrorCode::kInvalid);
    EXPECT_EQ(experience_from(text).error().code, ErrorCode::kInvalid);
  }
  Rng rng(1);
  for (const Event& event : {kAsked, kEvaluated}) {
    const std::string good = event_json(event);
    for (size_t cut = 0; cut < good.size(); ++cut) EXPECT_FALSE(event_from(good.substr(0, cut)));
    for (int trial = 0; trial < 2000; ++trial) {
      std::string changed = good;
      changed[rng.below(changed.size())] = static_cast<char>(rng.below(256));
      if (const auto read = event_from(changed)) {
        EXPECT_TRUE(event_from(event_json(*read)));
      }
    }
  }
}

}  // namespace
}  // namespace kw::search
