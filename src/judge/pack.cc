// The way into a bundle: every rung that needs a compiler or the emulator.
#include <mutex>

#include "base/file.h"
#include "base/hash.h"
#include "base/tar.h"
#include "judge/bundle.h"
#include "judge/evidence.h"
#include "judge/rungs.h"
#include "judge/suite_json.h"

namespace kw::judge {
namespace {

using Json = nlohmann::ordered_json;

// Texts by hash. Thread-safe.
class Objects {
 public:
  std::string add(std::string text) {
    std::string hash = hash_hex(text);
    const std::lock_guard lock(mutex_);
    texts_.try_emplace(hash, std::move(text));
    return hash;
  }
  const std::map<std::string, std::string>& texts() const { return texts_; }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> texts_;
};

Json json_of_climb(const Climb& climb, Objects& objects) {
  Json plans = Json::array();
  for (const std::vector<Case>* cases : {&climb.cases, &climb.real}) {
    for (const Case& c : *cases) {
      for (const plan::Module& module : c.plan.modules) objects.add(module.ptx);
      plans.push_back({{"workload", json_of(c.name)}, {"plan", objects.add(plan::write(c.plan, plan::Code::kHashes))}});
    }
  }
  return Json{{"source_folder", climb.compiled.source_folder}, {"source_name", climb.compiled.name}, {"plans", plans}};
}

// The case as the index has it, but for what settle() and the clock add.
Status climb_one(const Fixture& fixture, const SuiteOptions& options, const std::string& scratch, Objects& objects, SuiteCase& out, Json& json) {
  KW_TRY(const problem::Problem problem, problem::load_problem(fixture.problem));
  KW_TRY(const std::string candidate, materialise(fixture, scratch));
  Options judge = options_of(fixture, out, options);
  judge.gpu_elsewhere = true;
  KW_TRY(const Ascent ascent, climb_to_gpu(problem, candidate, judge, {}));
  KW_TRY(std::vector<std::string> texts, texts_of(problem, ascent.verdict));
  for (std::string& text : texts) objects.add(std::move(text));
  json["verdict"] = objects.add(to_json(ascent.verdict));
  if (ascent.verdict.decided_by) {
    settle(out, fixture, ascent.verdict, candidate);
  } else {
    json["climb"] = json_of_climb(ascent.climb, objects);
    out.got = "packed";
    out.seed = ascent.verdict.seed;
  }
  return {};
}

}  // namespace

Result<Packed> pack(const std::string& folder, const std::vector<Fixture>& fixtures, const SuiteOptions& options, const SuiteProgress& progress) {
  KW_TRY_VOID(have_compiler(fixtures));
  KW_TRY(const TempDir scratch, TempDir::create("kw-bundle"));
  auto [suite, fixture_of] = cases_of(folder, fixtures);
  Objects objects;
  std::vector<Json> parts(suite.cases.size(), Json{{"verdict", nullptr}, {"climb", nullptr}});
  for_each_case(suite, options.jobs, [&, &fixture_of = fixture_of](size_t i, SuiteCase& c) {
    return climb_one(*fixture_of[i], options, fmt::format("{}/{}", scratch.path(), i), objects, c, parts[i]);
  }, progress);

  Packed out;
  Json cases = Json::array();
  for (size_t i = 0; i < suite.cases.size(); ++i) {
    Json json = json_of(suite.cases[i]);
    json["expects"] = {{"verdict", fixture_of[i]->verdict}, {"rungs", fixture_of[i]->rungs}, {"on_gpu", fixture_of[i]->on_gpu}, {"says", fixture_of[i]->says}};
    json.update(parts[i]);
    out.packed += !json["climb"].is_null();
    cases.push_back(std::move(json));
  }
  const std::string index = text_of(Json{{"schema", std::string(kBundleSchema)}, {"folder", folder}, {"rungs", gpu_rung_names()}, {"cases", cases}});
  std::vector<TarMember> members{{"index/" + hash_hex(index), index}};
  for (const auto& [hash, text] : objects.texts()) members.push_back({"objects/" + hash, text});
  KW_TRY(out.bytes, write_tar(members));
  out.suite = std::move(suite);
  return out;
}

}  // namespace kw::judge
