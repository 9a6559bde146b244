// The slices of a region, side by side: each thread has an interpreter of its own, whose values are parts.
#include <algorithm>
#include <atomic>
#include <mutex>

#include "base/parallel.h"
#include "problem/interpreter.h"

namespace kw::problem {
namespace {

constexpr std::int64_t kTurns = 8;  // of each thread: neighbours share what differs from one slice to a later one only

}  // namespace

Interpreter::Interpreter(Interpreter& whole, const Region& region)
    : problem_(whole.problem_), axes_(whole.axes_), inputs_(whole.inputs_), options_(whole.options_),
      arithmetic_(problem_, options_, 1), single_(arithmetic_.single()), whole_(&whole), region_(&region) {
  const std::size_t count = problem_.graph.nodes.size();
  plan_.shapes = whole.plan_.shapes;
  plan_.counts = whole.plan_.counts;
  plan_.lengths = whole.plan_.lengths;
  plan_.windows = whole.plan_.windows;
  plan_.wholes.resize(count);
  plan_.firsts.resize(count);
  plan_.freed.resize(count);
  for (const NodeId id : region.nodes) plan_.wholes[static_cast<std::size_t>(id)] = plan_.shapes[static_cast<std::size_t>(id)];
  for (const auto& [reader, dead] : region.freed) plan_.freed[static_cast<std::size_t>(reader)] = dead;
  values_.resize(count);
  as_before_.assign(count, false);
}

Status Interpreter::compute_slices(const Region& region) {
  for (const NodeId id : region.stored)
    values_[static_cast<std::size_t>(id)] = Buffer(static_cast<std::size_t>(plan_.counts[static_cast<std::size_t>(id)]));
  const std::int64_t slices = region.slices(), turn = std::max<std::int64_t>(1, slices / (kTurns * threads_));
  const std::int64_t turns = (slices + turn - 1) / turn;
  std::vector<std::unique_ptr<Interpreter>> workers(static_cast<std::size_t>(std::max(1, threads_)));
  std::atomic<std::int64_t> lowest = slices;  // that failed
  Status failure;
  std::mutex mutex;  // guards it
  parallel_for_worker(static_cast<std::uint64_t>(turns), threads_, [&](std::uint64_t index, int thread) {
    auto& worker = workers[static_cast<std::size_t>(thread)];
    if (!worker) worker.reset(new Interpreter(*this, region));
    const std::int64_t begin = static_cast<std::int64_t>(index) * turn;
    for (std::int64_t slice = begin; slice < std::min(slices, begin + turn) && slice < lowest; ++slice) {
      Status done = worker->compute_slice(slice);
      if (done) continue;
      const std::lock_guard lock(mutex);
      if (slice >= lowest) return;
      lowest = slice;
      failure = std::move(done);
    }
  });
  return failure;
}

Status Interpreter::compute_slice(std::int64_t slice) {
  const std::vector<std::int64_t> before = std::exchange(parts_, region_->parts_of(slice));
  for (const NodeId id : region_->nodes) {
    const auto at = static_cast<std::size_t>(id);
    const auto& loops = region_->loop_of.at(id);
    const auto differs = [&](int loop) {
      return loop >= 0 && (before.empty() || before[static_cast<std::size_t>(loop)] != parts_[static_cast<std::size_t>(loop)]);
    };
    if (std::none_of(loops.begin(), loops.end(), differs)) continue;
    plan_.shapes[at] = region_->cut(id, plan_.wholes[at], parts_, plan_.firsts[at]);
    KW_TRY(plan_.counts[at], tensor::element_count(plan_.shapes[at]));
    if (!values_[at].empty()) spare_.push_back(std::exchange(values_[at], Buffer()));
    if (region_->loaded.contains(id)) {
      load(id);
      if (problem_.graph.nodes[at].op == Op::kInput) finish(problem_.graph.nodes[at], id);
    } else {
      KW_TRY_VOID(compute_placed(id));
    }
    if (region_->stored.contains(id)) store(id);
    let_go(id);
  }
  return {};
}

// The part of an input, or of a value that is there as a whole.
void Interpreter::load(NodeId id) {
  const auto at = static_cast<std::size_t>(id);
  const Node& node = problem_.graph.nodes[at];
  Buffer& value = values_[at] = new_buffer(static_cast<std::size_t>(plan_.counts[at]));
  for_runs_of(plan_.shapes[at], plan_.wholes[at], plan_.firsts[at], [&](std::int64_t here, std::int64_t there, std::int64_t length) {
    if (node.op == Op::kInput)
      inputs_[static_cast<std::size_t>(node.input)].read(there, {value.data() + here, static_cast<std::size_t>(length)});
    else
      std::copy_n(whole_->values_[at].data() + there, length, value.data() + here);
  });
}

// What other slices have too is stored by the first of them.
void Interpreter::store(NodeId id) {
  const auto at = static_cast<std::size_t>(id);
  const auto& loops = region_->loop_of.at(id);
  for (std::size_t loop = 0; loop < parts_.size(); ++loop)
    if (parts_[loop] != 0 && std::find(loops.begin(), loops.end(), static_cast<int>(loop)) == loops.end()) return;
  double* whole = whole_->values_[at].data();
  for_runs_of(plan_.shapes[at], plan_.wholes[at], plan_.firsts[at], [&](std::int64_t here, std::int64_t there, std::int64_t length) {
    std::copy_n(values_[at].data() + here, length, whole + there);
  });
}

}  // namespace kw::problem
