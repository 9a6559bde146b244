// The order of recorded steps: CUDA's streams, events and host waits (CUDA programming guide, "Asynchronous
// Concurrent Execution" and "Stream synchronization behavior") as explicit edges between steps.
// A frontier is a set of steps; "after a frontier" means after all of them and what they come after.
#pragma once

#include <cstdint>
#include <vector>

namespace kw::runtime {

using Frontier = std::vector<uint32_t>;   // sorted, distinct

Frontier unite(const Frontier& a, const Frontier& b);

class Order {
 public:
  // The next step comes after `frontier` and after everything the host has waited for. Its index.
  uint32_t add(const Frontier& frontier);
  void host_waited(const Frontier& frontier) { host_ = reduce(unite(host_, frontier)); }
  const Frontier& host() const { return host_; }
  const std::vector<Frontier>& after() const { return after_; }   // per step, without transitive edges
  // Steps that are neither in `frontier` nor before it.
  std::vector<uint32_t> outside(const Frontier& frontier) const;

 private:
  // Leaves out what another member already comes after.
  Frontier reduce(Frontier frontier) const;

  std::vector<Frontier> after_;
  Frontier host_;
};

}  // namespace kw::runtime
