// Plan to JSON text. docs/formats/plan.md describes every field; parse.cc reads it back.
#include <nlohmann/json.hpp>

#include "plan/plan.h"

namespace kw::plan {
namespace {

using Json = nlohmann::ordered_json;

std::string hex(const std::vector<uint8_t>& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

Json json_of(const Plan& plan, const Address& address) {
  Json json;
  if (address.in_buffer()) {
    json["buffer"] = address.buffer < plan.buffers.size() ? plan.buffers[address.buffer].name : "?";
  } else {
    json["module"] = address.module;
    json["variable"] = address.variable;
  }
  if (address.offset != 0) json["offset"] = address.offset;
  return json;
}

Json json_of(const Plan& plan, const std::vector<Relocation>& relocations) {
  Json list = Json::array();
  for (const Relocation& relocation : relocations) {
    Json json;
    json["at"] = relocation.offset;
    json.update(json_of(plan, relocation.target));
    list.push_back(std::move(json));
  }
  return list;
}

struct ActionJson {
  const Plan& plan;
  Json& step;
  void operator()(const Launch& launch) const {
    Json json;
    json["kernel"] = launch.kernel;
    json["module"] = launch.module;
    json["grid"] = launch.grid;
    json["block"] = launch.block;
    if (launch.cluster != std::array<uint32_t, 3>{1, 1, 1}) json["cluster"] = launch.cluster;
    if (launch.dynamic_shared_bytes != 0) json["dynamic_shared_bytes"] = launch.dynamic_shared_bytes;
    if (launch.cooperative) json["cooperative"] = true;
    if (launch.programmatic_order) json["programmatic_order"] = true;
    if (launch.shared_carveout_percent >= 0) json["shared_carveout_percent"] = launch.shared_carveout_percent;
    if (launch.nonportable_cluster) json["nonportable_cluster"] = true;
    json["params"] = hex(launch.params);
    if (!launch.relocations.empty()) json["pointers"] = json_of(plan, launch.relocations);
    if (!launch.tensor_maps.empty()) json["tensor_maps"] = launch.tensor_maps;
    step["launch"] = std::move(json);
  }
  void operator()(const Fill& fill) const {
    Json json;
    json["to"] = json_of(plan, fill.to);
    json["pattern"] = hex(fill.pattern);
    json["row_bytes"] = fill.row_bytes;
    if (fill.rows != 1) json["rows"] = fill.rows;
    if (fill.pitch != 0) json["pitch"] = fill.pitch;
    step["fill"] = std::move(json);
  }
  void operator()(const Copy& copy) const {
    Json json;
    json["to"] = json_of(plan, copy.to);
    json["from"] = json_of(plan, copy.from);
    json["row_bytes"] = copy.row_bytes;
    if (copy.rows != 1) json["rows"] = copy.rows;
    if (copy.to_pitch != 0) json["to_pitch"] = copy.to_pitch;
    if (copy.from_pitch != 0) json["from_pitch"] = copy.from_pitch;
    step["copy"] = std::move(json);
  }
  void operator()(const Write& write) const {
    Json json;
    json["to"] = json_of(plan, write.to);
    json["data"] = hex(write.data);
    if (!write.relocations.empty()) json["pointers"] = json_of(plan, write.relocations);
    step["write"] = std::move(json);
  }
};

}  // namespace

std::string write(const Plan& plan, Code code) {
  Json root;
  root["kernelwright_plan"] = kFormatVersion;
  root["target"] = plan.target;
  root["candidate"] = plan.candidate;
  root["buffers"] = Json::array();
  for (const Buffer& buffer : plan.buffers) {
    Json json;
    json["name"] = buffer.name;
    json["role"] = name_of(buffer.role);
    json["bytes"] = buffer.bytes;
    if (!buffer.dtype.empty()) {
      json["dtype"] = buffer.dtype;
      json["shape"] = buffer.shape;
      json["strides"] = buffer.strides;
    }
    root["buffers"].push_back(std::move(json));
  }
  root["steps"] = Json::array();
  for (const Step& step : plan.steps) {
    Json json;
    std::visit(ActionJson{plan, json}, step.action);
    if (!step.after.empty()) json["after"] = step.after;
    if (step.source_line != 0) {
      json["source_file"] = step.source_file;
      json["source_line"] = step.source_line;
    }
    root["steps"].push_back(std::move(json));
  }
  if (!plan.unjoined.empty()) root["unjoined"] = plan.unjoined;
  root["modules"] = Json::array();
  for (const Module& module : plan.modules) {
    Json json;
    json["hash"] = module.hash;
    if (code == Code::kWhole) json["ptx"] = module.ptx;
    root["modules"].push_back(std::move(json));
  }
  // Names come from untrusted sources: bytes that are not UTF-8 are replaced rather than refused.
  return root.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace kw::plan
