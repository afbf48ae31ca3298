// Theorem 4: the ratio of ln(1/delta) of two components tends to e^{(mu_j^2 - mu_k^2)/tau}, as
// 1/ln(1/delta_k).

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "theorems/joma/checks/approach.hpp"
#include "theorems/joma/rungs/closed_form.hpp"

namespace popgrad::joma::figures::salient_first_figure {
namespace {

constexpr double mu_salient = 2.5;
constexpr double tau = 2;
constexpr std::array mu_slower{2.0, 1.5, 1.0};

std::string label_of(double mu) { return fmt::format("μ_k = {:.1f}", mu); }

std::vector<FigureFile> data(const FigureRequest& request) {
  ReducedInstance<double> instance;
  instance.target = Vector<double>{{mu_salient, mu_slower[0], mu_slower[1], mu_slower[2]}};
  instance.nonlinear = true;
  instance.start = Matrix<double>::Zero(4, 1);
  instance.tau = tau;
  std::vector<double> clock;
  constexpr int points = 160;
  for (int i = 0; i <= points; ++i) {
    clock.push_back(0.3 * std::pow(200 / 0.3, static_cast<double>(i) / points));
  }
  const std::vector<std::vector<Quantity>> logarithms = checks::logarithms_of(instance, 0, clock);

  FigureTable table;
  const double constant = approach_constant(mu_salient, 0.0, tau);
  for (std::size_t k = 0; k < mu_slower.size(); ++k) {
    const double mu = mu_slower[k];
    table.block(label_of(mu));
    const double limit = std::exp((mu_salient * mu_salient - mu * mu) / tau);
    const double lag = constant / limit - approach_constant(mu, 0.0, tau);
    for (std::size_t i = 0; i < clock.size(); ++i) {
      const double y = logarithms[i][k + 1].value();
      table.add("log_salient", clock[i], "ratio", clock[i] / y, "limit", limit, "corrected",
                limit * (1 + lag / y), "mu_k", mu);
    }
  }
  return {table.file(request)};
}

Picture picture() {
  const auto limit = [](const Curve& curve) { return curve.coloured("grey").wide(0.8).dashed(); };
  const auto corrected = [](const Curve& curve) {
    return curve.coloured("black").wide(0.8).dashed(3);
  };
  Panel panel{.x = {.label = "ln(1/δ_j) of the salient component, μ_j = 2.5",
                    .range = "0.3:200",
                    .logarithmic = true,
                    .format = "%g"},
              .y = {.label = "ln(1/δ_j) / ln(1/δ_k)",
                    .range = "0.9:20",
                    .logarithmic = true,
                    .tics = "(1, 2, 5, 10, 20)"},
              .key = "at graph 0.98, graph 0.22 right",
              .curves = {plot::legend_line("flow").colour(7),
                         corrected(plot::legend_line("limit with first correction")),
                         limit(plot::legend_line("limit exp((μ_j^2 − μ_k^2)/τ)"))}};
  for (std::size_t k = 0; k < mu_slower.size(); ++k) {
    const std::string of = label_of(mu_slower[k]);
    const std::vector<Curve> curves{
        plot::line("log_salient", "ratio").of(of).colour(static_cast<int>(k) + 1),
        corrected(plot::line("log_salient", "([log_salient] > 6 ? [corrected] : NaN)").of(of)),
        limit(plot::line("log_salient", "limit").of(of)),
        plot::texts("(200)", "limit", fmt::format("('{}')", of))
            .of(of)
            .every("::3::3")
            .looking("left offset 0.4,0")};
    panel.curves.insert(panel.curves.end(), curves.begin(), curves.end());
  }
  return {.height = 2.5, .left = 0.13, .right = 0.85, .panels = {panel}};
}

}  // namespace

FigureMaker figure() {
  return {
      .info = {.name = "joma-salient-first",
               .title =
                   "Theorem 4: how far the salient component is ahead, against the predicted limit",
               .in_report = true,
               .shows = {"joma.salient-first"}},
      .data = data,
      .picture = picture};
}

}  // namespace popgrad::joma::figures::salient_first_figure
