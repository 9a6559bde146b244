#include "profile/tools.h"

#include <algorithm>

#include "emu/finding_text.h"

namespace kw::profile {
namespace {

constexpr double kLeastShare = 0.05;   // of the time; what a kernel below it does is not worth words

std::string relative_file(const Subject& subject, const std::string& file) {
  const std::string folder = subject.source_folder + "/";
  if (!subject.source_folder.empty() && file.starts_with(folder)) return file.substr(folder.size());
  return emu::readable_file(file);
}

}  // namespace

std::span<const Tool> tools() {
  static const std::vector<Tool> table = [] {
    std::vector<Tool> all;
    for (const auto& family : {memory_tools(), occupancy_tools(), instruction_tools(), parallelism_tools(), counter_tools()}) {
      all.insert(all.end(), family.begin(), family.end());
    }
    return all;
  }();
  return table;
}

std::vector<Advice> advise(const Subject& subject, const Roofline& roofline) {
  std::vector<Advice> out;
  const auto take = [&](const Tool& tool, std::string kernel, std::optional<Advice> advice) {
    if (!advice || (advice->gain < kLeastGain && !advice->question)) return;
    advice->tool = tool.name;
    advice->kernel = std::move(kernel);
    out.push_back(std::move(*advice));
  };
  for (const Tool& tool : tools()) {
    if ((tool.classes & static_cast<unsigned>(roofline.by_problem)) == 0) continue;
    if (tool.of_candidate != nullptr) take(tool, "", tool.of_candidate(subject, roofline));
    for (const Kernel& kernel : subject.kernels) {
      if (tool.of_kernel != nullptr && kernel.share >= kLeastShare) take(tool, kernel.name, tool.of_kernel(subject, kernel));
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const Advice& a, const Advice& b) {
    return a.question != b.question ? b.question : a.gain > b.gain;
  });
  return out;
}

Advice advice_at(const Subject& subject, const emu::Party& party) {
  Advice advice;
  emu::Reader reader;
  reader.is_own = [&](const std::string& file) { return file.starts_with(subject.source_folder + "/"); };
  const emu::SourcePlace place = emu::place_of(party, reader);
  advice.file = relative_file(subject, place.file);
  advice.line = place.line;
  return advice;
}

Advice advice_at_launch(const Kernel& kernel) {
  Advice advice;
  advice.file = kernel.launched.source_file;
  advice.line = kernel.launched.source_line;
  return advice;
}

double share_of(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace kw::profile
