#include "device/calibration.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "arch/target.h"
#include "base/cache_folder.h"
#include "base/file.h"
#include "device/probe.h"

namespace kw::device {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr int kWarmUp = 3, kCalls = 11;
constexpr double kDeadline_s = 30;
constexpr const char* kSchema = "kernelwright/calibration/1";

class Calibrator {
 public:
  Calibrator(Device& device, const GpuInfo& gpu) : device_(device), gpu_(gpu) {
    if (const auto target = arch::find_target(gpu.target)) part_ = (*target)->part;
  }

  Result<Calibration> run() {
    if (!device_.capabilities().times) return fail(ErrorCode::kUnsupported, "{} has no clock: only a GPU can be calibrated", device_.capabilities().name);
    out_.device = gpu_.name;
    out_.target = gpu_.target;
    const double bandwidth = device_.capabilities().dram_bytes_per_s;
    for (const auto& [name, traffic] : {std::pair{"DRAM read", Traffic::kRead}, {"DRAM write", Traffic::kWrite}, {"DRAM copy", Traffic::kCopy}}) {
      for (const uint64_t gib : {1, 2, 4}) {
        uint64_t bytes = gib << 30;
        Rate rate{name, "B/s"};
        rate.specified = bandwidth > 0 ? bandwidth : part_.dram_gbps * 1e9;
        rate.specified_by = bandwidth > 0 ? "driver" : std::string(part_.product);
        const Probe probe = traffic_probe(traffic, bytes, 1, gpu_.multiprocessors);
        rate.size = fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1 << 30));
        if (Status measured = measure(probe, true, std::move(rate)); !measured && measured.error().code != ErrorCode::kLimit) return tl::unexpected(std::move(measured.error()));
      }
    }
    for (const uint64_t mib : {8, 16, 32}) {   // beyond some caches: the best counts
      uint64_t bytes = mib << 20;
      const auto make = [&](uint32_t passes) { return traffic_probe(Traffic::kReadL2, bytes, passes, gpu_.multiprocessors); };
      KW_TRY(const uint32_t passes, times_for(1e-3, make));
      const Probe probe = make(passes);
      KW_TRY_VOID(measure(probe, false, {"L2 read", "B/s", fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20))}));
    }
    const int number = number_of(gpu_.target);
    for (const auto& [name, arithmetic, tera, from] : {std::tuple{"fp32 FMA", Arithmetic::kFp32, part_.fp32_tflops, 70},
                                                       {"fp64 FMA", Arithmetic::kFp64, part_.fp64_tflops, 70},
                                                       {"int32 multiply-add", Arithmetic::kInt32, 0.0, 70},
                                                       {"fp16 mma.sync", Arithmetic::kMmaFp16, part_.tensor_fp16_tflops, 80},
                                                       {"bf16 mma.sync", Arithmetic::kMmaBf16, part_.tensor_fp16_tflops, 80}}) {
      if (number < from) continue;
      for (const double seconds : {1e-3, 8e-3}) {
        const auto make = [&, kind = arithmetic](uint32_t rounds) { return arithmetic_probe(kind, rounds, gpu_.multiprocessors); };
        KW_TRY(const uint32_t rounds, times_for(seconds, make));
        const std::string size = fmt::format("{:.0f} ms", 1e3 * seconds);
        const std::string by = tera > 0 ? std::string(part_.product) : "";
        KW_TRY_VOID(measure(make(rounds), true, {name, "op/s", size, 0, 0, 0, 0, 1e12 * tera, by}, true));
      }
    }
    KW_TRY_VOID(launches());
    return std::move(out_);
  }

  static int number_of(std::string_view target) {
    const auto known = arch::find_target(target);
    return known ? (*known)->number() : 0;
  }

 private:
  static Rate spread(Rate rate, std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const auto at = [&](size_t quarter) { return values[(values.size() - 1) * quarter / 4]; };
    rate.low = at(1), rate.median = at(2), rate.high = at(3);
    rate.calls = static_cast<int>(values.size());
    return rate;
  }

  Result<double> seconds_of(LoadedPlan& loaded, bool cold) {
    CallOptions call;
    call.cold = cold;
    call.deadline_s = kDeadline_s;
    KW_TRY(const CallReport report, loaded.call(call));
    if (!report.completed || !report.findings.empty() || report.device_s <= 0) return fail(ErrorCode::kIo, "a kernel of the calibration did not end as it should");
    return report.device_s;
  }

  // How many rounds take about this long.
  Result<uint32_t> times_for(double seconds, const std::function<Probe(uint32_t)>& make) {
    constexpr uint32_t kTried = 64;
    KW_TRY(const auto loaded, device_.load(make(kTried).plan, {.track_initialised = false}));
    KW_TRY_VOID(seconds_of(*loaded, true));
    KW_TRY(const double took, seconds_of(*loaded, true));
    return static_cast<uint32_t>(std::clamp(std::ceil(kTried * seconds / took), 1.0, 1e6));
  }

  // Rates of a probe, and the clock that its threads saw, when they look at it.
  Status measure(const Probe& probe, bool cold, Rate rate, bool ticks = false) {
    KW_TRY(const auto loaded, device_.load(probe.plan, {.track_initialised = false}));
    std::vector<double> rates, clocks;
    for (int i = 0; i < kWarmUp + kCalls; ++i) {
      KW_TRY(const double seconds, seconds_of(*loaded, cold));
      if (i < kWarmUp) continue;
      rates.push_back(probe.amount / seconds);
      if (!ticks) continue;
      std::vector<uint8_t> bytes(32);
      KW_TRY_VOID(loaded->read(kTicks, bytes));
      uint64_t seen[2];
      std::memcpy(seen, bytes.data(), sizeof seen);
      if (seen[1] > 0) clocks.push_back(1e9 * static_cast<double>(seen[0]) / static_cast<double>(seen[1]));
    }
    if (!clocks.empty()) {
      Rate clock{"clock", "Hz", fmt::format("{}, {}", rate.name, rate.size)};
      if (part_.boost_mhz > 0) clock.specified = part_.boost_mhz * 1e6, clock.specified_by = part_.product;
      out_.rates.push_back(spread(std::move(rate), std::move(rates)));
      out_.rates.push_back(spread(std::move(clock), std::move(clocks)));
    } else {
      out_.rates.push_back(spread(std::move(rate), std::move(rates)));
    }
    return {};
  }

  // What the clock shows around an empty kernel, and what each further one of a graph adds.
  Status launches() {
    constexpr uint32_t kMany = 64;
    KW_TRY(const auto one, device_.load(launch_probe(1).plan, {}));
    KW_TRY(const auto many, device_.load(launch_probe(kMany).plan, {}));
    std::vector<double> alone, more;
    for (int i = 0; i < kWarmUp + kCalls; ++i) {
      KW_TRY(const double first, seconds_of(*one, true));
      KW_TRY(const double all, seconds_of(*many, true));
      if (i < kWarmUp) continue;
      alone.push_back(first);
      more.push_back((all - first) / (kMany - 1));
    }
    out_.rates.push_back(spread({"empty launch", "s", "1 kernel"}, std::move(alone)));
    out_.rates.push_back(spread({"further launch", "s", fmt::format("{} kernels", kMany)}, std::move(more)));
    return {};
  }

  Device& device_;
  const GpuInfo& gpu_;
  arch::ReferencePart part_;
  Calibration out_;
};

Result<std::string> place_of(std::string device) {
  KW_TRY(const std::string cache, cache_folder());
  for (char& c : device)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return cache + "/devices/" + device + ".json";
}

// What no GPU of this or the next ten years exceeds: a file that says more was not measured.
bool is_plausible(const Rate& rate) {
  const std::pair<double, double> range = rate.unit == "B/s" ? std::pair{1e9, 1e15} : rate.unit == "op/s" ? std::pair{1e9, 1e18} : rate.unit == "Hz" ? std::pair{1e7, 1e11} : std::pair{1e-8, 1e-1};
  return rate.median >= range.first && rate.median <= range.second;
}

// The one that was written last of those that are `wanted`.
Result<std::optional<Calibration>> latest(const std::function<bool(const Calibration&)>& wanted) {
  KW_TRY(const std::string cache, cache_folder());
  std::optional<Calibration> found;
  fs::file_time_type newest{};
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(cache + "/devices", ignored)) {
    const std::string path = entry.path().string();
    if (entry.path().extension() != ".json") continue;
    Result<Calibration> calibration = read_file(path, 1 << 20).and_then([&](const std::string& text) { return calibration_of(text, path); });
    if (!calibration) {
      calibration.error().notes.push_back("remove that file, or write it anew: kw device calibrate");
      return tl::unexpected(std::move(calibration.error()));
    }
    const fs::file_time_type written = entry.last_write_time(ignored);
    if (!wanted(*calibration) || (found && written < newest)) continue;
    found = std::move(*calibration);
    newest = written;
  }
  return found;
}

}  // namespace

const Rate* Calibration::best(std::string_view name) const {
  const Rate* best = nullptr;
  for (const Rate& rate : rates)
    if (rate.name == name && (best == nullptr || (rate.unit == "s" ? rate.median < best->median : rate.median > best->median))) best = &rate;
  return best;
}

Result<Calibration> calibrate(Device& device, const GpuInfo& gpu) { return Calibrator(device, gpu).run(); }

std::string to_json(const Calibration& calibration) {
  Json rates = Json::array();
  for (const Rate& r : calibration.rates) {
    rates.push_back({{"name", r.name}, {"unit", r.unit}, {"size", r.size}, {"median", r.median}, {"low", r.low}, {"high", r.high}, {"calls", r.calls},
                     {"specified", r.specified > 0 ? Json(r.specified) : Json(nullptr)}, {"specified_by", r.specified_by}});
  }
  const auto& spread = calibration.between_processes;
  return Json{{"schema", kSchema}, {"device", calibration.device}, {"target", calibration.target}, {"rates", std::move(rates)},
              {"between_processes", spread ? Json{{"absolute_s", spread->absolute_s}, {"relative", spread->relative}, {"processes", spread->processes},
                                            {"short_s", spread->short_s}, {"multiprocessors", spread->multiprocessors}} : Json(nullptr)}}.dump(2) + "\n";
}

Result<Calibration> calibration_of(std::string_view text, const std::string& file) {
  try {
    const Json json = Json::parse(text);
    Calibration out;
    if (json.at("schema").get<std::string>() != kSchema) return fail(ErrorCode::kInvalid, "{} is not a calibration of this version", file);
    json.at("device").get_to(out.device);
    json.at("target").get_to(out.target);
    for (const Json& each : json.at("rates")) {
      Rate rate;
      each.at("name").get_to(rate.name);
      each.at("unit").get_to(rate.unit);
      each.at("size").get_to(rate.size);
      each.at("median").get_to(rate.median);
      each.at("low").get_to(rate.low);
      each.at("high").get_to(rate.high);
      each.at("calls").get_to(rate.calls);
      if (each.at("specified").is_number()) each.at("specified").get_to(rate.specified);
      each.at("specified_by").get_to(rate.specified_by);
      if (!is_plausible(rate)) return fail(ErrorCode::kInvalid, "{}: no GPU has a rate of {} {} of {}", file, rate.median, rate.unit, rate.name);
      out.rates.push_back(std::move(rate));
    }
    if (json.contains("between_processes") && !json["between_processes"].is_null()) {
      const Json& each = json["between_processes"];
      ProcessSpread spread{each.at("absolute_s").get<double>(), each.at("relative").get<double>(), each.at("processes").get<int>(), each.at("short_s").get<double>(), each.at("multiprocessors").get<int>()};
      if (!(spread.absolute_s >= 0 && spread.absolute_s < 1 && spread.relative >= 0 && spread.relative < 1 && spread.processes >= 2 && spread.short_s > 0 && spread.multiprocessors > 0))
        return fail(ErrorCode::kInvalid, "{}: times cannot differ so between processes", file);
      out.between_processes = spread;
    }
    return out;
  } catch (const Json::exception& error) {
    return fail(ErrorCode::kInvalid, "{} is not a calibration: {}", file, error.what());
  }
}

Result<std::string> store(const Calibration& calibration) {
  KW_TRY(const std::string path, place_of(calibration.device));
  KW_TRY_VOID(make_folder(fs::path(path).parent_path().string()));
  KW_TRY_VOID(write_file(path, to_json(calibration)));
  return path;
}

Result<std::optional<Calibration>> stored_calibration(std::string_view target) {
  const int number = Calibrator::number_of(target);
  return latest([number](const Calibration& each) { return number != 0 && Calibrator::number_of(each.target) == number; });
}

Result<std::optional<ProcessSpread>> stored_process_spread(std::string_view device) {
  KW_TRY(const auto calibration, latest([device](const Calibration& each) { return fmt::format("{} ({})", each.device, each.target) == device; }));
  return calibration ? calibration->between_processes : std::nullopt;
}

}  // namespace kw::device
