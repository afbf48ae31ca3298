#include "presenting/judgement_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/listed.hpp"
#include "popgrad/base/range.hpp"
#include "popgrad/statistics/statistics.hpp"
#include "presenting/result_table.hpp"

namespace popgrad {
namespace {

std::string with_error(double value, double error) {
  if (!(error > 0) || !std::isfinite(error)) return fmt::format("{:.4g}", value);
  // Two digits of the error, and the value to the same place.
  const int digits = std::clamp(static_cast<int>(std::ceil(1 - std::log10(error))), 0, 12);
  return fmt::format("{:.{}f} +- {:.{}f}", value, digits, error, digits);
}

// The least positive number is an end that is not reached.
double end_of(double x) { return x == least_positive ? 0 : x; }

// `digits`: of the value.
std::string with_interval(double value, const Share& interval, int digits = 3) {
  if (std::isinf(interval.high)) {
    return fmt::format("{:.{}g} (at least {:.3g})", value, digits, end_of(interval.low));
  }
  return fmt::format("{:.{}g} ({:.3g} to {:.3g})", value, digits, end_of(interval.low),
                     interval.high);
}

// `departs`: further than chance explains.
std::string text_of(const SettingEstimate& estimate, bool departs) {
  if (!estimate.interval) {
    return fmt::format("none {}{}", estimate.rule.empty() ? "" : estimate.rule + " ",
                       departs ? "explains them" : "within 95 %");
  }
  const Share& interval = *estimate.interval;
  if (!estimate.rule.empty() || std::isinf(interval.value)) {
    // The nearest value that is possible would be read as an estimate.
    return interval.value == interval.low ? fmt::format("at most {:.3g}", end_of(interval.high))
                                          : fmt::format("at least {:.3g}", end_of(interval.low));
  }
  return estimate.half_width > 0 ? with_error(interval.value, estimate.half_width)
                                 : with_interval(interval.value, interval);
}

std::string percent(double share) {
  const double value = 100 * share;
  if (!(value < 1000)) return "over 1000 %";
  return value < 10 ? fmt::format("{:.2g} %", value) : fmt::format("{:.0f} %", value);
}

std::string runs_in_words(double runs) {
  return fmt::format("{:g} run{}", runs, runs == 1 ? "" : "s");
}

std::string text_of_rows(const CrossCheck& check) {
  ResultTable table({words("run"), words("observable", 24), numbers("rms", 8, ".3g"),
                     numbers("largest", 9, ".3g"), numbers("at t", 10, ".5g"),
                     words("first outside the band", 0, 2)});
  table.note("(deviations from what is expected, in standard deviations)\n");
  for (const RunCheck& run : check.runs) {
    for (const ColumnCheck& column : run.columns) {
      table.add(run.label, column.column, column.root_mean_square, column.largest,
                column.time_of_largest,
                column.first_outside ? fmt::format("t = {:.6g}", *column.first_outside) : "-");
    }
  }
  return table.text();
}

// Settings that were named get more of the level.
std::string of_named(const Judgement& judgement) {
  for (const SettingTest& test : judgement.settings) {
    if (test.setting.named) return fmt::format(" ({:.2g} if named by --suspect)", test.chance);
  }
  return {};
}

// Whether the setting can be off by as much.
bool reaches(const JudgedSetting& setting, double change) {
  const Range& possible = setting.possible;
  return change <= std::max(possible.high - setting.assumed, setting.assumed - possible.low);
}

std::string smallest_change(const SettingTest& test, double power, double visible) {
  const JudgedSetting& setting = test.setting;
  if (setting.is_choice) return fmt::format("{} (power {})", setting.other, percent(power));
  if (!reaches(setting, visible)) return "none";
  return setting.assumed == 0 ? fmt::format("{:.2g}", visible)
                              : percent(visible / std::fabs(setting.assumed));
}

std::string estimate_text(const SettingTest& test) {
  if (test.departs) return "departs";  // too far for a linear estimate
  const bool beyond_chance = std::fabs(test.statistic) > test.bound;
  const std::string estimate = text_of(test.estimate, beyond_chance);
  return test.setting.is_choice ? test.setting.other + ": " + estimate : estimate;
}

// What was assumed, what the runs say, how small a change they would have shown; with `details` the test.
std::string text_of_settings(const Judgement& judgement, bool details) {
  std::vector<ResultColumn> columns{words("setting", 17), numbers("assumed", 10),
                                    numbers("95 % confidence interval", 26),
                                    words("smallest detectable change (95 % power)", 43, 3)};
  if (details) {
    for (const ResultColumn& column :
         {numbers("statistic", 9, {}, 0), numbers("bound", 7),
          words(fmt::format("with {:g} more runs", Judgement::more_runs), 0, 2)}) {
      columns.push_back(column);
    }
  }
  ResultTable table(columns);
  const auto add = [&](std::vector<std::string> row, std::initializer_list<std::string> more) {
    if (details) row.insert(row.end(), more);
    table.add_row(row);
  };
  for (const SettingTest& test : judgement.settings) {
    const JudgedSetting& setting = test.setting;
    add({setting.name, setting.is_choice ? setting.said : fmt::format("{:.4g}", setting.assumed),
         estimate_text(test), smallest_change(test, test.power, test.visible)},
        {fmt::format("{:.3g}", test.statistic), fmt::format("{:.3g}", test.bound),
         smallest_change(test, test.power_with_more, test.visible_with_more)});
  }
  if (judgement.assumed_batch > 0) {
    add({"batch, by scatter", fmt::format("{:.4g}", judgement.assumed_batch),
         text_of(judgement.batch, judgement.scatter_departs)},
        {"", "", "", fmt::format("p = {:.2g}", judgement.scatter_chance)});
  }
  return table.text() + "(each interval as if every other setting were right)\n";
}

// Limits of the judgement: what it did not test.
std::string text_of_untested(const Judgement& judgement) {
  std::string text;
  if (!judgement.not_tested.empty()) {
    text += fmt::format("not tested: {} (the predicted effect is too uncertain)\n",
                        fmt::join(judgement.not_tested, ", "));
  }
  for (const SettingTest& test : judgement.unseen) {
    text += fmt::format("not tested: {} instead of {} (power only {}; --suspect {} tests it)\n",
                        test.setting.label(), test.setting.said, percent(test.power),
                        test.setting.name);
  }
  return text;
}

std::string text_of_tests(const Judgement& judgement) {
  std::string text = fmt::format(
      "{} tests of settings, each with a false-alarm probability of {:.2g}{}; rows weighted by "
      "{}\n",
      judgement.settings.size() + 1, judgement.chance, of_named(judgement),
      judgement.predicted_weights ? "the predicted law of a run" : "how other runs fluctuate");
  if (!judgement.levels.empty()) {
    const LevelTest& level = judgement.levels[judgement.largest_level];
    text += fmt::format("largest of {} tests of mean levels: {}, statistic {:.3g}, bound {:.3g}\n",
                        judgement.levels.size(), level.what, level.statistic, level.bound);
  }
  return text;
}

// What was assumed, and what fits in its place.
std::string fit_text(const FittedSetting& fit) {
  const JudgedSetting& s = fit.setting;
  if (s.is_choice) return fmt::format("{} {} instead of {}", s.name, s.other, s.said);
  const std::string value = fit.interval ? with_interval(fit.value, *fit.interval, 6)
                                         : with_error(fit.value, fit.half_width);
  return fmt::format("{} {} instead of {:g}", s.name, value, s.assumed);
}

std::string text_of_fits(const std::vector<FittedSetting>& fits) {
  if (fits.empty()) return {};
  std::string text = "\nwhat would explain the runs, one setting at a time\n";
  for (const FittedSetting& fit : fits) {
    if (fit.why_not.starts_with("none ")) {
      text += fmt::format("  {}: {}\n", fit.setting.label(), fit.why_not);
    } else if (!fit.why_not.empty()) {
      text += fmt::format("  {}: no value explains them ({})\n", fit.setting.label(), fit.why_not);
    } else {
      text += fmt::format("  {}: {}\n", fit_text(fit),
                          fit.explains            ? "explains them"
                          : fit.setting.is_choice ? "does not explain them"
                                                  : "the best value, but does not explain them");
    }
  }
  return text;
}

std::string count_of_escapes(const Judgement& judgement) {
  const EscapedRuns& escaped = judgement.rows.escaped;
  return fmt::format(
      "{} of {:g} recorded runs and {} of {} sampled ones leave all others ({}, t = {:.6g})",
      escaped.recorded, judgement.recorded_runs, escaped.own, judgement.own_runs, escaped.column,
      escaped.time);
}

// What rows are compared with where own runs escape; else empty.
std::string escapes_text(const Judgement& judgement) {
  const EscapedRuns& escaped = judgement.rows.escaped;
  if (escaped.own == 0) return {};
  if (escaped.recorded > 0) {
    return fmt::format("{}; rows are compared with all sampled ones, whose band is wide.\n",
                       count_of_escapes(judgement));
  }
  return fmt::format("{}; rows are compared with the {} others.\n", count_of_escapes(judgement),
                     judgement.own_runs - escaped.own);
}

// The test that departs most, by its share of its bound.
std::string departure_of(const Judgement& judgement) {
  std::string what = "the scatter between runs is not that of the batch size";
  double largest = 1;
  const auto take = [&](const std::string& name, double statistic, double bound) {
    const double share = std::fabs(statistic) / bound;
    if (!(share > largest)) return;
    largest = share;
    what = fmt::format("the test of {} is at {:.3g}, its bound at {:.3g}", name, statistic, bound);
  };
  for (const LevelTest& level : judgement.levels) take(level.what, level.statistic, level.bound);
  for (const SettingTest& test : judgement.settings) {
    if (test.departs) take(test.setting.label(), test.statistic, test.bound);
  }
  return "no single value is out of its band, but the runs as wholes are: " + what;
}

// `explained`: by what the columns are.
std::string first_departure(const CrossCheck& check, bool explained) {
  const auto [first, where] = check.first_departure();
  if (first->gaps.diverged == first->first_outside) {
    return fmt::format("{} diverged at t = {:.6g}: {} has no finite number from there on",
                       where->label, *first->first_outside, first->column);
  }
  std::string text = fmt::format(
      "{} ({}) leaves its band at t = {:.6g} and is {:.3g} standard deviations off at t = {:.6g}",
      first->column, where->label, *first->first_outside, first->largest, first->time_of_largest);
  if (*first->first_outside == 0 && !explained) {
    text += " (the first row differs: another instance or start?)";
  }
  return text;
}

// "learning rate off by 0.31 %", "momentum above 0.02"; of a choice its label.
std::string change_text(const SettingTest& test, bool noticed) {
  const JudgedSetting& setting = test.setting;
  if (setting.is_choice) return setting.label();
  if (!reaches(setting, test.visible)) return "any " + setting.name;
  return fmt::format("{} {} {}", setting.name,
                     setting.assumed == 0 ? noticed ? "above" : "below"
                     : noticed            ? "off by"
                                          : "off by less than",
                     smallest_change(test, test.power, test.visible));
}

// What would have been noticed, and what not: larger changes than a tenth only.
std::string noticed_text(const Judgement& judgement) {
  std::vector<std::string> noticed, missed;
  for (const SettingTest& test : judgement.settings) {
    const bool seen = test.setting.is_choice ? test.power >= 0.95
                      : test.setting.assumed == 0
                          ? test.visible <= 0.1
                          : test.visible <= 0.1 * std::fabs(test.setting.assumed);
    (seen ? noticed : missed).push_back(change_text(test, seen));
  }
  std::vector<std::string> clauses;
  if (!noticed.empty()) clauses.push_back("would have been noticed: " + listed(noticed, " or "));
  if (!missed.empty()) clauses.push_back("would not: " + listed(missed, " or "));
  if (clauses.empty()) return {};
  return fmt::format(" Changes that {}.", fmt::join(clauses, "; that "));
}

std::string explanation_text(const Judgement& judgement) {
  std::vector<std::string> explain, tried;
  for (const FittedSetting& fit : judgement.fits) {
    tried.push_back(fit.setting.label());
    if (fit.explains) explain.push_back(fit_text(fit));
  }
  explain.insert(explain.end(), judgement.readings.begin(), judgement.readings.end());
  if (tried.empty() && explain.empty()) return {};
  if (explain.empty()) {
    return fmt::format(" No single one of these settings explains it: {}.", listed(tried, " or "));
  }
  return fmt::format(" Explained by {}.", listed(explain, ", or by "));
}

Value number_or_null(double x) { return std::isfinite(x) ? Value(x) : Value(); }

Value value_or_null(const std::optional<Share>& interval, double Share::*part) {
  return interval ? number_or_null((*interval).*part) : Value();
}

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

Value escape_record(const EscapedRuns& escaped) {
  if (escaped.own == 0) return {};
  return Record{{"sampled", static_cast<std::uint64_t>(escaped.own)},
                {"recorded", static_cast<std::uint64_t>(escaped.recorded)},
                {"observable", escaped.column},
                {"time", escaped.time},
                {"chance", escaped.chance}};
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
                {"linear_estimate", value_or_null(test.estimate.interval, &Share::value)},
                {"low", value_or_null(test.estimate.interval, &Share::low)},
                {"high", value_or_null(test.estimate.interval, &Share::high)},
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

std::string departure_text(const Judgement& judgement) {
  if (judgement.rows.first_departure().first != nullptr) {
    return first_departure(judgement.rows, !judgement.readings.empty());
  }
  if (judgement.rows.escaped.departs) {
    return fmt::format("{}, a chance of {:.2g}", count_of_escapes(judgement),
                       judgement.rows.escaped.chance);
  }
  return departure_of(judgement);
}

std::string verdict_text(const Judgement& judgement, const std::string& rung) {
  std::string made = fmt::format("at learning rate {:g}", judgement.learning_rate);
  if (judgement.assumed_batch > 0) made += fmt::format(" and batch {:g}", judgement.assumed_batch);
  const std::string runs = runs_in_words(judgement.recorded_runs);
  const bool one = judgement.recorded_runs == 1;
  if (judgement.blind() && judgement.rows.escaped.recorded > 0) {
    return fmt::format(
        "verdict: inconclusive\n{} against {} {}: too few to show whether recorded runs escape as "
        "often as sampled ones; raise --runs.\n",
        runs, rung, made);
  }
  if (judgement.blind()) {
    return fmt::format(
        "verdict: inconclusive\n{} show{} no departure from {} {}, but a learning rate off by a "
        "tenth would not have been noticed either: log more rows on the way, more observables or "
        "more runs, or raise --runs.\n",
        runs, one ? "s" : "", rung, made);
  }
  if (judgement.consistent()) {
    return fmt::format("verdict: consistent with {}\n{} agree{} with {} {}.{}\n", rung, runs,
                       one ? "s" : "", rung, made, noticed_text(judgement));
  }
  return fmt::format("verdict: NOT consistent with {}\n{} depart{} from {} {}: {}.{}\n", rung, runs,
                     one ? "s" : "", rung, made, departure_text(judgement),
                     explanation_text(judgement));
}

}  // namespace

std::string judgement_summary(const Judgement& judgement, const std::string& rung) {
  return verdict_text(judgement, rung) + escapes_text(judgement);
}

std::string judgement_text(const Judgement& judgement, bool details) {
  std::string text;
  if (judgement.has_tests) {
    text += "\n" + text_of_settings(judgement, details) + text_of_untested(judgement);
    if (details) text += text_of_tests(judgement) + text_of_fits(judgement.fits);
  }
  return details ? text + "\n" + text_of_rows(judgement.rows) : text;
}

std::string ladder_text(const std::vector<RungScore>& scores) {
  if (scores.empty()) return {};
  ResultTable table({words({}, 14), numbers({}, 9, ".3g"), words({}, 0, 2)});
  for (const RungScore& score : scores) {
    if (score.why_not.empty()) {
      std::string fit = score.consistent ? "consistent" : "departs";
      if (!score.left_out.empty()) {
        fit += fmt::format("; it does not read {}", fmt::join(score.left_out, ", "));
      }
      table.add(score.rung, score.root_mean_square, fit);
    } else {
      table.add(score.rung, "-", score.why_not);
    }
  }
  return "\nrungs by how well they explain the runs (rms deviation, 1 is perfect)\n" +
         table.text("  ");
}

Record as_record(const Judgement& judgement) {
  Record made{{"verdict", judgement.blind()        ? "inconclusive"
                          : judgement.consistent() ? "consistent"
                                                   : "departs"},
              {"level", judgement.level},
              {"recorded_runs", judgement.recorded_runs},
              {"fluctuation", judgement.predicted ? "predicted" : "sampled"},
              {"neglected", judgement.neglected},
              {"weights", judgement.predicted_weights ? "predicted" : "estimated"},
              {"band", judgement.rows.bound},
              {"looks", judgement.rows.looks},
              {"escaped", escape_record(judgement.rows.escaped)},
              {"runs", run_records(judgement.rows)},
              {"settings", setting_records(judgement)},
              {"unseen", unseen_records(judgement)}};
  if (judgement.has_tests && judgement.assumed_batch > 0) {
    made["batch"] = Record{{"assumed", judgement.assumed_batch},
                           {"estimate", value_or_null(judgement.batch.interval, &Share::value)},
                           {"low", value_or_null(judgement.batch.interval, &Share::low)},
                           {"high", value_or_null(judgement.batch.interval, &Share::high)},
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
    const Share interval = fit.interval.value_or(
        Share{fit.value, fit.value - fit.half_width, fit.value + fit.half_width});
    Record item{{"setting", fit.setting.name},
                {"assumed", fit.setting.assumed},
                {"value", fit.value},
                {"half_width", fit.half_width},
                {"low", number_or_null(interval.low)},
                {"high", number_or_null(interval.high)},
                {"explains", fit.explains},
                {"why_not", fit.why_not}};
    if (fit.setting.is_choice) {
      item["choice"] = Record{{"assumed", fit.setting.said}, {"other", fit.setting.other}};
    }
    fits.push_back(std::move(item));
  }
  made["fits"] = std::move(fits);
  made["readings"] = Value::List(judgement.readings.begin(), judgement.readings.end());
  return made;
}

}  // namespace popgrad
