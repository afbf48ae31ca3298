#include "popgrad/evidence/error_ratios.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <limits>
#include <optional>

#include "evidence/deviation_record.hpp"
#include "popgrad/evidence/falsify.hpp"
#include "popgrad/evidence/survey.hpp"
#include "popgrad/scalars/refinement.hpp"

namespace popgrad {
namespace {

using Clock = std::chrono::steady_clock;

/// A kind of measurement, and the parts that bound what is sharper in it.
struct Kind {
  const char* name;
  Sharper sharper;
  std::vector<std::string_view> parts;
};

const std::vector<Kind>& kinds() {
  // A tighter solve has more steps, between which extrema are looked for. Limits amplify the errors
  // of the numbers that they are taken of.
  static const std::vector<Kind> all{
      {"solves", {.solves = true}, {"solver", "rounding", "between points"}},
      {"limits", {.limits = true}, {"next order", "solver", "rounding", "between points"}},
      {"digits", {.digits = true}, {"solver", "rounding", "between points"}}};
  return all;
}

// Nothing where the statement does not apply to this instance, or the check failed.
std::optional<std::vector<DeviationRecord::Judged>> deviations_of(const Statement& statement,
                                                                  const Setting& setting) {
  const DeviationRecord record;
  Examination found;
  found.with_controls = false;
  try {
    statement.examine(setting, found);
  } catch (const std::exception&) {
    return std::nullopt;
  }
  if (found.broken() != nullptr) return std::nullopt;
  return record.judged();
}

double sum_of(const Quantity& deviation, const std::vector<std::string_view>& parts) {
  double sum = 0;
  for (const std::string_view part : parts) sum += deviation.error(part);
  return sum;
}

void compare(const DeviationRecord::Judged& first, const DeviationRecord::Judged& second,
             const Kind& kind, const Setting& setting, ErrorRatios& ratios) {
  for (std::size_t place = 0; place < first.deviations.size(); ++place) {
    const Quantity& before = first.deviations[place];
    const Quantity& after = second.deviations[place];
    const double stated = sum_of(before, kind.parts);
    const double left = sum_of(after, kind.parts);
    const double moved = std::fabs(after.value() - before.value());
    if (std::isnan(moved) || (moved == 0 && stated == 0)) continue;
    ++ratios.numbers;
    if (left <= stated / 2) ++ratios.known_better;
    const double both = stated + left;
    const double ratio = both > 0 ? moved / both : std::numeric_limits<double>::infinity();
    if (ratio < ratios.largest) continue;
    ratios.largest = ratio;
    ratios.moved = moved;
    ratios.stated = stated;
    ratios.what = first.what;
    ratios.seed = setting.seed;
    ratios.point = setting.chosen;
  }
}

ErrorRatios& of_kind(const Kind& kind, std::vector<ErrorRatios>& found) {
  for (ErrorRatios& own : found) {
    if (own.sharper == kind.name) return own;
  }
  found.push_back({});
  found.back().sharper = kind.name;
  return found.back();
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

void add_error_ratios(const Statement& statement, const Setting& setting,
                      std::vector<ErrorRatios>& found, bool in_digits) {
  const auto first = deviations_of(statement, setting);
  if (!first) return;
  for (const Kind& kind : kinds()) {
    if (kind.sharper.digits && !in_digits) continue;
    const Refinement refinement(kind.sharper);
    const auto second = deviations_of(statement, setting);
    if (!second || refinement.made().empty()) continue;
    ErrorRatios& ratios = of_kind(kind, found);
    ++ratios.instances;
    for (std::size_t i = 0; i < std::min(first->size(), second->size()); ++i) {
      const DeviationRecord::Judged& before = (*first)[i];
      const DeviationRecord::Judged& after = (*second)[i];
      if (before.what != after.what || before.deviations.size() != after.deviations.size()) {
        continue;
      }
      compare(before, after, kind, setting, ratios);
    }
  }
}

std::vector<ErrorRatios> error_ratios(const Statement& statement,
                                      const ErrorRatioRequest& request) {
  std::vector<ErrorRatios> found;
  bool stopped = false;
  Setting setting;
  setting.jobs = request.jobs;
  setting.effort = Effort::search;
  const double share = request.seconds / 3;
  const auto add = [&](std::uint64_t seed, std::map<std::string, double, std::less<>> point) {
    setting.seed = seed;
    setting.chosen = std::move(point);
    add_error_ratios(statement, setting, found, true);
    stopped = request.on_progress && request.on_progress();
  };
  const Clock::time_point drawing = Clock::now();
  for (std::size_t i = 0; i < request.instances && !stopped && seconds_since(drawing) < share;
       ++i) {
    add(request.seed + i, drawn_knobs(statement, request.seed + i));
  }
  if (stopped) return found;
  SearchRequest search;
  search.seed = request.seed;
  search.seconds = share;
  search.jobs = request.jobs;
  search.on_progress = [&](const std::vector<Trial>&) {
    return stopped = request.on_progress && request.on_progress();
  };
  std::vector<Trial> trials = falsify(statement, search).trials;
  std::erase_if(trials, [](const Trial& trial) { return std::isnan(trial.margin); });
  std::stable_sort(trials.begin(), trials.end(),
                   [](const Trial& a, const Trial& b) { return a.margin < b.margin; });
  const Clock::time_point again = Clock::now();
  for (std::size_t i = 0; i < std::min(request.instances, trials.size()); ++i) {
    if (stopped || seconds_since(again) > share) break;
    add(trials[i].seed, trials[i].point);
  }
  return found;
}

}  // namespace popgrad
