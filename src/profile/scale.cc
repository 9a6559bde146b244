#include "profile/scale.h"

#include <algorithm>
#include <map>

namespace kw::profile {
namespace {

double of(uint64_t n) { return static_cast<double>(n); }

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t\r");
  return begin == std::string_view::npos ? std::string_view{} : text.substr(begin, end - begin + 1);
}

// Widening an index is arithmetic on integers, not a conversion between kinds.
bool converts_integers(const std::string& instruction) {
  if (instruction.find("cvt.") == std::string::npos) return false;
  for (const char* real : {".f16", ".bf16", ".f32", ".f64", ".tf32", ".e4m3", ".e5m2", ".e2m"}) {
    if (instruction.find(real) != std::string::npos) return false;
  }
  return true;
}

}  // namespace

Loops loops_of(std::string_view ptx) {
  Loops loops;
  std::map<std::string_view, uint32_t> labels;
  uint32_t number = 0;
  for (size_t begin = 0; begin < ptx.size();) {
    const size_t end = std::min(ptx.find('\n', begin), ptx.size());
    const std::string_view line = trimmed(ptx.substr(begin, end - begin));
    begin = end + 1;
    ++number;
    if (line.starts_with('$') && line.find(':') != std::string_view::npos) labels[line.substr(0, line.find(':'))] = number;
    const size_t at = line.find("bra");
    if (at == std::string_view::npos || !line.ends_with(';')) continue;
    const size_t label = line.find('$', at);
    if (label == std::string_view::npos) continue;
    const auto target = labels.find(trimmed(line.substr(label, line.size() - 1 - label)));
    if (target != labels.end()) loops.emplace_back(target->second, number);
  }
  return loops;
}

double by_blocks(const Kernel& kernel) { return of(kernel.launched.blocks) / std::max(1.0, of(kernel.counted_launched.blocks)); }

double by_loops(const emu::SiteCounters& site, const Kernel& kernel, const Loops& loops, double operations) {
  const bool in_loop = std::any_of(loops.begin(), loops.end(), [&](const auto& loop) { return site.party.ptx_line >= loop.first && site.party.ptx_line <= loop.second; });
  if (in_loop) return operations;
  // Without a loop nothing but the number of warps tells the workloads apart.
  return kernel.warps() / std::max(1.0, std::max(1.0, of(kernel.counted_launched.blocks)) * ((kernel.counted_launched.threads + 31) / 32));
}

Site times(const emu::SiteCounters& site, double by) {
  Site out;
  out.party = site.party;
  out.instruction_class = converts_integers(site.party.instruction) ? emu::Counters::kInteger : site.instruction_class;
  out.space = site.space;
  out.warps = of(site.warps) * by;
  out.threads = of(site.threads) * by;
  out.requests = of(site.requests) * by;
  out.bytes = of(site.bytes) * by;
  out.sectors = of(site.sectors) * by;
  out.lines = of(site.lines) * by;
  out.wavefronts = of(site.wavefronts) * by;
  out.ideal_wavefronts = of(site.ideal_wavefronts) * by;
  out.address_passes = of(site.address_passes) * by;
  out.addresses = of(site.addresses);
  return out;
}

void add_site(std::vector<Site>& to, Site site) {
  const auto at = std::find_if(to.begin(), to.end(), [&](const Site& each) { return each.party.ptx_line == site.party.ptx_line; });
  if (at == to.end()) {
    to.push_back(std::move(site));
    return;
  }
  for (double Site::*each : {&Site::warps, &Site::threads, &Site::requests, &Site::bytes, &Site::sectors, &Site::lines, &Site::wavefronts, &Site::ideal_wavefronts, &Site::address_passes}) {
    (*at).*each += site.*each;
  }
  at->addresses = std::max(at->addresses, site.addresses);
}

Totals totals_of(const Kernel& kernel) {
  Totals out;
  for (const Site& site : kernel.sites) {
    out.warps[site.instruction_class] += site.warps;
    out.threads[site.instruction_class] += site.threads;
    out.instructions += site.warps;
    if (site.is_global() && (site.is_load() || site.is_copy())) {
      out.load_requests += site.requests;
      out.load_bytes += site.bytes;
      out.load_sectors += site.sectors;
      if (site.is_copy()) out.copied_bytes += site.bytes;
    } else if (site.is_global() && !site.is_atomic()) {
      out.store_requests += site.requests;
      out.store_sectors += site.sectors;
    } else if (site.space == ptx::Space::kLocal) {
      (site.is_load() ? out.local_loads : out.local_stores) += site.requests;
      out.local_sectors += site.sectors;
    }
  }
  const double counted = of(kernel.counters.global.sectors_load + kernel.counters.cp_async_sectors);
  if (counted > 0) out.block_sectors = of(kernel.counters.block_sectors_load) * out.load_sectors / counted;
  return out;
}

}  // namespace kw::profile
