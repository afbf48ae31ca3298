#include "presenting/margin_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "presenting/html_page.hpp"
#include "presenting/math_text.hpp"

namespace popgrad {
namespace {

/// Below this margin the axis is linear, beyond it logarithmic.
constexpr double finest = 1e-3;
constexpr double widest_inside = 1;
constexpr double widest_outside = 1e6;
/// Places on the axis, percent of its width.
constexpr double left_end = 4;
constexpr double bound_place = 36;
constexpr double right_end = 96;

// 0 at the bound, 1 at the end of its side.
double share_of_side(double size, double widest) {
  return std::log10(1 + std::min(size, widest) / finest) / std::log10(1 + widest / finest);
}

// Positive margins lie inside, to the left of the bound.
double place(double margin) {
  return margin >= 0
             ? bound_place - (bound_place - left_end) * share_of_side(margin, widest_inside)
             : bound_place + (right_end - bound_place) * share_of_side(-margin, widest_outside);
}

std::string in_words(double margin) {
  const double size = std::fabs(margin);
  const char* const side = margin >= 0 ? "inside" : "outside";
  return size < 10 ? fmt::format("{} by {:.2g} %", side, 100 * size)
                   : fmt::format("{} by {:.2g} times what is allowed", side, size);
}

std::string line_at(double x, std::string_view name) {
  return fmt::format("<line class=\"{}\" x1=\"{:.2f}%\" x2=\"{:.2f}%\" y1=\"0\" y2=\"16\"/>", name,
                     x, x);
}

std::string row_of(const std::string& label, double margin, bool control) {
  const double x = place(margin);
  const bool wanted = control ? margin < 0 : margin >= 0;
  std::string text =
      fmt::format("<div class=\"label\">{}</div><svg height=\"16\" role=\"img\"><title>{}</title>",
                  label, in_words(margin));
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
  constexpr std::array<std::pair<double, std::string_view>, 7> ticks{{{1, "100 %"},
                                                                      {0.1, "10 %"},
                                                                      {0.01, "1 %"},
                                                                      {0, "bound"},
                                                                      {-0.1, "10 %"},
                                                                      {-10, "10×"},
                                                                      {-1e4, "10⁴×"}}};
  std::string text =
      "<div class=\"label note\">inside ← what is allowed → outside</div>"
      "<svg height=\"16\" aria-hidden=\"true\">";
  for (const auto& [margin, word] : ticks) {
    text += fmt::format("<text x=\"{:.2f}%\" y=\"12\" text-anchor=\"middle\">{}</text>",
                        place(margin), word);
  }
  return text + "</svg>\n";
}

}  // namespace

std::string margin_picture(const Finding& finding) {
  std::string rows;
  for (const Evidence& item : finding.examination.evidence) {
    const double margin = relative_margin(item);
    if (!std::isnan(margin)) rows += row_of(math_html(item.what), margin, false);
  }
  if (rows.empty()) return {};
  for (const auto& [control, examination] : finding.controls) {
    const Evidence* const refuting = examination.nearest_to_failing();
    if (refuting == nullptr) continue;
    rows += row_of(fmt::format("control <code>{}</code>", html_text(control.name)),
                   relative_margin(*refuting), true);
  }
  return fmt::format(
      "<figure class=\"margins\" aria-label=\"Margins of the evidence and of the controls\">\n{}{}"
      "</figure>\n",
      rows, axis());
}

}  // namespace popgrad
