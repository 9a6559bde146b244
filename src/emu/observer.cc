#include "emu/observer.h"

#include <mutex>

#include "emu/concurrent_access.h"
#include "emu/count_access.h"
#include "emu/global_shadow.h"
#include "emu/initialised.h"
#include "emu/ordered_races.h"
#include "emu/race.h"
#include "emu/site_counters.h"
#include "emu/site_table.h"

namespace kw::emu {
namespace {

using ptx::Space;

struct SharedState {
  SiteTable sites;
  std::unique_ptr<GlobalShadow> unordered;   // at most one of the two
  std::unique_ptr<OrderedRaces> ordered;
  std::mutex mutex;
  SiteTotals totals;                         // of the observers that are gone
};

class BlockObserver final : public Observer {
 public:
  BlockObserver(const Launch& launch, const Options& options, SharedState& shared)
      : options_(options), shared_(shared), races_(shared.sites, launch), concurrent_(options) {
    if (shared.unordered != nullptr) view_ = std::make_unique<GlobalShadow::View>(*shared.unordered);
  }

  ~BlockObserver() override {
    if (!options_.count_sites) return;
    const std::lock_guard lock(shared_.mutex);
    shared_.totals.add(sites_.totals());
  }

  void access(Warp& warp, const Insn& insn, Space space, Access how, const uint64_t* addresses, Mask lanes,
              unsigned bytes) override {
    if (options_.count) {
      const AccessCount added = count_access(counters_, space, how, addresses, lanes, bytes);
      if (options_.count_sites) sites_.access(warp, insn, space, how, addresses, lanes, bytes, added);
    }
    if (options_.check_uninitialised) initialised_.access(warp, insn, space, how, addresses, lanes, bytes);
    if (!options_.check_races) return;
    if (space == Space::kShared) {
      races_.shared(warp, insn, site_of(warp, insn), how, addresses, lanes, bytes);
    } else if (space == Space::kGlobal) {
      const SiteRef site = site_of(warp, insn);
      races_.global(warp, insn, site, how, addresses, lanes, bytes);
      if (view_ != nullptr) view_->access(*warp.block, warp.index, site.site, site.flags, how, addresses, lanes, bytes);
      if (shared_.ordered != nullptr) {
        shared_.ordered->access(warp, insn, site.site, site.flags, how, addresses, lanes, bytes);
      }
      concurrent_.access(warp, insn, site.flags, how, addresses, lanes, bytes);
    }
  }

  void passed(Warp& warp, const Insn& insn, const uint64_t* offsets, Mask lanes, unsigned bytes) override {
    if (options_.check_uninitialised) initialised_.access(warp, insn, Space::kLocal, Access::kWrite, offsets, lanes, bytes);
  }

  void barrier(BlockContext&, uint32_t, std::span<const Mask> arrived, std::span<const Mask> waited,
               bool whole_block) override {
    if (options_.check_races) races_.barrier(arrived, waited, whole_block);
  }
  void warp_sync(Warp& warp, Mask) override {
    if (options_.check_races) races_.warp_sync(warp);
  }
  void fence(Warp& warp, const Insn& insn, int scope) override {
    if (!options_.check_races) return;
    races_.fence(warp);
    if (scope >= 2 && shared_.ordered != nullptr) shared_.ordered->fence(warp, insn);
  }
  void group_commit(Warp& warp, Mask lanes) override {
    if (options_.check_races) races_.group_commit(warp, lanes);
  }
  void group_wait(Warp& warp, Mask lanes, uint32_t pending) override {
    if (options_.check_races) races_.group_wait(warp, lanes, pending);
  }
  void mbarrier_arrive(Warp& warp, uint32_t offset, Mask lanes, bool with_copies) override {
    if (options_.check_races) races_.mbarrier_arrive(warp, offset, lanes, with_copies);
  }
  void mbarrier_wait(Warp& warp, uint32_t offset, Mask) override {
    if (options_.check_races) races_.mbarrier_wait(warp, offset);
  }
  void grid_dependency(Warp&, bool wait) override {
    if (options_.check_races) concurrent_.grid_dependency(wait);
  }
  void block_begin(BlockContext& block) override {
    counters_ = {};
    concurrent_.begin();
    if (options_.check_uninitialised) initialised_.begin(block);
    if (options_.check_races) races_.begin(block);
  }
  void block_end(BlockContext& block) override {
    if (options_.check_races) races_.end(block);
    if (options_.count_sites) sites_.block_end(counters_);
    block.counters.add(counters_);
  }

 private:
  SiteRef site_of(const Warp& warp, const Insn& insn) {
    if (code_ == nullptr || code_->code != warp.code) code_ = shared_.sites.add(*warp.code);
    const auto index = static_cast<size_t>(&insn - warp.code->insns.data());
    if (index >= code_->flags.size()) return {};
    return {code_->base + static_cast<uint32_t>(index), code_->flags[index]};
  }

  const Options& options_;
  SharedState& shared_;
  BlockRaces races_;
  Initialised initialised_;
  ConcurrentAccess concurrent_;
  std::unique_ptr<GlobalShadow::View> view_;
  const SiteTable::CodeSites* code_ = nullptr;
  Counters counters_;
  SiteCounting sites_;
};

class ObserverOfLaunch final : public LaunchObserver {
 public:
  ObserverOfLaunch(const Launch& launch, const Options& options, bool one_interleaving)
      : launch_(launch), options_(options) {
    const uint64_t blocks = uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
    if (!options.check_races || blocks <= 1) return;
    if (one_interleaving) {
      shared_.ordered = std::make_unique<OrderedRaces>(shared_.sites, launch_);
    } else {
      shared_.unordered = std::make_unique<GlobalShadow>(shared_.sites, launch_);
    }
  }
  std::unique_ptr<Observer> make_observer() override {
    return std::make_unique<BlockObserver>(launch_, options_, shared_);
  }
  std::vector<Finding> finish() override {
    if (shared_.unordered == nullptr) return {};
    return shared_.unordered->finish(launch_.program->memory(), options_.max_findings);
  }

  const SiteTotals& sites() const override { return shared_.totals; }

 private:
  const Launch& launch_;
  const Options& options_;
  SharedState shared_;
};

}  // namespace

std::unique_ptr<LaunchObserver> observe_launch(const Launch& launch, const Options& options, bool one_interleaving) {
  return std::make_unique<ObserverOfLaunch>(launch, options, one_interleaving);
}

}  // namespace kw::emu
