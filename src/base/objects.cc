#include "base/objects.h"

#include "base/file.h"
#include "base/hash.h"

namespace kw {
namespace {

std::string place_of(const std::string& folder, const std::string& hash) {
  return folder + "/objects/" + hash;
}

}  // namespace

Result<std::string> put_object(const std::string& folder, std::string_view bytes) {
  std::string hash = hash_hex(bytes);
  const std::string place = place_of(folder, hash);
  if (const auto there = read_file(place, bytes.size()); there && *there == bytes) return hash;
  KW_TRY_VOID(write_file(place, bytes));
  // The name, too, must be on the disk before anything refers to it.
  KW_TRY_VOID(sync_folder(folder + "/objects"));
  return hash;
}

Result<std::string> object(const std::string& folder, const std::string& hash) {
  if (!is_hash(hash))
    return fail(ErrorCode::kInvalid, "'{}' names no object: 32 hexadecimal digits are needed", hash);
  const std::string place = place_of(folder, hash);
  auto bytes = read_file(place);
  if (!bytes) {
    if (bytes.error().code == ErrorCode::kNotFound)
      bytes.error().notes.push_back(
          "bring it back from a copy of the folder: what refers to it is of no use without it");
    return bytes;
  }
  if (hash_hex(*bytes) == hash) return bytes;
  return fail(Error{ErrorCode::kInvalid,
                    fmt::format("{} does not hold what its name says", place),
                    {},
                    {},
                    {"it was changed or damaged: remove it, and bring it back from a copy of the folder"}});
}

}  // namespace kw
