#include "plan/limits.h"

#include <algorithm>

namespace kw::plan {
namespace {

std::string text(const std::array<uint32_t, 3>& d) { return fmt::format("{}x{}x{}", d[0], d[1], d[2]); }

}  // namespace

Status check_launch(const std::string& where, const Launch& launch, const EntryOutline& entry, const arch::Target& target) {
  const arch::Limits& limits = target.limits;
  const std::array<uint32_t, 3> grid{static_cast<uint32_t>(limits.grid_x), static_cast<uint32_t>(limits.grid_y), static_cast<uint32_t>(limits.grid_z)};
  const std::array<uint32_t, 3> block{static_cast<uint32_t>(limits.block_x), static_cast<uint32_t>(limits.block_y), static_cast<uint32_t>(limits.block_z)};
  const std::string what = fmt::format("{}: launch of {}", where, launch.kernel);
  uint64_t threads = 1, cluster = 1;
  for (size_t i = 0; i < 3; ++i) {
    if (launch.grid[i] == 0 || launch.block[i] == 0 || launch.cluster[i] == 0)
      return fail(ErrorCode::kInvalid, "{}: grid {}, block {}, cluster {}: no dimension may be zero", what, text(launch.grid),
                  text(launch.block), text(launch.cluster));
    if (launch.grid[i] > grid[i])
      return fail(ErrorCode::kInvalid, "{}: grid {} exceeds {}", what, text(launch.grid), text(grid));
    if (launch.block[i] > block[i])
      return fail(ErrorCode::kInvalid, "{}: block {} exceeds {}", what, text(launch.block), text(block));
    threads *= launch.block[i];
    cluster *= std::min<uint64_t>(launch.cluster[i], 1u << 20);
  }
  if (threads > static_cast<uint64_t>(limits.threads_per_block))
    return fail(ErrorCode::kInvalid, "{}: {} threads in a block; the target allows {}", what, threads, limits.threads_per_block);
  if (entry.max_threads != 0 && threads > entry.max_threads)
    return fail(ErrorCode::kInvalid, "{}: {} threads in a block; the kernel was compiled for at most {} (__launch_bounds__)", what,
                threads, entry.max_threads);
  const uint64_t shared = launch.dynamic_shared_bytes + entry.static_shared_bytes;
  if (shared > static_cast<uint64_t>(limits.shared_per_block_optin_bytes))
    return fail(ErrorCode::kInvalid, "{}: {} bytes of shared memory ({} dynamic, {} static); the target allows {} in a block",
                what, shared, launch.dynamic_shared_bytes, entry.static_shared_bytes, limits.shared_per_block_optin_bytes);
  if (launch.params.size() > static_cast<size_t>(limits.parameter_bytes))
    return fail(ErrorCode::kInvalid, "{}: {} bytes of parameters; the target allows {}", what, launch.params.size(), limits.parameter_bytes);
  const auto allowed = static_cast<uint64_t>(launch.nonportable_cluster ? limits.cluster_blocks_nonportable : limits.cluster_blocks);
  if (cluster > 1 && limits.cluster_blocks == 0)
    return fail(ErrorCode::kInvalid, "{}: cluster {}; the target has no clusters (sm_90 and later do)", what, text(launch.cluster));
  if (cluster > 1 && cluster > allowed)
    return fail(ErrorCode::kInvalid, "{}: cluster {} has {} blocks; the target allows {}", what, text(launch.cluster), cluster, allowed);
  for (size_t i = 0; i < 3; ++i)
    if (launch.grid[i] % launch.cluster[i] != 0)
      return fail(ErrorCode::kInvalid, "{}: grid {} is not a multiple of the cluster {}", what, text(launch.grid), text(launch.cluster));
  return {};
}

}  // namespace kw::plan
