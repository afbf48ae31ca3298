#include "presenting/regime_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "presenting/result_table.hpp"

namespace popgrad {
namespace {

const RegimeTime* find(const RungRegimes& rung, const RegimeTime& like) {
  for (const RegimeTime& time : rung.times) {
    if (time.name == like.name && time.column == like.column && time.ordinal == like.ordinal) {
      return &time;
    }
  }
  return nullptr;
}

std::string cell(const RegimeTime* time) {
  if (time == nullptr) return "-";
  std::string text = with_uncertainty(time->t, time->uncertainty);
  if (time->runs > 1) text += fmt::format(" ({} runs)", time->runs);
  return text;
}

std::string distance(const RegimeTime* a, const RegimeTime* b) {
  if (a == nullptr || b == nullptr) return "-";
  const double apart = b->t - a->t;
  const double uncertainty = std::hypot(a->uncertainty, b->uncertainty);
  if (!(uncertainty > 0)) return fmt::format("{:.3g}", apart);
  return fmt::format("{:.3g}, {:.2g} of them", apart, std::fabs(apart) / uncertainty);
}

}  // namespace

std::string with_uncertainty(double value, double uncertainty) {
  if (!(uncertainty > 0) || !std::isfinite(uncertainty)) return fmt::format("{:.10g}", value);
  // Two digits of a value that is not even known to its size.
  const double least = value == 0 ? uncertainty : std::min(uncertainty, std::fabs(value));
  const int first = static_cast<int>(std::floor(std::log10(least)));
  const int decimals = std::max(1 - first, 0);
  constexpr int most_decimals = 17;
  if (decimals > most_decimals) {
    const double size = std::max(std::fabs(value), uncertainty);
    const int last = static_cast<int>(std::floor(std::log10(size))) + decimals;
    return fmt::format("{:.{}e} +- {:.2g}", value, std::clamp(last, 0, most_decimals - 1),
                       uncertainty);
  }
  return fmt::format("{:.{}f} +- {:.2g}", value, decimals, uncertainty);
}

std::string regime_table(const std::vector<RungRegimes>& rungs, const std::string& indent) {
  std::vector<RegimeTime> all;
  for (const RungRegimes& rung : rungs) {
    for (const RegimeTime& time : rung.times) {
      const bool known = std::any_of(all.begin(), all.end(), [&](const RegimeTime& other) {
        return std::tie(other.name, other.column, other.ordinal) ==
               std::tie(time.name, time.column, time.ordinal);
      });
      if (!known) all.push_back(time);
    }
  }
  if (all.empty()) return {};
  std::stable_sort(all.begin(), all.end(),
                   [](const RegimeTime& a, const RegimeTime& b) { return a.t < b.t; });
  std::vector<ResultColumn> columns{words("regime"), words("observable", 0, 2)};
  for (const RungRegimes& rung : rungs) columns.push_back(words("t, " + rung.rung, 0, 2));
  if (rungs.size() == 2) columns.push_back(words("apart, and in uncertainties", 0, 2));
  ResultTable table(std::move(columns));
  for (const RegimeTime& time : all) {
    std::string name = time.name;
    if (time.ordinal > 0) name += fmt::format(" {}", time.ordinal + 1);
    std::vector<std::string> row{name, time.column};
    for (const RungRegimes& rung : rungs) row.push_back(cell(find(rung, time)));
    if (rungs.size() == 2) row.push_back(distance(find(rungs[0], time), find(rungs[1], time)));
    table.add_row(row);
  }
  return table.text(indent);
}

}  // namespace popgrad
