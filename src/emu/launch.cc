// run(): checks a launch, runs its blocks on host threads (or all together in one interleaving), and merges
// what they say in the order of blocks.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <numeric>

#include "arch/target.h"
#include "base/parallel.h"
#include "emu/block.h"
#include "emu/emulator.h"
#include "emu/observer.h"
#include "emu/site_counters.h"
#include "emu/stall_watch.h"

namespace kw::emu {
namespace {

constexpr uint64_t kMaxBytes = 4ull << 30;          // of blocks in flight together
constexpr uint64_t kMaxOutput = 16u << 20;
constexpr uint64_t kEasyBytes = 1ull << 30;         // of them, as long as none waits for a block that has not started

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

uint64_t product(const std::array<uint32_t, 3>& v) { return uint64_t{v[0]} * v[1] * v[2]; }

// The module's target; sm_80 for one that arch does not know.
const arch::Target& target_of(const Launch& launch) {
  auto target = arch::find_target(launch.program->module().target);
  return **(target ? target : arch::find_target("sm_80"));
}

Status validate(const Launch& launch, const KernelImage& kernel, const arch::Target& target) {
  const auto bad = [&](std::string what) { return fail(ErrorCode::kInvalid, "launch of '{}': {}", launch.kernel, what); };
  const auto& g = launch.grid;
  const auto& b = launch.block;
  if (product(g) == 0) return bad(fmt::format("the grid ({}, {}, {}) is empty", g[0], g[1], g[2]));
  const arch::Limits& most = target.limits;
  const auto above = [](uint32_t value, int64_t limit) { return int64_t{value} > limit; };
  if (above(g[0], most.grid_x) || above(g[1], most.grid_y) || above(g[2], most.grid_z)) {
    return bad(fmt::format("the grid ({}, {}, {}) exceeds ({}, {}, {}) of {}", g[0], g[1], g[2], most.grid_x, most.grid_y,
                           most.grid_z, target.name));
  }
  if (product(b) == 0 || above(b[0], most.block_x) || above(b[1], most.block_y) || above(b[2], most.block_z) ||
      product(b) > static_cast<uint64_t>(most.threads_per_block)) {
    return bad(fmt::format("a block of ({}, {}, {}) threads; {} takes at most {}, and ({}, {}, {})", b[0], b[1], b[2], target.name,
                           most.threads_per_block, most.block_x, most.block_y, most.block_z));
  }
  if (product(launch.cluster) != 1) return bad("clusters of several blocks are not supported");
  const KernelInfo& info = kernel.info;
  if (info.max_threads != 0 && product(b) > info.max_threads) {
    return bad(fmt::format("{} threads per block; the kernel is compiled for at most {}", product(b), info.max_threads));
  }
  for (const auto& limit : kernel.function->limits) {
    if (limit.name != "reqntid") continue;
    for (size_t i = 0; i < 3; ++i) {
      const uint64_t want = i < limit.values.size() ? limit.values[i] : 1;
      if (b[i] != want) return bad(fmt::format("block dimension {} is {}; the kernel requires {}", i, b[i], want));
    }
  }
  const uint64_t shared = uint64_t{info.static_shared_bytes} + launch.dynamic_shared_bytes;
  const auto limit_bytes = static_cast<uint64_t>(std::max(most.shared_per_block_optin_bytes, most.shared_per_block_bytes));
  if (shared > limit_bytes) {
    return bad(fmt::format("{} bytes of shared memory ({} static, {} dynamic); a block on {} has at most {}", shared,
                           info.static_shared_bytes, launch.dynamic_shared_bytes, target.name, limit_bytes));
  }
  if (launch.params.size() != info.param_bytes) {
    return bad(fmt::format("the parameter block has {} bytes; the kernel takes {}", launch.params.size(), info.param_bytes));
  }
  return {};
}

struct Outcome {
  uint64_t position = 0, block = 0;
  std::vector<Finding> findings;
  std::string output;
  bool fatal = false;
};

// What the blocks of one host thread add up to.
struct Tally {
  CountTable counts;
  Counters counters;
  uint64_t executed = 0;           // decoded instructions: a PTX instruction may be several
  std::vector<Outcome> outcomes;   // of blocks that said something
};

// Blocks run in the order position -> block; with a seed, in a permuted one.
struct BlockOrder {
  std::span<const uint64_t> chosen;   // empty: all
  uint64_t count = 1, factor = 1, shift = 0;
  BlockOrder(std::span<const uint64_t> blocks, uint64_t n, uint64_t seed) : chosen(blocks), count(n) {
    if (seed == 0 || n < 2) return;
    factor = (seed * 0x9e3779b97f4a7c15ull) % n | 1;
    while (std::gcd(factor, n) != 1) factor = (factor + 1) % n == 0 ? 1 : factor + 1;
    shift = (seed * 0xbf58476d1ce4e5b9ull) % n;
  }
  uint64_t operator()(uint64_t position) const {
    const auto at = static_cast<uint64_t>((static_cast<unsigned __int128>(position) * factor + shift) % count);
    return chosen.empty() ? at : chosen[at];
  }
};

struct Launcher {
  const Launch& launch;
  const Options& options;
  const arch::Target& target;
  LaunchPlan plan;
  LaunchObserver* observers = nullptr;
  uint64_t blocks = 0;
  BlockOrder order;
  std::atomic<uint64_t> next{0};
  std::atomic<uint64_t> stop_after{~uint64_t{0}};   // position of the first block that stopped the launch

  bool late() const { return plan.deadline != 0 && now() > plan.deadline; }

  void harvest(Block& block, uint64_t position, Tally& tally) {
    BlockContext& context = block.context();
    block.end();
    tally.counters.add(context.counters);
    tally.executed += context.executed;
    if (context.findings.empty() && context.output.empty()) return;
    tally.outcomes.push_back({position, context.linear_index, std::move(context.findings), std::move(context.output), context.stopped});
    if (!context.stopped) return;
    uint64_t known = stop_after.load();
    while (position < known && !stop_after.compare_exchange_weak(known, position)) {
    }
  }

  // Blocks one after another, on as many host threads as call this.
  void run_independent(Tally& tally) {
    uint64_t clock = 0;
    Block block(plan, tally.counts, &clock);
    std::unique_ptr<Observer> observer = observers != nullptr ? observers->make_observer() : nullptr;
    for (;;) {
      const uint64_t position = next.fetch_add(1);
      if (position >= blocks || position > stop_after.load()) return;
      clock = 0;
      block.begin(order(position), observer.get());
      StallWatch watch(plan.warps);
      bool more = true;
      while (more) {
        block.watch(watch.suspicious());
        more = block.step(watch.quantum());
        if (!more) break;
        if (late()) {
          block.report_limit(fmt::format("the launch took longer than {} s", options.deadline_s));
          break;
        }
        if (position > stop_after.load()) break;
        if (watch.stalled(block.progress(), [&] { return block.state_hash(); })) {
          block.report_deadlock("every warp waits or repeats itself without effect");
          break;
        }
      }
      harvest(block, position, tally);
      if (late()) {
        uint64_t known = stop_after.load();
        while (position < known && !stop_after.compare_exchange_weak(known, position)) {
        }
        return;
      }
    }
  }

  // Blocks in flight take turns; one that ends makes room for the next. There are `easy` of them at first; when they
  // get nowhere, which may be because they wait for a block to come, more start, up to `resident`.
  void run_together(Tally& tally, uint64_t easy, uint64_t resident) {
    uint64_t clock = 0;
    struct Slot { std::unique_ptr<Block> block; std::unique_ptr<Observer> observer; uint64_t position = 0; bool busy = false; };
    std::vector<Slot> slots(easy);
    uint64_t finished = 0;
    StallWatch watch(plan.warps * easy);
    for (;;) {
      bool any = false;
      for (Slot& slot : slots) {
        if (!slot.busy) {
          const uint64_t position = next.load();
          if (position >= blocks) continue;
          next.store(position + 1);
          if (slot.block == nullptr) {
            slot.block = std::make_unique<Block>(plan, tally.counts, &clock);
            if (observers != nullptr) slot.observer = observers->make_observer();
          }
          slot.position = position;
          slot.busy = true;
          slot.block->begin(order(position), slot.observer.get());
        }
        any = true;
        slot.block->watch(watch.suspicious());
        const bool more = slot.block->step(watch.quantum());
        if (more && !late()) continue;
        if (more) slot.block->report_limit(fmt::format("the launch took longer than {} s", options.deadline_s));
        const bool stopped = slot.block->context().stopped;
        harvest(*slot.block, slot.position, tally);
        slot.busy = false;
        ++finished;
        if (stopped) return finish_all(slots, tally);
      }
      if (!any) return;
      uint64_t progress = finished;
      for (const Slot& slot : slots) {
        if (slot.busy) progress += slot.block->progress();
      }
      const bool stalled = watch.stalled(progress, [&] {
        uint64_t hash = 0;
        for (const Slot& slot : slots) {
          if (slot.busy) hash = hash * 0x9e3779b97f4a7c15ull + slot.block->state_hash();
        }
        return hash;
      });
      if (!stalled) continue;
      const uint64_t waiting = blocks - next.load();
      if (waiting != 0 && slots.size() < resident) {
        slots.resize(std::min<uint64_t>(resident, slots.size() * 2));
        watch = StallWatch(plan.warps * slots.size());
        continue;
      }
      std::string how = fmt::format("none of the {} blocks in flight gets anywhere", std::min(resident, blocks - finished));
      if (waiting != 0) {
        how += fmt::format(" and {} of the grid's {} blocks have not started: {} fit {} at once, and the others start when those end",
                           waiting, blocks, resident, target.name);
      }
      for (Slot& slot : slots) {
        if (!slot.busy) continue;
        slot.block->report_deadlock(how.c_str());
        break;
      }
      return finish_all(slots, tally);
    }
  }

  template <typename Slots>
  void finish_all(Slots& slots, Tally& tally) {
    for (auto& slot : slots) {
      if (slot.busy) harvest(*slot.block, slot.position, tally);
      slot.busy = false;
    }
  }

  uint64_t block_bytes() const {
    return uint64_t{plan.warps} * plan.kernel->entry->bank_bytes + plan.shared_extent +
           uint64_t{plan.stack_bytes} * kLanes * plan.warps + 4096;
  }

  uint64_t residency() const {
    const arch::Limits& most = target.limits;
    const auto count = [](int has, uint64_t takes) { return std::max<uint64_t>(1, static_cast<uint64_t>(has) / takes); };
    const uint64_t by_threads = count(most.threads_per_sm, uint64_t{plan.warps} * kLanes);
    const uint64_t by_shared = count(most.shared_per_sm_bytes, std::max<uint64_t>(1, plan.shared_bytes + static_cast<uint64_t>(most.shared_reserved_bytes)));
    return std::min({blocks, plan.sms * std::min({count(most.blocks_per_sm, 1), by_threads, by_shared})});
  }
};

LaunchReport merge(std::vector<Tally>& tallies, const Launcher& launcher) {
  LaunchReport report;
  report.completed = launcher.stop_after.load() == ~uint64_t{0};
  std::vector<Outcome*> outcomes;
  for (Tally& tally : tallies) {
    for (Outcome& o : tally.outcomes) {
      if (o.position <= launcher.stop_after.load()) outcomes.push_back(&o);
    }
  }
  std::sort(outcomes.begin(), outcomes.end(), [](auto* a, auto* b) { return a->block < b->block; });
  for (Outcome* o : outcomes) {
    for (Finding& f : o->findings) merge_finding(report.findings, std::move(f), launcher.options.max_findings);
    if (report.output.size() < kMaxOutput) report.output += o->output;
  }
  // Which other blocks had run when one stopped the launch depends on the host's threads.
  if (!report.completed) return report;
  for (Tally& tally : tallies) {
    report.counters.add(tally.counters);
    for (const auto& [code, counts] : tally.counts) count_instructions(*counts, *code, report.counters);
  }
  for (uint64_t n : report.counters.warp_instructions) report.warp_instructions += n;
  uint64_t executed = 0;
  for (const Tally& tally : tallies) executed += tally.executed;
  for (uint64_t* busiest : {&report.counters.busiest_block, &report.counters.busiest_warps}) {
    const double share = executed == 0 ? 0 : static_cast<double>(*busiest) / static_cast<double>(executed);
    *busiest = static_cast<uint64_t>(std::llround(share * static_cast<double>(report.warp_instructions)));
  }
  report.counters.blocks = launcher.blocks;
  report.counters.warps = launcher.blocks * launcher.plan.warps;
  if (launcher.options.count_sites && launcher.observers != nullptr) {
    std::vector<const CountTable*> tables;
    for (const Tally& tally : tallies) tables.push_back(&tally.counts);
    report.sites = site_counters(tables, launcher.observers->sites(), launcher.launch, *launcher.plan.kernel->entry);
    report.counters.launch_sectors = launcher.observers->sites().sectors.size();
    report.counters.launch_pages = launcher.observers->sites().pages();
  }
  return report;
}

}  // namespace

Result<LaunchReport> run(const Launch& launch, const Options& options) {
  const bool observed = options.checked() || options.count;
  KW_TRY(const KernelImage* kernel, launch.program->impl().kernel(launch.kernel, observed));
  const arch::Target& target = target_of(launch);
  KW_TRY_VOID(validate(launch, *kernel, target));
  const uint64_t blocks = options.blocks.empty() ? product(launch.grid) : options.blocks.size();
  for (const uint64_t block : options.blocks) {
    if (block >= product(launch.grid)) return fail(ErrorCode::kInvalid, "launch of '{}': block {} of {}", launch.kernel, block, product(launch.grid));
  }
  Memory& memory = launch.program->memory();
  Launcher launcher{launch, options, target, {}, nullptr, blocks, BlockOrder(options.blocks, blocks, options.schedule_seed)};
  LaunchPlan& plan = launcher.plan;
  plan.launch = &launch;
  plan.options = &options;
  plan.program = &launch.program->impl().image;
  plan.kernel = kernel;
  plan.memory = &memory;
  plan.param_bytes = kernel->info.param_bytes;
  plan.threads = static_cast<uint32_t>(product(launch.block));
  plan.warps = (plan.threads + kLanes - 1) / kLanes;
  plan.shared_bytes = kernel->info.static_shared_bytes + launch.dynamic_shared_bytes;
  plan.shared_extent = plan.shared_bytes;
  if (kernel->shared.reserved) {
    plan.reserved_shared = reserved_shared_begin(plan.shared_bytes);
    plan.shared_extent = plan.reserved_shared + kReservedSharedBytes;
  }
  plan.stack_bytes = kernel->stack_bytes;
  if (target.part.sm_count > 0) plan.sms = static_cast<uint32_t>(target.part.sm_count);
  plan.deadline = options.deadline_s > 0 ? now() + options.deadline_s : 0;

  const bool together = kernel->order_sensitive || launch.cooperative;
  uint64_t resident = launcher.residency();
  if (launch.cooperative && resident < blocks) {
    return fail(ErrorCode::kLimit, "cooperative launch of '{}': {} blocks; only {} fit the device at once", launch.kernel, blocks, resident);
  }
  const uint64_t each = launcher.block_bytes();
  const uint64_t fit = kMaxBytes / std::max<uint64_t>(1, each);
  if (fit == 0 || (launch.cooperative && fit < blocks)) {
    return fail(ErrorCode::kLimit, "launch of '{}': a block in flight needs {} bytes of host memory; the limit for all is {}", launch.kernel, each, kMaxBytes);
  }
  resident = std::min(resident, fit);
  const uint64_t easy = launch.cooperative ? resident : std::min(resident, std::max<uint64_t>(1, kEasyBytes / each));

  struct Temporary {   // freed whatever happens
    Memory& memory;
    uint64_t address = 0;
    ~Temporary() { if (address != 0) (void)memory.free(address); }
  } params{memory}, workspace{memory};
  KW_TRY(params.address, memory.allocate(plan.param_bytes, "kernel parameters", 256, true));
  if (plan.param_bytes != 0) KW_TRY_VOID(memory.write(params.address, launch.params.data(), plan.param_bytes));
  plan.param_base = params.address;
  if (launch.cooperative) {
    const std::array<uint32_t, 16> zeros{};
    KW_TRY(workspace.address, memory.allocate(sizeof zeros, "grid workspace", 256, false));
    KW_TRY_VOID(memory.write(workspace.address, zeros.data(), sizeof zeros));
    plan.grid_workspace = workspace.address;
  }

  std::unique_ptr<LaunchObserver> observer;
  if (observed) observer = observe_launch(launch, options, together);
  launcher.observers = observer.get();
  const int wanted = options.threads > 0 ? options.threads : available_cores();
  const uint64_t by_memory = std::max<uint64_t>(1, kMaxBytes / std::max<uint64_t>(1, each));
  const int threads = together ? 1 : static_cast<int>(std::min<uint64_t>({static_cast<uint64_t>(wanted), blocks, by_memory, 256}));
  std::vector<Tally> tallies(static_cast<size_t>(threads));
  if (together) {
    launcher.run_together(tallies[0], easy, resident);
  } else if (threads == 1) {
    launcher.run_independent(tallies[0]);
  } else {
    parallel_for(static_cast<uint64_t>(threads), threads, [&](uint64_t i) { launcher.run_independent(tallies[i]); });
  }
  LaunchReport report = merge(tallies, launcher);
  if (observer != nullptr && report.completed) {
    for (Finding& f : observer->finish()) merge_finding(report.findings, std::move(f), options.max_findings);
  }
  return report;
}

}  // namespace kw::emu
