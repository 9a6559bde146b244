#include "base/objects.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "base/file.h"
#include "base/hash.h"

namespace kw {
namespace {

struct ObjectsTest : testing::Test {
  TempDir folder = *TempDir::create("kw-objects");
  void SetUp() override { ASSERT_TRUE(make_folder(folder / "objects")); }
  std::string place(const std::string& hash) { return folder / ("objects/" + hash); }
};

TEST_F(ObjectsTest, GivesBackWhatWasPut) {
  for (const std::string& bytes : {std::string(), std::string("a\0b\xff", 4), std::string(1 << 20, 'x')}) {
    const auto hash = put_object(folder.path(), bytes);
    ASSERT_TRUE(hash);
    EXPECT_EQ(*hash, hash_hex(bytes));
    EXPECT_EQ(*object(folder.path(), *hash), bytes);
    EXPECT_EQ(*put_object(folder.path(), bytes), *hash) << "twice is once";
  }
}

TEST_F(ObjectsTest, LeavesNothingBesidesObjects) {
  std::vector<std::jthread> writers;
  for (int i = 0; i < 4; ++i)
    writers.emplace_back([&] {
      for (int n = 0; n < 10; ++n) EXPECT_TRUE(put_object(folder.path(), std::to_string(n)));
    });
  writers.clear();
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "objects"))
    files += is_hash(entry.path().filename().string());
  EXPECT_EQ(files, 10u);
}

TEST_F(ObjectsTest, TellsMissingFromDamaged) {
  EXPECT_EQ(object(folder.path(), hash_hex("never put")).error().code, ErrorCode::kNotFound);
  const std::string hash = *put_object(folder.path(), "whole");
  ASSERT_TRUE(write_file(place(hash), "whol"));
  const auto damaged = object(folder.path(), hash);
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, ErrorCode::kInvalid);
  EXPECT_FALSE(damaged.error().notes.empty()) << "there is a remedy";
  ASSERT_TRUE(put_object(folder.path(), "whole"));
  EXPECT_EQ(*object(folder.path(), hash), "whole") << "putting it again heals it";
}

TEST_F(ObjectsTest, NoNameLeavesTheFolder) {
  ASSERT_TRUE(write_file(folder / "secret", "s"));
  for (const char* name : {"../secret", "", "..", "AB", "0123456789abcdef0123456789abcdeG"})
    EXPECT_EQ(object(folder.path(), name).error().code, ErrorCode::kInvalid) << name;
}

TEST_F(ObjectsTest, AFolderThatIsNotThereIsAnError) { EXPECT_FALSE(put_object(folder / "absent", "x")); }

}  // namespace
}  // namespace kw
