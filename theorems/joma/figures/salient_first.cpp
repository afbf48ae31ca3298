// Theorem 4: the ratio of ln(1/delta) of two components tends to e^{(mu_j^2 - mu_k^2)/tau}, as
// 1/ln(1/delta_k). Followed in y = ln(1/delta) itself, where the salient component does not drown
// in rounding:
//   d y_k / d y_j = exp((v_k^2 - v_j^2)/tau)
//   v             = mu (1 - e^-y)

#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/solving/solve.hpp"
#include "theorems/joma/rungs/closed_form.hpp"

namespace popgrad::joma::figures::salient_first_figure {
namespace {

constexpr double mu_salient = 2.5;
constexpr double tau = 2;
const std::vector<double> mu_slower{2.0, 1.5, 1.0};

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

  CsvText csv{"log_salient", "ratio", "limit", "corrected", "mu_k"};
  const double constant = approach_constant(mu_salient, 0.0, tau);
  for (std::size_t k = 0; k < mu_slower.size(); ++k) {
    const double mu = mu_slower[k];
    const double limit = std::exp((mu_salient * mu_salient - mu * mu) / tau);
    const double lag = constant / limit - approach_constant(mu, 0.0, tau);
    for (std::size_t i = 0; i < run.rows.size(); ++i) {
      const double y = run.rows[i][k];
      csv.number(run.t[i]).number(run.t[i] / y).number(limit).number(limit * (1 + lag / y));
      csv.number(mu).end_row();
    }
    csv.end_block();
  }
  return {{request.name + ".csv", csv.text()}};
}

constexpr const char* script =
    R"gp(# Blocks, one a slower component mu_k: ln(1/delta_j) of the salient mu_j = 2.5, measured ratio of
# the logs, predicted limit, prediction with the first correction; mu_k last.
height = 2.5
data = name.'.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set lmargin at screen 0.13
  set rmargin at screen 0.85
  set tmargin at screen 0.97
  set bmargin at screen 0.145
  set logscale xy
  set xrange [0.3:200]
  set yrange [0.9:20]
  set ytics (1,2,5,10,20)
  set xlabel 'ln(1/δ_j) of the salient component, μ_j = 2.5'
  set ylabel 'ln(1/δ_j) / ln(1/δ_k)'
  set key at graph 0.98,0.22 right
  plot for [b=0:2] data index b using 1:2 with lines linetype b+1 notitle, \
       for [b=0:2] data index b using 1:($1 > 6 ? $4 : NaN) with lines linecolor rgb black linewidth 0.8 dashtype 3 notitle, \
       for [b=0:2] data index b using 1:3 with lines linecolor rgb grey linewidth 0.8 dashtype 2 notitle, \
       for [b=0:2] data index b every ::3::3 using (200):3:(sprintf('μ_k = %.1f', $5)) with labels left offset 0.4,0 notitle, \
       NaN with lines linetype 7 title 'flow', \
       NaN with lines linecolor rgb black linewidth 0.8 dashtype 3 title 'limit with first correction', \
       NaN with lines linecolor rgb grey linewidth 0.8 dashtype 2 title 'limit exp((μ_j^2 − μ_k^2)/τ)'
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {
      .info = {.name = "joma-salient-first",
               .title =
                   "Theorem 4: how far the salient component is ahead, against the predicted limit",
               .in_report = true,
               .shows = {"joma.salient-first"}},
      .data = data,
      .script = script};
}

}  // namespace popgrad::joma::figures::salient_first_figure
