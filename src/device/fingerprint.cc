#include "device/fingerprint.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/parallel.h"

namespace kw::device {
namespace {

// Fractional digits of the golden ratio, and of the square roots of 3 and 5, made odd.
constexpr uint64_t kA = 0x9e3779b97f4a7c15, kB = 0xbb67ae8584caa73b, kC = 0x3c6ef372fe94f82b;

// Of `count` words, the first of which has the number `first`.
Fingerprint sums_of(const uint8_t* words, size_t first, size_t count, uint64_t key) {
  Fingerprint sums;
  for (size_t i = 0; i < count; ++i) {
    uint32_t word;
    std::memcpy(&word, words + 4 * i, 4);
    uint64_t m = (uint64_t{word} + 1) * kA + (first + i) * kB + key;
    m ^= m >> 32;
    m *= kC;
    m ^= m >> 29;
    sums.first += m;
    m *= kA;
    m ^= m >> 32;
    sums.second += m;
  }
  return sums;
}

}  // namespace

Fingerprint fingerprint_of(std::span<const uint8_t> bytes, uint64_t key) {
  constexpr size_t kPiece = size_t{1} << 20;   // words
  const size_t words = bytes.size() / 4, pieces = (words + kPiece - 1) / kPiece;
  std::vector<Fingerprint> of_pieces(pieces);
  parallel_for(pieces, available_cores(), [&](uint64_t i) {
    const size_t first = i * kPiece;
    of_pieces[i] = sums_of(bytes.data() + 4 * first, first, std::min(kPiece, words - first), key);
  });
  if (bytes.size() % 4 != 0) {
    uint8_t last[4] = {};
    std::memcpy(last, bytes.data() + 4 * words, bytes.size() % 4);
    of_pieces.push_back(sums_of(last, words, 1, key));
  }
  Fingerprint sums;
  for (const Fingerprint& each : of_pieces) {
    sums.first += each.first;
    sums.second += each.second;
  }
  return sums;
}

const char kFingerprintPtx[] = R"(
.version 7.0
.target sm_70
.address_size 64

.visible .entry fingerprint(.param .u64 from, .param .u64 bytes, .param .u64 key, .param .u64 sums)
{
  .reg .pred %done, %tail, %odd, %leader;
  .reg .b32 %block, %width, %thread, %blocks, %word, %byte, %shift, %low, %high, %delta, %lane;
  .reg .b64 %from, %bytes, %key, %sums, %i, %step, %words, %at, %m, %n, %first, %second, %end;
  ld.param.u64 %from, [from];
  ld.param.u64 %bytes, [bytes];
  ld.param.u64 %key, [key];
  ld.param.u64 %sums, [sums];
  mov.u32 %block, %ctaid.x;
  mov.u32 %width, %ntid.x;
  mov.u32 %thread, %tid.x;
  mov.u32 %blocks, %nctaid.x;
  mul.wide.u32 %i, %block, %width;
  cvt.u64.u32 %n, %thread;
  add.u64 %i, %i, %n;
  mul.wide.u32 %step, %width, %blocks;
  add.u64 %words, %bytes, 3;
  shr.u64 %words, %words, 2;
  add.u64 %end, %from, %bytes;
  mov.u64 %first, 0;
  mov.u64 %second, 0;
NEXT:
  setp.ge.u64 %done, %i, %words;
  @%done bra DONE;
  shl.b64 %at, %i, 2;
  add.u64 %at, %from, %at;
  add.u64 %n, %at, 4;
  setp.gt.u64 %tail, %n, %end;
  @%tail bra TAIL;
  ld.global.u32 %word, [%at];
  bra MIX;
TAIL:
  mov.u32 %word, 0;
  mov.u32 %shift, 0;
BYTE:
  setp.ge.u64 %odd, %at, %end;
  @%odd bra MIX;
  ld.global.u8 %byte, [%at];
  shl.b32 %byte, %byte, %shift;
  or.b32 %word, %word, %byte;
  add.u32 %shift, %shift, 8;
  add.u64 %at, %at, 1;
  bra BYTE;
MIX:
  cvt.u64.u32 %m, %word;
  add.u64 %m, %m, 1;
  mul.lo.u64 %m, %m, 0x9e3779b97f4a7c15;
  mul.lo.u64 %n, %i, 0xbb67ae8584caa73b;
  add.u64 %m, %m, %n;
  add.u64 %m, %m, %key;
  shr.u64 %n, %m, 32;
  xor.b64 %m, %m, %n;
  mul.lo.u64 %m, %m, 0x3c6ef372fe94f82b;
  shr.u64 %n, %m, 29;
  xor.b64 %m, %m, %n;
  add.u64 %first, %first, %m;
  mul.lo.u64 %m, %m, 0x9e3779b97f4a7c15;
  shr.u64 %n, %m, 32;
  xor.b64 %m, %m, %n;
  add.u64 %second, %second, %m;
  add.u64 %i, %i, %step;
  bra NEXT;
DONE:
  mov.u32 %delta, 16;
FOLD:
  mov.b64 {%low, %high}, %first;
  shfl.sync.bfly.b32 %low, %low, %delta, 31, 0xffffffff;
  shfl.sync.bfly.b32 %high, %high, %delta, 31, 0xffffffff;
  mov.b64 %n, {%low, %high};
  add.u64 %first, %first, %n;
  mov.b64 {%low, %high}, %second;
  shfl.sync.bfly.b32 %low, %low, %delta, 31, 0xffffffff;
  shfl.sync.bfly.b32 %high, %high, %delta, 31, 0xffffffff;
  mov.b64 %n, {%low, %high};
  add.u64 %second, %second, %n;
  shr.u32 %delta, %delta, 1;
  setp.ne.u32 %odd, %delta, 0;
  @%odd bra FOLD;
  mov.u32 %lane, %laneid;
  setp.eq.u32 %leader, %lane, 0;
  @!%leader bra END;
  red.global.add.u64 [%sums], %first;
  red.global.add.u64 [%sums+8], %second;
END:
  ret;
}
)";

}  // namespace kw::device
