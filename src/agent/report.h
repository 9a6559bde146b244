// What a run found, for people. A function of what the store holds, so it can be had again, and of a run that goes on.
#pragma once

#include <string>
#include <string_view>

#include "agent/report_data.h"

namespace kw::agent {

enum class Form : uint8_t { kMarkdown, kHtml };
Form form_of(std::string_view file_name);   // HTML's when it ends in .html, in any case of letters

Result<Best> best_of_run(SharedStore& store, int64_t run);

// Errors: report_data()'s.
Result<std::string> report(SharedStore& store, int64_t run, Form form = Form::kMarkdown);

std::string written(const ReportData& data, Form form);

}  // namespace kw::agent
