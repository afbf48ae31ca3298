#include "theorems/scan_snap/checks/other_rates.hpp"

#include <boost/math/tools/roots.hpp>

#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks {
namespace {

LeadingToken with_rates(const LeadingToken& token, Rates factor) {
  TrainingInstance<double> training = token.training();
  training.decoder_rate *= factor.decoder;
  training.attention_rate *= factor.attention;
  return LeadingToken(std::move(training));
}

}  // namespace

DecoderClock clock_of(const LeadingToken& token) {
  const TrainingInstance<double>& training = token.training();
  return {static_cast<double>(training.classes.tokens),
          static_cast<double>(training.classes.classes()), training.decoder_rate};
}

double turning_point(double m) {
  boost::math::tools::eps_tolerance<double> close;
  std::uintmax_t steps = 200;
  const auto [low, high] = boost::math::tools::toms748_solve(
      [m](double y) { return (y - 2) - ((m - 1) * y - 2) * std::exp(-y); }, 2.0, 2 * crossover(m),
      close, steps);
  return (low + high) / 2;
}

std::vector<Quantity> read(const LeadingToken& token, Rates factor,
                           const std::vector<double>& times,
                           double (LeadingToken::*number)(const Vector<double>&) const) {
  const LeadingToken other = with_rates(token, factor);
  return Solved(forget_type(other.flow()), times, rates_tolerance)
      .along([&](const Vector<double>& x) { return (other.*number)(x); });
}

std::vector<Quantity> quotients_of_slopes(const LeadingToken& token,
                                          const std::vector<double>& times) {
  std::vector<double> squares;
  std::vector<std::vector<Quantity>> found;
  for (const double step : falling_parameters(0.2, 2, 3)) {
    squares.push_back(step * step);
    const auto at = [&](double decoder, double attention) {
      return read(token, {std::exp(decoder), std::exp(attention)}, times, &LeadingToken::growth);
    };
    const auto more = at(step, 0), less = at(-step, 0), up = at(0, step), down = at(0, -step);
    std::vector<Quantity>& own = found.emplace_back();
    for (std::size_t i = 0; i < times.size(); ++i) {
      own.push_back((log(more[i]) - log(less[i])) / (log(up[i]) - log(down[i])));
    }
  }
  return limits_in(squares, found);
}

}  // namespace popgrad::scan_snap::checks
