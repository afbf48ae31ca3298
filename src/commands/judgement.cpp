#include "commands/judgement.hpp"
#include "commands/host.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace popgrad::cli {
namespace {

std::string with_error(double value, double error) {
  if (!(error > 0) || !std::isfinite(error)) return fmt::format("{:.4g}", value);
  // Two digits of the error, and the value to the same place.
  const int digits = std::clamp(static_cast<int>(std::ceil(1 - std::log10(error))), 0, 12);
  return fmt::format("{:.{}f} +- {:.{}f}", value, digits, error, digits);
}

void print_rows(const CrossCheck& check) {
  std::size_t widest = 3;
  for (const RunCheck& run : check.runs) widest = std::max(widest, run.label.size());
  fmt::print(standard_output(), "{:<{}} {:<24} {:>8} {:>9} {:>10}  {}\n", "run", widest,
             "observable", "rms", "largest", "at t", "first outside the band");
  for (const RunCheck& run : check.runs) {
    for (const ColumnCheck& column : run.columns) {
      fmt::print(standard_output(), "{:<{}} {:<24} {:>8.3g} {:>9.3g} {:>10.5g}  {}\n", run.label,
                 widest, column.column, column.root_mean_square, column.largest,
                 column.time_of_largest,
                 column.first_outside ? fmt::format("t = {:.6g}", *column.first_outside) : "-");
    }
  }
}

// Settings that were named have more of the level.
std::string of_named(const WholeRunTests& tests) {
  for (const WholeRunTests::Fault& fault : tests.faults) {
    if (fault.suspect.asked_for) return fmt::format(", of those named {:.2g}", fault.chance);
  }
  return {};
}

void print_whole_runs(const WholeRunTests& tests, double recorded_runs, double batch) {
  std::size_t widest = 13;
  for (const WholeRunTests::Fault& fault : tests.faults) {
    widest = std::max(widest, fault.suspect.name.size());
  }
  fmt::print(standard_output(),
             "\nruns as wholes ({} tests of settings, each with a false alarm of {:.2g}{}; rows "
             "weighted by {})\n",
             tests.faults.size() + 1, tests.chance, of_named(tests),
             tests.predicted ? "the predicted law of a run" : "what other runs do");
  fmt::print(standard_output(), "{:<{}} {:>10} {:>24} {:>8} {:>6}  {}\n", "setting", widest,
             "assumed", "if the only fault (95 %)", "t", "bound", "would have been found (95 %)");
  for (const WholeRunTests::Fault& fault : tests.faults) {
    const double half = fault.test.half_width(0.05);
    const auto seen = [&](double runs) {
      if (fault.suspect.kind == Suspect::Kind::choice) {
        return fmt::format("{:.2g} %", 100 * tests.power(fault, recorded_runs, runs));
      }
      const double size = tests.visible(fault, recorded_runs, runs);
      return fault.suspect.assumed == 0
                 ? fmt::format("{:.2g}", size)
                 : fmt::format("{:.2g} %", 100 * size / std::fabs(fault.suspect.assumed));
    };
    const bool choice = fault.suspect.kind == Suspect::Kind::choice;
    fmt::print(
        standard_output(), "{:<{}} {:>10} {:>24} {:>8.3g} {:>6.3g}  {}; with 5 more runs {}\n",
        fault.suspect.name, widest,
        choice ? fault.suspect.said : fmt::format("{:.4g}", fault.suspect.assumed),
        tests.departs(fault) ? "departs"  // too far for a linear estimate
        : choice ? fmt::format("{}: {}", fault.suspect.other, with_error(fault.test.size, half))
                 : with_error(fault.suspect.value_at(fault.test.size),
                              half * fault.suspect.slope_at(fault.test.size)),
        fault.test.statistic(), tests.bound(fault),
        choice
            ? fmt::format("'{}' would be found with {}", fault.suspect.other, seen(recorded_runs))
            : seen(recorded_runs) + " off",
        seen(recorded_runs + 5));
  }
  const Share ratio = tests.scatter.interval(0.05);
  if (batch > 0) {
    fmt::print(standard_output(),
               "{:<{}} {:>10.4g} {:>24} {:>8} {:>6}  (from the scatter; chance {:.2g})\n", "batch",
               widest, batch,
               fmt::format("{:.3g} ({:.3g} to {:.3g})", batch / ratio.value, batch / ratio.high,
                           batch / ratio.low),
               "", "", tests.scatter.chance());
  }
  if (!tests.not_tested.empty()) {
    fmt::print(
        standard_output(),
        "not tested by means of rows: {} (sampled runs and orders of the prediction differ)\n",
        fmt::join(tests.not_tested, ", "));
  }
  for (const WholeRunTests::Fault& fault : tests.unseen) {
    fmt::print(
        standard_output(),
        "not looked for: {} in place of {}, which would be found with {:.2g} % (--suspect {})\n",
        fault.suspect.label(), fault.suspect.said,
        100 * tests.power(fault, recorded_runs, recorded_runs), fault.suspect.name);
  }
  if (!tests.levels.empty()) {
    const WholeRunTests::Level& level = tests.largest_level();
    fmt::print(standard_output(),
               "largest of {} levels of observables: t = {:.3g} of {:.3g} ({})\n",
               tests.levels.size(), level.test.statistic(),
               level.test.bound_here(tests.level_chance), level.what);
  }
}

void print_fits(const std::vector<FittedFault>& fits) {
  if (fits.empty()) return;
  fmt::print(standard_output(), "\nwhat would explain the runs, one setting at a time\n");
  for (const FittedFault& fit : fits) {
    if (!fit.why_not.empty()) {
      fmt::print(standard_output(), "  {}: no value found ({})\n", fit.suspect.label(),
                 fit.why_not);
      continue;
    }
    if (fit.suspect.kind == Suspect::Kind::choice) {
      fmt::print(standard_output(), "  {} {} in place of {}: {}\n", fit.suspect.name,
                 fit.suspect.other, fit.suspect.said,
                 fit.explains ? "explains them" : "does not explain them");
      continue;
    }
    fmt::print(standard_output(), "  {} {} in place of {:g}: {}\n", fit.suspect.name,
               with_error(fit.value, fit.half_width), fit.suspect.assumed,
               fit.explains ? "explains them" : "nearest, but does not explain them");
  }
}

// The test that departs most, by its share of its bound.
std::string departure_of(const WholeRunTests& whole) {
  std::string what = "the scatter between runs";
  double largest = 1;
  const auto take = [&](const std::string& name, const ScoreTest& test, double bound) {
    const double share = std::fabs(test.statistic()) / bound;
    if (!(share > largest)) return;
    largest = share;
    what = fmt::format("{} (t = {:.3g})", name, test.statistic());
  };
  for (const WholeRunTests::Level& level : whole.levels) {
    take(level.what, level.test, level.test.bound_here(whole.level_chance));
  }
  for (const WholeRunTests::Fault& fault : whole.faults) {
    if (whole.departs(fault)) take(fault.suspect.label(), fault.test, whole.bound(fault));
  }
  return what;
}

std::string first_departure(const CrossCheck& check) {
  const ColumnCheck* first = nullptr;
  const RunCheck* where = nullptr;
  for (const RunCheck& run : check.runs) {
    const ColumnCheck* own = run.first_departure();
    if (own != nullptr && (first == nullptr || *own->first_outside < *first->first_outside)) {
      first = own;
      where = &run;
    }
  }
  if (first->gaps.diverged == first->first_outside) {
    return fmt::format("{} diverged at t = {:.6g}: {} has no finite number from there on",
                       where->label, *first->first_outside, first->column);
  }
  std::string text = fmt::format(
      "first departs at t = {:.6g} in {} ({}), up to {:.3g} at t = {:.6g}", *first->first_outside,
      first->column, where->label, first->largest, first->time_of_largest);
  if (*first->first_outside == 0) text += "; the first row differs: another instance or start?";
  return text;
}

std::string verdict(const Judgement& judgement, const std::string& rung) {
  if (judgement.blind()) {
    return "inconclusive: nothing departs, but a learning rate that is a tenth off would not be "
           "found "
           "either; log more rows on the way, more observables or more runs, or raise --runs";
  }
  if (judgement.consistent()) return "consistent with " + rung;
  if (!judgement.contradiction.empty()) return "NOT consistent: " + judgement.contradiction;
  if (!judgement.rows.consistent()) {
    return "NOT consistent: " + first_departure(judgement.rows);
  }
  return "NOT consistent: no single row departs, but the runs as wholes do: " +
         departure_of(judgement.whole);
}

Value number_or_null(double x) { return std::isfinite(x) ? Value(x) : Value(); }

Value run_records(const CrossCheck& check) {
  Value::List runs;
  for (const RunCheck& run : check.runs) {
    Value::List columns;
    for (const ColumnCheck& column : run.columns) {
      columns.push_back(
          Record{{"observable", column.column},
                 {"rms", number_or_null(column.root_mean_square)},
                 {"largest", number_or_null(column.largest)},
                 {"time_of_largest", column.time_of_largest},
                 {"first_outside", column.first_outside ? Value(*column.first_outside) : Value()},
                 {"missing", static_cast<std::uint64_t>(column.gaps.missing)},
                 {"diverged", column.gaps.diverged ? Value(*column.gaps.diverged) : Value()}});
    }
    runs.push_back(Record{{"run", run.label}, {"observables", std::move(columns)}});
  }
  return runs;
}

Value unseen_records(const Judgement& judgement) {
  Value::List unseen;
  for (const WholeRunTests::Fault& fault : judgement.whole.unseen) {
    unseen.push_back(Record{
        {"setting", fault.suspect.name},
        {"assumed", fault.suspect.said},
        {"other", fault.suspect.other},
        {"power", judgement.whole.power(fault, judgement.recorded_runs, judgement.recorded_runs)}});
  }
  return unseen;
}

Value setting_records(const Judgement& judgement) {
  const WholeRunTests& whole = judgement.whole;
  Value::List settings;
  for (const WholeRunTests::Fault& fault : whole.faults) {
    Record item{{"setting", fault.suspect.name},
                {"assumed", fault.suspect.assumed},
                {"departs", whole.departs(fault)},
                {"t", number_or_null(fault.test.statistic())},
                {"bound", whole.bound(fault)},
                {"linear_estimate", number_or_null(fault.suspect.value_at(fault.test.size))},
                {"standard_error", number_or_null(fault.test.standard_error *
                                                  fault.suspect.slope_at(fault.test.size))},
                {"would_have_been_found",
                 whole.visible(fault, judgement.recorded_runs, judgement.recorded_runs)},
                {"by", fault.of_laws ? "means and fluctuations" : "means"}};
    if (fault.suspect.kind == Suspect::Kind::choice) {
      item["choice"] =
          Record{{"assumed", fault.suspect.said},
                 {"other", fault.suspect.other},
                 {"power", whole.power(fault, judgement.recorded_runs, judgement.recorded_runs)}};
    }
    settings.push_back(std::move(item));
  }
  return settings;
}

}  // namespace

bool Judgement::consistent() const {
  return contradiction.empty() && rows.consistent() && (whole.chance == 0 || whole.consistent());
}

bool Judgement::blind() const {
  if (!consistent()) return false;
  const auto rate = std::find_if(whole.faults.begin(), whole.faults.end(), [](const auto& fault) {
    return fault.suspect.kind == Suspect::Kind::learning_rate;
  });
  return rate == whole.faults.end() ||
         !(whole.visible(*rate, recorded_runs, recorded_runs) <= 0.1 * rate->suspect.assumed);
}

ExitStatus Judgement::status() const {
  if (!consistent()) return violation;
  return blind() ? undecided : success;
}

void print_judgement(const Judgement& judgement, const std::string& rung) {
  print_rows(judgement.rows);
  if (judgement.whole.chance > 0) {
    print_whole_runs(judgement.whole, judgement.recorded_runs, judgement.batch);
    print_fits(judgement.fits);
    fmt::print(standard_output(), "\n");
  }
  fmt::print(standard_output(), "verdict: {}\n", verdict(judgement, rung));
}

Record as_record(const Judgement& judgement) {
  const WholeRunTests& whole = judgement.whole;
  Record made{{"verdict", judgement.blind()        ? "inconclusive"
                          : judgement.consistent() ? "consistent"
                                                   : "departs"},
              {"level", judgement.level},
              {"recorded_runs", judgement.recorded_runs},
              {"fluctuation", judgement.predicted ? "predicted" : "sampled"},
              {"neglected", whole.neglected},
              {"weights", whole.predicted ? "predicted" : "estimated"},
              {"band", judgement.rows.bound},
              {"looks", judgement.rows.looks},
              {"runs", run_records(judgement.rows)},
              {"settings", setting_records(judgement)},
              {"unseen", unseen_records(judgement)},
              {"contradiction",
               judgement.contradiction.empty() ? Value() : Value(judgement.contradiction)}};
  if (whole.chance > 0 && judgement.batch > 0) {
    const Share ratio = whole.scatter.interval(0.05);
    made["batch"] = Record{{"assumed", judgement.batch},
                           {"estimate", number_or_null(judgement.batch / ratio.value)},
                           {"low", number_or_null(judgement.batch / ratio.high)},
                           {"high", number_or_null(judgement.batch / ratio.low)},
                           {"chance", whole.scatter.chance()}};
  }
  Value::List levels;
  for (const WholeRunTests::Level& level : whole.levels) {
    levels.push_back(Record{{"level", level.what},
                            {"t", number_or_null(level.test.statistic())},
                            {"bound", level.test.bound_here(whole.level_chance)}});
  }
  made["levels"] = std::move(levels);
  Value::List fits;
  for (const FittedFault& fit : judgement.fits) {
    Record item{{"setting", fit.suspect.name}, {"assumed", fit.suspect.assumed},
                {"value", fit.value},          {"half_width", fit.half_width},
                {"explains", fit.explains},    {"why_not", fit.why_not}};
    if (fit.suspect.kind == Suspect::Kind::choice) {
      item["choice"] = Record{{"assumed", fit.suspect.said}, {"other", fit.suspect.other}};
    }
    fits.push_back(std::move(item));
  }
  made["fits"] = std::move(fits);
  return made;
}

}  // namespace popgrad::cli
