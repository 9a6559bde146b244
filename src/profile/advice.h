// Advice: what a micro-profiling tool says about a candidate, in words an engineer would use. Values.
#pragma once

#include <cstdint>
#include <string>

namespace kw::profile {

struct Advice {
  std::string tool;        // "bank_conflicts"
  std::string kernel;      // readable; empty: the whole candidate
  std::string file;        // where in the source; empty when not known
  uint32_t line = 0;
  std::string saw;         // the analysis, in numbers
  std::string try_this;    // what to change
  // How many times faster the candidate becomes, by estimate.h: always an estimate.
  double gain = 1;
  bool question = false;   // changes what is computed: a person answers it, no program acts on it
};

}  // namespace kw::profile
