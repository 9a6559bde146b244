// problem: problems/vector_add.problem
// verdict: contract-violation
// rung: record
// says: the text was altered
//   Oracle: swaps the recorded device code behind the recorder's back, after its hash was taken.
#include <dirent.h>
#include <kernelwright/candidate.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <string>

__global__ void add(const float* a, const float* b, float* y, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  if (i < n) y[i] = a[i] + b[i];
}

static std::string folder;
// The recorder's way out, taken after it has written the plan.
extern "C" void _exit(int code) {
  if (DIR* list = opendir(folder.c_str())) {
    while (const dirent* entry = readdir(list)) {
      const std::string name = entry->d_name;
      if (name.size() < 4 || name.substr(name.size() - 4) != ".ptx") continue;
      if (std::FILE* file = std::fopen((folder + "/" + name).c_str(), "a")) {
        std::fputs("// one line more\n", file);
        std::fclose(file);
      }
    }
    closedir(list);
  }
  for (;;) syscall(SYS_exit_group, code);
}

KW_ENTRY(kw::In a, kw::In b, kw::Out y, int64_t N, cudaStream_t stream) {
  folder = ".";
  if (std::FILE* file = std::fopen("/proc/self/cmdline", "r")) {
    std::string all;
    for (int c; (c = std::fgetc(file)) != EOF;) all += static_cast<char>(c);
    std::fclose(file);
    if (!all.empty() && all.back() == '\0') all.pop_back();
    folder = all.substr(all.rfind('\0') + 1);
  }
  add<<<static_cast<unsigned>((N + 255) / 256), 256, 0, stream>>>(a.data<float>(), b.data<float>(), y.data<float>(), N);
}
