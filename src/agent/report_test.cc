// Reports from data: what stands in them, that whatever files and models say stays text, and what is read from a store.
#include "agent/report.h"

#include <gtest/gtest.h>

#include <regex>

#include "agent/report_html.h"
#include "agent/roofs_svg.h"
#include "base/file.h"
#include "base/source_text.h"

namespace kw::agent {
namespace {

// Every text of it is `text`, behind a letter where it must not be one of ours.
ReportData data_saying(const std::string& text) {
  ReportData data;
  data.run = 7;
  data.settings.problem_file = data.settings.kernel_file = data.settings.target = data.settings.strategy = text;
  data.attempts[0] = {0, text, text, text, {.works = true, .seconds = 24e-6}};
  data.attempts[1] = {0, text, text, text, {.works = true, .seconds = 12e-6}};
  data.attempts[2] = {1, text, text, text, {}};
  data.attempts[3] = {1, text, text, text, {.works = true, .seconds = 8e-6}};
  data.best = {3, text, true, 3, profile::Grade::kEstimated};
  data.workloads = {{text, 24e-6, 8e-6}, {text, std::nullopt, 5e-6}};
  data.ladder = {{text, "x" + text, text}, {text, "passed", text}};
  data.rivals = {{text, text, 1.5, 1.4, 1.6, text}, {text, text, std::nullopt, 0, 0, text}};
  std::string line = text;
  std::replace(line.begin(), line.end(), '\n', ' ');
  data.difference = "@@ 1\n-" + line + "\n+" + line + "\n " + line + "\n";
  Roofs roofs;
  roofs.bytes_per_second = 2e12;
  roofs.compute = {{text, 19.5e12}};
  roofs.points = {{text, 0.25, 0, 1e11, 4e11, 5e11}, {text, 100, 0, std::nullopt, 1e13, 19.5e12}};
  roofs.memory_source = roofs.compute_source = text;
  data.roofs = roofs;
  return data;
}

const char* const kHostile[] = {"<script>alert(1)</script>",
                                "\"><img src=x onerror=alert(1)>",
                                "' onmouseover='alert(1)",
                                "--></style></title><script>x</script>",
                                "&lt;script&gt; &#60;script&#62; &quot",
                                "]]><svg/onload=alert(1)>",
                                "a\x01\x02\x1b[2J\x7f b",
                                "\xff\xfe\xc0\xbc script \xed\xa0\x80 \xc2\x9b",
                                "line\nfeed\r\n\t| `code` [link](javascript:alert(1))",
                                ""};

// The tags of a page with the names of their attributes, in order. Fails on anything that a browser might read as another page than this: it knows
// only what reports are made of.
std::vector<std::string> tags_of(const std::string& page) {
  static const std::regex kTag(R"re(<!doctype html>|</?[a-z][a-z0-9]*((?: [a-zA-Z][a-zA-Z0-9-]*="[^"<>]*")*)/?>)re");
  static const std::regex kValue(R"re(="[^"]*")re");
  static const std::regex kEntity("&(amp|lt|gt|quot|#39|#9733);");
  std::vector<std::string> out;
  for (size_t at = 0; at < page.size(); ++at) {
    std::smatch found;
    if (page[at] == '<') {
      if (!std::regex_search(page.begin() + static_cast<std::ptrdiff_t>(at), page.end(), found, kTag, std::regex_constants::match_continuous)) {
        ADD_FAILURE() << "no tag of ours: " << page.substr(at, 60);
        return out;
      }
      out.push_back(std::regex_replace(found.str(), kValue, "="));
      at += found.str().size() - 1;
      if (out.back() == "<style>") at = page.find("</style>", at) - 1;
    } else if (page[at] == '&') {
      EXPECT_TRUE(std::regex_search(page.begin() + static_cast<std::ptrdiff_t>(at), page.end(), found, kEntity, std::regex_constants::match_continuous)) << page.substr(at, 20);
    } else {
      EXPECT_NE(page[at], '>') << page.substr(at > 20 ? at - 20 : 0, 40);
    }
  }
  return out;
}

TEST(ReportHtml, NoTextBecomesMarkup) {
  const std::vector<std::string> expected = tags_of(html(data_saying("text")));
  EXPECT_GT(expected.size(), 150u);
  for (const char* text : kHostile) {
    const std::string page = html(data_saying(text));
    EXPECT_EQ(tags_of(page), expected) << text;
    EXPECT_EQ(page, printable_text(page)) << "UTF-8, without control characters";
  }
  const std::string page = html(data_saying(kHostile[1]));
  EXPECT_NE(page.find("<title>&quot;&gt;&lt;img src=x onerror=alert(1)&gt;: 3.00 times as fast"), std::string::npos) << "said, all the same";
}

TEST(ReportHtml, AnEstimateSaysSoBesideEveryNumber) {
  ReportData data = data_saying("text");
  const auto occurrences = [](const std::string& in, const std::string& what) {
    size_t count = 0;
    for (size_t at = in.find(what); at != std::string::npos; at = in.find(what, at + 1)) ++count;
    return count;
  };
  const std::string page = html(data);
  EXPECT_EQ(occurrences(page, "class=\"number\">"), occurrences(page, "class=\"number\"></td>") + occurrences(page, "<span class=\"grade\">estimate</span></td>"));
  EXPECT_NE(page.find("<td class=\"number\">8 us <span class=\"grade\">estimate</span></td>"), std::string::npos);
  EXPECT_NE(page.find("3.00 times as fast, by estimate"), std::string::npos);
  EXPECT_EQ(page.find(">measured<"), std::string::npos);
  data.settings.gpu = true;
  data.best.grade = profile::Grade::kMeasured;
  const std::string measured = html(data);
  EXPECT_EQ(measured.find("estimate"), std::string::npos);
  EXPECT_NE(measured.find("<td class=\"number\">8 us <span class=\"grade\">measured</span></td>"), std::string::npos);
}

TEST(ReportHtml, TheTreeHasTheWayToTheBest) {
  const std::string page = html(data_saying("text"));
  for (const char* part : {"<li style=\"--depth:0\" class=\"path\">0 text", "<li style=\"--depth:1\" class=\"path\">1 text", "<li style=\"--depth:2\">2 text", "<li style=\"--depth:2\" class=\"path\">3 text",
                           "<span class=\"plus\">+text</span>", "<span class=\"minus\">-text</span>", "<td class=\"passed\">passed</td>"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  EXPECT_EQ(page.find("&#9733;"), page.rfind("&#9733;"));
}

// What a store says may be nonsense: each candidate is there once, and nothing goes round in circles.
TEST(ReportHtml, ATreeThatIsNone) {
  ReportData data = data_saying("text");
  data.attempts[2].parent = 3;
  data.attempts[3].parent = 2;
  data.attempts[9] = {9, "", "itself", "", {}};
  data.attempts[10] = {77, "", "nobody's", "", {}};
  for (search::NodeId node = 11; node < 3000; ++node) data.attempts[node] = {node - 1, "", "deep", "", {}};
  const std::string page = html(data);
  for (const char* part : {"<li style=\"--depth:0\">9 itself", "<li style=\"--depth:0\">10 nobody", "<li style=\"--depth:20\">2999 deep"}) EXPECT_NE(page.find(part), std::string::npos) << part;
  const auto items = tags_of(page);
  EXPECT_EQ(static_cast<size_t>(std::count_if(items.begin(), items.end(), [](const auto& tag) { return tag.starts_with("<li "); })), data.attempts.size());
}

TEST(RoofsSvg, APointAtTheRoofIsDrawnThere) {
  Roofs roofs;
  roofs.bytes_per_second = 1e12;
  roofs.compute = {{"fp32", 1e13}};
  roofs.points = {{"all", 1, 0, 1e11, 1e12, 1e12}, {"beyond", 100, 0, std::nullopt, 1e13, 1e13}};
  const std::string svg = roofs_svg(roofs, profile::Grade::kEstimated).str();
  std::smatch slope, flat, disc;
  ASSERT_TRUE(std::regex_search(svg, flat, std::regex(R"re(class="roof" x1="([0-9.]+)" y1="([0-9.]+)" x2="624.0" y2="([0-9.]+)")re"))) << svg;
  EXPECT_EQ(flat[2], flat[3]);
  ASSERT_TRUE(std::regex_search(svg, slope, std::regex("class=\"roof\" x1=\"([0-9.]+)\" y1=\"([0-9.]+)\" x2=\"" + flat[1].str() + "\" y2=\"" + flat[2].str() + "\""))) << svg;
  ASSERT_TRUE(std::regex_search(svg, disc, std::regex(R"re(class="best" cx="([0-9.]+)" cy="([0-9.]+)")re"))) << svg;
  const double t = (std::stod(disc[1]) - std::stod(slope[1])) / (std::stod(flat[1]) - std::stod(slope[1]));
  EXPECT_NEAR(std::stod(disc[2]), std::stod(slope[2]) + t * (std::stod(flat[2]) - std::stod(slope[2])), 0.3) << "on the slope";
  EXPECT_NE(svg.find("cy=\"" + flat[2].str() + "\" r=\"5\"><title>beyond"), std::string::npos) << svg;
  EXPECT_NE(svg.find(">10 T</text>"), std::string::npos) << svg;
}

TEST(RoofsSvg, NumbersThatAreNone) {
  for (const double odd : {0.0, -1.0, 1e-320, 1e300, static_cast<double>(INFINITY), static_cast<double>(NAN)}) {
    for (int which = 0; which < 5; ++which) {
      Roofs roofs;
      roofs.bytes_per_second = which == 0 ? odd : 1e12;
      roofs.compute = {{"fp32", which == 1 ? odd : 1e13}};
      roofs.points = {{"w", which == 2 ? odd : 1, 0, which == 3 ? odd : 1e11, 1e12, which == 4 ? odd : 1e12}};
      const std::string svg = roofs_svg(roofs, profile::Grade::kEstimated).str();
      EXPECT_EQ(svg.find("nan"), std::string::npos) << svg;
      EXPECT_EQ(svg.find("inf"), std::string::npos) << svg;
      EXPECT_LT(svg.size(), 40'000u);
    }
  }
}

TEST(Report, TheFormFollowsTheName) {
  for (const char* name : {"r.html", "folder/R.HTML", ".html", "a.b.Html"}) EXPECT_EQ(form_of(name), Form::kHtml) << name;
  for (const char* name : {"", "html", "r.md", "r.html.md", "r.htm", "xhtml"}) EXPECT_EQ(form_of(name), Form::kMarkdown) << name;
}

constexpr char kProblem[] =
    "problem add: \"one of a report\"\n"
    "axes:\n"
    "  N >= 1\n"
    "inputs:\n"
    "  a: f32[N] ~ normal(0, 1)\n"
    "  b: f32[N] ~ normal(0, 1)\n"
    "outputs:\n"
    "  y: f32[N]\n"
    "reference:\n"
    "  y = a + b\n"
    "workloads:\n"
    "  smallest one:   N=1\n"
    "  real     large: N=1000000  \"a million\"\n";
constexpr char kSource[] = "constexpr int kThreads = 64;  // tune: 64 128\na kernel\n";

class StoredReport : public testing::Test {
 protected:
  StoredReport() : folder_(*TempDir::create()), store_(*store::Store::open(folder_ / "store")), shared_(store_) { settings_.problem_file = settings_.kernel_file = "p"; }

  // A run in which the start takes 40 us, and what else there is 20 us.
  ReportData data_of(const std::string& verdict) {
    const auto run = begin(shared_, settings_, kProblem, kSource);
    EXPECT_TRUE(run) << format_error(run.error());
    const auto found = go_on(shared_, *run, [&](const std::string& source) -> Result<Evaluation> {
      Evaluation out;
      out.name = "correct";
      out.verdict = verdict;
      out.outcome = {.works = true, .seconds = source == kSource ? 40e-6 : 20e-6};
      out.times = {{"large", out.outcome.seconds}};
      return out;
    });
    EXPECT_TRUE(found) << format_error(found.error());
    const auto data = report_data(shared_, *run);
    EXPECT_TRUE(data) << format_error(data.error());
    return *data;
  }
  TempDir folder_;
  store::Store store_;
  SharedStore shared_;
  Settings settings_;
};

TEST_F(StoredReport, EstimatesStandUnderTheTargetsRoofs) {
  const ReportData data = data_of("{}");
  ASSERT_TRUE(data.roofs);
  EXPECT_DOUBLE_EQ(data.roofs->bytes_per_second, 2039e9) << "an A100's";
  ASSERT_EQ(data.roofs->points.size(), 1u);
  const Roofs::Point& point = data.roofs->points[0];
  EXPECT_DOUBLE_EQ(point.intensity, 1 / 12.0);
  EXPECT_DOUBLE_EQ(*point.start, 1e6 / 40e-6);
  EXPECT_DOUBLE_EQ(*point.best, 1e6 / 20e-6);
  EXPECT_DOUBLE_EQ(point.allowed, 2039e9 / 12);
  EXPECT_EQ(data.roofs->compute.at(point.compute).of, "fp32");
  EXPECT_NE(written(data, Form::kMarkdown).find("| large | 0.0833 | 0.17 | 15 % | 29 % |"), std::string::npos) << written(data, Form::kMarkdown);
  EXPECT_NE(html(data).find("<svg"), std::string::npos);
}

TEST_F(StoredReport, MeasurementsStandUnderThoseOfTheDevice) {
  settings_.gpu = true;
  const std::string verdict =
      R"j({"gpu": "NVIDIA H200 (sm_90)", "ladder": [{"rung": "time", "status": "passed", "detail": "d"}], "outcome": {"times": [{"workload": {"name": "large"}, "floor_s": 2.5e-6,
          "rivals": [{"rival": "PyTorch", "cold": {"middle": 1.5, "low": 1.4, "high": 1.6}, "why": ""}, {"rival": "cuDNN", "cold": null, "why": "it has no part"}]}]}})j";
  const ReportData data = data_of(verdict);
  ASSERT_TRUE(data.roofs);
  EXPECT_DOUBLE_EQ(data.roofs->bytes_per_second, 12e6 / 2.5e-6);
  EXPECT_EQ(data.roofs->memory_source, "NVIDIA H200 (sm_90), by its driver");
  EXPECT_EQ(data.roofs->compute_source, "H100 SXM5 80 GB, as specified") << "of the device's architecture, not of the target";
  const std::string text = written(data, Form::kMarkdown);
  EXPECT_NE(text.find("| large | PyTorch | 1.50 (1.40 to 1.60) |\n| large | cuDNN | it has no part |\n"), std::string::npos) << text;
}

// A verdict of another program, or a damaged one, has less to say; a problem that is none has no roofs.
TEST_F(StoredReport, WhatIsNotThereIsLeftOut) {
  settings_.gpu = true;
  for (const char* verdict : {"", "{}", "[]", "null", "7", R"({"gpu": 7, "ladder": 7, "outcome": {"times": {"a": 1}}})", R"({"gpu": "x (sm_90", "ladder": [7, {"rung": 7}], "outcome": {"times": [7, {"rivals": [7]}]}})"}) {
    const ReportData data = data_of(verdict);
    EXPECT_FALSE(data.roofs) << verdict;
    EXPECT_NE(written(data, Form::kMarkdown).find("2.00 times as fast, measured"), std::string::npos);
    EXPECT_NE(html(data).find("2.00 times as fast, measured"), std::string::npos);
  }
}

TEST_F(StoredReport, OfARunThatGoesOn) {
  const auto run = begin(shared_, settings_, kProblem, kSource);
  ASSERT_TRUE(run);
  const auto page = report(shared_, *run, Form::kHtml);
  ASSERT_TRUE(page) << format_error(page.error());
  EXPECT_NE(page->find("0 of 16 candidates evaluated so far"), std::string::npos) << *page;
  EXPECT_FALSE(report(shared_, *run + 1));
  store::RunRow row;
  row.kind = "port";
  row.options = "{}";
  const auto other = report(shared_, store_.create_run(row)->id);
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("no optimisation"), std::string::npos);
}

}  // namespace
}  // namespace kw::agent
