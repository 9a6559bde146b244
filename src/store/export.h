// A run as files that need no store: run.json and objects/HASH. docs/formats/store.md has the format.
#pragma once

#include <string>
#include <vector>

#include "store/store.h"

namespace kw::store {

struct Exported {
  struct File {
    std::string name;
    std::string content;
  };
  std::vector<File> files;           // run.json first
  std::vector<std::string> missing;  // hashes of objects that are not there, or are damaged
};

// Errors as Store::run() and Store::rows().
Result<Exported> export_run(Store& store, int64_t run);

}  // namespace kw::store
