#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>

#include "agent/code_tools.h"
#include "agent/report.h"
#include "agent/template.h"
#include "arch/target.h"
#include "base/file.h"
#include "base/source_text.h"
#include "command/command.h"
#include "command/own_gpu.h"
#include "command/optimize_view.h"
#include "command/stored_runs.h"
#include "llm/model.h"

namespace kw::command {
namespace {

uint64_t fresh_seed() { return std::random_device()() | uint64_t{std::random_device()()} << 32; }

Result<judge::Options> judging(const agent::Settings& settings) {
  judge::Options options;
  options.target = settings.target;
  options.seed = settings.seed;
  options.threads = settings.in_flight > 1 ? 1 : 0;
  if (!settings.gpu) return options;
  KW_TRY_VOID(judge_on_own_gpu(options, true));
  return options;
}

// What may be spent is as the run was begun with, unless it is given anew.
void take_budget(const Invocation& invocation, agent::ModelSettings& model) {
  if (invocation.has("tokens")) model.tokens = invocation.integer("tokens");
  const auto take = [&](const char* name, std::optional<double>& to) {
    if (invocation.has(name)) to = invocation.real(name);
  };
  take("money", model.money);
  take("price-in", model.price_in);
  take("price-out", model.price_out);
  take("wall", model.wall_seconds);
}

std::optional<llm::Prices> prices_of(const agent::ModelSettings& model) {
  if (!model.price_in || !model.price_out) return std::nullopt;
  return llm::Prices{*model.price_in, *model.price_out};
}

Result<std::unique_ptr<llm::Model>> open_model(const agent::ModelSettings& settings, const std::string& transcript, const std::vector<store::ExchangeRow>& before) {
  llm::ModelOptions options;
  options.transcript = transcript;
  if (settings.price_in.has_value() != settings.price_out.has_value()) return fail(ErrorCode::kInvalid, "--price-in and --price-out go together: give both, per million tokens");
  options.prices = prices_of(settings);
  const llm::BudgetTerms terms{settings.tokens, settings.money, settings.wall_seconds, std::nullopt};
  const agent::Spent spent = agent::spent_of(before);
  options.budget = std::make_shared<llm::Budget>(terms, llm::Spending{{spent.input_tokens, spent.output_tokens, false}, spent.money, 0, spent.exchanges});
  KW_TRY(auto model, llm::Model::open(settings.spec, options));
  return model;
}

agent::ModelAccess access_to(llm::Model& model, const agent::ModelSettings& settings, const Output& output) {
  agent::ModelAccess access;
  access.ask = [&model, &output](const llm::Request& request) {
    llm::Listener listener;
    listener.cancel = output.stop;
    listener.on_again = [&output](const llm::Failure& failure) { output.note(fmt::format("{}; asking again\n", failure.message)); };
    return model.ask(request, listener);
  };
  if (const auto prices = prices_of(settings)) access.price = [prices = *prices](const llm::Usage& usage) { return prices.cost(usage); };
  return access;
}

Result<agent::ModelSettings> model_settings(const Invocation& invocation) {
  agent::ModelSettings model;
  model.spec = invocation.text("llm");
  if (invocation.has("llm") && model.spec.empty()) return fail(ErrorCode::kInvalid, "--llm names no model: see docs/formats/llm.md, or leave it out");
  model.code = !invocation.flag("no-code");
  if (model.spec == "none") model.spec.clear();
  for (const char* name : {"tokens", "money", "wall", "price-in", "price-out", "transcript", "feedback", "profile-after", "no-code"})
    if (model.spec.empty() && invocation.has(name)) return fail(ErrorCode::kInvalid, "--{} is about a model, and none is asked: name one with --llm", name);
  if (invocation.has("feedback")) model.feedback = invocation.text("feedback");
  model.fixes = static_cast<int>(std::min<uint64_t>(invocation.integer("fixes", 5), 100));
  if (invocation.has("profile-after")) model.profile_after = static_cast<int>(std::min<uint64_t>(invocation.integer("profile-after"), 1000));
  model.max_output_tokens = invocation.integer("max-output", model.max_output_tokens);
  if (model.max_output_tokens == 0) return fail(ErrorCode::kInvalid, "--max-output 0 allows no answer: give a number from 1 on");
  // What is replayed was asked with the memory of then, which is gone: recorded without one, it is the same again.
  model.remembers = !invocation.flag("no-memory") && !model.spec.starts_with("replay:");
  return model;
}

Result<agent::Settings> settings_of(const Invocation& invocation) {
  agent::Settings settings;
  KW_TRY(settings.model, model_settings(invocation));
  if (!invocation.has("problem")) return fail(ErrorCode::kInvalid, "name a problem: kw optimize PROBLEM; or go on with a run: --resume RUN");
  settings.problem_file = invocation.text("problem");
  settings.kernel_file = invocation.has("from") ? invocation.text("from") : "template.cu";
  if (invocation.has("target")) settings.target = invocation.text("target");
  if (invocation.has("strategy")) settings.strategy = invocation.text("strategy");
  settings.seed = invocation.has("seed") ? invocation.integer("seed") : fresh_seed();
  settings.evaluations = invocation.integer("evaluations", settings.evaluations);
  settings.in_flight = static_cast<int>(invocation.integer("at-once", 1));
  settings.gpu = invocation.flag("gpu");
  if (const auto known = arch::find_target(settings.target); !known) return tl::unexpected(known.error());
  if (settings.in_flight < 1 || settings.in_flight > 64) return fail(ErrorCode::kInvalid, "--at-once is a number from 1 to 64");
  if (settings.gpu && settings.in_flight > 1) return fail(ErrorCode::kInvalid, "--gpu with --at-once {}: what runs beside it would be in the time; leave one of them out", settings.in_flight);
  return settings;
}

// Where there is no kernel and no template, a model writes the first one.
Result<std::string> start_of(const Invocation& invocation, const agent::Settings& settings, const problem::Problem& problem) {
  if (settings.kernel_file.ends_with(".py"))
    return fail(Error{ErrorCode::kUnsupported, fmt::format("{} is Python, and kw optimize works on CUDA", printable_text(settings.kernel_file)), {}, {}, {"`kw judge` and `kw profile` take kernels in Triton"}});
  if (invocation.has("from")) return read_file(settings.kernel_file, 1 << 20);
  auto written = agent::template_kernel(problem);
  if (!written && written.error().code == ErrorCode::kUnsupported && !settings.model.spec.empty()) return std::string();
  return written;
}

// That a result may be written there when it is found: not over the kernel that it began with, nor over each other.
Status check_places(const Invocation& invocation) {
  namespace fs = std::filesystem;
  std::error_code none;
  const auto same = [&](const char* a, const char* b) {
    return invocation.has(a) && invocation.has(b) && fs::weakly_canonical(invocation.text(a), none) == fs::weakly_canonical(invocation.text(b), none);
  };
  for (const auto& [a, b] : {std::pair{"out", "from"}, {"report", "from"}, {"report", "out"}, {"out", "problem"}, {"report", "problem"}})
    if (same(a, b)) return fail(ErrorCode::kInvalid, "--{} and {}{} are the same file: name another", a, std::string_view(b) == "problem" ? "the " : "--", b);
  for (const char* place : {"out", "report"}) {
    if (!invocation.has(place)) continue;
    const fs::path path = invocation.text(place);
    const std::string folder = path.has_parent_path() ? path.parent_path().string() : ".";
    if (fs::is_directory(path, none)) return fail(ErrorCode::kInvalid, "--{}: {} is a folder: name a file", place, printable_text(path.string()));
    if (::access(folder.c_str(), W_OK) != 0) return fail(ErrorCode::kIo, "--{}: nothing can be written in {}: {}", place, printable_text(folder), std::strerror(errno));
  }
  return {};
}

// What came of it, where it is, and how it goes on: the last line.
std::string closing_of(const agent::ReportData& data, const agent::Ending& ending, const Invocation& invocation) {
  std::string out = data.headline();
  if (data.best.works && invocation.has("out")) out += "; written to " + printable_text(invocation.text("out"));
  if (data.best.works && !invocation.has("out")) out += fmt::format("; `kw optimize --resume {} --out FILE` writes the kernel", data.run);
  if (invocation.has("report")) out += ", the report to " + printable_text(invocation.text("report"));
  if (ending.how == search::Ended::kExhausted) out += fmt::format("; after {} there was nothing left to try", data.evaluated());
  if (ending.how == search::Ended::kStopped)
    out += ending.why.empty() ? fmt::format("; stopped; `kw optimize --resume {}` goes on", data.run)
                              : fmt::format("; stopped: {}; `kw optimize --resume {}` with more of it (--tokens, --money, --wall) goes on", ending.why, data.run);
  return out + "\n";
}

Result<int> optimize(const Invocation& invocation, const Output& output) {
  KW_TRY(const std::string folder, store_folder_of(invocation));
  const bool resumes = invocation.has("resume");
  KW_TRY(const std::vector<std::string> rivals, rivals_of(invocation));
  KW_TRY_VOID(check_places(invocation));
  for (const char* other : {"problem", "from", "seed", "gpu", "llm", "feedback", "profile-after", "no-memory", "no-code", "fixes", "max-output", "evaluations", "strategy", "target", "at-once"})
    if (resumes && invocation.has(other)) return fail(ErrorCode::kInvalid, "--resume goes on with what decides the run as it was: leave {}{} out, or begin another run", std::string_view(other) == "problem" ? "the " : "--", other);
  std::string problem_text, source;
  agent::Settings settings;
  if (!resumes) {
    KW_TRY(settings, settings_of(invocation));
    if (!rivals.empty() && !settings.gpu) return fail(ErrorCode::kInvalid, "--against without --gpu: rivals are measured; add --gpu, or leave it out");
    KW_TRY(problem_text, read_file(settings.problem_file, 1 << 20));
    KW_TRY(const problem::Problem asked, problem::parse_problem(problem_text, settings.problem_file));
    KW_TRY(source, start_of(invocation, settings, asked));
    KW_TRY_VOID(agent::can_begin(settings, source));
  }
  // What a run needs is looked for before there is one.
  KW_TRY(store::Store store, resumes ? open_existing_store(invocation) : store::Store::open(folder));
  agent::SharedStore shared(store);
  int64_t run = static_cast<int64_t>(invocation.integer("resume"));
  store::Rows rows;
  if (resumes) {
    KW_TRY(settings, agent::claim(shared, run));
    if (!rivals.empty() && !settings.gpu) return fail(ErrorCode::kInvalid, "--against, and the run has no --gpu: rivals are measured; leave it out");
    KW_TRY(problem_text, store.object(settings.problem));
    KW_TRY(rows, store.rows(run));
  }
  KW_TRY(const problem::Problem problem, problem::parse_problem(problem_text, settings.problem_file));
  KW_TRY(const judge::Options judge, judging(settings));
  std::unique_ptr<llm::Model> model;
  agent::ModelAccess access;
  if (!settings.model.spec.empty()) {
    take_budget(invocation, settings.model);
    KW_TRY(model, open_model(settings.model, invocation.text("transcript"), rows.exchanges));
    for (const std::string& note : model->notes()) output.note(note + "\n");
    access = access_to(*model, settings.model, output);
    if (settings.model.code) {
      KW_TRY(codesearch::Index index, codesearch::index(codesearch::own_roots()));
      access.tools = agent::code_tools(std::make_shared<codesearch::Index>(std::move(index)));
    }
  }
  if (!resumes) {
    KW_TRY(run, agent::begin(shared, settings, problem_text, source));
  }
  output.note(fmt::format("run {} in {}: {}\n", run, printable_text(folder), settings.gpu ? "times are measured" : "no GPU is asked: times are estimates"));
  KW_TRY(const agent::ReportData before, agent::report_data(shared, run));
  SearchProgress progress(output, before);
  agent::Watch watch;
  watch.stop = [&output] { return output.stop != nullptr && output.stop->load(); };
  watch.begins = [&progress](const search::Assignment& what) { progress.begins(what); };
  watch.evaluated = [&progress](const agent::Step& step) { progress.evaluated(step); };
  const size_t slash = settings.kernel_file.find_last_of('/');
  const std::string file_name = settings.kernel_file.substr(slash == std::string::npos ? 0 : slash + 1);
  const auto ending = agent::go_on(shared, run, agent::judge_and_estimate(problem, file_name, judge), watch, access);
  progress.ended();
  if (!ending) {
    Error error = ending.error();
    error.notes.push_back(fmt::format("nothing is lost: `kw optimize --resume {}` goes on, `kw run show {}` shows what there is", run, run));
    return fail(std::move(error));
  }
  if (!rivals.empty() && ending->how != search::Ended::kStopped) {
    output.note(fmt::format("timing the best against {}\n", fmt::join(rivals, ", ")));
    judge::Options beside = judge;
    beside.against = rivals;
    KW_TRY_VOID(agent::judge_best_again(shared, run, agent::judge_and_estimate(problem, file_name, beside)));
  }
  KW_TRY(const agent::ReportData data, agent::report_data(shared, run));
  const agent::Best& best = data.best;
  const std::string report = agent::written(data, agent::form_of(invocation.text("report")));
  if (invocation.has("out") && best.works) KW_TRY_VOID(write_file(invocation.text("out"), best.source));
  if (invocation.has("report")) KW_TRY_VOID(write_file(invocation.text("report"), report));
  else output.out(report);
  output.note(closing_of(data, *ending, invocation));
  return best.works ? 0 : 1;
}

}  // namespace

Command optimize_command() {
  return {{"optimize"},
          "search for a faster kernel that the judge finds right",
          "Starts from a kernel and chooses other values for the constants that its author marked, as in\n"
          "  constexpr int kThreads = 256;  // tune: 64 128 256 512\n"
          "or, where the problem fits a template (docs/optimize.md), from a kernel that is written for it.\n"
          "Each candidate is judged; without --gpu those that are right are ranked by an estimate of their time, and the report says so.\n"
          "Every step is in the store (kw run list): a run that was stopped or killed goes on with --resume.\n"
          "With --llm a language model proposes changes and writes them, also the first kernel where there is none; each is judged as any candidate is.\n"
          "Exit code: 0 the best that was found is right, 1 nothing that was tried is.\n"
          "Example: kw optimize problems/bias_gelu.problem --out faster.cu\n"
          "         kw optimize problems/row_softmax.problem --from my_kernel.cu --gpu\n"
          "         kw optimize problems/cumsum.problem --llm anthropic:MODEL --tokens 500000",
          {{"problem", ArgumentKind::kPath, true, false, "", "a problem file", {}},
           {"from", ArgumentKind::kPath, false, false, "", "the .cu file with KW_ENTRY to start from; default: one written from the problem", {}},
           {"resume", ArgumentKind::kInteger, false, false, "", "go on with this run instead; what decides it stays as it was", {}},
           {"llm", ArgumentKind::kText, false, false, "", "a language model that proposes and writes changes (docs/formats/llm.md); default: none", {}},
           {"tokens", ArgumentKind::kInteger, false, false, "", "of the model, in and out, at the most; of the whole run", {}},
           {"money", ArgumentKind::kReal, false, false, "", "US dollars for the model at the most; needs its prices", {}},
           {"price-in", ArgumentKind::kReal, false, false, "", "US dollars for a million tokens that the model reads", {}},
           {"price-out", ArgumentKind::kReal, false, false, "", "US dollars for a million tokens that the model writes", {}},
           {"wall", ArgumentKind::kReal, false, false, "", "seconds after which the model is asked nothing more", {}},
           {"max-output", ArgumentKind::kInteger, false, false, "", "tokens of one answer of the model at the most; default: 32768", {}},
           {"transcript", ArgumentKind::kPath, false, false, "", "append the exchanges to this file; --llm replay:FILE gives them again", {}},
           {"feedback", ArgumentKind::kText, false, false, "", "what the model is shown of a kernel's speed; default: advice", {"advice", "counters", "none"}},
           {"profile-after", ArgumentKind::kInteger, false, false, "", "after how many changes it is shown that; default: by the class of the problem", {}},
           {"fixes", ArgumentKind::kInteger, false, false, "", "repairs of one change at the most; default: 5", {}},
           {"no-memory", ArgumentKind::kFlag, false, false, "", "the model is not told what earlier runs learned, nor are later ones of this", {}},
           {"no-code", ArgumentKind::kFlag, false, false, "", "the model may not search kernels, headers and notes (kw code search)", {}},
           {"evaluations", ArgumentKind::kInteger, false, false, "", "how many candidates may be judged; default: 16", {}},
           {"strategy", ArgumentKind::kText, false, false, "", "how to search; refine: one kernel, one change after the other; default: mcts", {"mcts", "greedy", "best-of-n", "refine"}},
           {"target", ArgumentKind::kText, false, false, "", "GPU architecture to compile for; default: sm_80", {}},
           {"gpu", ArgumentKind::kFlag, false, false, "", "also run on this machine's GPU, and rank by measured times", {}},
           {"against", ArgumentKind::kPath, false, false, "", "with --gpu: what to time the best against at the end, as `kw judge --against` has it; several with commas between", {}},
           {"at-once", ArgumentKind::kInteger, false, false, "", "candidates that are judged at the same time; default: 1", {}},
           {"seed", ArgumentKind::kInteger, false, false, "", "of the search and of the judge; default: a fresh one", {}},
           {"out", ArgumentKind::kPath, false, false, "", "write the best kernel here", {}},
           {"report", ArgumentKind::kPath, false, false, "", "write the report here instead of printing it: HTML when the name ends in .html, else Markdown", {}},
           {"store", ArgumentKind::kPath, false, false, "", "the folder of runs; default: $KW_STORE, or in the user's data folder", {}}},
          optimize,
          true,
          true};
}

}  // namespace kw::command
