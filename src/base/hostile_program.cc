// What a candidate may try against its jail, one act per first argument. Exit code 0: the act succeeded (which is a
// hole in the jail, for those that must not); 1: it was refused. The jail's tests run this; nothing else does.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sched.h>
#include <string>
#include <vector>

namespace {

int refused(const char* what) {
  std::printf("refused %s: %s\n", what, std::strerror(errno));
  return 1;
}

int fork_bomb() {
  for (int i = 0; i < 1000000; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (;;) pause();
    }
    if (child < 0) return refused("fork");
  }
  return 0;
}

int fork_bomb_for_ever() {
  for (;;) {
    if (fork() < 0) usleep(100);
  }
}

volatile unsigned long spin_count = 0;

int loop() {
  for (;;) {
    const unsigned long count = spin_count;
    spin_count = count + 1;
  }
}

int fill_disk(const char* folder, int files) {
  static char block[1 << 16];
  std::memset(block, 'x', sizeof block);
  for (int i = 0; i < files; ++i) {
    const std::string path = std::string(folder) + "/fill" + std::to_string(i);
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT, 0644);
    if (fd < 0) return refused("open");
    for (int n = 0; n < 64; ++n) {  // 4 MiB each
      if (write(fd, block, sizeof block) != sizeof block) return refused("write");
    }
    close(fd);
  }
  return 0;
}

int one_large_file(const char* path) {
  static char block[1 << 16];
  const int fd = open(path, O_WRONLY | O_CREAT, 0644);
  for (;;) {
    if (write(fd, block, sizeof block) < 0) return refused("write");
  }
}

int eat_memory(bool in_children) {
  constexpr size_t kPiece = 16 << 20;
  for (int i = 0; i < 4096; ++i) {
    if (in_children && i % 4 == 3 && fork() != 0) {
      for (;;) pause();
    }
    void* memory = mmap(nullptr, kPiece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return refused("mmap");
    std::memset(memory, 1, kPiece);
  }
  return 0;
}

int open_socket() {
  bool any = false;
  for (const int domain : {AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_VSOCK}) {
    const int fd = socket(domain, domain == AF_NETLINK || domain == AF_PACKET ? SOCK_RAW : SOCK_STREAM, 0);
    if (fd >= 0) {
      std::printf("socket of domain %d\n", domain);
      any = true;
    }
  }
  return any ? 0 : refused("socket");
}

int read_path(const char* path) {
  const int fd = open(path, O_RDONLY);
  char text[16];
  return fd >= 0 && (read(fd, text, sizeof text) >= 0 || errno == EISDIR) ? 0 : refused("open");
}

int write_path(const char* path) { return open(path, O_WRONLY | O_CREAT, 0644) >= 0 ? 0 : refused("open"); }
int truncate_path(const char* path) {
  return truncate(path, 0) == 0 || open(path, O_RDONLY | O_TRUNC) >= 0 ? 0 : refused("truncate");
}

int kill_process(pid_t pid) {
  bool any = kill(getppid(), SIGKILL) == 0 && getppid() > 1;
  any = kill(pid, SIGKILL) == 0 || any;
  any = syscall(SYS_tgkill, pid, pid, SIGKILL) == 0 || any;
  return any ? 0 : refused("kill");
}

int privileged_calls() {
  struct {
    const char* name;
    long result;
  } const calls[] = {
      {"ptrace", ptrace(PTRACE_TRACEME, 0, nullptr, nullptr)},
      {"mount", mount("none", "/", "tmpfs", 0, nullptr)},
      {"unshare", unshare(CLONE_NEWUSER)},
      {"clone", syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, nullptr)},
      {"keyctl", syscall(SYS_keyctl, 0, -3, 1)},
      {"bpf", syscall(SYS_bpf, 0, nullptr, 0)},
      {"perf_event_open", syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0)},
      {"io_uring_setup", syscall(425, 1, nullptr)},
      {"memfd_create", memfd_create("x", 0)},
      {"userfaultfd", syscall(SYS_userfaultfd, 0)},
      {"chroot", chroot(".")},
      {"setuid", setuid(getuid() == 0 ? 12345 : 0)},
  };
  bool any = false;
  for (const auto& call : calls) {
    if (call.result >= 0) {
      std::printf("%s succeeded\n", call.name);
      any = true;
    }
  }
  return any ? 0 : 1;
}

int flood(FILE* stream) {
  for (;;) std::fputs("a line that is written again and again and again\n", stream);
}

// Leaves a process behind that outlives this one and tries to leave its group.
int leave_behind(const char* mark) {
  if (fork() == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    for (int i = 0; i < 400; ++i) {
      usleep(5000);
      const int fd = open(mark, O_WRONLY | O_CREAT | O_APPEND, 0644);
      if (fd >= 0 && write(fd, "x", 1) == 1) close(fd);
    }
    _exit(0);
  }
  wait(nullptr);
  return 0;
}

int work(const char* folder) {
  const std::string base = folder;
  char text[6] = {};
  const int in = open((base + "/input").c_str(), O_RDONLY);
  if (in < 0 || read(in, text, 5) != 5 || std::strcmp(text, "hello") != 0) return refused("input");
  mkdir((base + "/sub").c_str(), 0755);
  const int out = open((base + "/sub/output").c_str(), O_WRONLY | O_CREAT, 0644);
  if (out < 0 || write(out, "result", 6) != 6) return refused("output");
  if (symlink("/etc", (base + "/link").c_str()) != 0) return refused("symlink");
  const int temporary = open((std::string(std::getenv("TMPDIR")) + "/t").c_str(), O_WRONLY | O_CREAT, 0644);
  return temporary >= 0 ? 0 : refused("temporary");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string act = argc > 1 ? argv[1] : "";
  const char* argument = argc > 2 ? argv[2] : "";
  if (act == "fork") return fork_bomb();
  if (act == "fork-for-ever") return fork_bomb_for_ever();
  if (act == "loop") return loop();
  if (act == "disk") return fill_disk(argument, 100000);
  if (act == "large-file") return one_large_file(argument);
  if (act == "memory") return eat_memory(false);
  if (act == "memory-in-children") return eat_memory(true);
  if (act == "socket") return open_socket();
  if (act == "read") return read_path(argument);
  if (act == "write") return write_path(argument);
  if (act == "truncate") return truncate_path(argument);
  if (act == "kill") return kill_process(std::atoi(argument));
  if (act == "privileged") return privileged_calls();
  if (act == "flood") return flood(stdout);
  if (act == "flood-errors") return flood(stderr);
  if (act == "leave-behind") return leave_behind(argument);
  if (act == "work") return work(argument);
  if (act == "abort") std::abort();
  if (act == "exit") return std::atoi(argument);
  std::fprintf(stderr, "unknown act %s\n", act.c_str());
  return 2;
}
