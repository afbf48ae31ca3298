#include "presenting/margin_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "presenting/html_page.hpp"
#include "presenting/math_text.hpp"
#include "presenting/verdict_table.hpp"

namespace popgrad {
namespace {

/// Shares of what is allowed at the ends of the axis, which is logarithmic.
constexpr double least_share = 1e-3;
constexpr double largest_share = 1e6;
/// Places on the axis, percent of its width.
constexpr double left_end = 4;
constexpr double bound_place = 36;
constexpr double right_end = 96;

double place(double share) {
  const double size = std::log10(std::clamp(share, least_share, largest_share));
  return size <= 0 ? bound_place + (bound_place - left_end) * size / -std::log10(least_share)
                   : bound_place + (right_end - bound_place) * size / std::log10(largest_share);
}

// Of an identity 0 where it holds; NaN where there is nothing to show.
double shown_share(const Evidence& item) {
  if (item.kind == EvidenceKind::report || item.verdict == Verdict::inconclusive) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double share = share_of_allowed(item);
  if (!std::isnan(share)) return share;
  return item.verdict == Verdict::holds ? 0 : std::numeric_limits<double>::infinity();
}

std::string in_words(double share) {
  if (share < 0) return "on the right side";
  return std::isinf(share) ? "off, nothing allowed"
                           : fmt::format("off by {} {} the allowed", share_text(share),
                                         share > 1 ? "times" : "of");
}

std::string line_at(double x, std::string_view name) {
  return fmt::format("<line class=\"{}\" x1=\"{:.2f}%\" x2=\"{:.2f}%\" y1=\"0\" y2=\"16\"/>", name,
                     x, x);
}

std::string row_of(const std::string& label, double share, bool control) {
  const double x = place(share);
  const bool wanted = control ? share > 1 : share <= 1;
  std::string text =
      fmt::format("<div class=\"label\">{}</div><svg height=\"16\" role=\"img\"><title>{}</title>",
                  label, in_words(share));
  text += "<line class=\"axis\" x1=\"0\" x2=\"100%\" y1=\"8\" y2=\"8\"/>" +
          line_at(bound_place, "bound");
  text += fmt::format("<line class=\"{0}\" x1=\"{1:.2f}%\" x2=\"{2:.2f}%\" y1=\"8\" y2=\"8\"/>",
                      wanted ? "as-wanted" : "not-wanted", std::min(x, bound_place),
                      std::max(x, bound_place));
  text += fmt::format("<circle class=\"{}{}\" cx=\"{:.2f}%\" cy=\"8\" r=\"4\"/></svg>\n",
                      wanted ? "as-wanted" : "not-wanted", control ? " control" : "", x);
  return text;
}

std::string axis() {
  constexpr std::array<std::pair<double, std::string_view>, 7> ticks{{{1e-3, "≤ 0.001"},
                                                                      {1e-2, "0.01"},
                                                                      {1e-1, "0.1"},
                                                                      {1, "1"},
                                                                      {10, "10"},
                                                                      {1e3, "10³"},
                                                                      {1e6, "≥ 10⁶"}}};
  std::string text =
      "<div class=\"label note\">off/allowed; above 1: violated</div>"
      "<svg height=\"16\" aria-hidden=\"true\">";
  for (const auto& [share, word] : ticks) {
    text += fmt::format("<text x=\"{:.2f}%\" y=\"12\" text-anchor=\"middle\">{}</text>",
                        place(share), word);
  }
  return text + "</svg>\n";
}

}  // namespace

std::string margin_picture(const Finding& finding) {
  std::string rows;
  for (const Evidence& item : finding.examination.evidence) {
    const double share = shown_share(item);
    if (!std::isnan(share)) rows += row_of(math_html(item.what), share, false);
  }
  if (rows.empty()) return {};
  for (const auto& [control, examination] : finding.controls) {
    double largest = std::numeric_limits<double>::quiet_NaN();
    for (const Evidence& item : examination.evidence) {
      largest = std::fmax(largest, shown_share(item));
    }
    if (std::isnan(largest)) continue;
    rows += row_of(fmt::format("control <code>{}</code>", html_text(control.name)), largest, true);
  }
  return fmt::format(
      "<figure class=\"margins\" aria-label=\"How far off the evidence and the controls are, in "
      "units of what is allowed\">\n{}{}"
      "</figure>\n",
      rows, axis());
}

}  // namespace popgrad
