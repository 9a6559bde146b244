// The file: an archive with index/HASH and objects/HASH.
#include "judge/bundle.h"

#include <algorithm>

#include "base/file.h"
#include "base/hash.h"
#include "base/source_text.h"
#include "base/tar.h"
#include "base/json_fields.h"
#include "judge/suite_json.h"

namespace kw::judge {
namespace {

constexpr std::string_view kIndex = "index/", kObjects = "objects/";

class IndexReader : public JsonFields {
 public:
  explicit IndexReader(const std::string& file) : file_(file) {}

  Status read(const Json& root, Bundle& out) {
    if (!root.is_object() || text(root, "schema") != kBundleSchema)
      return fail(ErrorCode::kUnsupported, "{} is no bundle of schema {}: make it anew with this kw", file_, kBundleSchema);
    const std::vector<std::string> known = gpu_rung_names();
    if (const auto asked = texts(root, "rungs"); asked != known) {
      return fail(ErrorCode::kUnsupported, "{} asks for the rungs '{}', this kw has '{}': use the kw that made it", file_, fmt::join(asked, ", "),
                  fmt::join(known, ", "));
    }
    out.folder = words(root, "folder");
    for (const Json& each : list(root, "cases")) out.cases.push_back(one(each));
    return complaint("the bundle's index", file_);
  }

 private:
  BundleCase one(const Json& json) {
    BundleCase out;
    out.c = suite_case_of(*this, json);
    const Json& expected = member(json, "expects");
    out.expected.verdict = text(expected, "verdict");
    out.expected.rungs = texts(expected, "rungs");
    if (expected.contains("on_gpu")) out.expected.on_gpu = words(expected, "on_gpu");
    out.expected.says = texts(expected, "says");
    for (const std::string& says : out.expected.says) {
      if (!check_pattern(says)) complain("says");
    }
    if (const Json& verdict = member(json, "verdict"); !verdict.is_null()) out.verdict = hash(json, "verdict");
    const Json& climb = member(json, "climb");
    if (climb.is_null()) return out;
    out.goes_on = true;
    if (out.verdict.empty()) complain("verdict");
    out.source_folder = words(climb, "source_folder");
    out.source_name = words(climb, "source_name");
    for (const Json& each : list(climb, "plans")) out.plans.push_back({workload_name_of(*this, each, "workload"), hash(each, "plan")});
    return out;
  }

  const std::string& file_;
};

}  // namespace

Result<Bundle> Bundle::parse(std::string bytes, const std::string& file) {
  Bundle out;
  out.bytes = bytes.size();
  const auto content = std::make_shared<const std::string>(std::move(bytes));
  out.content_ = content;
  KW_TRY(const std::vector<TarMember> members, read_tar(*content, file));
  std::string_view index;
  for (const TarMember& member : members) {
    const std::string_view name = member.name;
    const std::string hash(name.substr(std::min(name.find('/') + 1, name.size())));
    if (!is_hash(hash) || (name != fmt::format("{}{}", kIndex, hash) && name != fmt::format("{}{}", kObjects, hash)))
      return fail(ErrorCode::kInvalid, "{} is no bundle: a bundle has no '{}'", file, printable_text(name));
    if (hash_hex(member.content) != hash) return fail(ErrorCode::kInvalid, "{}: altered: {} does not hold what its name says; copy it again", file, name);
    if (name.starts_with(kObjects)) {
      out.objects_[hash] = member.content;
    } else {
      if (!out.hash.empty()) return fail(ErrorCode::kInvalid, "{} is no bundle: it has two indexes", file);
      out.hash = hash;
      index = member.content;
    }
  }
  if (out.hash.empty()) return fail(ErrorCode::kInvalid, "{} is no bundle: it has no index", file);
  KW_TRY_VOID(IndexReader(file).read(parse_json(index), out));
  return out;
}

Result<Bundle> Bundle::open(const std::string& file) {
  KW_TRY(std::string bytes, read_file(file, kMaxBundle));
  return parse(std::move(bytes), file);
}

Result<std::string> Bundle::object(const std::string& hash) const {
  const auto found = objects_.find(hash);
  if (found == objects_.end()) return fail(ErrorCode::kInvalid, "the bundle lacks object {}: make it anew", hash);
  return std::string(found->second);
}

}  // namespace kw::judge
