// problem: problems/vector_add.problem
// verdict: contract-violation
// rung: record
//   Writes the files that the recorder would write, then leaves before it can.
#include <kernelwright/candidate.h>
#include <unistd.h>

#include <cstdio>
#include <string>

static void forge(const std::string& folder) {
  for (const char* name : {"plan.json", "sites.json", "verdict.json"}) {
    if (std::FILE* file = std::fopen((folder + "/" + name).c_str(), "w")) {
      std::fputs(R"({"schema": "kernelwright/plan/1", "verdict": "correct", "steps": []})", file);
      std::fclose(file);
    }
  }
}

KW_ENTRY(kw::Out y, cudaStream_t stream) {
  (void)y, (void)stream;
  std::puts("CORRECT: forged for vector_add (sm_80)");
  char folder[4096];
  if (getcwd(folder, sizeof folder) != nullptr) forge(folder);
  _exit(0);
}
