// Theorem 4: the ratio of ln(1/delta) of two components tends to e^{(mu_j^2 - mu_k^2)/tau}, as
// 1/ln(1/delta_k). Followed in y = ln(1/delta) itself, where the salient component does not drown
// in rounding:
//   d y_k / d y_j = exp((v_k^2 - v_j^2)/tau)
//   v             = mu (1 - e^-y)

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/solving/solve.hpp"
#include "theorems/joma/rungs/closed_form.hpp"

namespace popgrad::joma::figures::salient_first_figure {
namespace {

constexpr double mu_salient = 2.5;
constexpr double tau = 2;
constexpr std::array mu_slower{2.0, 1.5, 1.0};

std::string label_of(double mu) { return fmt::format("μ_k = {:.1f}", mu); }

// y_k of the slower components over y_j of the salient one, from v(0) = 0.
struct LogFlow {
  using Scalar = double;
  [[nodiscard]] static Index dimension() { return static_cast<Index>(mu_slower.size()); }
  [[nodiscard]] static Vector<double> initial() { return Vector<double>::Zero(dimension()); }
  [[nodiscard]] static std::vector<std::string> columns() { return {"y_0", "y_1", "y_2"}; }
  [[nodiscard]] static std::vector<std::string> state_names() { return columns(); }
  static void rhs(const Vector<double>& y, Vector<double>& dy, const double& y_salient) {
    const double ahead = mu_salient * std::expm1(-y_salient);
    for (Index k = 0; k < dimension(); ++k) {
      const double v = mu_slower[static_cast<std::size_t>(k)] * std::expm1(-y[k]);
      dy[k] = std::exp((v * v - ahead * ahead) / tau);
    }
  }
  static void observe(const Vector<double>& y, const double&, std::span<double> row) {
    for (Index k = 0; k < dimension(); ++k) row[static_cast<std::size_t>(k)] = y[k];
  }
};

std::vector<FigureFile> data(const FigureRequest& request) {
  SolveRequest<double> solve_request;
  constexpr int points = 160;
  for (int i = 0; i <= points; ++i) {
    solve_request.save_at.push_back(0.3 * std::pow(200 / 0.3, static_cast<double>(i) / points));
  }
  solve_request.end = solve_request.save_at.back();
  solve_request.relative_tolerance = 1e-10;
  solve_request.absolute_tolerance = 1e-12;
  const Trajectory<double> run = solve(forget_type(LogFlow{}), solve_request);
  require_usable(run.outcome, request.name);

  FigureTable table;
  const double constant = approach_constant(mu_salient, 0.0, tau);
  for (std::size_t k = 0; k < mu_slower.size(); ++k) {
    const double mu = mu_slower[k];
    table.block(label_of(mu));
    const double limit = std::exp((mu_salient * mu_salient - mu * mu) / tau);
    const double lag = constant / limit - approach_constant(mu, 0.0, tau);
    for (std::size_t i = 0; i < run.rows.size(); ++i) {
      const double y = run.rows[i][k];
      table.add("log_salient", run.t[i], "ratio", run.t[i] / y, "limit", limit, "corrected",
                limit * (1 + lag / y), "mu_k", mu);
    }
  }
  return {table.file(request)};
}

Picture picture() {
  const auto limit = [](Curve curve) { return curve.coloured("grey").wide(0.8).dashed(); };
  const auto corrected = [](Curve curve) { return curve.coloured("black").wide(0.8).dashed(3); };
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
      .picture = picture()};
}

}  // namespace popgrad::joma::figures::salient_first_figure
