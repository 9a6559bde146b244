#include <gtest/gtest.h>

#include "arch/occupancy.h"
#include "arch/target.h"

namespace kw::arch {
namespace {

const Target& target(std::string_view name) { return **find_target(name); }

TEST(Target, IsFoundByEachOfItsNames) {
  EXPECT_EQ(target("sm_90a").name, "sm_90a");
  EXPECT_EQ(target("compute_80").name, "sm_80");
  EXPECT_EQ(target("75").name, "sm_75");
}

TEST(Target, UnknownNamesGetTheNearest) {
  auto result = find_target("sm_88");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(result.error().message.find("sm_89"), std::string::npos);
  ASSERT_EQ(result.error().notes.size(), 1u);
  EXPECT_EQ(result.error().notes[0], "the nearest is sm_87");
  for (const std::string& bad : {std::string(""), std::string("sm_"), std::string("sm_80 "), std::string("SM_80"),
                                 std::string("sm_90aa"), std::string(1 << 20, '9'), std::string("\0\xff", 2)}) {
    auto other = find_target(bad);
    ASSERT_FALSE(other) << bad.substr(0, 20);
    EXPECT_LT(other.error().message.size(), 600u);
  }
}

TEST(Target, TableIsConsistent) {
  int last = 0;
  for (const Target& t : all_targets()) {
    SCOPED_TRACE(t.name);
    std::string name = "sm_" + std::to_string(t.number());
    if (t.variant != '\0') name += t.variant;
    EXPECT_EQ(t.name, name);
    EXPECT_GE(t.number(), last);
    last = t.number();
    EXPECT_EQ(t.limits.threads_per_sm, t.limits.warps_per_sm * 32);
    EXPECT_LE(t.limits.shared_per_block_optin_bytes + t.limits.shared_reserved_bytes, t.limits.shared_per_sm_bytes);
    EXPECT_GT(t.part.sm_count, 0);
    EXPECT_GT(t.part.dram_gbps, 0);
    EXPECT_EQ(t.has(Feature::kCluster), t.limits.cluster_blocks > 0);
  }
}

TEST(Target, Features) {
  EXPECT_FALSE(target("sm_75").has(Feature::kCpAsync));
  EXPECT_TRUE(target("sm_80").has(Feature::kCpAsync));
  EXPECT_FALSE(target("sm_86").has(Feature::kFp8));
  EXPECT_TRUE(target("sm_89").has(Feature::kFp8));
  EXPECT_FALSE(target("sm_90").has(Feature::kWgmma));
  EXPECT_TRUE(target("sm_90a").has(Feature::kWgmma));
  EXPECT_FALSE(target("sm_100a").has(Feature::kWgmma));
  EXPECT_FALSE(target("sm_120a").has(Feature::kTcgen05));
  EXPECT_TRUE(target("sm_120a").has(Feature::kMmaBlockScale));
}

TEST(Target, Compatibility) {
  EXPECT_TRUE(target("sm_80").runs_on(target("sm_90a")));
  EXPECT_FALSE(target("sm_90").runs_on(target("sm_80")));
  EXPECT_FALSE(target("sm_90a").runs_on(target("sm_100a")));
  EXPECT_TRUE(target("sm_100f").runs_on(target("sm_103a")));
  EXPECT_FALSE(target("sm_100f").runs_on(target("sm_120a")));
  EXPECT_EQ((*target_of_device(9, 0))->name, "sm_90a");
  EXPECT_EQ((*target_of_device(8, 6))->name, "sm_86");
  EXPECT_FALSE(target_of_device(3, 5));
  EXPECT_TRUE(ptx_knows(9, 0, target("sm_80")));
  EXPECT_TRUE(ptx_knows(7, 0, target("sm_80")));
  EXPECT_FALSE(ptx_knows(6, 9, target("sm_80")));
}

struct Case {
  const char* target;
  int registers, shared, threads, blocks;
  Limiter limiter;
};

// By hand from the rules; the plain ones agree with NVIDIA's calculator.
constexpr Case kCases[] = {
    {"sm_80", 64, 0, 256, 4, Limiter::kRegisters},
    {"sm_80", 32, 0, 256, 8, Limiter::kWarps},
    {"sm_80", 33, 0, 256, 6, Limiter::kRegisters},         // 40 registers are taken: 12 warps per part, 48 in all
    {"sm_80", 255, 0, 128, 2, Limiter::kRegisters},        // 2 warps per part
    {"sm_80", 255, 0, 256, 1, Limiter::kRegisters},
    {"sm_80", 255, 0, 288, 0, Limiter::kDoesNotFit},       // rounds to 12 warps of 8192
    {"sm_80", 16, 49152, 128, 3, Limiter::kShared},        // 49 KiB each with the reserve
    {"sm_80", 16, 163 * 1024, 128, 1, Limiter::kShared},
    {"sm_80", 16, 164 * 1024, 128, 0, Limiter::kDoesNotFit},
    {"sm_80", 16, 0, 32, 32, Limiter::kBlocks},
    {"sm_86", 32, 0, 256, 6, Limiter::kWarps},
    {"sm_86", 16, 0, 32, 16, Limiter::kBlocks},
    {"sm_89", 16, 0, 32, 24, Limiter::kBlocks},
    {"sm_70", 32, 48 * 1024, 256, 2, Limiter::kShared},    // no reserve
    {"sm_75", 64, 0, 1024, 1, Limiter::kWarps},
    {"sm_90", 168, 0, 384, 1, Limiter::kRegisters},        // 3 warps per part: 12 warps
    {"sm_90", 128, 113 * 1024, 256, 2, Limiter::kRegisters},
    {"sm_90", 64, 0, 1025, 0, Limiter::kDoesNotFit},
    {"sm_90", 256, 0, 32, 0, Limiter::kDoesNotFit},
    {"sm_90", 64, 0, 0, 0, Limiter::kDoesNotFit},
    {"sm_90", 64, -1, 32, 0, Limiter::kDoesNotFit},
};

TEST(Occupancy, CountsAsTheCalculatorDoes) {
  for (const Case& c : kCases) {
    const Occupancy o = occupancy(target(c.target), c.registers, c.shared, c.threads);
    SCOPED_TRACE(fmt::format("{} registers {} shared {} threads {}", c.target, c.registers, c.shared, c.threads));
    EXPECT_EQ(o.blocks_per_sm, c.blocks);
    EXPECT_EQ(o.limiter, c.limiter) << name(o.limiter);
  }
}

TEST(Occupancy, Fraction) {
  const Occupancy o = occupancy(target("sm_80"), 64, 0, 256);
  EXPECT_EQ(o.warps_per_sm, 32);
  EXPECT_DOUBLE_EQ(o.fraction, 0.5);
}

}  // namespace
}  // namespace kw::arch
