#include "emu/memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace kw::emu {
namespace {

std::unique_ptr<Memory> make(uint64_t capacity = 64 << 20, bool track = true) {
  auto memory = Memory::create(capacity, track);
  EXPECT_TRUE(memory.has_value()) << memory.error().message;
  return std::move(*memory);
}

TEST(Memory, FreshBytesAreZeroAndUninitialised) {
  auto memory = make();
  const uint64_t a = *memory->allocate(1000, "a");
  EXPECT_EQ(a % 256, 0u);
  std::vector<uint8_t> bytes(1000, 1);
  ASSERT_TRUE(memory->read(a, bytes.data(), 1000));
  EXPECT_EQ(bytes, std::vector<uint8_t>(1000, 0));
  EXPECT_FALSE(memory->all_initialised(a, 1));
  const uint32_t value = 0x01020304;
  ASSERT_TRUE(memory->write(a + 3, &value, 4));
  EXPECT_FALSE(memory->all_initialised(a + 2, 1));
  EXPECT_TRUE(memory->all_initialised(a + 3, 4));
  EXPECT_FALSE(memory->all_initialised(a + 3, 5));
}

TEST(Memory, GuardGapsSeparateAllocations) {
  auto memory = make();
  const uint64_t a = *memory->allocate(256, "a"), b = *memory->allocate(256, "b");
  EXPECT_GE(b, a + 256 + Memory::kGuardBytes);
  EXPECT_NE(memory->find(a + 255), nullptr);
  EXPECT_EQ(memory->find(a + 256), nullptr);
  EXPECT_EQ(memory->nearest(a + 256)->label, "a");
  EXPECT_EQ(memory->nearest(b - 1)->label, "b");
  EXPECT_EQ(memory->nearest(0)->label, "a");
  EXPECT_EQ(memory->nearest(~0ull)->label, "b");
}

TEST(Memory, ReuseIsDeterministicAndClean) {
  std::vector<uint64_t> first;
  for (int run = 0; run < 2; ++run) {
    auto memory = make();
    std::mt19937 random(7);
    std::vector<uint64_t> live, seen;
    for (int i = 0; i < 2000; ++i) {
      if (live.empty() || random() % 3 != 0) {
        auto got = memory->allocate(random() % 5000, "x", 256u << random() % 3);
        ASSERT_TRUE(got.has_value());
        const Allocation* const holder = memory->nearest(*got);
        const uint64_t size = holder->end - holder->begin;
        for (uint64_t k = 0; k < size; ++k) ASSERT_EQ(reinterpret_cast<uint8_t*>(*got)[k], 0);
        ASSERT_TRUE(size == 0 || !memory->all_initialised(*got, 1));
        const uint8_t ones = 0xff;
        ASSERT_TRUE(memory->fill(*got, &ones, 1, size));
        live.push_back(*got);
        seen.push_back(*got);
      } else {
        const size_t k = random() % live.size();
        ASSERT_TRUE(memory->free(live[k]));
        live.erase(live.begin() + static_cast<ptrdiff_t>(k));
      }
    }
    for (uint64_t address : live) ASSERT_TRUE(memory->free(address));
    EXPECT_EQ(memory->bytes_in_use(), 0u);
    for (uint64_t& address : seen) address -= memory->base();
    if (run == 0) first = seen;
    EXPECT_EQ(first, seen);
    auto all = memory->allocate(memory->capacity() - 1024, "everything");   // nothing leaked, all joined again
    EXPECT_TRUE(all.has_value());
  }
}

TEST(Memory, RefusesWhatDoesNotFit) {
  auto memory = make(1 << 20);
  EXPECT_FALSE(memory->allocate(2 << 20, "big").has_value());
  EXPECT_FALSE(memory->allocate(~0ull, "huge").has_value());
  EXPECT_FALSE(memory->allocate(16, "odd", 3).has_value());
  EXPECT_FALSE(Memory::create(0, false).has_value());
  EXPECT_FALSE(Memory::create(~0ull, false).has_value());
  const uint64_t a = *memory->allocate(16, "a");
  char bytes[32] = {};
  EXPECT_FALSE(memory->write(a, bytes, 17).has_value());
  EXPECT_FALSE(memory->write(a + 15, bytes, ~0ull).has_value());
  EXPECT_FALSE(memory->read(a - 1, bytes, 1).has_value());
  EXPECT_FALSE(memory->fill(a, bytes, 8, ~0ull / 4).has_value());
  EXPECT_FALSE(memory->free(a + 1).has_value());
  EXPECT_TRUE(memory->free(a).has_value());
  const auto again = memory->free(a);
  ASSERT_FALSE(again.has_value());
  EXPECT_NE(again.error().message.find("freed before"), std::string::npos);
}

TEST(Memory, CopyMovesBytesAndTheirBits) {
  auto memory = make();
  const uint64_t a = *memory->allocate(4096, "a");
  std::mt19937 random(3);
  std::vector<uint8_t> bytes(4096), known(4096);
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (random() % 2 == 0) continue;
    bytes[i] = static_cast<uint8_t>(random());
    known[i] = 1;
    ASSERT_TRUE(memory->write(a + i, &bytes[i], 1));
  }
  for (int round = 0; round < 300; ++round) {
    const uint64_t from = random() % 2000, to = random() % 2000, count = random() % 2000;
    ASSERT_TRUE(memory->copy(a + to, a + from, count));
    std::memmove(&bytes[to], &bytes[from], count);
    std::memmove(&known[to], &known[from], count);
  }
  for (size_t i = 0; i < bytes.size(); ++i) {
    ASSERT_EQ(reinterpret_cast<uint8_t*>(a)[i], bytes[i]) << i;
    ASSERT_EQ(memory->all_initialised(a + i, 1), known[i] != 0) << i;
  }
}

TEST(Memory, RepeatsATileAndGetsItBack) {
  auto memory = make(uint64_t{8} << 30, false);
  std::vector<uint8_t> tile(3 * 4096);
  for (size_t i = 0; i < tile.size(); ++i) tile[i] = static_cast<uint8_t>(i * 7 + i / 4096);
  for (const uint64_t bytes : {uint64_t{5}, uint64_t{2} * tile.size() - 1, uint64_t{7} * tile.size() + 4096 + 17, uint64_t{4} << 30}) {
    const uint64_t at = *memory->allocate(bytes, "tiled", 4096), after = *memory->allocate(8, "after");
    ASSERT_TRUE(memory->repeat(at, bytes, tile.data(), tile.size()));
    const auto right = [&](uint64_t i) { return *reinterpret_cast<uint8_t*>(at + i) == tile[i % tile.size()]; };
    for (uint64_t i = 0; i < bytes; i += std::max<uint64_t>(1, bytes / 9973)) ASSERT_TRUE(right(i)) << i << " of " << bytes;
    EXPECT_TRUE(right(bytes - 1));
    EXPECT_EQ(*reinterpret_cast<uint64_t*>(after), 0u);
    const uint8_t other = static_cast<uint8_t>(~tile[0]);
    ASSERT_TRUE(memory->write(at, &other, 1));
    if (bytes > 2 * tile.size()) {
      EXPECT_TRUE(right(tile.size())) << "a tile is not its neighbour";
      ASSERT_TRUE(memory->restore(at, bytes));
      EXPECT_TRUE(right(0));
    }
    ASSERT_TRUE(memory->free(at));
    const uint64_t next = *memory->allocate(bytes, "next", 4096);
    EXPECT_EQ(*reinterpret_cast<uint8_t*>(next + bytes / 2), 0) << "the next owner reads zeros";
    ASSERT_TRUE(memory->free(next));
    ASSERT_TRUE(memory->free(after));
  }
  EXPECT_FALSE(memory->repeat(memory->base(), 8, tile.data(), tile.size()));
}

}  // namespace
}  // namespace kw::emu
