#include "emu/finding.h"

#include <algorithm>
#include <cmath>

namespace kw::emu {

std::string_view name_of(Finding::Kind kind) {
  switch (kind) {
    case Finding::Kind::kOutOfBounds: return "out-of-bounds";
    case Finding::Kind::kMisaligned: return "misaligned";
    case Finding::Kind::kUninitialisedRead: return "uninitialised-read";
    case Finding::Kind::kRace: return "race";
    case Finding::Kind::kBarrierDivergence: return "barrier-divergence";
    case Finding::Kind::kDeadlock: return "deadlock";
    case Finding::Kind::kInvalidOperand: return "invalid-operand";
    case Finding::Kind::kTrap: return "trap";
    case Finding::Kind::kWriteToReadOnly: return "write-to-read-only";
    case Finding::Kind::kLimit: return "limit";
    case Finding::Kind::kUnsupported: return "unsupported";
    case Finding::Kind::kStackOverflow: return "stack-overflow";
  }
  return "unknown";
}

std::string_view name_of(Counters::Class instruction_class) {
  switch (instruction_class) {
    case Counters::kInteger: return "integer";
    case Counters::kFloat32: return "float32";
    case Counters::kFloat64: return "float64";
    case Counters::kHalf: return "half";
    case Counters::kConversion: return "conversion";
    case Counters::kSpecialFunction: return "special-function";
    case Counters::kMove: return "move";
    case Counters::kPredicate: return "predicate";
    case Counters::kControl: return "control";
    case Counters::kBarrier: return "barrier";
    case Counters::kLoad: return "load";
    case Counters::kStore: return "store";
    case Counters::kAtomic: return "atomic";
    case Counters::kAsyncCopy: return "async-copy";
    case Counters::kMatrixLoad: return "matrix-load";
    case Counters::kTensor: return "tensor";
    case Counters::kWarpVote: return "warp-vote";
    case Counters::kOther: return "other";
    case Counters::kClasses: break;
  }
  return "unknown";
}

namespace {

void add_space(SpaceCounters& to, const SpaceCounters& from) {
  to.load_requests += from.load_requests;
  to.store_requests += from.store_requests;
  to.atomic_requests += from.atomic_requests;
  to.load_bytes += from.load_bytes;
  to.store_bytes += from.store_bytes;
  to.atomic_bytes += from.atomic_bytes;
  to.sectors_load += from.sectors_load;
  to.sectors_store += from.sectors_store;
  to.wavefronts_load += from.wavefronts_load;
  to.wavefronts_store += from.wavefronts_store;
  to.ideal_wavefronts_load += from.ideal_wavefronts_load;
  to.ideal_wavefronts_store += from.ideal_wavefronts_store;
}

bool same_instruction(const Party& a, const Party& b) {
  return a.ptx_line == b.ptx_line && a.kernel == b.kernel && a.instruction == b.instruction;
}

bool same_finding(const Finding& a, const Finding& b) {
  if (a.kind != b.kind || a.space != b.space || !same_instruction(a.party, b.party)) return false;
  if (a.other.has_value() != b.other.has_value()) return false;
  return !a.other || same_instruction(*a.other, *b.other);
}

}  // namespace

void Counters::scale(double by) {
  const auto times = [by](uint64_t& n) { n = static_cast<uint64_t>(std::llround(static_cast<double>(n) * by)); };
  for (uint64_t& n : warp_instructions) times(n);
  for (uint64_t& n : thread_instructions) times(n);
  for (SpaceCounters* space : {&global, &shared, &local, &constant, &param, &ldmatrix, &cp_async}) {
    for (uint64_t* n : {&space->load_requests, &space->store_requests, &space->atomic_requests, &space->load_bytes, &space->store_bytes, &space->atomic_bytes, &space->sectors_load,
                        &space->sectors_store, &space->wavefronts_load, &space->wavefronts_store, &space->ideal_wavefronts_load, &space->ideal_wavefronts_store}) times(*n);
  }
  for (uint64_t* n : {&branches, &divergent_branches, &cp_async_global_bytes, &cp_async_sectors, &tensor_operations, &barriers, &blocks, &warps, &busiest_warps,
                      &block_sectors_load, &block_sectors, &launch_sectors, &launch_pages}) times(*n);
}

void Counters::add(const Counters& other) {
  for (size_t i = 0; i < warp_instructions.size(); ++i) warp_instructions[i] += other.warp_instructions[i];
  for (size_t i = 0; i < thread_instructions.size(); ++i) thread_instructions[i] += other.thread_instructions[i];
  branches += other.branches;
  divergent_branches += other.divergent_branches;
  add_space(global, other.global);
  add_space(shared, other.shared);
  add_space(local, other.local);
  add_space(constant, other.constant);
  add_space(param, other.param);
  add_space(ldmatrix, other.ldmatrix);
  add_space(cp_async, other.cp_async);
  cp_async_global_bytes += other.cp_async_global_bytes;
  cp_async_sectors += other.cp_async_sectors;
  tensor_operations += other.tensor_operations;
  barriers += other.barriers;
  blocks += other.blocks;
  warps += other.warps;
  busiest_block = std::max(busiest_block, other.busiest_block);
  busiest_warps += other.busiest_warps;
  block_sectors_load += other.block_sectors_load;
  block_sectors += other.block_sectors;
  launch_sectors += other.launch_sectors;
  launch_pages += other.launch_pages;
}

bool merge_finding(std::vector<Finding>& into, Finding finding, uint64_t limit) {
  for (Finding& have : into) {
    if (!same_finding(have, finding)) continue;
    have.count += finding.count;
    have.fatal = have.fatal || finding.fatal;
    return true;
  }
  if (into.size() >= limit && !finding.fatal) return false;
  into.push_back(std::move(finding));
  return true;
}

}  // namespace kw::emu
