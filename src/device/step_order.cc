#include "device/step_order.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/demangle.h"

namespace kw::device {
namespace {

bool is_chain(const plan::Plan& plan) {
  for (uint32_t i = 1; i < plan.steps.size(); ++i) {
    const auto& after = plan.steps[i].after;
    if (std::find(after.begin(), after.end(), i - 1) == after.end()) return false;
  }
  return true;
}

std::string name_of(const plan::Plan& plan, uint32_t index) {
  const auto& action = plan.steps[index].action;
  if (const auto* launch = std::get_if<plan::Launch>(&action)) return fmt::format("step {}, {},", index, readable_name(launch->kernel));
  return fmt::format("step {}, a {},", index, std::holds_alternative<plan::Fill>(action) ? "fill" : "copy");
}

}  // namespace

StepOrder::StepOrder(const plan::Plan& plan) : plan_(plan), steps_(plan.steps.size()) {
  const auto count = static_cast<uint32_t>(plan.steps.size());
  // Programmatic order: a launch may begin before the launches that it follows have ended.
  for (uint32_t i = 0; i < count; ++i) {
    const auto* launch = std::get_if<plan::Launch>(&plan.steps[i].action);
    if (launch == nullptr || !launch->programmatic_order) continue;
    for (const uint32_t before : plan.steps[i].after) {
      if (std::holds_alternative<plan::Launch>(plan.steps[before].action)) pair(before, i, true);
    }
  }
  if (is_chain(plan) || count > kMost) return;
  std::vector<std::vector<bool>> before(count, std::vector<bool>(count, false));   // before[i][j]: j is before i
  for (uint32_t i = 0; i < count; ++i) {
    for (const uint32_t direct : plan.steps[i].after) {
      before[i][direct] = true;
      for (uint32_t j = 0; j < direct; ++j) {
        if (before[direct][j]) before[i][j] = true;
      }
    }
    for (uint32_t j = 0; j < i; ++j) {
      if (!before[i][j]) pair(j, i, false);
    }
  }
}

void StepOrder::pair(uint32_t earlier, uint32_t later, bool until_wait) {
  steps_[earlier].partners.push_back({later, until_wait});
  steps_[later].partners.push_back({earlier, until_wait});
  for (const uint32_t step : {earlier, later}) {
    if (steps_[step].footprint == nullptr) steps_[step].footprint = std::make_unique<emu::Footprint>();
  }
}

std::vector<emu::Concurrent> StepOrder::beside(uint32_t step) const {
  std::vector<emu::Concurrent> out;
  for (const Partner& partner : steps_[step].partners) {
    const Step& other = steps_[partner.step];
    if (other.has_run) out.push_back({other.footprint.get(), name_of(plan_, partner.step), partner.until_wait});
  }
  return out;
}

std::optional<emu::Finding> StepOrder::move(uint32_t step, const std::vector<Touched>& touched, const emu::Memory& memory) {
  std::optional<emu::Finding> race;
  const std::vector<emu::Concurrent> others = beside(step);
  for (const Touched& range : touched) {
    footprint_of(step)->add(range.begin, range.end, range.use);
    for (const emu::Concurrent& other : others) {
      const auto clash = other.footprint->clash(range.begin, range.end, range.use);
      if (!clash || race) continue;
      race.emplace();
      race->kind = emu::Finding::Kind::kRace;
      race->space = ptx::Space::kGlobal;
      race->address = clash->address;
      race->bytes = 1;
      if (const emu::Allocation* holder = memory.find(clash->address)) {
        race->object = holder->label;
        race->object_offset = static_cast<int64_t>(clash->address - holder->begin);
      }
      race->message = fmt::format("{} {} offset {} of '{}' that {} {}; neither waits for the other", name_of(plan_, step),
                                  emu::verb_of(range.use), race->object_offset, race->object, other.name, emu::verb_of(clash->use));
      race->party.source_file = plan_.steps[step].source_file;
      race->party.source_line = plan_.steps[step].source_line;
    }
  }
  return race;
}

void StepOrder::has_run(uint32_t step) {
  steps_[step].has_run = true;
  release(step);
  for (const Partner& partner : steps_[step].partners) release(partner.step);
}

void StepOrder::release(uint32_t step) {
  const auto done = [&](const Partner& partner) { return steps_[partner.step].has_run; };
  if (steps_[step].has_run && std::all_of(steps_[step].partners.begin(), steps_[step].partners.end(), done)) steps_[step].footprint.reset();
}

}  // namespace kw::device
