// Theorem 4: the ratio of ln(1/delta) of two components tends to e^{(mu_j^2 - mu_k^2)/tau}, as
// 1/ln(1/delta_k). Drawn from the quadrature of the closed form, which counts in ln(1/delta)
// and so does not lose the salient component below rounding.

#include <cmath>

#include "popgrad/joma/closed_form.hpp"
#include "report/joma/figures.hpp"

namespace popgrad::report {
namespace {

using namespace popgrad::joma;

std::vector<FigureFile> data(const FigureRequest& request) {
  const double mu_j = 2.5;
  const double tau = 2;
  CsvText csv{"log_salient", "ratio", "limit", "corrected", "mu_k"};
  for (const double mu_k : {2.0, 1.5, 1.0}) {
    const double limit = std::exp((mu_j * mu_j - mu_k * mu_k) / tau);
    const double lag =
        approach_constant(mu_j, 0.0, tau) / limit - approach_constant(mu_k, 0.0, tau);
    constexpr int points = 160;
    for (int i = 0; i <= points; ++i) {
      // From zero start delta(0) = 1, so y is ln(1/delta) itself, free of cancellation.
      const double y_j = 0.3 * std::pow(200 / 0.3, static_cast<double>(i) / points);
      const double y_k = approach_at(mu_k, 0.0, tau, time_to_approach(mu_j, 0.0, tau, y_j));
      csv.number(y_j).number(y_j / y_k).number(limit).number(limit * (1 + lag / y_k));
      csv.number(mu_k).end_row();
    }
    csv.end_block();
  }
  return {{request.name + ".csv", csv.text()}};
}

}  // namespace

FigureMaker salient_first_figure() {
  return {{"joma-salient-first",
           "Theorem 4: how far the salient component is ahead, against the predicted limit"},
          data};
}

}  // namespace popgrad::report
