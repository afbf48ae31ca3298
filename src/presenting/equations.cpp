#include "presenting/equations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <vector>

#include "popgrad/rungs/rung.hpp"
#include "presenting/catalogue.hpp"
#include "presenting/html_page.hpp"
#include "presenting/math_text.hpp"
#include "presenting/observables.hpp"

namespace popgrad {
namespace {

/// Characters of plain text beyond which nobody reads the equations of a rung.
constexpr std::size_t longest_equations = 6000;

/// Rungs that have the same right-hand side: descent takes steps along that of the flow.
struct SharedEquations {
  std::vector<std::string> rungs;
  std::vector<std::string> equations;  ///< `v_0' = ...`

  [[nodiscard]] std::size_t size() const {
    std::size_t sum = 0;
    for (const std::string& equation : equations) sum += equation.size();
    return sum;
  }
};

std::vector<std::string> equations_of(const AnyRung<Expression>& rung) {
  Vector<Expression> rate(rung.dimension);
  rung.field.value(rung.initial, rate, Expression(0));
  std::vector<std::string> lines;
  for (Index i = 0; i < rung.dimension; ++i) {
    lines.push_back(
        fmt::format("{}' = {}", rung.state_names[static_cast<std::size_t>(i)], to_text(rate[i])));
  }
  return lines;
}

std::string equations_element(const SharedEquations& group, const Model& model,
                              const std::string& program, bool open) {
  std::string text = fmt::format("<details{}><summary>{}</summary>\n", open ? " open" : "",
                                 code_list(group.rungs));
  if (group.size() > longest_equations) {
    text += fmt::format(
        "<p>{} equations of {} characters, too long to read: <code>{} equations {} {}</code> "
        "prints them, also as LaTeX, C++ and Python.</p>\n",
        group.equations.size(), group.size(), html_text(program), html_text(model.name()),
        html_text(group.rungs.front()));
  } else {
    for (const std::string& equation : group.equations) {
      const std::string shown = formula_mathml(equation);
      text +=
          fmt::format("<div class=\"equation\">{}</div>\n",
                      shown.empty() ? fmt::format("<code>{}</code>", html_text(equation)) : shown);
    }
  }
  return text + "</details>\n";
}

}  // namespace

std::string equations_html(const Model& model, const std::string& program) {
  std::vector<SharedEquations> groups;
  std::vector<std::string> without;
  for (const RungInfo& info : model.rungs()) {
    std::vector<std::string> equations;
    try {
      equations = equations_of(model.symbolic_rung(info.name, Parameters(model.name())));
    } catch (const std::exception&) {
      without.push_back(info.name);  // `popgrad equations` says why
      continue;
    }
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const SharedEquations& g) {
      return g.equations == equations;
    });
    if (same == groups.end()) {
      groups.push_back({{info.name}, std::move(equations)});
    } else {
      same->rungs.push_back(info.name);
    }
  }

  std::string text = fmt::format("<h3>{}</h3>\n<p class=\"note\">{}</p>\n", html_text(model.name()),
                                 html_text(model.paper()));
  // Short ones are there to be seen; one has to ask for the others.
  constexpr std::size_t short_enough = 800;
  for (const SharedEquations& group : groups) {
    text += equations_element(group, model, program, group.size() <= short_enough);
  }
  if (!without.empty()) {
    text +=
        fmt::format("<p class=\"note\">No equations over symbols: {}.</p>\n", code_list(without));
  }
  return text + observables_html(model);
}

}  // namespace popgrad
