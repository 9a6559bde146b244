// The seccomp filter of the jail, as classic BPF: what a compiler or a candidate's host code has no business
// calling answers EPERM (or ENOSYS, where a library then falls back to an older call). Private to base.
#pragma once

#include <linux/filter.h>
#include <sys/types.h>

#include <vector>

namespace kw {

// own_pid > 0 makes the stricter filter for the jail without namespaces, for the process with that id and all it
// starts: no signals except to itself, no change of group, no sockets, no changes to modes, owners and times.
std::vector<sock_filter> jail_filter(pid_t own_pid);

// Installs it for the calling thread and sets no_new_privs. False with errno. Only system calls.
bool install_filter(const std::vector<sock_filter>& filter);

}  // namespace kw
