// Any bytes, line by line, as the events of a search that is to go on, and as entries of its memory. What was read is written and read
// again the same; whatever the events say, the search goes on within its budget or refuses them.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "search/search.h"

using namespace kw;

namespace {

struct Plain : search::Environment {
  Result<std::vector<search::Proposal>> propose(const search::Situation& s) override {
    const std::string& parent = s.path.back().proposal.state;
    std::vector<search::Proposal> out;
    for (int i = 0; i < 2; ++i) out.push_back({fmt::format("{}{}", parent.substr(0, 64), s.step * 2 + i), "i", 0.5});
    return out;
  }
  Result<search::Outcome> evaluate(const search::Assignment& a) override {
    return search::Outcome{.works = a.node % 3 != 0, .seconds = 1.0 / (1 + a.node % 7)};
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::vector<search::Event> events;
  while (!bytes.empty()) {
    const std::string_view line = bytes.substr(0, bytes.find('\n'));
    bytes.remove_prefix(std::min(bytes.size(), line.size() + 1));
    if (const auto experience = search::experience_from(line)) {
      const auto again = search::experience_from(search::experience_json(*experience));
      KW_CHECK(again && (*again == *experience || std::isnan(experience->gain)));
    }
    auto event = search::event_from(line);
    if (!event) continue;
    const std::string text = search::event_json(*event);
    const auto again = search::event_from(text);
    KW_CHECK(again && search::event_json(*again) == text);
    events.push_back(std::move(*event));
  }
  Plain environment;
  constexpr uint64_t kBudget = 12;
  for (const search::Strategy strategy : {search::Strategy::kMcts, search::Strategy::kGreedy, search::Strategy::kBestOfN})
    for (const int in_flight : {1, 3}) {
      const search::Options options{.strategy = strategy, .evaluations = kBudget, .in_flight = in_flight};
      const auto found = search::run(environment, {"r", {.works = true, .seconds = 1}}, options, {}, events);
      if (found) KW_CHECK(found->evaluations <= kBudget + events.size());
      else KW_CHECK(found.error().code == ErrorCode::kInvalid);
    }
  return 0;
}
