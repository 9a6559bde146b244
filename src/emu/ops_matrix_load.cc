// ldmatrix, stmatrix, movmatrix of 8×8 matrices of 16 bits; wmma.load and wmma.store (PTX ISA 9.7.14).
//
// A matrix is eight rows of 16 bytes, each at the address that one lane gives: lanes 8i … 8i+7 for matrix i. Its
// register holds, in lane 4r + t, elements 2t and 2t+1 of row r; with .trans, of column r. So the 128 bytes of
// the register over the lanes are the matrix itself, or its transpose.
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "emu/aligned.h"
#include "emu/form.h"
#include "emu/lowering.h"
#include "emu/memory_access.h"
#include "emu/wmma_move.h"

namespace kw::emu {
namespace {

// 8×8 of 16 bits, from eight rows to 128 contiguous bytes. All rows are read before anything is written.
inline void transpose(const uint8_t* const rows[8], uint8_t* out) {
#if defined(__SSE2__)
  __m128i r[8], s[8];
  for (int i = 0; i < 8; ++i) r[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[i]));
  // Rows i and i+4 interleave; twice more, and every vector is a column.
  for (int i = 0; i < 4; ++i) {
    s[2 * i] = _mm_unpacklo_epi16(r[i], r[i + 4]);
    s[2 * i + 1] = _mm_unpackhi_epi16(r[i], r[i + 4]);
  }
  for (int i = 0; i < 4; ++i) {
    r[2 * i] = _mm_unpacklo_epi16(s[i], s[i + 4]);
    r[2 * i + 1] = _mm_unpackhi_epi16(s[i], s[i + 4]);
  }
  for (int i = 0; i < 4; ++i) {
    s[2 * i] = _mm_unpacklo_epi16(r[i], r[i + 4]);
    s[2 * i + 1] = _mm_unpackhi_epi16(r[i], r[i + 4]);
  }
  for (int i = 0; i < 8; ++i) _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 16 * i), s[i]);
#else
  uint16_t matrix[8][8], result[8][8];
  for (int i = 0; i < 8; ++i) std::memcpy(matrix[i], rows[i], 16);
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) result[j][i] = matrix[i][j];
  std::memcpy(out, result, sizeof result);
#endif
}

// Rows' host addresses; false: waiting, or faulted.
bool row_addresses(Warp& warp, const Insn& insn, int matrices, Access how, uint64_t* addresses) {
  if (warp.exec != kFull && !all_lanes_here(warp, insn)) return false;
  compute_addresses(warp, insn, addresses);
  const Mask lanes = matrices == 4 ? kFull : (1u << (8 * matrices)) - 1;
  const ptx::Space space = space_of(insn);
  if (space != ptx::Space::kShared && !shared_offsets(warp, insn, space, addresses, lanes)) return false;
  return resolve(warp, insn, ptx::Space::kShared, how, addresses, lanes, 16, 16);
}

template <int kMatrices, bool kTranspose>
void load_matrices(Warp& warp, const Insn& insn) {
  alignas(32) uint64_t addresses[kLanes];
  if (!row_addresses(warp, insn, kMatrices, Access::kMatrixRead, addresses)) return;
  for (int m = 0; m < kMatrices; ++m) {
    uint8_t* const out = warp.bank + insn.more[m];
    const uint8_t* rows[8];
    for (int i = 0; i < 8; ++i) rows[i] = reinterpret_cast<const uint8_t*>(addresses[8 * m + i]);
    if constexpr (kTranspose) {
      transpose(rows, out);
    } else {
      for (int i = 0; i < 8; ++i) std::memcpy(out + 16 * i, rows[i], 16);
    }
  }
}

template <int kMatrices, bool kTranspose>
void store_matrices(Warp& warp, const Insn& insn) {
  alignas(32) uint64_t addresses[kLanes];
  if (!row_addresses(warp, insn, kMatrices, Access::kMatrixWrite, addresses)) return;
  for (int m = 0; m < kMatrices; ++m) {
    const uint8_t* from = warp.bank + insn.more[m];
    uint8_t columns[128];
    if constexpr (kTranspose) {
      const uint8_t* rows[8];
      for (int i = 0; i < 8; ++i) rows[i] = from + 16 * i;
      transpose(rows, columns);
      from = columns;
    }
    for (int i = 0; i < 8; ++i) std::memcpy(reinterpret_cast<void*>(addresses[8 * m + i]), from + 16 * i, 16);
  }
}

// op: d, a.
void move_matrix(Warp& warp, const Insn& insn) {
  if (warp.exec != kFull && !all_lanes_here(warp, insn)) return;
  const uint8_t* rows[8];
  for (int i = 0; i < 8; ++i) rows[i] = warp.bank + insn.op[1] + 16 * i;
  transpose(rows, warp.bank + insn.op[0]);
}

struct MatrixForm {
  int count = 0;   // 0, 1, 2: one, two, four
  bool transpose = false;
  ptx::Space space = ptx::Space::kNone;
};

Result<MatrixForm> matrix_form(const Lowering& lowering) {
  Form form(lowering.instruction());
  MatrixForm result;
  const bool all = form.take("sync") && form.take("aligned") && form.take("m8n8") && form.take("b16");
  result.count = form.take_one_of({"x1", "x2", "x4"});
  result.transpose = form.take("trans");
  if (form.take("shared") || form.take("shared::cta")) result.space = ptx::Space::kShared;
  if (!all || result.count < 0 || !form.done()) return lowering.unsupported();
  return result;
}

Status lower_move_rows(Lowering& lowering, bool store) {
  KW_TRY(const MatrixForm form, matrix_form(lowering));
  if (lowering.operand_count() != 2) return lowering.invalid(store ? "takes an address and registers" : "takes registers and an address");
  KW_TRY(const Lowering::Address address, lowering.address(lowering.operand(store ? 0 : 1), form.space));
  if (address.in_frame) return lowering.invalid("needs an address in .shared memory");
  const auto elements = fragment_operands(lowering.operand(store ? 1 : 0));
  const size_t count = 1u << form.count;
  if (elements.size() != count)
    return lowering.invalid(fmt::format("takes {} registers, {} given", count, elements.size()));
  std::vector<Vreg> registers;
  for (const ptx::Operand& element : elements) {
    KW_TRY(const Vreg reg, store ? lowering.use(element, 4) : lowering.def(element, 4));
    registers.push_back(reg);
  }
  static constexpr Handler kHandlers[2][2][3] = {
      {{&load_matrices<1, false>, &load_matrices<2, false>, &load_matrices<4, false>},
       {&load_matrices<1, true>, &load_matrices<2, true>, &load_matrices<4, true>}},
      {{&store_matrices<1, false>, &store_matrices<2, false>, &store_matrices<4, false>},
       {&store_matrices<1, true>, &store_matrices<2, true>, &store_matrices<4, true>}}};
  const Handler handler = kHandlers[store][form.transpose][form.count];
  Insn& insn = lowering.emit(handler, handler, Counters::kMatrixLoad);
  set_address(insn, form.space, address);
  if (store) lowering.set_more(insn, {}, registers);
  else lowering.set_more(insn, registers, {});
  return {};
}

Status lower_load_matrix(Lowering& lowering) { return lower_move_rows(lowering, false); }
Status lower_store_matrix(Lowering& lowering) { return lower_move_rows(lowering, true); }

Status lower_move_matrix(Lowering& lowering) {
  Form form(lowering.instruction());
  const bool all = form.take("sync") && form.take("aligned") && form.take("m8n8") && form.take("trans") && form.take("b16");
  if (!all || !form.done()) return lowering.unsupported();
  if (lowering.operand_count() != 2) return lowering.invalid("takes d, a");
  KW_TRY(const Vreg from, lowering.use(lowering.operand(1), 4));
  KW_TRY(const Vreg to, lowering.def(lowering.operand(0), 4));
  Insn& insn = lowering.emit(&move_matrix, &move_matrix, Counters::kMatrixLoad);
  insn.op[0] = to;
  insn.op[1] = from;
  insn.op_defs = 1;
  insn.op_uses = 2;
  return {};
}

constexpr OpEntry kTable[] = {
    {"ldmatrix", nullptr, &lower_load_matrix},
    {"stmatrix", nullptr, &lower_store_matrix},
    {"movmatrix", nullptr, &lower_move_matrix},
    {"wmma", [](const ptx::Instruction& instruction) { return instruction.has("load"); }, &lower_wmma_load},
    {"wmma", [](const ptx::Instruction& instruction) { return instruction.has("store"); }, &lower_wmma_store},
};

}  // namespace

std::span<const OpEntry> matrix_load_ops() { return kTable; }

}  // namespace kw::emu
