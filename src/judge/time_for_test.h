// A device whose clock is a script: the emulator computes, the test says how long it took.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "judge/run_cases.h"
#include "problem/inputs.h"

namespace kw::judge {

inline constexpr char kDouble[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry double(.param .u64 x, .param .u64 y)
{
  .reg .b32 %r<2>;
  .reg .f32 %f<2>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.u64 %rd1, %rd1, %rd3;
  add.u64 %rd2, %rd2, %rd3;
  ld.global.f32 %f1, [%rd1];
  add.f32 %f1, %f1, %f1;
  st.global.f32 [%rd2], %f1;
  ret;
}
)";
inline constexpr char kProblem[] = R"(problem twice: "x + x"

axes:
  N >= 1

inputs:
  x: f32[N] ~ normal(0, 1)

outputs:
  y: f32[N]

reference:
  y = x + x

workloads:
  smallest one: N=1
  real all: N=64 "a test"
)";

// What a call reports, given what the emulator computed; `count` says which call of all places it is.
inline constexpr double kAround_s = 2e-6;   // what events show beside a kernel
// The same for calls of the rung's own kernels that are traced.
using OursScript = std::function<void(device::CallReport& report)>;
using Script = std::function<void(const device::CallOptions& options, int count, device::CallReport& report)>;

class ScriptedPlan final : public device::LoadedPlan {
 public:
  ScriptedPlan(std::unique_ptr<device::LoadedPlan> inner, int& count, const Script& script, const OursScript& ours, double slow_s)
      : inner_(std::move(inner)), count_(count), script_(script), ours_(ours), slow_s_(slow_s) {}
  const plan::Plan& plan() const override { return inner_->plan(); }
  Status write(std::string_view buffer, std::span<const uint8_t> bytes) override { return inner_->write(buffer, bytes); }
  Status read(std::string_view buffer, std::span<uint8_t> bytes) const override { return inner_->read(buffer, bytes); }
  Result<std::optional<uint64_t>> first_unwritten(std::string_view buffer) const override { return inner_->first_unwritten(buffer); }
  Status reset() override { return inner_->reset(); }
  Result<device::RunReport> run(const device::RunOptions& options) override { return inner_->run(options); }
  Result<device::CallReport> call(const device::CallOptions& options) override {
    device::CallOptions once = options;
    once.repeats = 1;
    const plan::Buffer* read = plan().find_buffer("read");   // of the trace's own kernel
    if (read == nullptr) read = plan().find_buffer("from");  // of the calibration's
    device::CallReport report;
    report.completed = true;
    if (read == nullptr) {
      KW_TRY(report, inner_->call(once));
    }
    report.device_s = 10e-6 * (options.cold ? 1 : options.repeats * 0.8);
    if (!options.cold) report.host_s = report.device_s + 5e-6;
    if (options.power) report.power = {300, report.device_s, static_cast<int>(report.device_s / 0.02)};
    if (read != nullptr) report.device_s = kAround_s + 1e-9 * static_cast<double>(read->bytes) + slow_s_;
    if (options.trace) report.traced_s = report.device_s - kAround_s;
    if (plan().find_buffer("x") != nullptr) script_(options, count_++, report);
    else if (options.trace) ours_(report);
    return report;
  }

 private:
  std::unique_ptr<device::LoadedPlan> inner_;
  int& count_;
  const Script& script_;
  const OursScript& ours_;
  double slow_s_;
};

class ScriptedDevice final : public device::Device {
 public:
  explicit ScriptedDevice(Script script) : script_(std::move(script)) {}
  device::Capabilities capabilities() const override { return {.name = "scripted", .times = true, .dram_bytes_per_s = bandwidth}; }
  Result<std::unique_ptr<device::LoadedPlan>> load(plan::Plan plan, const device::LoadOptions& options) override {
    if (instead) plan = instead(plan);
    KW_TRY(auto inner, inner_->load(std::move(plan), options));
    return std::unique_ptr<device::LoadedPlan>(std::make_unique<ScriptedPlan>(std::move(inner), count, script_, ours, slow_s));
  }
  device::Conditions conditions() override { return {.sm_mhz = 1000.0 + count % 7, .slowed_by = {"power cap"}}; }
  device::Power idle_power(double seconds) override { return {100, seconds, static_cast<int>(seconds / 0.02)}; }
  Result<std::shared_ptr<device::Device>> another() const override { return next; }
  std::shared_ptr<device::Device> next;
  double slow_s = 0;        // how much more its process shows for kernels of ours
  double bandwidth = 1e9;   // 512 bytes take half a microsecond
  int count = 0;
  std::function<plan::Plan(const plan::Plan&)> instead;
  OursScript ours = [](device::CallReport&) {};

 private:
  std::unique_ptr<device::Device> inner_ = device::make_emulator();
  Script script_;
};

inline Case doubling_case(const problem::Problem& problem) {
  Case c = case_of(*problem.find_workload("all"), false);
  c.plan.target = "sm_70";
  c.plan.modules.push_back({kDouble, plan::hash_of(kDouble)});
  c.plan.buffers.push_back({"x", plan::Role::kInput, 256, "float32", {64}, {1}});
  c.plan.buffers.push_back({"y", plan::Role::kOutput, 256, "float32", {64}, {1}});
  plan::Launch launch;
  launch.kernel = "double";
  launch.block = {64, 1, 1};
  launch.params.assign(16, 0);
  launch.relocations = {{0, {.buffer = 0}}, {8, {.buffer = 1}}};
  c.plan.steps.emplace_back().action = launch;
  return c;
}

// Of its output, as rung full finds it: computed here, not by the plan.
inline device::Fingerprint doubled(const Climb& climb) {
  const auto inputs = problem::make_inputs(climb.problem, climb.real[0].workload, input_seed(climb, climb.real[0]));
  EXPECT_TRUE(inputs);
  std::vector<uint8_t> y(256);
  for (int64_t i = 0; i < 64; ++i) {
    const auto twice = static_cast<float>(2 * (*inputs)[0].at(i));
    std::memcpy(y.data() + 4 * i, &twice, 4);
  }
  return device::fingerprint_of(y, fingerprint_key(climb));
}

class Time : public testing::Test {
 protected:
  // The rung's result; figures are in climb_.times.
  RungResult time(Script script, double bandwidth = 1e9, std::vector<Script> rivals = {}) {
    auto problem = problem::parse_problem(kProblem, "case");
    if (!problem) {
      ADD_FAILURE() << format_error(problem.error());
      return {};
    }
    climb_ = Climb();
    climb_.problem = std::move(*problem);
    climb_.seed = 5;
    climb_.options.process_spread = spread_;
    device_ = std::make_shared<ScriptedDevice>(std::move(script));
    device_->bandwidth = bandwidth;
    device_->slow_s = slow_s_;
    device_->next = next_;
    device_->ours = ours_;
    climb_.options.gpu = device_;
    climb_.options.time = true;
    climb_.options.energy = energy_;
    climb_.options.time_budget_s = 0.2;
    climb_.real.push_back(doubling_case(climb_.problem));
    climb_.verified.push_back({0, {doubled(climb_)}});
    for (Script& rival : rivals) {
      Climb& other = *climb_.rivals.emplace_back(std::make_shared<Climb>(climb_));
      other.rivals.clear();
      other.candidate_path = "PyTorch";
      other.torch.emplace().style["all"] = "in f32";
      other.options.gpu = std::make_shared<ScriptedDevice>(std::move(rival));
    }
    auto result = time_rung(climb_);
    EXPECT_TRUE(result) << format_error(result.error());
    return result ? std::move(*result) : RungResult{};
  }
  std::string defence(const RungResult& result) const {
    if (!result.failed) return "";
    const auto* suspect = std::get_if<Suspect>(&*result.failed);
    return suspect == nullptr ? std::string(name_of(*result.failed)) : suspect->defence;
  }

  Climb climb_;
  OursScript ours_ = [](device::CallReport&) {};
  bool energy_ = false;
  std::optional<device::ProcessSpread> spread_;
  double slow_s_ = 0;
  std::shared_ptr<device::Device> next_;
  std::shared_ptr<ScriptedDevice> device_;
};

}  // namespace kw::judge
