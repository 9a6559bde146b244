// A bundle: candidates that have climbed as far as a machine without a GPU can tell, in one file (docs/formats/bundle.md). Of each
// the verdict so far, and of those that nothing has decided the recorded plans; the texts that they need, each once. worker.h goes on
// with them where the GPU is. Any bytes are a bundle or an error with a message. Values; thread-safe to read.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "judge/suite.h"

namespace kw::judge {

inline constexpr std::string_view kBundleSchema = "kernelwright/bundle/1";
inline constexpr uint64_t kMaxBundle = uint64_t{8} << 30;

struct BundleCase {
  SuiteCase c;                   // of one that goes on: the name, the target and what is expected
  Fixture expected;              // verdict, rungs, says
  std::string verdict;           // hash of its JSON; empty: the judge could not judge it
  bool goes_on = false;          // nothing has decided
  std::string source_folder, source_name;   // as the compiler knew them: places in findings begin so
  struct Recorded {
    WorkloadName workload;
    std::string plan;            // hash
  };
  std::vector<Recorded> plans;
};

class Bundle {
 public:
  // Every text is what its name says. `file` is for messages.
  static Result<Bundle> parse(std::string bytes, const std::string& file);
  static Result<Bundle> open(const std::string& file);

  std::string folder;            // of the suite; empty for single candidates
  std::string hash;              // of the index, so of all
  std::vector<BundleCase> cases;
  uint64_t bytes = 0;

  Result<std::string> object(const std::string& hash) const;

 private:
  std::shared_ptr<const std::string> content_;
  std::map<std::string, std::string_view, std::less<>> objects_;
};

// Climbs with every fixture as far as it goes without a GPU. In `suite` those that go on have no verdict yet: `got` is "packed".
struct Packed {
  Suite suite;
  std::string bytes;             // of the file
  size_t packed = 0;             // how many go on
};
Result<Packed> pack(const std::string& folder, const std::vector<Fixture>& fixtures, const SuiteOptions& options,
                    const SuiteProgress& progress = {});

}  // namespace kw::judge
