#include "base/jail_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cstdint>
#include <initializer_list>

namespace kw {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArch = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArch = AUDIT_ARCH_AARCH64;
#else
#error "the jail knows x86-64 and aarch64"
#endif

class FilterWriter {
 public:
  void load(size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset)); }
  void load_number() { load(offsetof(seccomp_data, nr)); }
  // The low 32 bits of an argument: both architectures are little-endian.
  void load_argument(unsigned index) { load(offsetof(seccomp_data, args) + 8 * index); }
  void answer(uint32_t value) { add(BPF_RET | BPF_K, value); }
  void answer_error(int error) { answer(SECCOMP_RET_ERRNO | static_cast<uint32_t>(error)); }
  void mask(uint32_t bits) { add(BPF_ALU | BPF_AND | BPF_K, bits); }

  // if (accumulator == value) return error;
  void refuse_equal(uint32_t value, int error) {
    add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    answer_error(error);
  }
  void refuse_unequal(uint32_t value, int error) {
    add(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0);
    answer_error(error);
  }
  // Runs `body` only for system call `number`; the accumulator holds the number before and after.
  template <typename Body>
  void when(long number, Body body) {
    const size_t at = code_.size();
    add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, 0);
    body();
    load_number();
    code_[at].jf = static_cast<uint8_t>(code_.size() - at - 1);
  }
  std::vector<sock_filter> take() { return std::move(code_); }

 private:
  void add(uint32_t code, uint32_t k, uint8_t jt = 0, uint8_t jf = 0) {
    code_.push_back({static_cast<uint16_t>(code), jt, jf, k});
  }
  std::vector<sock_filter> code_;
};

// Numbers that are the same on every architecture (since Linux 5.0) and newer than some build machines' headers.
constexpr long kIoUringSetup = 425, kIoUringEnter = 426, kIoUringRegister = 427, kOpenTree = 428, kMoveMount = 429,
               kFsopen = 430, kFsconfig = 431, kFsmount = 432, kFspick = 433, kPidfdOpen = 434, kClone3 = 435,
               kOpenat2 = 437, kPidfdGetfd = 438, kProcessMadvise = 440, kMountSetattr = 442, kQuotactlFd = 443,
               kMemfdSecret = 447, kProcessMrelease = 448, kFchmodat2 = 452, kStatmount = 457, kListmount = 458,
               kSetxattrat = 463, kRemovexattrat = 466, kOpenTreeAttr = 467;

constexpr long kRefused[] = {
    // other processes
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, kPidfdOpen, kPidfdGetfd, kProcessMadvise,
    kProcessMrelease, SYS_setpriority, SYS_ioprio_set,
    // file systems and namespaces
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_swapon, SYS_swapoff, SYS_setns, SYS_unshare, kOpenTree,
    kMoveMount, kFsopen, kFsconfig, kFsmount, kFspick, kMountSetattr, kStatmount, kListmount, kOpenTreeAttr,
    SYS_quotactl, kQuotactlFd, SYS_acct, SYS_open_by_handle_at, SYS_name_to_handle_at, SYS_fanotify_init, SYS_mknodat,
    // the kernel
    SYS_bpf, SYS_perf_event_open, SYS_kexec_load, SYS_kexec_file_load, SYS_init_module, SYS_finit_module,
    SYS_delete_module, SYS_reboot, SYS_syslog, SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime, SYS_adjtimex,
    SYS_sethostname, SYS_setdomainname, SYS_personality, SYS_userfaultfd, SYS_vhangup, kIoUringSetup, kIoUringEnter,
    kIoUringRegister,
    // keys
    SYS_add_key, SYS_request_key, SYS_keyctl,
    // memory that belongs to no process, so that the memory watch would not see it
    SYS_memfd_create, kMemfdSecret, SYS_shmget, SYS_shmat, SYS_msgget, SYS_semget, SYS_mq_open, SYS_mbind,
    SYS_set_mempolicy, SYS_migrate_pages, SYS_move_pages,
#if defined(__x86_64__)
    SYS_iopl, SYS_ioperm, SYS_modify_ldt, SYS_mknod, SYS_uselib, SYS_ustat, SYS_lookup_dcookie,
#endif
};

constexpr long kRefusedWithoutNamespaces[] = {
    // what the process group and Landlock (which governs contents, not attributes) would not hold
    SYS_setsid, SYS_setpgid, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_pidfd_send_signal, SYS_tkill,
    SYS_truncate, SYS_fchmod, SYS_fchmodat, kFchmodat2, SYS_fchown, SYS_fchownat, SYS_utimensat, SYS_setxattr,
    SYS_lsetxattr, SYS_fsetxattr, SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr, kSetxattrat, kRemovexattrat,
    SYS_sched_setaffinity, SYS_sched_setscheduler, SYS_sched_setparam, SYS_sched_setattr,
#if defined(__x86_64__)
    SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat,
#endif
};

constexpr uint32_t kNamespaceFlags = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                                     CLONE_NEWPID | CLONE_NEWNET;

void refuse_opening_to_truncate(FilterWriter& filter, unsigned flags_argument) {
  filter.load_argument(flags_argument);
  // Landlock before its third version lets a file that may be read be emptied.
  filter.mask(O_TRUNC | O_ACCMODE);
  filter.refuse_equal(O_TRUNC | O_RDONLY, EPERM);
}

}  // namespace

std::vector<sock_filter> jail_filter(pid_t own_pid) {
  FilterWriter filter;
  const bool strict = own_pid > 0;
  filter.load(offsetof(seccomp_data, arch));
  filter.refuse_unequal(kArch, ENOSYS);  // 32-bit calls have other numbers
  filter.load_number();
#if defined(__x86_64__)
  // x32 calls have bit 30 set and would pass the comparisons below.
  filter.mask(0x40000000u);
  filter.refuse_equal(0x40000000u, ENOSYS);
  filter.load_number();
#endif
  // glibc falls back to clone, whose flags can be looked at.
  filter.refuse_equal(static_cast<uint32_t>(kClone3), ENOSYS);
  for (const long number : kRefused) filter.refuse_equal(static_cast<uint32_t>(number), EPERM);
  filter.when(SYS_clone, [&] {
    filter.load_argument(0);
    filter.mask(kNamespaceFlags);
    filter.refuse_unequal(0, EPERM);
  });
  filter.when(SYS_socket, [&] {
    if (strict) {
      filter.answer_error(EPERM);
    } else {
      filter.load_argument(0);
      filter.refuse_unequal(AF_UNIX, EPERM);
    }
  });
  filter.when(SYS_socketpair, [&] {
    filter.load_argument(0);
    filter.refuse_unequal(AF_UNIX, EPERM);
  });
  filter.when(SYS_ioctl, [&] {
    filter.load_argument(1);
    filter.refuse_equal(TIOCSTI, EPERM);
    filter.refuse_equal(0x541Cu /* TIOCLINUX */, EPERM);
  });
  if (strict) {
    for (const long number : kRefusedWithoutNamespaces) filter.refuse_equal(static_cast<uint32_t>(number), EPERM);
    const uint32_t self = static_cast<uint32_t>(own_pid);
    filter.when(SYS_kill, [&] {
      filter.load_argument(0);
      filter.refuse_unequal(self, EPERM);
    });
    filter.when(SYS_tgkill, [&] {
      filter.load_argument(0);
      filter.refuse_unequal(self, EPERM);
    });
    filter.when(SYS_fcntl, [&] {  // F_SETOWN and F_SETSIG would have the kernel send signals
      filter.load_argument(1);
      filter.refuse_equal(F_SETOWN, EPERM);
      filter.refuse_equal(15 /* F_SETOWN_EX */, EPERM);
      filter.refuse_equal(10 /* F_SETSIG */, EPERM);
    });
    filter.when(SYS_prlimit64, [&] {  // glibc's getrlimit and setrlimit: itself (0) only
      filter.load_argument(0);
      filter.refuse_unequal(0, EPERM);
    });
    filter.refuse_equal(static_cast<uint32_t>(kOpenat2), ENOSYS);  // its flags are behind a pointer
    filter.when(SYS_openat, [&] { refuse_opening_to_truncate(filter, 2); });
#if defined(__x86_64__)
    filter.when(SYS_open, [&] { refuse_opening_to_truncate(filter, 1); });
#endif
  }
  filter.answer(SECCOMP_RET_ALLOW);
  return filter.take();
}

bool install_filter(const std::vector<sock_filter>& filter) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  const sock_fprog program{static_cast<unsigned short>(filter.size()), const_cast<sock_filter*>(filter.data())};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace kw
