#include "profile/sample.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

#include "device/block_sample.h"
#include "problem/inputs.h"
#include "profile/scale.h"

namespace kw::profile {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kTileBytes = 4u << 20;
constexpr double kInstructions = 40e6, kSectors = 4e6;        // of all blocks that run, of warps: some seconds
constexpr double kBlockInstructions = 60e6;                   // of one
constexpr double kPages = 512.0 * (1 << 20) / emu::Counters::kPageBytes, kSectorsHeld = 1e6;   // that blocks touch which run together
constexpr double kSpread = 1.3;                               // the busiest block over the average: more are taken

double of(uint64_t n) { return static_cast<double>(n); }

uint64_t blocks_of(const plan::Launch& launch) { return uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2]; }

// Equal for launches that differ in buffers only.
auto kind_of(const plan::Launch& launch) {
  return std::tuple(launch.module, launch.kernel, launch.grid, launch.block, launch.dynamic_shared_bytes, launch.params);
}

// Whole rows and whole units where they are no more than a tile, so that the next one goes on as the tensor would.
Result<std::vector<uint8_t>> tile_of(const problem::Problem& problem, const problem::Workload& workload, const problem::TensorDecl& input, uint64_t seed) {
  KW_TRY(const tensor::Shape shape, problem::shape_of(input, workload));
  KW_TRY(const int64_t all, tensor::element_count(shape));
  const auto bits = static_cast<uint64_t>(tensor::bits_of(input.dtype));
  uint64_t bytes = static_cast<uint64_t>(tensor::byte_count(input.dtype, all));
  if (bytes > kTileBytes) {
    const uint64_t row = std::max<uint64_t>(1, static_cast<uint64_t>(shape.back()) * bits / 8);
    const uint64_t rows = row < kTileBytes ? std::lcm(row, device::BlockSample::kTileUnit) : kTileBytes;
    bytes = rows <= kTileBytes ? kTileBytes / rows * rows : kTileBytes;
  }
  KW_TRY(const tensor::Tensor made, problem::make_beginning(problem, workload, input, seed, static_cast<int64_t>(bytes * 8 / bits + 1)));
  const auto* data = reinterpret_cast<const uint8_t*>(made.bytes().data());
  return std::vector<uint8_t>(data, data + std::min<uint64_t>(bytes, made.bytes().size()));
}

class Sampling {
 public:
  Sampling(device::BlockSample& blocks, const SampleOptions& options) : sample_(blocks), options_(options) { run_.threads = options.threads; }

  // `share`: of what may be emulated in all.
  Result<LaunchCounts> count(uint32_t step, double share) {
    const auto& launch = std::get<plan::Launch>(sample_.plan().steps[step].action);
    uint64_t most = options_.most;
    const Stratum pilot{{strata_of(launch.grid, most).front().blocks.front()}, 1};
    KW_TRY(const device::StepReport first, run(step, pilot.blocks));
    KW_TRY(const bool communicates, sample_.communicates(step));
    if (communicates && blocks_of(launch) > 1) {
      KW_TRY(const device::StepReport again, run(step, pilot.blocks));
      const double ratio = of(again.warp_instructions) / std::max(1.0, of(first.warp_instructions));
      if (ratio < 0.8 || ratio > 1.25) return fail(ErrorCode::kInvalid, "what a block of {} does depends on those that ran before", launch.kernel);
    }
    const emu::Counters& one = first.counters;
    const double afford = share * std::min(kInstructions / std::max(1.0, of(first.warp_instructions)), kSectors / std::max(1.0, of(one.launch_sectors)));
    const auto affordable = static_cast<uint64_t>(std::max(2.0, std::min(afford, 1e6)));
    const auto together = static_cast<size_t>(std::max(1.0, std::min(kPages / std::max(1.0, of(one.launch_pages)), kSectorsHeld / std::max(1.0, of(one.launch_sectors)))));
    KW_TRY(LaunchCounts out, count(step, strata_of(launch.grid, std::min(most, affordable)), first, together));
    const double average = of(std::accumulate(out.counters.warp_instructions.begin(), out.counters.warp_instructions.end(), uint64_t{0})) / of(blocks_of(launch));
    most *= 3;
    if (of(out.counters.busiest_block) <= kSpread * average || out.blocks >= std::min({most, affordable, blocks_of(launch)})) return out;
    return count(step, strata_of(launch.grid, std::min(most, affordable)), first, together);
  }

 private:
  Result<device::StepReport> run(uint32_t step, std::span<const uint64_t> blocks) {
    KW_TRY_VOID(sample_.forget());
    run_.deadline_s = options_.deadline_s - std::chrono::duration<double>(Clock::now() - begin_).count();
    run_.max_warp_instructions = static_cast<uint64_t>(kBlockInstructions);
    if (run_.deadline_s <= 0) return fail(ErrorCode::kInvalid, "it takes more than {} s", options_.deadline_s);
    KW_TRY(auto report, sample_.run(step, blocks, run_));
    if (report.completed) return report;
    const auto fatal = std::find_if(report.findings.begin(), report.findings.end(), [](const emu::Finding& each) { return each.fatal; });
    return fail(ErrorCode::kInvalid, "{}", fatal == report.findings.end() ? "a block did not end" : fatal->message);
  }

  // `alone`: what one block does by itself. `together`: blocks that may run at once.
  Result<LaunchCounts> count(uint32_t step, const std::vector<Stratum>& strata, const device::StepReport& alone, size_t together) {
    const auto blocks = of(blocks_of(std::get<plan::Launch>(sample_.plan().steps[step].action)));
    LaunchCounts out;
    out.step = step;
    double touched = 0;
    for (const Stratum& stratum : strata) {
      for (size_t at = 0; at < stratum.blocks.size(); at += together) {
        const auto group = std::span(stratum.blocks).subspan(at, std::min(together, stratum.blocks.size() - at));
        KW_TRY(device::StepReport report, run(step, group));
        const double size = of(group.size());
        if (touched == 0) {   // by the largest stratum: one block, and what each further one adds
          const double one = of(report.counters.block_sectors) / size;
          const double further = group.size() > 1 ? (of(report.counters.launch_sectors) - one) / (size - 1) : one;
          touched = one + (blocks - 1) * further;
        }
        for (const emu::SiteCounters& site : report.sites) {
          Site scaled = times(site, stratum.weight());
          scaled.addresses = addresses(site, alone, size, blocks);
          add_site(out.sites, std::move(scaled));
        }
        report.counters.scale(stratum.weight());
        out.counters.add(report.counters);
        out.blocks += group.size();
      }
    }
    out.counters.launch_sectors = static_cast<uint64_t>(std::llround(touched));
    out.counters.blocks = static_cast<uint64_t>(blocks);
    return out;
  }

  // Distinct ones of the whole launch.
  static double addresses(const emu::SiteCounters& site, const device::StepReport& alone, double ran, double blocks) {
    const auto same = std::find_if(alone.sites.begin(), alone.sites.end(), [&](const emu::SiteCounters& each) { return each.party.ptx_line == site.party.ptx_line; });
    const double one = same == alone.sites.end() ? 0 : of(same->addresses), seen = of(site.addresses);
    const double further = ran > 1 ? std::max(0.0, (seen - one) / (ran - 1)) : 0;
    return std::min(seen + (blocks - ran) * further, of(emu::SiteCounters::kMostAddresses));
  }

  device::BlockSample& sample_;
  device::RunOptions run_;
  const SampleOptions& options_;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace

Result<std::vector<LaunchCounts>> sample(const problem::Problem& problem, const problem::Workload& workload, const plan::Plan& plan,
                                         const SampleOptions& options) {
  KW_TRY(const auto blocks, device::BlockSample::load(plan));
  for (const problem::TensorDecl& input : problem.inputs) {
    if (plan.find_buffer(input.name) == nullptr) continue;
    KW_TRY(const auto tile, tile_of(problem, workload, input, options.seed));
    KW_TRY_VOID(blocks->fill(input.name, tile));
  }
  std::map<decltype(kind_of(std::declval<plan::Launch>())), std::optional<LaunchCounts>> kinds;
  for (const plan::Step& step : plan.steps) {
    if (const auto* launch = std::get_if<plan::Launch>(&step.action)) kinds[kind_of(*launch)];
  }
  Sampling sampling(*blocks, options);
  std::vector<LaunchCounts> out;
  for (uint32_t step = 0; step < plan.steps.size(); ++step) {
    const auto* launch = std::get_if<plan::Launch>(&plan.steps[step].action);
    if (launch == nullptr) {
      KW_TRY_VOID(blocks->move(step));
      continue;
    }
    std::optional<LaunchCounts>& counts = kinds[kind_of(*launch)];
    if (!counts) {
      KW_TRY(counts, sampling.count(step, 1 / static_cast<double>(kinds.size())));
    }
    out.push_back(*counts);
    out.back().step = step;
  }
  return out;
}

}  // namespace kw::profile
