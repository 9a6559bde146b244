#include "toolchain/compile_cache.h"

#include <sys/stat.h>

#include <filesystem>

#include "base/cache_folder.h"
#include "base/file.h"
#include "base/leftover.h"

namespace kw::toolchain {

namespace fs = std::filesystem;

Result<std::string> compile_cache(const CompileOptions& options) {
  std::string folder = options.cache_folder;
  if (folder.empty()) {
    KW_TRY(folder, kw::cache_folder());
  }
  std::error_code ignored;
  folder = fs::absolute(folder, ignored).string();
  KW_TRY_VOID(make_folder(folder + "/compiled"));
  return folder + "/compiled";
}

Status keep_compiled(const std::string& cache, const std::string& place, const std::string& last, bool may_be_there,
                     const std::function<Status(const std::string& folder)>& fill) {
  sweep_unfinished(cache);
  KW_TRY(const TempDir fresh, TempDir::create_in(cache, "new"));
  const auto refuse = [&](const std::string& why) {
    return fail(ErrorCode::kIo, "the cache folder {} cannot be written: {}; make room there, or set KW_CACHE to another folder", cache, why);
  };
  if (const Status written = fill(fresh.path()); !written) return refuse(written.error().message);
  if (chmod(fresh.path().c_str(), 0755) != 0) return refuse("its folders cannot be opened to others");
  std::error_code error;
  if (!may_be_there) fs::remove_all(place, error);
  fs::rename(fresh.path(), place, error);
  // Somebody else was faster: what is there is as good.
  if (!fs::exists(place + "/" + last, error)) return refuse("what was finished did not arrive there");
  return {};
}

}  // namespace kw::toolchain
