#include "agent/code_tools.h"

#include <algorithm>

#include "agent/fence.h"
#include "base/json_fields.h"

namespace kw::agent {
namespace {

using nlohmann::json;

constexpr size_t kMostPassages = 8, kMostBytes = 16'000;

const llm::ToolSpec kSearch{"search_code", "Searches kernels, headers and notes on this machine (CUTLASS and CuTe where they are installed) in words; answers with passages, best first, each with its file and lines.",
                            R"({"type": "object", "properties": {"words": {"type": "string"}, "count": {"type": "integer", "minimum": 1, "maximum": 8}}, "required": ["words"]})"};
const llm::ToolSpec kRead{"read_code", "Lines of a file that search_code named, at most 400.",
                          R"({"type": "object", "properties": {"file": {"type": "string"}, "from": {"type": "integer", "minimum": 1}, "to": {"type": "integer", "minimum": 1}}, "required": ["file", "from", "to"]})"};

std::string words_of(const json& arguments, const char* name) {
  const auto at = arguments.is_object() ? arguments.find(name) : arguments.end();
  return arguments.is_object() && at != arguments.end() && at->is_string() ? at->get<std::string>() : "";
}

uint32_t number_of(const json& arguments, const char* name, uint32_t otherwise) {
  const auto at = arguments.is_object() ? arguments.find(name) : arguments.end();
  if (!arguments.is_object() || at == arguments.end() || !at->is_number_unsigned()) return otherwise;
  return static_cast<uint32_t>(std::min<uint64_t>(at->get<uint64_t>(), 1u << 30));
}

std::string search(const codesearch::Index& index, const json& arguments) {
  const std::string words = words_of(arguments, "words");
  if (words.empty()) return "search_code needs \"words\"";
  codesearch::Budget budget;
  budget.passages = std::clamp<size_t>(number_of(arguments, "count", 4), 1, kMostPassages);
  budget.characters = kMostBytes;
  std::string out;
  for (const codesearch::Passage& each : index.find(words, budget)) out += fmt::format("{}:{}-{} {}\n{}", each.path, each.from, each.to, each.name, fenced(each.text));
  return out.empty() ? "nothing was found: other words?" : out;
}

std::string read(const codesearch::Index& index, const json& arguments) {
  const std::string file = words_of(arguments, "file");
  const uint32_t from = number_of(arguments, "from", 1);
  const auto lines = index.read(file, from, number_of(arguments, "to", from));
  return lines ? fenced(lines->substr(0, kMostBytes)) : lines.error().message;
}

}  // namespace

ModelTools code_tools(std::shared_ptr<const codesearch::Index> index) {
  return {{kSearch, kRead}, [index = std::move(index)](const llm::ToolCall& call) {
            const json arguments = parse_json(call.arguments);
            if (call.name == kSearch.name) return search(*index, arguments);
            if (call.name == kRead.name) return read(*index, arguments);
            return fmt::format("there is no tool '{}': {} and {} are", call.name, kSearch.name, kRead.name);
          }};
}

}  // namespace kw::agent
