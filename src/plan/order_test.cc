#include "plan/record/order.h"

#include <gtest/gtest.h>

#include <cstring>

#include "plan/record/address_space.h"

namespace kw::runtime {
namespace {

TEST(Order, KeepsOnlyDirectEdges) {
  Order order;
  EXPECT_EQ(order.add({}), 0u);
  EXPECT_EQ(order.add({0}), 1u);
  EXPECT_EQ(order.add({0}), 2u);
  EXPECT_EQ(order.add({0, 1, 2}), 3u);
  EXPECT_EQ(order.after()[3], (Frontier{1, 2}));
}

TEST(Order, WhatTheHostWaitedForComesFirst) {
  Order order;
  order.add({});
  order.add({});
  order.host_waited({1});
  order.add({});
  EXPECT_EQ(order.after()[2], (Frontier{1}));
}

TEST(Order, OutsideAFrontier) {
  Order order;
  order.add({});
  order.add({0});
  order.add({});
  order.add({2});
  EXPECT_EQ(order.outside({1}), (std::vector<uint32_t>{2, 3}));
  EXPECT_TRUE(order.outside({1, 3}).empty());
}

TEST(AddressSpace, FindsPointersInABlock) {
  AddressSpace space(0);
  const uint64_t x = space.place(4096, {.buffer = 0}), y = space.place(16, {.buffer = 1});
  std::vector<uint8_t> block(40, 0);
  const auto put = [&](size_t at, uint64_t value) { std::memcpy(block.data() + at, &value, 8); };
  put(0, x + 12);
  put(8, 0x0000200000001000);   // two ordinary integers
  put(19, y - 8);               // packed
  put(32, x + 4096);
  const auto found = space.extract(block);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0], (plan::Relocation{0, {.buffer = 0, .offset = 12}}));
  EXPECT_EQ(found[1], (plan::Relocation{19, {.buffer = 1, .offset = -8}}));
  EXPECT_EQ(found[2], (plan::Relocation{32, {.buffer = 0, .offset = 4096}}));
  uint64_t left = 0;
  std::memcpy(&left, block.data() + 8, 8);
  EXPECT_EQ(left, 0x0000200000001000u);
}

TEST(AddressSpace, SeedsShareNoAddress) {
  AddressSpace a(0), b(1);
  const uint64_t x = a.place(1 << 20, {.buffer = 0}), y = b.place(1 << 20, {.buffer = 0});
  EXPECT_FALSE(a.resolve(y));
  EXPECT_FALSE(b.resolve(x));
  EXPECT_EQ(x % 256, 0u);
  EXPECT_EQ(a.place(uint64_t{1} << 62, {.buffer = 1}), 0u);
}

}  // namespace
}  // namespace kw::runtime
