#include "problem/philox.h"

#include "problem/first.h"

namespace kw::problem {
namespace {

constexpr std::int64_t kPiece = 1 << 13;
constexpr double kWords = 0x1p32, kExact = 0x1p53;

// Whether every value of the array is in [0, limit); names the first that is not.
Status check_range(std::string_view what, const Array& a, std::int64_t count, double limit, std::string_view remedy,
                   int threads) {
  First outside;
  for_pieces(count, kPiece, threads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      if (!(a.data[i] >= 0 && a.data[i] < limit)) return outside.see(i);
  });
  if (outside.none()) return {};
  return fail(ErrorCode::kInvalid, "{} at {} is {:.0f}; {}", what, a.place_of(outside.at()),
              a.data[outside.at()], remedy);
}

void put(const PhiloxCounter& words, double* out) {
  for (std::size_t k = 0; k < words.size(); ++k) out[k] = words[k];
}

std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }

}  // namespace

PhiloxCounter philox4x32(PhiloxCounter c, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t left = std::uint64_t{0xd2511f53} * c[0], right = std::uint64_t{0xcd9e8d57} * c[2];
    c = {high(right) ^ c[1] ^ key[0], low(right), high(left) ^ c[3] ^ key[1], low(left)};
    key = {key[0] + 0x9e3779b9u, key[1] + 0xbb67ae85u};
  }
  return c;
}

PhiloxCounter philox_outputs(std::uint64_t seed, std::uint64_t subsequence, std::uint64_t offset) {
  const auto block = [&](std::uint64_t number) {
    return philox4x32({low(number), high(number), low(subsequence), high(subsequence)}, {low(seed), high(seed)});
  };
  PhiloxCounter words = block(offset / 4);
  const std::size_t skip = offset % 4;
  if (skip == 0) return words;
  const PhiloxCounter next = block(offset / 4 + 1);
  for (std::size_t k = 0; k < 4; ++k) words[k] = k + skip < 4 ? words[k + skip] : next[k + skip - 4];
  return words;
}

// The multiplication by 2^-32 is exact, so a fused multiply-add and two operations give the same float.
float philox_uniform(std::uint32_t word) { return static_cast<float>(word) * 0x1p-32f + 0x1p-33f; }

Status philox_blocks(const Array& counter, const Array& key, double* out, std::int64_t count, int threads) {
  const std::string_view remedy = "a word lies between 0 and 2^32 - 1";
  KW_TRY_VOID(check_range("philox4x32: counter word", counter, count * 4, kWords, remedy, threads));
  KW_TRY_VOID(check_range("philox4x32: key word", key, count * 2, kWords, remedy, threads));
  const auto word = [](double x) { return static_cast<std::uint32_t>(x); };
  for_pieces(count, kPiece, threads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      PhiloxCounter c;
      PhiloxKey k;
      std::transform(counter.data + i * 4, counter.data + i * 4 + 4, c.begin(), word);
      std::transform(key.data + i * 2, key.data + i * 2 + 2, k.begin(), word);
      put(philox4x32(c, k), out + i * 4);
    }
  });
  return {};
}

Status philox(const Array& seed, const Array& subsequence, const Array& offset, double* out, std::int64_t count,
              int threads) {
  const std::string_view remedy =
      "it lies between 0 and 2^53 - 1, where integers are exact; say wider ones in words: philox4x32(counter, key)";
  KW_TRY_VOID(check_range("philox: seed", seed, count, kExact, remedy, threads));
  KW_TRY_VOID(check_range("philox: subsequence", subsequence, count, kExact, remedy, threads));
  KW_TRY_VOID(check_range("philox: offset", offset, count, kExact, remedy, threads));
  const auto whole = [](double x) { return static_cast<std::uint64_t>(x); };
  for_pieces(count, kPiece, threads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      put(philox_outputs(whole(seed.data[i]), whole(subsequence.data[i]), whole(offset.data[i])), out + i * 4);
  });
  return {};
}

Status uniform(const Array& words, double* out, std::int64_t count, int threads) {
  KW_TRY_VOID(check_range("curand_uniform: word", words, count, kWords, "a word lies between 0 and 2^32 - 1", threads));
  for_pieces(count, kPiece, threads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) out[i] = philox_uniform(static_cast<std::uint32_t>(words.data[i]));
  });
  return {};
}

}  // namespace kw::problem
