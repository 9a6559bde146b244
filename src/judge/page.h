// The page a person reads: what each rung saw, and for a failure what went wrong, where in the candidate's
// source, who the parties were, what the numbers were, and what to look at next. Plain text, at most 100
// columns, about one screen.
#pragma once

#include <functional>
#include <string>

#include "judge/verdict.h"

namespace kw::judge {

// Gives the text of a candidate's source file by its relative path; empty when it cannot be had.
using SourceText = std::function<std::string(const std::string& file)>;

// Of a candidate: the file itself, or a file inside its folder. Nothing else is opened, whatever #line directives say.
SourceText source_text_of(const std::string& candidate_path);

std::string element_text(const WrongElement& element);   // "y[3, 17] = 0.5, should be 0.25 (off by 0.25, allowed 0.001)"
std::string page(const Verdict& verdict, const SourceText& source);
// One line of the ladder, as shown live: "  shapes      ok     0.41 s  7 shapes …".
std::string ladder_line(const RungReport& report);

}  // namespace kw::judge
