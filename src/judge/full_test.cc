// Rung full on a device that says what a test wants of the second call.
#include <gtest/gtest.h>

#include "judge/time_for_test.h"

namespace kw::judge {
namespace {

struct Fickle {
  bool other_fingerprint = false, other_bits = false, writes_input = false;
};

class FicklePlan final : public device::LoadedPlan {
 public:
  FicklePlan(std::unique_ptr<device::LoadedPlan> inner, const Fickle& fickle) : inner_(std::move(inner)), fickle_(fickle) {}
  const plan::Plan& plan() const override { return inner_->plan(); }
  Status write(std::string_view buffer, std::span<const uint8_t> bytes) override { return inner_->write(buffer, bytes); }
  Status read(std::string_view buffer, std::span<uint8_t> bytes) const override {
    KW_TRY_VOID(inner_->read(buffer, bytes));
    if (called_ && fickle_.other_bits) bytes[0] ^= 1;
    return {};
  }
  Result<std::optional<uint64_t>> first_unwritten(std::string_view buffer) const override { return inner_->first_unwritten(buffer); }
  Status reset() override { return inner_->reset(); }
  Result<device::RunReport> run(const device::RunOptions& options) override { return inner_->run(options); }
  Result<device::CallReport> call(const device::CallOptions& options) override {
    EXPECT_TRUE(options.afresh && options.layout_seed != 0) << "code and buffers lie elsewhere";
    called_ = true;
    KW_TRY(device::CallReport report, inner_->call(options));
    if (fickle_.other_fingerprint) report.outputs.at(0).first ^= 1;
    if (fickle_.writes_input) {
      report.findings.emplace_back().kind = emu::Finding::Kind::kWriteToReadOnly;
      report.findings.back().object = "x";
    }
    return report;
  }

 private:
  std::unique_ptr<device::LoadedPlan> inner_;
  const Fickle& fickle_;
  bool called_ = false;
};

class FickleDevice final : public device::Device {
 public:
  explicit FickleDevice(Fickle fickle) : fickle_(fickle) {}
  device::Capabilities capabilities() const override { return {.name = "fickle", .times = true}; }
  Result<std::unique_ptr<device::LoadedPlan>> load(plan::Plan plan, const device::LoadOptions& options) override {
    KW_TRY(auto inner, inner_->load(std::move(plan), options));
    return std::unique_ptr<device::LoadedPlan>(std::make_unique<FicklePlan>(std::move(inner), fickle_));
  }

 private:
  Fickle fickle_;
  std::unique_ptr<device::Device> inner_ = device::make_emulator();
};

class Full : public testing::Test {
 protected:
  Result<RungResult> full(Fickle fickle) {
    KW_TRY(climb_.problem, problem::parse_problem(kProblem, "case"));
    climb_.seed = 5;
    climb_.options.time = true;
    climb_.options.gpu = std::make_shared<FickleDevice>(fickle);
    climb_.real = {doubling_case(climb_.problem)};
    return full_rung(climb_);
  }
  Climb climb_;
};

TEST_F(Full, TheSameBitsElsewhereAreRight) {
  const auto result = full({});
  ASSERT_TRUE(result) << format_error(result.error());
  EXPECT_FALSE(result->failed);
  ASSERT_EQ(climb_.verified.size(), 1u);
  EXPECT_EQ(climb_.verified[0].outputs, (std::vector{doubled(climb_)}));
}

TEST_F(Full, OtherBitsElsewhereAreNamed) {
  const auto result = full({.other_fingerprint = true, .other_bits = true});
  ASSERT_TRUE(result && result->failed);
  const auto* differs = std::get_if<Nondeterministic>(&*result->failed);
  ASSERT_NE(differs, nullptr) << name_of(*result->failed);
  EXPECT_EQ(differs->output, "y");
  EXPECT_EQ(differs->index, std::vector<int64_t>{0});
  EXPECT_EQ(differs->differing, 1);
}

TEST_F(Full, AFingerprintWithoutADifferenceIsNoVerdict) {
  const auto result = full({.other_fingerprint = true});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("fingerprint"), std::string::npos);
}

TEST_F(Full, WhatTheSecondCallDoesWrongCounts) {
  const auto result = full({.writes_input = true});
  ASSERT_TRUE(result && result->failed);
  EXPECT_EQ(name_of(*result->failed), "unsafe");
}

}  // namespace
}  // namespace kw::judge
