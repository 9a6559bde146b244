// What run_jailed hands to the processes it forks, and what they report. Private to base.
//
// The tree: caller → supervisor → (namespaces only: init, process 1 of the jail →) the command.
// The supervisor ends the jail when a byte arrives on `control` or the caller dies. Whoever waits for the command
// samples memory and process counts, and writes one JailReport.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/process_io.h"

namespace kw {

enum class JailStage : int {
  kFinished,  // the command ran and ended, or a watch stopped it
  kUserNamespace,
  kUserMap,
  kOtherNamespaces,
  kFork,
  kBind,
  kRoot,
  kWorkFolder,
  kProc,
  kDevices,
  kPivot,
  kCopyIn,
  kLandlock,
  kStdio,
  kFolder,
  kUser,
  kLimits,
  kFilter,
  kExec,
  kCopyOut,
};

struct JailReport {
  JailStage stage = JailStage::kFinished;
  int error = 0;
  int wait_status = 0;
  StopReason reason = StopReason::kExited;
  int path_index = -1;  // of read_only, for kBind
  struct rusage usage {};
};

struct JailContext {
  const ExecImage* image = nullptr;
  ChildStdio stdio;
  std::string cwd;
  std::string work_dir;
  std::vector<std::string> read_only;
  ProcessLimits limits;
  uint64_t work_bytes = 0;
  uint64_t memory_bytes = 0;
  bool private_paths = false;  // something listed cannot be read by everybody
  pid_t caller = 0;
  int report = -1;
  int control = -1;
  int map_request = -1;  // namespaces: the supervisor asks for its user map …
  int map_answer = -1;   // … and reads '1' (one user) or '2' (root and nobody)
};

// The forked child's life; they never return.
[[noreturn]] void run_namespaces(const JailContext& context);
[[noreturn]] void run_landlock(const JailContext& context);

// Empty when this kernel has Landlock, else why not.
std::string landlock_problem();

// Steps that both kinds share. Only for the forked children.
void send_report(const JailContext& context, const JailReport& report);
[[noreturn]] void report_and_exit(const JailContext& context, JailStage stage, int path_index = -1);
void close_all_but(std::vector<int> keep);
bool control_says_stop(int control);
bool drop_capabilities();  // also from the bounding set, so that exec as root gives none back

// Waits for `command`, reaping all children, and samples every few milliseconds; `stop_all` ends every process of the
// jail. Then ends and reaps whatever is left and fills in the report. `group` as in sum_processes. `work` is an open
// folder whose size is watched, or -1. `control` is polled unless it is -1; a byte on it gives kDeadline.
JailReport watch_command(const JailContext& context, pid_t command, pid_t group, int proc, int work, int control,
                         void (*stop_all)(pid_t group));

}  // namespace kw
