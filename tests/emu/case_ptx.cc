// Writes the kernels of case files for machines that have a GPU: for case number i of the files given,
// DIR/i.ptx and a line of DIR/cases.tsv (number, file, line, block, grid, dynamic shared bytes, result bytes,
// options target and whether an error is expected).
//   kw_case_ptx DIR FILE.test…
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "emu/case_file.h"

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: kw_case_ptx DIR FILE.test...\n");
    return 2;
  }
  const std::filesystem::path directory = argv[1];
  std::filesystem::create_directories(directory);
  std::ofstream list(directory / "cases.tsv");
  int number = 0;
  for (int i = 2; i < argc; ++i) {
    std::ifstream in(argv[i], std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    const auto file = kw::emu::read_case_file(text.str(), argv[i]);
    if (!file) {
      std::fprintf(stderr, "%s\n", kw::format_error(file.error()).c_str());
      return 2;
    }
    for (const kw::emu::Case& test : file->cases) {
      if (test.expects_error) continue;
      const auto kernel = kw::emu::generate(test);
      if (!kernel) {
        std::fprintf(stderr, "%s\n", kw::format_error(kernel.error()).c_str());
        return 2;
      }
      std::ofstream(directory / fmt::format("{}.ptx", number)) << kernel->ptx;
      const auto shared = test.options.find("shared");
      list << fmt::format("{}\t{}\t{}\t{} {} {}\t{} {} {}\t{}\t{}\t{}\n", number, argv[i], test.line, kernel->block_x,
                          test.block[1], test.block[2], test.grid[0], test.grid[1], test.grid[2],
                          shared == test.options.end() ? "0" : shared->second, kernel->result_bytes, test.target);
      ++number;
    }
  }
  return 0;
}
