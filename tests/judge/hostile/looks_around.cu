// problem: problems/vector_add.problem
// verdict: correct
//   The kernel is launched, and the verdict correct, only if nothing outside the jail can be seen or reached.
#include <dirent.h>
#include <fcntl.h>
#include <kernelwright/candidate.h>
#include <netinet/in.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

__global__ void add(const float* a, const float* b, float* y, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  if (i < n) y[i] = a[i] + b[i];
}

static bool opens(const char* path, int flags) {
  const int file = open(path, flags, 0600);
  if (file >= 0) close(file);
  return file >= 0;
}

static const char* seen() {
  for (const char* path : {"/etc/passwd", "/etc/shadow", "/var/log"}) {
    if (opens(path, O_RDONLY)) return path;
  }
  // The folders on the way to the program itself may be there, which often lies below somebody's home; no file in them.
  for (const char* path : {"/", "/root", "/home", "/tmp"}) {
    DIR* folder = opendir(path);
    for (const dirent* entry = folder != nullptr ? readdir(folder) : nullptr; entry != nullptr; entry = readdir(folder)) {
      if (entry->d_type == DT_REG) return "a file of the host";
    }
  }
  for (const char* path : {"/usr/bin/planted", "/usr/lib/planted", "/dev/shm/planted"}) {
    if (opens(path, O_WRONLY | O_CREAT)) return path;
  }
  if (std::getenv("KW_TEST_SECRET") != nullptr) return "the secret";
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (std::strstr(*variable, "hunter2") != nullptr) return "the secret by another name";
  }
  char text[1 << 16];
  const int file = open("/proc/1/environ", O_RDONLY);
  const auto bytes = file >= 0 ? read(file, text, sizeof text) : 0;
  if (bytes > 0 && memmem(text, bytes, "hunter2", 7) != nullptr) return "the secret of the first process";
  if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_INET6, SOCK_DGRAM, 0) >= 0) return "the network";
  if (ptrace(PTRACE_ATTACH, getppid(), nullptr, nullptr) == 0) return "the parent's memory";
  return nullptr;
}

KW_ENTRY(kw::In a, kw::In b, kw::Out y, int64_t N, cudaStream_t stream) {
  if (const char* what = seen()) {
    (void)!write(2, what, std::strlen(what));
    return;
  }
  add<<<static_cast<unsigned>((N + 255) / 256), 256, 0, stream>>>(a.data<float>(), b.data<float>(), y.data<float>(), N);
}
