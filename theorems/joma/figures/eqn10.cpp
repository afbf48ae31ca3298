// Eqn 10 against the unit that it stands for: attention entropy over time, and how much faster the
// salient token is learned.

#include <algorithm>
#include <array>
#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/solving/solve.hpp"
#include "theorems/joma/checks/attended_unit.hpp"
#include "theorems/joma/rungs/closed_form.hpp"
#include "theorems/joma/rungs/reduced_flow.hpp"

namespace popgrad::theorems::joma::figures::eqn10_figure {
namespace {

using namespace popgrad::joma;
using theorems::joma::attended_unit;
using theorems::joma::AttendedUnit;

constexpr double output_weight = 0.5;
constexpr double start = 0.05;

void add_entropy(CsvText& csv, const AnyRung<double>& rung, double unit_of_time,
                 std::string_view figure) {
  SolveRequest<double> request;
  constexpr double first = 1e-4;
  constexpr double last = 20;
  constexpr int points = 500;
  for (int i = 0; i <= points; ++i) {
    request.save_at.push_back(unit_of_time * first * std::pow(last / first, i * 1.0 / points));
  }
  request.end = request.save_at.back();
  request.relative_tolerance = 1e-9;
  request.absolute_tolerance = 1e-11;
  request.find_events = false;
  const Trajectory<double> run = solve(rung, request);
  require_usable(run.outcome, figure);
  const std::vector<double> entropy = run.column("attention_entropy");
  for (std::size_t i = 0; i < run.t.size(); ++i) {
    csv.number(run.t[i] / unit_of_time).number(entropy[i]).end_row();
  }
  csv.end_block();
}

// mu = 1.2 .. 3.8 at tau = 3; time in units of 1/h, h the slope of the field at mu.
std::string entropies(const FigureRequest& request) {
  const std::array<double, 10> mu{1.2, 1.5, 1.8, 2, 2.3, 2.6, 2.9, 3.2, 3.5, 3.8};
  const Vector<double> target = Eigen::Map<const Vector<double>>(mu.data(), std::ssize(mu));
  ReducedInstance<double> instance;
  instance.target = target;
  instance.nonlinear = true;
  instance.start = Matrix<double>::Constant(target.size(), 1, start);
  instance.logits = Vector<double>::Zero(target.size());
  instance.tau = 3;
  CsvText csv{"t", "attention_entropy"};
  for (const bool attended : {false, true}) {
    instance.attended = attended;
    add_entropy(csv, forget_type(ReducedFlow<double>(instance)), 1, request.name);
  }
  for (const Activation phi : {Activation::relu, Activation::gelu}) {
    const AttendedUnit unit = attended_unit(phi, target, instance.tau, output_weight, start);
    add_entropy(csv, forget_type(PopulationFlow<double>(unit.training)), 1 / unit.slope,
                request.name);
  }
  return csv.text();
}

// mu_k = 1, tau = 2: both laws, then a block of trained units a phi.
std::string ratios() {
  constexpr double tau = 2;
  constexpr double weak = 1;
  CsvText csv{"mu", "eqn_10", "attended"};
  for (int i = 0; i <= 100; ++i) {
    const double mu = weak + 0.02 * i;
    csv.number(mu)
        .number(std::exp((mu * mu - weak * weak) / tau))
        .number(attended_rate(mu, tau) / attended_rate(weak, tau))
        .end_row();
  }
  csv.end_block();
  for (const Activation phi : {Activation::tanh, Activation::relu, Activation::gelu}) {
    for (const double mu : {1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 2.75, 3.0}) {
      const Vector<double> target{{weak, mu}};
      const auto end = theorems::joma::train(attended_unit(phi, target, tau, output_weight, start));
      const Quantity ratio = end.rate[1] / end.rate[0];
      csv.number(mu).number(ratio.value()).number(ratio.error()).end_row();
    }
    csv.end_block();
  }
  return csv.text();
}

std::vector<FigureFile> data(const FigureRequest& request) {
  return {{request.name + "-entropy.csv", entropies(request)},
          {request.name + "-ratio.csv", ratios()}};
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "joma-eqn10",
                   .title = "Eqn 10 against trained units: size of the bounce, order of learning",
                   .shows = {"joma.attended-target", "joma.salient-first"}},
          .data = data};
}

}  // namespace popgrad::theorems::joma::figures::eqn10_figure
