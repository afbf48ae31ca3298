#include "theorems/scan_snap/checks/decoder_measurements.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "popgrad/base/stop.hpp"
#include "popgrad/scalars/random.hpp"
#include "popgrad/statistics/order.hpp"
#include "theorems/scan_snap/checks/given_training.hpp"
#include "theorems/scan_snap/rungs/decoder.hpp"
#include "theorems/scan_snap/rungs/instance.hpp"
#include "theorems/scan_snap/rungs/response.hpp"

namespace popgrad::scan_snap::checks {

namespace {

Quantity relation(const Interval& m, const Interval& eta, long s, const Interval& h) {
  using std::exp;
  const Interval target = m * eta * Interval(s);
  const Interval x = m * h;
  const Interval defect = (exp(x) + (m - Interval(1)) * x - Interval(1)) / target - Interval(1);
  return enclosed(defect);
}

}  // namespace

TrainingInstance<double> decoder_training(const Setting& setting, Index count,
                                          const Knob& vocabulary, const Knob& rate) {
  return examined_training(setting, [&] {
    TrainingInstance<double> training;
    training.classes = classes_from_matrix<double>(
        Matrix<double>::Identity(count, count),
        std::vector<Index>(static_cast<std::size_t>(count), 0), setting.count(vocabulary));
    training.decoder_rate = setting.value(rate);
    return training;
  });
}

Decoder decoder_of(const TrainingInstance<double>& training) {
  return {static_cast<double>(training.classes.tokens), training.decoder_rate};
}

Decoder chosen_decoder(const Setting& setting, const Knob& vocabulary, const Knob& rate) {
  return decoder_of(decoder_training(setting, 1, vocabulary, rate));
}

Quantity enclosed(const Interval& x) {
  const double middle = to_double(x);
  return {middle,
          {ErrorPart::enclosure(std::max(upper_double(x) - middle, middle - lower_double(x)))}};
}

std::vector<Quantity> with_change(const std::vector<double>& many_digits,
                                  const std::vector<double>& fewer_digits) {
  std::size_t worst = 0;
  const auto change = [&](std::size_t i) { return std::fabs(many_digits[i] - fewer_digits[i]); };
  for (std::size_t i = 0; i < many_digits.size(); ++i) {
    if (change(i) > change(worst)) worst = i;
  }
  std::vector<Quantity> found;
  for (const double number : many_digits) {
    found.push_back({number, {ErrorPart::solver(many_digits[worst], fewer_digits[worst])}});
  }
  return found;
}

Quantity limit_of(double nearest, const std::function<Quantity(double)>& value) {
  return popgrad::limit_of(value, 2 * nearest, 2, 2);
}

AnyRung<double> decoder_flow(double vocabulary) {
  AnyRung<double> rung;
  rung.dimension = 1;
  rung.initial = Vector<double>::Zero(1);
  rung.state_names = {"M h"};
  rung.field.value = [vocabulary](const Vector<double>& x, Vector<double>& dx, const double&) {
    dx[0] = vocabulary * decoder_rate_of(vocabulary, 1.0, x[0] / vocabulary);
  };
  rung.observables.read = [](const Vector<double>&, const double&, std::span<double>) {};
  return rung;
}

Fallen fallen(double vocabulary, double fall) {
  const double x = std::log1p(vocabulary * std::expm1(fall));
  return {((vocabulary - 1) * x + std::expm1(x)) / vocabulary, x};
}

Quantity discrete_gap(double vocabulary, double fall) {
  const Fallen at = fallen(vocabulary, fall);
  constexpr long draws = 4096;
  // At these rates eta_Y s is reached after whole draws.
  return limit_of(at.clock / draws, [&](double rate) -> Quantity {
    const double leading = rate / vocabulary * std::exp(-fall) * fall / 2;
    const double h = at.x / vocabulary;
    const long steps = std::lround(at.clock / rate);
    return {(discrete_decoder_scale(vocabulary, rate, steps) - h) / leading,
            {ErrorPart::rounding(static_cast<double>(steps), h / leading)}};
  });
}

std::vector<Quantity> beyond_bounds_of_gap(double vocabulary, double decoder_rate) {
  const Interval m(vocabulary);
  const Interval eta(decoder_rate);
  const Interval bound = Interval(2) * eta / m;
  const auto last = static_cast<long>(std::ceil(2 * fallen(vocabulary, 1).clock / decoder_rate));
  std::vector<Quantity> beyond;
  Interval discrete(0);
  for (long s = 1; s <= last; ++s) {
    throw_if_stopped();
    discrete = discrete + decoder_rate_of<Interval>(m, eta, discrete);
    beyond.push_back(-relation(m, eta, s, discrete));
    beyond.push_back(relation(m, eta, s, discrete - bound));
  }
  return beyond;
}

std::vector<AfterDraws> repeated_draws(const Decoder& decoder, double overlap, long draws,
                                       std::uint64_t seed) {
  std::array<Vector<Real>, 2> rows;  // of classes n and j
  rows.fill(Vector<Real>::Constant(3, Real(0)));
  Vector<Real> multiplicity = Vector<Real>::Constant(3, Real(1));
  multiplicity[2] = Real(decoder.vocabulary - 2);
  Vector<Real> error(3);
  const auto answer = [&](Index drawn) {
    respond(static_cast<const Real*>(rows[static_cast<std::size_t>(drawn)].data()), multiplicity,
            drawn, error.data());
  };
  const auto draw = [&](Index drawn) {
    answer(drawn);
    const Vector<Real> pull = error * Real(decoder.rate);
    rows[static_cast<std::size_t>(drawn)] += pull;
    rows[static_cast<std::size_t>(1 - drawn)] += pull * Real(overlap);
  };
  Stream stream(seed, 0, 8);
  std::vector<AfterDraws> saved;
  for (long s = 1; s <= draws; ++s) {
    throw_if_stopped();
    while (overlap > 0 && stream.uniform() < 0.5) draw(1);
    draw(0);
    if ((s & (s - 1)) != 0 && s != draws) continue;
    answer(0);
    saved.push_back({s, rows[0], error});
  }
  return saved;
}

}  // namespace popgrad::scan_snap::checks
