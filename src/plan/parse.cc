// JSON text to Plan. Accepts any bytes; every error names the field ("steps[3].launch.grid").
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "plan/plan.h"

namespace kw::plan {
namespace {

using Json = nlohmann::json;

// One value inside the document and how to say where it is.
struct Field {
  const Json* json;
  std::string path;
};

class Reader {
 public:
  Reader(std::string_view file_name, const FindPtx& find_ptx) : file_name_(file_name), find_ptx_(find_ptx) {}

  Result<Plan> plan(const Json& root) {
    const Field top{&root, ""};
    KW_TRY_VOID(object(top, {"kernelwright_plan", "target", "candidate", "modules", "buffers", "steps", "unjoined"}));
    KW_TRY(const uint64_t version, number(top, "kernelwright_plan", 0, 1'000'000));
    if (version != kFormatVersion)
      return error("kernelwright_plan", "format version {} is not the {} this program reads", version, kFormatVersion);
    Plan plan;
    KW_TRY(plan.target, text(top, "target", 64));
    KW_TRY(plan.candidate, text(top, "candidate", 4096, true));
    KW_TRY(const auto modules, list(top, "modules", kMaxModules));
    for (const Field& field : modules) {
      KW_TRY_VOID(object(field, {"hash", "ptx"}));
      Module module;
      KW_TRY(module.hash, text(field, "hash", 32));
      if (find_ptx_ && find(field, "ptx") == nullptr) {
        KW_TRY(module.ptx, find_ptx_(module.hash));
      } else {
        KW_TRY(module.ptx, text(field, "ptx", kMaxPlanText));
      }
      plan.modules.push_back(std::move(module));
    }
    KW_TRY(const auto buffers, list(top, "buffers", kMaxBuffers));
    for (const Field& field : buffers) {
      KW_TRY(auto read, buffer(field));
      if (!buffer_index_.emplace(read.name, static_cast<uint32_t>(plan.buffers.size())).second)
        return error(field.path + ".name", "two buffers are called '{}'", read.name);
      plan.buffers.push_back(std::move(read));
    }
    KW_TRY(const auto steps, list(top, "steps", kMaxSteps));
    for (const Field& field : steps) {
      KW_TRY(auto read, step(field));
      plan.steps.push_back(std::move(read));
    }
    KW_TRY(plan.unjoined, numbers(top, "unjoined", kMaxSteps, UINT32_MAX, true));
    return plan;
  }

 private:
  template <typename... Args>
  tl::unexpected<Error> error(std::string_view path, fmt::format_string<Args...> format, Args&&... args) const {
    Error error;
    error.message = fmt::format("{}: {}: {}", file_name_, path.empty() ? "the document" : path,
                                fmt::format(format, std::forward<Args>(args)...));
    return fail(std::move(error));
  }

  static std::string join(const Field& parent, std::string_view name) {
    return parent.path.empty() ? std::string(name) : fmt::format("{}.{}", parent.path, name);
  }

  Status object(const Field& field, std::initializer_list<std::string_view> known) const {
    if (!field.json->is_object()) return error(field.path, "must be an object");
    for (const auto& item : field.json->items())
      if (std::find(known.begin(), known.end(), item.key()) == known.end())
        return error(field.path, "unknown field '{}'", item.key().substr(0, 64));
    return {};
  }

  // Null when it is not there.
  const Json* find(const Field& field, std::string_view name) const {
    const auto it = field.json->find(name);
    return it == field.json->end() ? nullptr : &*it;
  }

  Result<uint64_t> number(const Field& field, std::string_view name, uint64_t low, uint64_t high,
                          std::optional<uint64_t> absent = {}) const {
    const Json* json = find(field, name);
    if (json == nullptr && absent) return *absent;
    if (json == nullptr) return error(field.path, "'{}' is missing", name);
    if (!json->is_number_unsigned()) return error(join(field, name), "must be a whole number from {} to {}", low, high);
    const uint64_t value = json->get<uint64_t>();
    if (value < low || value > high) return error(join(field, name), "is {}; it must be from {} to {}", value, low, high);
    return value;
  }

  Result<int64_t> signed_number(const Field& field, std::string_view name, int64_t absent) const {
    const Json* json = find(field, name);
    if (json == nullptr) return absent;
    if (json->is_number_unsigned() && json->get<uint64_t>() > INT64_MAX) return error(join(field, name), "is too large");
    if (!json->is_number_integer()) return error(join(field, name), "must be a whole number");
    return json->get<int64_t>();
  }

  Result<bool> flag(const Field& field, std::string_view name) const {
    const Json* json = find(field, name);
    if (json == nullptr) return false;
    if (!json->is_boolean()) return error(join(field, name), "must be true or false");
    return json->get<bool>();
  }

  Result<std::string> text(const Field& field, std::string_view name, size_t limit, bool optional = false) const {
    const Json* json = find(field, name);
    if (json == nullptr && optional) return std::string();
    if (json == nullptr) return error(field.path, "'{}' is missing", name);
    if (!json->is_string()) return error(join(field, name), "must be a string");
    const auto& value = json->get_ref<const std::string&>();
    if (value.size() > limit) return error(join(field, name), "has {} bytes; at most {} are allowed", value.size(), limit);
    return value;
  }

  Result<std::vector<uint8_t>> bytes(const Field& field, std::string_view name, size_t limit) const {
    KW_TRY(const std::string digits, text(field, name, limit * 2));
    if (digits.size() % 2 != 0) return error(join(field, name), "has an odd number of hex digits");
    const auto value_of = [](char c) {
      if (c >= '0' && c <= '9') return c - '0';
      if (c >= 'a' && c <= 'f') return c - 'a' + 10;
      return -1;
    };
    std::vector<uint8_t> out(digits.size() / 2);
    for (size_t i = 0; i < out.size(); ++i) {
      const int high = value_of(digits[2 * i]), low = value_of(digits[2 * i + 1]);
      if (high < 0 || low < 0) return error(join(field, name), "holds something else than lower-case hex digits");
      out[i] = static_cast<uint8_t>(high * 16 + low);
    }
    return out;
  }

  Result<std::vector<Field>> list(const Field& field, std::string_view name, size_t limit, bool optional = false) const {
    const Json* json = find(field, name);
    if (json == nullptr && optional) return std::vector<Field>();
    if (json == nullptr) return error(field.path, "'{}' is missing", name);
    if (!json->is_array()) return error(join(field, name), "must be a list");
    if (json->size() > limit) return error(join(field, name), "has {} entries; at most {} are allowed", json->size(), limit);
    std::vector<Field> fields;
    fields.reserve(json->size());
    for (size_t i = 0; i < json->size(); ++i) fields.push_back({&(*json)[i], fmt::format("{}[{}]", join(field, name), i)});
    return fields;
  }

  Result<std::vector<uint32_t>> numbers(const Field& field, std::string_view name, size_t limit, uint32_t high,
                                        bool optional) const {
    KW_TRY(const auto fields, list(field, name, limit, optional));
    std::vector<uint32_t> values;
    for (const Field& item : fields) {
      if (!item.json->is_number_unsigned() || item.json->get<uint64_t>() > high)
        return error(item.path, "must be a whole number from 0 to {}", high);
      values.push_back(item.json->get<uint32_t>());
    }
    return values;
  }

  Result<std::vector<int64_t>> extents(const Field& field, std::string_view name) const {
    KW_TRY(const auto fields, list(field, name, 64));
    std::vector<int64_t> values;
    for (const Field& item : fields) {
      if (!item.json->is_number_unsigned() || item.json->get<uint64_t>() > kMaxBufferBytes)
        return error(item.path, "must be a whole number from 0 to {}", kMaxBufferBytes);
      values.push_back(item.json->get<int64_t>());
    }
    return values;
  }

  Result<std::array<uint32_t, 3>> triple(const Field& field, std::string_view name, bool optional = false) const {
    KW_TRY(const auto values, numbers(field, name, 3, UINT32_MAX, optional));
    if (optional && values.empty()) return std::array<uint32_t, 3>{1, 1, 1};
    if (values.size() != 3) return error(join(field, name), "must have three numbers");
    return std::array<uint32_t, 3>{values[0], values[1], values[2]};
  }

  Result<Buffer> buffer(const Field& field) const {
    KW_TRY_VOID(object(field, {"name", "role", "bytes", "dtype", "shape", "strides"}));
    Buffer buffer;
    KW_TRY(buffer.name, text(field, "name", 1024));
    if (buffer.name.empty()) return error(field.path + ".name", "must not be empty");
    KW_TRY(const std::string role, text(field, "role", 32));
    bool known = false;
    for (const Role each : {Role::kInput, Role::kOutput, Role::kInOut, Role::kWorkspace})
      if (name_of(each) == role) buffer.role = each, known = true;
    if (!known) return error(field.path + ".role", "must be input, output, inout or workspace");
    KW_TRY(buffer.bytes, number(field, "bytes", 0, kMaxBufferBytes));
    if (find(field, "dtype") != nullptr) {
      KW_TRY(buffer.dtype, text(field, "dtype", 64));
      KW_TRY(buffer.shape, extents(field, "shape"));
      KW_TRY(buffer.strides, extents(field, "strides"));
    }
    return buffer;
  }

  Result<Address> address(const Field& field, bool relocation = false) const {
    if (relocation) {
      KW_TRY_VOID(object(field, {"at", "buffer", "module", "variable", "offset"}));
    } else {
      KW_TRY_VOID(object(field, {"buffer", "module", "variable", "offset"}));
    }
    Address address;
    if (find(field, "buffer") != nullptr) {
      if (find(field, "module") != nullptr || find(field, "variable") != nullptr)
        return error(field.path, "names a buffer and a variable; one of them is meant");
      KW_TRY(const std::string name, text(field, "buffer", 1024));
      const auto it = buffer_index_.find(name);
      if (it == buffer_index_.end()) return error(field.path + ".buffer", "no buffer is called '{}'", name);
      address.buffer = it->second;
    } else {
      KW_TRY(const uint64_t module, number(field, "module", 0, kMaxModules - 1));
      address.module = static_cast<uint32_t>(module);
      KW_TRY(address.variable, text(field, "variable", 16384));
    }
    KW_TRY(address.offset, signed_number(field, "offset", 0));
    return address;
  }

  Result<Address> address_at(const Field& field, std::string_view name) const {
    const Json* json = find(field, name);
    if (json == nullptr) return error(field.path, "'{}' is missing", name);
    return address(Field{json, join(field, name)});
  }

  Result<std::vector<Relocation>> relocations(const Field& field) const {
    KW_TRY(const auto fields, list(field, "pointers", size_t{1} << 24, true));
    std::vector<Relocation> relocations;
    for (const Field& item : fields) {
      Relocation relocation;
      KW_TRY(relocation.target, address(item, true));
      KW_TRY(const uint64_t at, number(item, "at", 0, UINT32_MAX));
      relocation.offset = static_cast<uint32_t>(at);
      relocations.push_back(std::move(relocation));
    }
    return relocations;
  }

  Result<Launch> launch(const Field& field) const {
    KW_TRY_VOID(object(field, {"kernel", "module", "grid", "block", "cluster", "dynamic_shared_bytes", "cooperative",
                               "programmatic_order", "shared_carveout_percent", "nonportable_cluster", "params",
                               "pointers", "tensor_maps"}));
    Launch launch;
    KW_TRY(launch.kernel, text(field, "kernel", 16384));
    KW_TRY(const uint64_t module, number(field, "module", 0, kMaxModules - 1));
    launch.module = static_cast<uint32_t>(module);
    KW_TRY(launch.grid, triple(field, "grid"));
    KW_TRY(launch.block, triple(field, "block"));
    KW_TRY(launch.cluster, triple(field, "cluster", true));
    KW_TRY(const uint64_t shared, number(field, "dynamic_shared_bytes", 0, UINT32_MAX, 0));
    launch.dynamic_shared_bytes = static_cast<uint32_t>(shared);
    KW_TRY(launch.cooperative, flag(field, "cooperative"));
    KW_TRY(launch.programmatic_order, flag(field, "programmatic_order"));
    KW_TRY(launch.nonportable_cluster, flag(field, "nonportable_cluster"));
    if (find(field, "shared_carveout_percent") != nullptr) {
      KW_TRY(const uint64_t percent, number(field, "shared_carveout_percent", 0, 100));
      launch.shared_carveout_percent = static_cast<int32_t>(percent);
    }
    KW_TRY(launch.params, bytes(field, "params", 65536));
    KW_TRY(launch.relocations, relocations(field));
    KW_TRY(launch.tensor_maps, numbers(field, "tensor_maps", 1024, UINT32_MAX, true));
    return launch;
  }

  Result<Step> step(const Field& field) const {
    KW_TRY_VOID(object(field, {"launch", "fill", "copy", "write", "after", "source_file", "source_line"}));
    Step step;
    int actions = 0;
    if (const Json* json = find(field, "launch")) {
      KW_TRY(step.action, launch({json, field.path + ".launch"}));
      ++actions;
    }
    if (const Json* json = find(field, "fill")) {
      const Field at{json, field.path + ".fill"};
      KW_TRY_VOID(object(at, {"to", "pattern", "row_bytes", "rows", "pitch"}));
      Fill fill;
      KW_TRY(fill.to, address_at(at, "to"));
      KW_TRY(fill.pattern, bytes(at, "pattern", 4));
      KW_TRY(fill.row_bytes, number(at, "row_bytes", 0, kMaxBufferBytes));
      KW_TRY(fill.rows, number(at, "rows", 0, kMaxBufferBytes, 1));
      KW_TRY(fill.pitch, number(at, "pitch", 0, kMaxBufferBytes, 0));
      step.action = std::move(fill);
      ++actions;
    }
    if (const Json* json = find(field, "copy")) {
      const Field at{json, field.path + ".copy"};
      KW_TRY_VOID(object(at, {"to", "from", "row_bytes", "rows", "to_pitch", "from_pitch"}));
      Copy copy;
      KW_TRY(copy.to, address_at(at, "to"));
      KW_TRY(copy.from, address_at(at, "from"));
      KW_TRY(copy.row_bytes, number(at, "row_bytes", 0, kMaxBufferBytes));
      KW_TRY(copy.rows, number(at, "rows", 0, kMaxBufferBytes, 1));
      KW_TRY(copy.to_pitch, number(at, "to_pitch", 0, kMaxBufferBytes, 0));
      KW_TRY(copy.from_pitch, number(at, "from_pitch", 0, kMaxBufferBytes, 0));
      step.action = std::move(copy);
      ++actions;
    }
    if (const Json* json = find(field, "write")) {
      const Field at{json, field.path + ".write"};
      KW_TRY_VOID(object(at, {"to", "data", "pointers"}));
      Write write;
      KW_TRY(write.to, address_at(at, "to"));
      KW_TRY(write.data, bytes(at, "data", kMaxPlanText / 2));
      KW_TRY(write.relocations, relocations(at));
      step.action = std::move(write);
      ++actions;
    }
    if (actions != 1) return error(field.path, "must have exactly one of launch, fill, copy and write");
    KW_TRY(step.after, numbers(field, "after", kMaxSteps, UINT32_MAX, true));
    KW_TRY(step.source_file, text(field, "source_file", 4096, true));
    KW_TRY(const uint64_t line, number(field, "source_line", 0, UINT32_MAX, 0));
    step.source_line = static_cast<uint32_t>(line);
    return step;
  }

  std::string file_name_;
  const FindPtx& find_ptx_;
  std::map<std::string, uint32_t, std::less<>> buffer_index_;
};

}  // namespace

Result<Plan> parse(std::string_view json, std::string_view file_name, const FindPtx& find_ptx) {
  if (json.size() > kMaxPlanText)
    return fail(ErrorCode::kLimit, "{}: has {} bytes; a plan has at most {}", file_name, json.size(), kMaxPlanText);
  if (json.find('\0') != std::string_view::npos)   // the text would end there for the JSON library
    return fail(ErrorCode::kInvalid, "{}: a byte of 0 is no text; docs/formats/plan.md describes plans", file_name);
  Json root;
  try {
    root = Json::parse(json);
  } catch (const Json::parse_error& parse_error) {
    const size_t byte = std::min<size_t>(parse_error.byte == 0 ? 0 : parse_error.byte - 1, json.size());
    const std::string_view before = json.substr(0, byte);
    Error error;
    error.message = "this is not JSON; docs/formats/plan.md describes plans";
    const size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    error.span = Span{std::string(file_name), static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1,
                      static_cast<int>(byte - line_start) + 1, 0};
    return fail(std::move(error));
  } catch (const Json::exception& other) {
    return fail(ErrorCode::kInvalid, "{}: this JSON cannot be read: {}", file_name, other.what());
  }
  Reader reader(file_name, find_ptx);
  KW_TRY(auto plan, reader.plan(root));
  if (auto status = check(plan); !status) {
    status.error().message = fmt::format("{}: {}", file_name, status.error().message);
    return tl::unexpected(std::move(status.error()));
  }
  return plan;
}

}  // namespace kw::plan
