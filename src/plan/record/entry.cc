// main of a compiled candidate: reads the workload, binds the entry's parameters to it by name, calls the entry
// once, writes the plan.
//   program WORKLOAD.json OUTPUT_FOLDER
// WORKLOAD.json {"candidate", "arguments": [{"name", "kind": input|output|piece|inout|integer|real|bool, "dtype",
// "dtype_code", "bytes", "shape", "strides", "integer", "real"}]}; made by toolchain/record.cc, so trusted.
#include <kernelwright/candidate.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "plan/record/recorder.h"
#include "plan/runtime/state.h"

namespace kw::runtime {
namespace {

using detail::ArgumentKind;
using detail::Entry;
using detail::Value;
using Json = nlohmann::json;

std::vector<const Entry*>& entries() {
  static auto* list = new std::vector<const Entry*>;
  return *list;
}

[[noreturn]] void contract(std::string message, std::vector<std::string> notes = {}) {
  stop({"contract", "KW_ENTRY", std::move(message), std::move(notes)});
}

// "kw::In x" → "x": the last identifier of each parameter, outside brackets and default values.
std::vector<std::string> names_of(std::string_view parameters) {
  std::vector<std::string> names;
  std::string word, last;
  int depth = 0;
  bool in_default = false;
  const auto end_word = [&] {
    if (!word.empty() && !in_default) last = word;
    word.clear();
  };
  const auto end_parameter = [&] {
    end_word();
    names.push_back(last);
    last.clear();
    in_default = false;
  };
  for (const char c : parameters) {
    const bool identifier = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (identifier) {
      word += c;
      continue;
    }
    end_word();
    if (c == '<' || c == '(' || c == '[') ++depth;
    if (c == '>' || c == ')' || c == ']') --depth;
    if (c == '=') in_default = true;
    if (c == ',' && depth == 0) end_parameter();
  }
  if (!parameters.empty()) end_parameter();
  return names;
}

std::string_view name_of(ArgumentKind kind) {
  switch (kind) {
    case ArgumentKind::kIn: return "kw::In";
    case ArgumentKind::kOut: return "kw::Out";
    case ArgumentKind::kInOut: return "kw::InOut";
    case ArgumentKind::kInt32: return "int";
    case ArgumentKind::kInt64: return "int64_t";
    case ArgumentKind::kFloat32: return "float";
    case ArgumentKind::kFloat64: return "double";
    case ArgumentKind::kBool: return "bool";
    case ArgumentKind::kStream: return "cudaStream_t";
  }
  return "?";
}

struct Workload {
  Json json;
  std::vector<std::string> names;   // stable storage for TensorView::name
};

std::string listing(const Workload& workload) {
  std::string text;
  for (const Json& argument : workload.json["arguments"])
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", argument["kind"].get<std::string>(), argument["name"].get<std::string>());
  return text;
}

Value bind_tensor(const Json& argument, ArgumentKind kind, Recorder& recorder, const char* name) {
  Value value{};
  value.kind = kind;
  plan::Buffer buffer;
  buffer.name = name;
  buffer.role = kind == ArgumentKind::kIn ? plan::Role::kInput : kind == ArgumentKind::kOut ? plan::Role::kOutput : plan::Role::kInOut;
  buffer.bytes = argument["bytes"].get<uint64_t>();
  buffer.dtype = argument["dtype"].get<std::string>();
  buffer.shape = argument["shape"].get<std::vector<int64_t>>();
  buffer.strides = argument["strides"].get<std::vector<int64_t>>();
  if (buffer.shape.size() > kMaxRank) contract(fmt::format("'{}' has {} dimensions; a view holds {}", name, buffer.shape.size(), kMaxRank));
  value.tensor.name = name;
  value.tensor.dtype = static_cast<DType>(argument["dtype_code"].get<int>());
  value.tensor.rank = static_cast<int32_t>(buffer.shape.size());
  std::copy(buffer.shape.begin(), buffer.shape.end(), value.tensor.shape);
  std::copy(buffer.strides.begin(), buffer.strides.end(), value.tensor.strides);
  value.tensor.data = reinterpret_cast<void*>(recorder.add_buffer(std::move(buffer)));
  return value;
}

Value bind(const Workload& workload, size_t index, ArgumentKind kind, Recorder& recorder) {
  const Json& argument = workload.json["arguments"][index];
  const std::string& name = workload.names[index];
  const std::string is = argument["kind"];
  const auto mismatch = [&](std::string_view wanted) {
    contract(fmt::format("parameter '{}' is {}, but in the problem it is {} {}", name, name_of(kind), is, name),
             {fmt::format("Declare it as {} {}.", wanted, name)});
  };
  switch (kind) {
    case ArgumentKind::kIn:
      if (is != "input" && is != "inout") mismatch(is == "output" || is == "piece" ? "kw::Out" : is == "integer" ? "int64_t" : is == "real" ? "double" : "bool");
      if (is == "inout") mismatch("kw::InOut");
      return bind_tensor(argument, kind, recorder, name.c_str());
    case ArgumentKind::kOut:
      if (is != "output" && is != "piece") mismatch(is == "input" ? "kw::In" : is == "inout" ? "kw::InOut" : is == "integer" ? "int64_t" : is == "real" ? "double" : "bool");
      return bind_tensor(argument, kind, recorder, name.c_str());
    case ArgumentKind::kInOut:
      if (is != "inout") mismatch(is == "input" ? "kw::In" : is == "output" || is == "piece" ? "kw::Out" : "int64_t");
      return bind_tensor(argument, kind, recorder, name.c_str());
    case ArgumentKind::kInt32:
    case ArgumentKind::kInt64:
    case ArgumentKind::kBool: {
      if (is != "integer" && is != "bool") mismatch(is == "real" ? "double" : "kw::In");
      Value value{};
      value.kind = kind;
      value.integer = argument["integer"].get<int64_t>();
      if (kind == ArgumentKind::kInt32 && value.integer != static_cast<int32_t>(value.integer))
        contract(fmt::format("'{}' is {}, which an int does not hold", name, value.integer), {fmt::format("Declare it as int64_t {}.", name)});
      return value;
    }
    case ArgumentKind::kFloat32:
    case ArgumentKind::kFloat64: {
      if (is != "real" && is != "integer") mismatch("kw::In");
      Value value{};
      value.kind = kind;
      value.real = is == "real" ? argument["real"].get<double>() : static_cast<double>(argument["integer"].get<int64_t>());
      return value;
    }
    case ArgumentKind::kStream: break;
  }
  return {};
}

void on_signal(int number, siginfo_t* info, void*) {
  const char* name = number == SIGSEGV ? "SIGSEGV" : number == SIGBUS ? "SIGBUS" : number == SIGFPE ? "SIGFPE" : number == SIGILL ? "SIGILL" : "SIGABRT";
  Stop reason;
  reason.kind = "crash";
  reason.message = fmt::format("the host code crashed ({})", name);
  if (number == SIGSEGV && Recorder::current() != nullptr) {
    const std::string place = Recorder::current()->describe(reinterpret_cast<uint64_t>(info->si_addr));
    if (!place.empty()) {
      reason.message = fmt::format("host code reads or writes device memory: {}", place);
      reason.notes.push_back("Tensor contents do not exist while recording; let a kernel touch them.");
    }
  }
  stop(reason);
}

void watch_signals() {
  static char stack[256 * 1024];
  stack_t alternative{};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof stack;
  sigaltstack(&alternative, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND;
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(number, &action, nullptr);
}

int record(const char* workload_path, const char* folder) {
  set_output_folder(folder);
  watch_signals();
  State& state = State::get();
  state.backend();
  Recorder& recorder = *Recorder::current();
  Workload workload;
  {
    std::ifstream file(workload_path);
    std::stringstream text;
    text << file.rdbuf();
    workload.json = Json::parse(text.str());
  }
  for (const Json& argument : workload.json["arguments"]) workload.names.push_back(argument["name"]);

  if (entries().empty())
    contract("the candidate has no KW_ENTRY", {"Include <kernelwright/candidate.h> and write KW_ENTRY(kw::In x, kw::Out y, cudaStream_t stream) { … }."});
  if (entries().size() > 1) contract(fmt::format("the candidate has {} entries; one KW_ENTRY is meant", entries().size()));
  const Entry& entry = *entries()[0];
  if (entry.abi != detail::kEntryAbi)
    contract(fmt::format("the candidate was compiled against version {} of candidate.h; this is {}", entry.abi, detail::kEntryAbi));
  const std::vector<std::string> names = names_of(entry.parameters);
  if (names.size() != static_cast<size_t>(entry.count)) contract("the parameter list of KW_ENTRY cannot be read", {"Use plain parameters: kw::In x, float eps."});

  Stream* entry_stream = state.create_stream(0, 0);
  std::vector<Value> values;
  std::vector<bool> used(workload.names.size(), false);
  for (size_t i = 0; i < names.size(); ++i) {
    if (entry.kinds[i] == ArgumentKind::kStream) {
      Value value{};
      value.kind = ArgumentKind::kStream;
      value.stream = reinterpret_cast<cudaStream_t>(entry_stream);
      values.push_back(value);
      continue;
    }
    const auto it = std::find(workload.names.begin(), workload.names.end(), names[i]);
    if (it == workload.names.end())
      contract(fmt::format("parameter '{}' names nothing in the problem", names[i]), {"The problem has: " + listing(workload) + "."});
    const auto index = static_cast<size_t>(it - workload.names.begin());
    if (used[index]) contract(fmt::format("two parameters are called '{}'", names[i]));
    used[index] = true;
    values.push_back(bind(workload, index, entry.kinds[i], recorder));
  }
  for (size_t i = 0; i < used.size(); ++i)
    if (!used[i] && workload.json["arguments"][i]["kind"] == "output")
      contract(fmt::format("the output '{}' is not a parameter", workload.names[i]), {fmt::format("Add kw::Out {} to KW_ENTRY.", workload.names[i])});
  try {
    entry.invoke(values.data());
  } catch (const std::exception& thrown) {
    stop({"crash", "", fmt::format("the entry threw {}", thrown.what()), {}});
  } catch (...) {
    stop({"crash", "", "the entry threw an exception", {}});
  }
  std::lock_guard<std::recursive_mutex> lock(state.lock());
  recorder.finish(*entry_stream, workload.json["candidate"]);
  std::fflush(nullptr);
  // The candidate's exit handlers and destructors have nothing to add.
  _exit(0);
}

}  // namespace
}  // namespace kw::runtime

extern "C" {

int kw_register_entry(const kw::detail::Entry* entry) {
  kw::runtime::entries().push_back(entry);
  return 0;
}

[[noreturn]] void kw_contract_failed(const kw::detail::TensorView* view, const char* what, int32_t detail) {
  static constexpr const char* kNames[] = {"bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
                                           "float4_e2m1", "float8_e4m3", "float8_e5m2", "float8_e8m0", "float16", "bfloat16", "float32", "float64",
                                           "int4", "uint4"};
  const auto name = [](int32_t code) { return code >= 0 && code < static_cast<int32_t>(std::size(kNames)) ? kNames[code] : "?"; };
  kw::runtime::Stop reason;
  reason.kind = "contract";
  reason.call = "data";
  if (std::strcmp(what, "type") == 0) {
    reason.message = fmt::format("'{}' holds {} but data<…>() asks for {}", view->name, name(static_cast<int32_t>(view->dtype)), name(detail));
  } else if (std::strcmp(what, "width") == 0) {
    reason.message = fmt::format("'{}' holds {}, of which no whole number fills the {} bits that data<…>() asks for", view->name,
                                 name(static_cast<int32_t>(view->dtype)), detail);
  } else {
    reason.call = "shape";
    reason.message = fmt::format("'{}' has {} dimensions; there is no dimension {}", view->name, view->rank, detail);
  }
  kw::runtime::stop(reason);
}

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "This is a compiled candidate; kw judge and kw plan run it in a jail.\n");
    return 2;
  }
  return kw::runtime::record(argv[1], argv[2]);
}

}  // extern "C"
