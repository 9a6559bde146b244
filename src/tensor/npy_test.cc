#include "tensor/npy.h"

#include <gtest/gtest.h>

namespace kw::tensor {
namespace {

// numpy.save of numpy.array([[1, 2, 3]], dtype='<i2'), by the words of numpy.lib.format: 128 bytes, then the elements.
std::string file_of(std::string dictionary, std::string_view elements) {
  dictionary.append(117 - dictionary.size(), ' ').push_back('\n');
  return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + dictionary + std::string(elements);
}

TEST(Npy, ReadsWhatNumPyWrites) {
  const std::string file =
      file_of("{'descr': '<i2', 'fortran_order': False, 'shape': (1, 3), }", std::string_view("\1\0\2\0\xff\xff", 6));
  auto tensor = parse_npy(file, "x.npy");
  ASSERT_TRUE(tensor) << format_error(tensor.error());
  EXPECT_EQ(tensor->description(), "i16[1, 3]");
  EXPECT_EQ(tensor->to_doubles(), (std::vector<double>{1, 2, -1}));
}

TEST(Npy, WrittenFilesAreReadAgain) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kI64, DType::kU8, DType::kBool})
    for (const Shape& shape : {Shape{}, Shape{4}, Shape{2, 3}, Shape{0, 7}}) {
      auto made = Tensor::zeros(dtype, shape);
      ASSERT_TRUE(made);
      for (std::int64_t i = 0; i < made->size(); ++i) made->set(i, i % 2 == 0 ? 1 : 0);
      auto bytes = npy_bytes(*made);
      ASSERT_TRUE(bytes);
      EXPECT_EQ((bytes->size() - made->bytes().size()) % 64, 0u) << "the elements are aligned";
      auto again = parse_npy(*bytes, "again.npy");
      ASSERT_TRUE(again) << format_error(again.error());
      EXPECT_EQ(again->description(), made->description());
      EXPECT_EQ(again->to_doubles(), made->to_doubles());
    }
}

TEST(Npy, RefusesWhatItCannotRead) {
  const std::string_view four("\0\0\0\0", 4);
  EXPECT_FALSE(parse_npy("", "x"));
  EXPECT_FALSE(parse_npy("PK\x03\x04 a zip archive of arrays", "x.npz"));
  EXPECT_FALSE(parse_npy(std::string("\x93NUMPY\x01\x00\xff\xff cut", 14), "x")) << "a header longer than the file";
  const auto big_endian = parse_npy(file_of("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", four), "x");
  ASSERT_FALSE(big_endian);
  EXPECT_NE(big_endian.error().message.find("dtype '>f4';"), std::string::npos) << big_endian.error().message;
  EXPECT_FALSE(parse_npy(file_of("{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }", four), "x"));
  EXPECT_FALSE(parse_npy(file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", four), "x")) << "too short";
  EXPECT_FALSE(parse_npy(file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }", four), "x"));
  EXPECT_FALSE(npy_bytes(*Tensor::zeros(DType::kBF16, {2}))) << "NumPy has no bfloat16";
}

}  // namespace
}  // namespace kw::tensor
