#include "emu/block.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "emu/observer.h"
#include "ptx/printer.h"

namespace kw::emu {
namespace {

// Memory that a kernel reads before writing it shows as NaNs and absurd integers.
constexpr int kPoison = 0xff;

// A permutation of 0 … count-1, the same for the same seed everywhere.
std::vector<uint32_t> permutation(uint32_t count, uint64_t seed) {
  std::vector<uint32_t> order(count);
  for (uint32_t i = 0; i < count; ++i) order[i] = i;
  if (seed == 0) return order;
  uint64_t x = seed;
  for (uint32_t i = count; i > 1; --i) {
    x += 0x9e3779b97f4a7c15ull;   // splitmix64 (Steele, Lea, Flood 2014)
    uint64_t z = x;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    std::swap(order[i - 1], order[(z ^ (z >> 31)) % i]);
  }
  return order;
}

}  // namespace

Block::Block(const LaunchPlan& plan, CountTable& counts, uint64_t* clock) : plan_(plan), counts_(counts), clock_(clock) {
  const Code& code = *plan.kernel->entry;
  const size_t bank = (code.bank_bytes + 64 + 63) / 64 * 64;
  banks_ = allocate_bytes(bank * plan.warps);
  shared_ = allocate_bytes(plan.shared_extent + 64);
  local_ = allocate_bytes(size_t{plan.stack_bytes} * kLanes * plan.warps);
  context_.launch = plan.launch;
  context_.options = plan.options;
  context_.memory = plan.memory;
  context_.threads = plan.threads;
  context_.shared = shared_.get();
  context_.shared_bytes = plan.shared_bytes;
  context_.reserved_shared = plan.reserved_shared;
  context_.shared_extent = plan.shared_extent;
  context_.param_base = plan.param_base;
  context_.param_bytes = plan.param_bytes;
  for (uint32_t i = 0; i < plan.warps; ++i) {
    auto state = std::make_unique<WarpState>();
    state->owner = this;
    state->base.code = &code;
    state->base.counts = counts_for(code);
    state->base.bank = banks_.get() + bank * i;
    prepare_bank(code, state->base.bank, true);
    Warp& w = state->warp;
    w.block = &context_;
    w.index = i;
    w.local = local_.get() + size_t{plan.stack_bytes} * kLanes * i;
    w.local_stride = plan.stack_bytes;
    w.state = state.get();
    state->deepest_local = plan.stack_bytes;   // all of it is new
    context_.warps.push_back(&w);
    warps_.push_back(std::move(state));
  }
  for (BarrierState& b : barriers_) {
    b.arrived_lanes.assign(plan.warps, 0);
    b.waiting_lanes.assign(plan.warps, 0);
  }
}

void Block::begin(uint64_t linear_index, Observer* observer) {
  const auto& grid = plan_.launch->grid;
  context_.linear_index = linear_index;
  context_.ctaid = {static_cast<uint32_t>(linear_index % grid[0]), static_cast<uint32_t>(linear_index / grid[0] % grid[1]),
                    static_cast<uint32_t>(linear_index / grid[0] / grid[1])};
  context_.observer = observer;
  context_.stopped = false;
  context_.output.clear();
  context_.findings.clear();
  context_.distinct_dropped = 0;
  context_.executed = 0;
  context_.counters = {};
  context_.async_copies.clear();
  context_.watched = false;
  context_.overwritten = 0;
  progress_ = 0;
  std::memset(shared_.get(), kPoison, plan_.shared_extent);
  for (BarrierState& b : barriers_) {
    if (!b.active) continue;
    b.active = false;
    b.arrived = 0;
    b.site = nullptr;
    std::fill(b.arrived_lanes.begin(), b.arrived_lanes.end(), 0);
    std::fill(b.waiting_lanes.begin(), b.waiting_lanes.end(), 0);
  }
  for (uint32_t i = 0; i < plan_.warps; ++i) {
    WarpState& s = *warps_[i];
    Warp& w = s.warp;
    const uint32_t threads = std::min<uint32_t>(kLanes, plan_.threads - i * kLanes);
    w.live = threads == kLanes ? kFull : (1u << threads) - 1;
    w.interrupted = false;
    w.waiting = 0;
    s.executed = 0;
    for (int lane = 0; lane < kLanes && s.deepest_local != 0; ++lane) {
      std::memset(w.local + size_t{w.local_stride} * static_cast<size_t>(lane), kPoison, s.deepest_local);
    }
    s.deepest_local = plan_.kernel->entry->local_bytes;
    prepare_bank(*plan_.kernel->entry, s.base.bank, false);
    s.base.lanes = w.live;
    s.base.tops.reset();
    while (!s.frames.empty()) {
      s.spare_frames.push_back(std::move(s.frames.back()));
      s.frames.pop_back();
    }
    s.frame_bytes = 0;
    s.fragments.clear();
    add_fragment(s, &s.base, 0, w.live);
  }
  order_ = permutation(plan_.warps, plan_.options->schedule_seed == 0 ? 0 : plan_.options->schedule_seed * 1000003 + linear_index);
  if (observer != nullptr) observer->block_begin(context_);
}

bool Block::step(uint64_t quantum) {
  if (generation_ != plan_.memory->generation()) {
    generation_ = plan_.memory->generation();
    context_.ranges = {};
  }
  context_.overwritten = 0;
  bool more = false, ran = false;
  for (uint32_t i : order_) {
    WarpState& s = *warps_[i];
    if (s.warp.live == 0 || !s.has_ready()) continue;
    ran = true;
    current_ = &s;
    const Turn turn = run_warp(s, quantum);
    current_ = nullptr;
    context_.executed += s.steps;
    s.executed += s.steps;
    *clock_ += s.steps;
    s.steps = 0;
    if (context_.stopped) return false;
    more = more || turn != Turn::kOver;
    if (turn == Turn::kOver) ++progress_;
  }
  if (!ran) {
    for (const auto& s : warps_) more = more || s->warp.live != 0;
    if (!more) return false;
    report_deadlock("no warp of the block can go on");
    return false;
  }
  const uint64_t limit = plan_.options->max_warp_instructions != 0 ? plan_.options->max_warp_instructions : uint64_t{1} << 40;
  if (context_.executed > limit) {
    report_limit(fmt::format("the block executed more than {} warp instructions", limit));
    return false;
  }
  for (const auto& s : warps_) {
    if (s->warp.live != 0) return true;
  }
  return false;
}

void Block::end() {
  uint64_t busiest = 0;
  for (const auto& s : warps_) busiest = std::max(busiest, s->executed);
  context_.counters.busiest_warps = busiest;
  context_.counters.busiest_block = context_.executed;
  if (context_.observer != nullptr) context_.observer->block_end(context_);
}

// A seed is another time, years of nanoseconds away, so that no kernel knows by the clock where it runs.
uint64_t Block::clock() const {
  const uint64_t origin = (plan_.options->schedule_seed * 0x9e3779b97f4a7c15ull) >> 4;
  return origin + *clock_ + (current_ != nullptr ? current_->steps : 0) + 1;
}

// Warps sleep side by side, but their turns add up: the clock moves by a warp's share.
void Block::sleep(uint32_t nanoseconds) {
  constexpr uint32_t kLongest = 1'000'000;   // PTX ISA, nanosleep: at most a millisecond
  const auto live = std::count_if(warps_.begin(), warps_.end(), [](const auto& s) { return s->warp.live != 0; });
  *clock_ += std::min(nanoseconds, kLongest) / static_cast<uint64_t>(std::max<std::ptrdiff_t>(1, live));
}

CodeCounts* Block::counts_for(const Code& code) {
  auto& counts = counts_[&code];
  if (counts == nullptr) {
    counts = std::make_unique<CodeCounts>();
    counts->entries.assign(code.blocks.size(), 0);
    counts->lanes.assign(code.blocks.size(), 0);
  }
  return counts.get();
}

uint32_t Block::live_threads() const {
  uint32_t total = 0;
  for (const auto& s : warps_) total += static_cast<uint32_t>(std::popcount(s->warp.live));
  return total;
}

// ── When nothing goes on ─────────────────────────────────────────────────────────────────────────────────

void Block::report_deadlock(const char* how) {
  constexpr size_t kShown = 8;
  Finding finding;
  finding.kind = Finding::Kind::kDeadlock;
  std::string text = how;
  size_t shown = 0, hidden = 0;
  const Fragment* first = nullptr;
  WarpState* first_warp = nullptr;
  bool divergence = false;
  auto insn_of = [](const Fragment& f) -> const Insn& { return f.frame->code->insns[f.pc]; };
  for (const auto& s : warps_) {
    for (const Fragment& f : s->fragments) {
      const Insn& insn = insn_of(f);
      const bool better = first == nullptr || (f.state != Fragment::State::kReady && first->state == Fragment::State::kReady);
      if (better) { first = &f; first_warp = s.get(); }
      if (f.state == Fragment::State::kConverge && insn.ends_block) divergence = true;
      if (shown == kShown) { ++hidden; continue; }
      ++shown;
      const Party who = context_.party(s->warp, insn, std::countr_zero(f.mask));
      text += fmt::format("; warp {} lanes {:#010x} at line {} ({})", s->warp.index, f.mask, who.ptx_line, who.instruction);
      if (f.state == Fragment::State::kBarrier) {
        const BarrierState& b = barriers_[f.barrier];
        text += fmt::format(" waits at barrier {}: {} of {} threads arrived", f.barrier, b.arrived,
                            b.expected != 0 ? b.expected : live_threads());
      } else if (f.state == Fragment::State::kConverge) {
        text += fmt::format(" waits for lanes {:#010x} of its warp", f.needed & s->warp.live & ~f.mask);
      } else {
        text += " runs without effect";
      }
    }
  }
  if (hidden != 0) text += fmt::format("; and {} more", hidden);
  finding.message = std::move(text);
  if (first == nullptr) return;
  if (divergence) {
    finding.kind = Finding::Kind::kBarrierDivergence;
  }
  const Insn& insn = insn_of(*first);
  for (const Fragment& f : first_warp->fragments) {
    if (&f != first) { finding.other = context_.party(first_warp->warp, insn_of(f), std::countr_zero(f.mask)); break; }
  }
  context_.fault(first_warp->warp, insn, std::countr_zero(first->mask), std::move(finding));
}

void Block::report_limit(std::string message) {
  for (const auto& s : warps_) {
    if (s->fragments.empty()) continue;
    Finding finding;
    finding.kind = Finding::Kind::kLimit;
    finding.message = std::move(message);
    const Fragment& f = s->fragments.front();
    context_.fault(s->warp, f.frame->code->insns[f.pc], std::countr_zero(f.mask), std::move(finding));
    return;
  }
}

void Block::watch(bool on) { context_.watched = on; }

uint64_t Block::state_hash() const {
  uint64_t hash = 0x243f6a8885a308d3ull ^ context_.overwritten;
  auto mix = [&](uint64_t value) { hash = (hash ^ value) * 0x9fb21c651e98df25ull; hash ^= hash >> 29; };
  for (const auto& s : warps_) {
    for (const Fragment& f : s->fragments) {
      mix(f.pc);
      mix(f.mask);
      mix(static_cast<uint64_t>(f.state));
      mix(f.frame->depth);
      const uint64_t* words = reinterpret_cast<const uint64_t*>(f.frame->bank);
      for (uint32_t i = 0; i < f.frame->code->constant_begin / 8; ++i) mix(words[i]);
    }
  }
  return hash;
}

// ── Findings ─────────────────────────────────────────────────────────────────────────────────────────────

Party BlockContext::party(const Warp& warp, const Insn& insn, int lane) const {
  Party p;
  p.kernel = launch->kernel;
  p.block = ctaid;
  p.warp = warp.index;
  p.lane = static_cast<uint32_t>(lane);
  const uint32_t linear = warp.index * kLanes + p.lane;
  p.thread = {linear % launch->block[0], linear / launch->block[0] % launch->block[1],
              linear / launch->block[0] / launch->block[1]};
  // The instruction may belong to any frame of the warp; the executing one first.
  const Code* code = warp.code;
  auto owns = [&](const Code* c) { return c != nullptr && &insn >= c->insns.data() && &insn < c->insns.data() + c->insns.size(); };
  if (!owns(code) && warp.state != nullptr) {
    for (const Fragment& f : warp.state->fragments) {
      if (owns(f.frame->code)) code = f.frame->code;
    }
  }
  if (!owns(code)) return p;
  const ptx::Instruction* instruction = code->sources[insn.source].instruction;
  p.instruction = ptx::print(*code->function, *instruction);
  p.ptx_line = instruction->place.line;
  const ptx::Module& module = launch->program->module();
  constexpr size_t kMaxCalls = 64;   // shown; no compiler inlines deeper
  for (uint32_t at = instruction->loc; at != 0 && at < module.locations.size() && p.inlined_from.size() < kMaxCalls;) {
    const ptx::SourceLocation& location = module.locations[at];
    std::string file;
    if (location.file < module.files.size()) file = module.files[location.file].name;
    if (at == instruction->loc) {
      p.source_file = std::move(file);
      p.source_line = location.line;
      p.source_column = location.column;
    } else {
      p.inlined_from.push_back({std::move(file), location.line, location.column});
    }
    at = location.inlined_at;
  }
  return p;
}

void BlockContext::report(Warp& warp, const Insn& insn, int lane, Finding finding) {
  finding.party = party(warp, insn, lane);
  if (!merge_finding(findings, std::move(finding), options->max_findings)) ++distinct_dropped;
}

void BlockContext::fault(Warp& warp, const Insn& insn, int lane, Finding finding) {
  warp.interrupted = true;
  if (stopped) return;
  stopped = true;
  finding.fatal = true;
  report(warp, insn, lane, std::move(finding));
}

}  // namespace kw::emu
