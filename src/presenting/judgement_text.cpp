#include "presenting/judgement_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace popgrad {
namespace {

std::string with_error(double value, double error) {
  if (!(error > 0) || !std::isfinite(error)) return fmt::format("{:.4g}", value);
  // Two digits of the error, and the value to the same place.
  const int digits = std::clamp(static_cast<int>(std::ceil(1 - std::log10(error))), 0, 12);
  return fmt::format("{:.{}f} +- {:.{}f}", value, digits, error, digits);
}

std::string text_of_rows(const CrossCheck& check) {
  std::size_t widest = 3;
  for (const RunCheck& run : check.runs) widest = std::max(widest, run.label.size());
  std::string text = fmt::format("{:<{}} {:<24} {:>8} {:>9} {:>10}  {}\n", "run", widest,
                                 "observable", "rms", "largest", "at t", "first outside the band");
  for (const RunCheck& run : check.runs) {
    for (const ColumnCheck& column : run.columns) {
      text += fmt::format(
          "{:<{}} {:<24} {:>8.3g} {:>9.3g} {:>10.5g}  {}\n", run.label, widest, column.column,
          column.root_mean_square, column.largest, column.time_of_largest,
          column.first_outside ? fmt::format("t = {:.6g}", *column.first_outside) : "-");
    }
  }
  return text;
}

// Settings that were named have more of the level.
std::string of_named(const Judgement& judgement) {
  for (const SettingTest& test : judgement.settings) {
    if (test.setting.named) return fmt::format(", of those named {:.2g}", test.chance);
  }
  return {};
}

std::string row_of(const SettingTest& test, std::size_t width) {
  const JudgedSetting& setting = test.setting;
  const auto seen = [&](double power, double visible) {
    if (setting.is_choice) return fmt::format("{:.2g} %", 100 * power);
    return setting.assumed == 0
               ? fmt::format("{:.2g}", visible)
               : fmt::format("{:.2g} %", 100 * visible / std::fabs(setting.assumed));
  };
  const std::string now = seen(test.power, test.visible);
  return fmt::format(
      "{:<{}} {:>10} {:>24} {:>8.3g} {:>6.3g}  {}; with {:g} more runs {}\n", setting.name, width,
      setting.is_choice ? setting.said : fmt::format("{:.4g}", setting.assumed),
      test.departs ? "departs"  // too far for a linear estimate
      : setting.is_choice
          ? fmt::format("{}: {}", setting.other, with_error(test.estimate, test.half_width))
          : with_error(test.estimate, test.half_width),
      test.statistic, test.bound,
      setting.is_choice ? fmt::format("'{}' would be found with {}", setting.other, now)
                        : now + " off",
      Judgement::more_runs, seen(test.power_with_more, test.visible_with_more));
}

std::string text_of_tests(const Judgement& judgement) {
  std::size_t widest = 13;
  for (const SettingTest& test : judgement.settings) {
    widest = std::max(widest, test.setting.name.size());
  }
  std::string text = fmt::format(
      "\nruns as wholes ({} tests of settings, each with a false alarm of {:.2g}{}; rows "
      "weighted by {})\n",
      judgement.settings.size() + 1, judgement.chance, of_named(judgement),
      judgement.predicted_weights ? "the predicted law of a run" : "what other runs do");
  text += fmt::format("{:<{}} {:>10} {:>24} {:>8} {:>6}  {}\n", "setting", widest, "assumed",
                      "if the only fault (95 %)", "t", "bound", "would have been found (95 %)");
  for (const SettingTest& test : judgement.settings) text += row_of(test, widest);
  if (judgement.assumed_batch > 0) {
    const Share& batch = judgement.batch;
    text +=
        fmt::format("{:<{}} {:>10.4g} {:>24} {:>8} {:>6}  (from the scatter; chance {:.2g})\n",
                    "batch", widest, judgement.assumed_batch,
                    fmt::format("{:.3g} ({:.3g} to {:.3g})", batch.value, batch.low, batch.high),
                    "", "", judgement.scatter_chance);
  }
  if (!judgement.not_tested.empty()) {
    text += fmt::format(
        "not tested by means of rows: {} (sampled runs and orders of the prediction differ)\n",
        fmt::join(judgement.not_tested, ", "));
  }
  for (const SettingTest& test : judgement.unseen) {
    text += fmt::format(
        "not looked for: {} in place of {}, which would be found with {:.2g} % (--suspect {})\n",
        test.setting.label(), test.setting.said, 100 * test.power, test.setting.name);
  }
  if (!judgement.levels.empty()) {
    const LevelTest& level = judgement.levels[judgement.largest_level];
    text += fmt::format("largest of {} levels of observables: t = {:.3g} of {:.3g} ({})\n",
                        judgement.levels.size(), level.statistic, level.bound, level.what);
  }
  return text;
}

std::string text_of_fits(const std::vector<FittedSetting>& fits) {
  if (fits.empty()) return {};
  std::string text = "\nwhat would explain the runs, one setting at a time\n";
  for (const FittedSetting& fit : fits) {
    if (!fit.why_not.empty()) {
      text += fmt::format("  {}: no value found ({})\n", fit.setting.label(), fit.why_not);
    } else if (fit.setting.is_choice) {
      text +=
          fmt::format("  {} {} in place of {}: {}\n", fit.setting.name, fit.setting.other,
                      fit.setting.said, fit.explains ? "explains them" : "does not explain them");
    } else {
      text += fmt::format("  {} {} in place of {:g}: {}\n", fit.setting.name,
                          with_error(fit.value, fit.half_width), fit.setting.assumed,
                          fit.explains ? "explains them" : "nearest, but does not explain them");
    }
  }
  return text;
}

// The test that departs most, by its share of its bound.
std::string departure_of(const Judgement& judgement) {
  std::string what = "the scatter between runs";
  double largest = 1;
  const auto take = [&](const std::string& name, double statistic, double bound) {
    const double share = std::fabs(statistic) / bound;
    if (!(share > largest)) return;
    largest = share;
    what = fmt::format("{} (t = {:.3g})", name, statistic);
  };
  for (const LevelTest& level : judgement.levels) take(level.what, level.statistic, level.bound);
  for (const SettingTest& test : judgement.settings) {
    if (test.departs) take(test.setting.label(), test.statistic, test.bound);
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

// Estimates are relative to the clock, so that one wrong rate makes all of them wrong.
std::string contradiction_text(const Judgement& judgement) {
  const auto& [run, rate] = *judgement.contradiction;
  return fmt::format(
      "{} of {} is {:.6g} at t = {:.6g}, and --eta {:g}; estimates here are relative to the "
      "clock, so give the --eta that the runs were made with",
      rate.column, run, rate.rate, rate.t, judgement.learning_rate);
}

std::string verdict(const Judgement& judgement, const std::string& rung) {
  if (judgement.blind()) {
    return "inconclusive: nothing departs, but a learning rate that is a tenth off would not be "
           "found "
           "either; log more rows on the way, more observables or more runs, or raise --runs";
  }
  if (judgement.consistent()) return "consistent with " + rung;
  if (judgement.contradiction) return "NOT consistent: " + contradiction_text(judgement);
  if (!judgement.rows.consistent()) {
    return "NOT consistent: " + first_departure(judgement.rows);
  }
  return "NOT consistent: no single row departs, but the runs as wholes do: " +
         departure_of(judgement);
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
  for (const SettingTest& test : judgement.unseen) {
    unseen.push_back(Record{{"setting", test.setting.name},
                            {"assumed", test.setting.said},
                            {"other", test.setting.other},
                            {"power", test.power}});
  }
  return unseen;
}

Value setting_records(const Judgement& judgement) {
  Value::List settings;
  for (const SettingTest& test : judgement.settings) {
    const JudgedSetting& setting = test.setting;
    Record item{{"setting", setting.name},
                {"assumed", setting.assumed},
                {"departs", test.departs},
                {"t", number_or_null(test.statistic)},
                {"bound", test.bound},
                {"linear_estimate", number_or_null(test.estimate)},
                {"standard_error", number_or_null(test.standard_error)},
                {"would_have_been_found", test.visible},
                {"by", test.of_laws ? "means and fluctuations" : "means"}};
    if (setting.is_choice) {
      item["choice"] =
          Record{{"assumed", setting.said}, {"other", setting.other}, {"power", test.power}};
    }
    settings.push_back(std::move(item));
  }
  return settings;
}

}  // namespace

std::string judgement_text(const Judgement& judgement, const std::string& rung) {
  std::string text = text_of_rows(judgement.rows);
  if (judgement.has_tests) {
    text += text_of_tests(judgement) + text_of_fits(judgement.fits) + "\n";
  }
  return text + fmt::format("verdict: {}\n", verdict(judgement, rung));
}

std::string ladder_text(const std::vector<RungScore>& scores) {
  if (scores.empty()) return {};
  std::string text = "\nrungs by how well they explain the runs (rms deviation, 1 is perfect)\n";
  for (const RungScore& score : scores) {
    if (score.why_not.empty()) {
      text += fmt::format("  {:<14} {:>9.3g}  {}{}\n", score.rung, score.root_mean_square,
                          score.consistent ? "consistent" : "departs",
                          score.left_out.empty() ? std::string{}
                                                 : fmt::format("; it does not read {}",
                                                               fmt::join(score.left_out, ", ")));
    } else {
      text += fmt::format("  {:<14} {:>9}  {}\n", score.rung, "-", score.why_not);
    }
  }
  return text;
}

Record as_record(const Judgement& judgement) {
  Record made{
      {"verdict", judgement.blind()        ? "inconclusive"
                  : judgement.consistent() ? "consistent"
                                           : "departs"},
      {"level", judgement.level},
      {"recorded_runs", judgement.recorded_runs},
      {"fluctuation", judgement.predicted ? "predicted" : "sampled"},
      {"neglected", judgement.neglected},
      {"weights", judgement.predicted_weights ? "predicted" : "estimated"},
      {"band", judgement.rows.bound},
      {"looks", judgement.rows.looks},
      {"runs", run_records(judgement.rows)},
      {"settings", setting_records(judgement)},
      {"unseen", unseen_records(judgement)},
      {"contradiction", judgement.contradiction ? Value(contradiction_text(judgement)) : Value()}};
  if (judgement.has_tests && judgement.assumed_batch > 0) {
    made["batch"] = Record{{"assumed", judgement.assumed_batch},
                           {"estimate", number_or_null(judgement.batch.value)},
                           {"low", number_or_null(judgement.batch.low)},
                           {"high", number_or_null(judgement.batch.high)},
                           {"chance", judgement.scatter_chance}};
  }
  Value::List levels;
  for (const LevelTest& level : judgement.levels) {
    levels.push_back(Record{
        {"level", level.what}, {"t", number_or_null(level.statistic)}, {"bound", level.bound}});
  }
  made["levels"] = std::move(levels);
  Value::List fits;
  for (const FittedSetting& fit : judgement.fits) {
    Record item{{"setting", fit.setting.name}, {"assumed", fit.setting.assumed},
                {"value", fit.value},          {"half_width", fit.half_width},
                {"explains", fit.explains},    {"why_not", fit.why_not}};
    if (fit.setting.is_choice) {
      item["choice"] = Record{{"assumed", fit.setting.said}, {"other", fit.setting.other}};
    }
    fits.push_back(std::move(item));
  }
  made["fits"] = std::move(fits);
  return made;
}

}  // namespace popgrad
