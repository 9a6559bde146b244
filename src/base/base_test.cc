#include <gtest/gtest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <mutex>
#include <set>

#include "base/file.h"
#include "base/fresh_memory.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "base/text_table.h"

namespace kw {
namespace {

TEST(File, WritesWholeOrNotAtAll) {
  auto folder = TempDir::create();
  ASSERT_TRUE(folder);
  const std::string path = *folder / "a";
  ASSERT_TRUE(write_file(path, "one"));
  ASSERT_TRUE(write_file(path, std::string("t\0wo", 4)));
  EXPECT_EQ(*read_file(path), std::string("t\0wo", 4));
  EXPECT_EQ(write_file(*folder / "no/such/folder", "x").error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(write_file(folder->path(), "x"));
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder->path())) ++files;
  EXPECT_EQ(files, 1u) << "a temporary file was left";
}

TEST(File, PipesAndLinksStayWhatTheyAre) {
  auto folder = TempDir::create();
  ASSERT_TRUE(folder);
  const std::string pipe = *folder / "pipe", link = *folder / "link", real = *folder / "real";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(write_file(pipe, "nobody reads"));
  {
    const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
    ASSERT_GE(reader, 0);
    EXPECT_TRUE(write_file(pipe, "abc"));
    char got[4] = {};
    EXPECT_EQ(read(reader, got, 3), 3);
    EXPECT_STREQ(got, "abc");
    close(reader);
  }
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  ASSERT_TRUE(write_file(real, "old"));
  std::filesystem::create_symlink("real", link);
  EXPECT_TRUE(write_file(link, "new"));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(*read_file(real), "new");
}

TEST(File, RefusesWhatIsNotAFileOrTooLarge) {
  auto folder = TempDir::create();
  ASSERT_TRUE(folder);
  ASSERT_TRUE(write_file(*folder / "a", "12345"));
  EXPECT_TRUE(read_file(*folder / "a", 5));
  EXPECT_EQ(read_file(*folder / "a", 4).error().code, ErrorCode::kLimit);
  EXPECT_EQ(read_file(*folder / "b").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(read_file(folder->path()).error().code, ErrorCode::kIo);
  EXPECT_FALSE(read_file("/dev/zero"));
  ASSERT_EQ(mkfifo((*folder / "pipe").c_str(), 0600), 0);
  EXPECT_FALSE(read_file(*folder / "pipe"));
  EXPECT_FALSE(read_file("/proc/self/status")->empty());  // says that its size is 0
}

TEST(File, TempDirIsRemoved) {
  std::string path;
  {
    auto folder = TempDir::create("kw-x");
    ASSERT_TRUE(folder);
    path = folder->path();
    TempDir moved = std::move(*folder);
    ASSERT_TRUE(make_folder(moved / "a/b"));
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Hash, IsXxh3AndSeparatesFields) {
  EXPECT_EQ(hash_hex(""), "99aa06d3014798d86001c324468d497f");  // XXH3_128bits of nothing, by its specification
  EXPECT_NE(Hasher().add("ab").add("c").hex(), Hasher().add("a").add("bc").hex());
  EXPECT_EQ(Hasher().add("ab").add(7).hex(), Hasher().add("ab").add(7).hex());
  EXPECT_EQ(Hasher().add("ab").hex().size(), 32u);
}

TEST(Rng, PhiloxMatchesThePublishedVectors) {
  // Random123's known answers for philox4x32, 10 rounds.
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Rng, IsAFunctionOfSeedStreamAndIndex) {
  Rng a(1), b(1), c(2);
  EXPECT_EQ(a.next(), b.at(0));
  EXPECT_EQ(a.next(), b.at(1));
  EXPECT_NE(b.at(0), c.at(0));
  EXPECT_NE(b.fork("x").at(0), b.fork("y").at(0));
  EXPECT_EQ(b.fork("x").at(5), Rng(1).fork("x").at(5));
}

TEST(Rng, DistributionsHaveTheirMoments) {
  Rng rng(7);
  double sum = 0, squares = 0, uniform = 0;
  std::array<int, 5> counts{};
  constexpr int kN = 100000;
  for (int i = 0; i < kN; ++i) {
    const double x = rng.normal();
    sum += x;
    squares += x * x;
    uniform += rng.uniform();
    ++counts[rng.below(5)];
  }
  EXPECT_NEAR(sum / kN, 0, 0.02);
  EXPECT_NEAR(squares / kN, 1, 0.03);
  EXPECT_NEAR(uniform / kN, 0.5, 0.01);
  for (const int count : counts) EXPECT_NEAR(count, kN / 5, 600);
  EXPECT_EQ(rng.below(0), 0u);
  EXPECT_EQ(rng.below(1), 0u);
}

TEST(Rng, NormalQuantile) {
  EXPECT_NEAR(Rng::to_normal(0.5), 0, 1e-12);
  EXPECT_NEAR(Rng::to_normal(0.975), 1.959963984540054, 1e-8);
  EXPECT_NEAR(Rng::to_normal(0.001), -3.090232306167813, 1e-8);
  EXPECT_TRUE(std::isfinite(Rng::to_normal(0)));
  EXPECT_TRUE(std::isfinite(Rng::to_normal(1)));
}

TEST(Parallel, VisitsEveryIndexOnce) {
  for (const int threads : {-1, 1, 2, 7}) {
    std::mutex mutex;
    std::multiset<uint64_t> seen;
    parallel_for(100, threads, [&](uint64_t i) {
      const std::lock_guard lock(mutex);
      seen.insert(i);
    });
    EXPECT_EQ(seen.size(), 100u);
    EXPECT_EQ(std::set<uint64_t>(seen.begin(), seen.end()).size(), 100u);
  }
  parallel_for(0, 4, [](uint64_t) { FAIL(); });
}

TEST(Parallel, RethrowsTheLowest) {
  for (const int threads : {1, 4}) {
    try {
      parallel_for(1000, threads, [](uint64_t i) {
        if (i >= 3) throw std::runtime_error(std::to_string(i));
      });
      FAIL();
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "3");
    }
  }
}

TEST(Parallel, WorkersAreNumbered) {
  std::mutex mutex;
  parallel_for_worker(50, 3, [&](uint64_t, int worker) {
    const std::lock_guard lock(mutex);
    EXPECT_GE(worker, 0);
    EXPECT_LT(worker, 3);
  });
}

TEST(TextTable, AlignsByCodePoints) {
  TextTable table({"name", "µs"}, {Align::kLeft, Align::kRight});
  table.add_row({"größe", "1"});
  table.add_row({"x", "1000"});
  table.add_rule();
  table.add_row({"end"});
  EXPECT_EQ(table.str(), "name     µs\n-----------\ngröße     1\nx      1000\n-----------\nend\n");
}

TEST(Log, KeepsQuietBelowItsLevel) {
  std::vector<std::string> lines;
  set_log_sink([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  const LogLevel before = log_level();
  set_log_level(LogLevel::kInfo);
  log_debug("a {}", 1);
  log_info("b {}", 2);
  set_log_level(before);
  set_log_sink({});
  EXPECT_EQ(lines, std::vector<std::string>{"b 2"});
}

TEST(FreshMemory, IsZeroAndKeepsWhatIsWritten) {
  for (const size_t count : {size_t{0}, size_t{3}, size_t{5} << 20}) {  // of the heap, and pages of its own
    FreshVector<double> values(count);
    EXPECT_EQ(std::count(values.begin(), values.end(), 0.0), static_cast<ptrdiff_t>(count));
    values.push_back(7);
    values.insert(values.begin(), 8);
    EXPECT_EQ(values.front(), 8);
    EXPECT_EQ(values.back(), 7);
    EXPECT_EQ(values.size(), count + 2);
  }
}

}  // namespace
}  // namespace kw
