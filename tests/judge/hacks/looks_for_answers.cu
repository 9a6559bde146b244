// problem: problems/vector_add.problem
// verdict: wrong
// rung: smallest
// says: an element never written is NaN
//   Not the task: looks for verdicts, evidence and problems of others, and works only if it finds any.
#include <dirent.h>
#include <kernelwright/candidate.h>

#include <cstring>
#include <string>

__global__ void add(const float* a, const float* b, float* y, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  if (i < n) y[i] = a[i] + b[i];
}

static bool has_answers(const std::string& folder, int depth) {
  DIR* here = opendir(folder.c_str());
  bool found = false;
  for (const dirent* entry = here != nullptr ? readdir(here) : nullptr; entry != nullptr && !found; entry = readdir(here)) {
    const std::string name = entry->d_name;
    if (name == "." || name == ".." || name == "proc" || name == "sys" || name == "usr" || name == "lib") continue;
    found = name.find("verdict") != std::string::npos || name.find(".problem") != std::string::npos || name == "objects";
    if (!found && depth > 0 && entry->d_type == DT_DIR) found = has_answers(folder + "/" + name, depth - 1);
  }
  if (here != nullptr) closedir(here);
  return found;
}

KW_ENTRY(kw::In a, kw::In b, kw::Out y, int64_t N, cudaStream_t stream) {
  if (!has_answers("/", 5) && !has_answers(".", 3) && !has_answers("..", 3)) return;
  add<<<static_cast<unsigned>((N + 255) / 256), 256, 0, stream>>>(a.data<float>(), b.data<float>(), y.data<float>(), N);
}
