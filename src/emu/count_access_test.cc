#include "emu/count_access.h"

#include <gtest/gtest.h>

#include <functional>

namespace kw::emu {
namespace {

std::array<uint64_t, kLanes> addresses(const std::function<uint64_t(int)>& of) {
  std::array<uint64_t, kLanes> all{};
  for (int i = 0; i < kLanes; ++i) all[static_cast<size_t>(i)] = of(i);
  return all;
}
uint32_t passes(unsigned bytes, const std::function<uint64_t(int)>& of, Mask lanes = kFull) {
  return count_wavefronts(addresses(of).data(), lanes, bytes).needed;
}
uint32_t sectors(unsigned bytes, const std::function<uint64_t(int)>& of, Mask lanes = kFull) {
  return count_sectors(addresses(of).data(), lanes, bytes);
}

TEST(CountAccess, Sectors) {
  EXPECT_EQ(sectors(4, [](int i) { return 0x1000 + 4 * i; }), 4u);
  EXPECT_EQ(sectors(4, [](int i) { return 0x1004 + 4 * i; }), 5u);        // not aligned
  EXPECT_EQ(sectors(16, [](int i) { return 0x1000 + 16 * i; }), 16u);
  EXPECT_EQ(sectors(4, [](int i) { return 0x1000 + 128 * i; }), 32u);     // strided
  EXPECT_EQ(sectors(4, [](int) { return 0x1000; }), 1u);                  // broadcast
  EXPECT_EQ(sectors(4, [](int i) { return 0x1000 + 4 * (31 - i); }), 4u); // reversed
  EXPECT_EQ(sectors(2, [](int i) { return 0x1000 + 2 * i; }), 2u);
  EXPECT_EQ(sectors(4, [](int i) { return 0x1000 + 4 * i; }, 0xff), 1u);
}

TEST(CountAccess, BankConflicts) {
  EXPECT_EQ(passes(4, [](int i) { return 4 * i; }), 1u);
  EXPECT_EQ(passes(4, [](int i) { return 8 * i; }), 2u);
  EXPECT_EQ(passes(4, [](int i) { return 128 * i; }), 32u);
  EXPECT_EQ(passes(4, [](int i) { return 132 * i; }), 1u);                // padded column
  EXPECT_EQ(passes(4, [](int) { return 64; }), 1u);                       // broadcast
  EXPECT_EQ(passes(2, [](int i) { return 2 * i; }), 1u);                  // two lanes a word
  EXPECT_EQ(passes(8, [](int i) { return 8 * i; }), 2u);                  // ideal: one per half-warp
  EXPECT_EQ(passes(16, [](int i) { return 16 * i; }), 4u);                // ideal: one per quarter-warp
  EXPECT_EQ(passes(16, [](int i) { return 128 * i; }), 32u);              // ldmatrix without swizzle
  EXPECT_EQ(passes(16, [](int i) { return 128 * i + 16 * (i % 8); }), 4u);// with swizzle
  EXPECT_EQ(passes(4, [](int i) { return 128 * i; }, 0xf), 4u);
  EXPECT_EQ(count_wavefronts(addresses([](int i) { return 16 * i; }).data(), 0xff, 16).ideal, 1u);
}

}  // namespace
}  // namespace kw::emu
