/// Third cumulants of runs, on draws whose sequences can be run through.

#include "fluctuations/third_cumulants.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "fluctuations/moment_blocks.hpp"
#include "popgrad/scalars/random.hpp"
#include "problems/any_flow.hpp"

namespace third_cumulants_test {

using namespace popgrad;

namespace {

// x' = -x + bend x^2 with draws of deviation size (1 + growth x): 2 with probability 1/5, else -1/2.
struct Lopsided {
  double bend = 0, growth = 0, size = 0.05;

  [[nodiscard]] double direction(double x, double draw) const {
    return -x + bend * x * x + size * (1 + growth * x) * draw;
  }
  [[nodiscard]] AnyRung<double> rung() const {
    AnyRung<double> rung = problems::any_flow<double>(
        Vector<double>{{0.3}},
        [own = *this](const auto& x, auto& dx) { dx[0] = own.direction(x[0], 0); },
        [](const auto&, auto&) {});
    rung.draws.sample = [own = *this](const Vector<double>& x, Vector<double>& dx, Stream& stream,
                                      Index) {
      dx[0] = own.direction(x[0], stream.uniform() < 0.2 ? 2 : -0.5);
    };
    rung.draws.covariance = [own = *this](const Vector<double>& x, const Matrix<double>& vectors,
                                          Matrix<double>& images) {
      images = std::pow(own.direction(x[0], 1) - own.direction(x[0], 0), 2) * vectors;
    };
    return rung;
  }

  struct Moments {
    double variance = 0, third = 0;
  };
  // Over all sequences of draws.
  [[nodiscard]] Moments over_all(double eta, unsigned steps) const {
    std::vector<double> ends, chances;
    for (std::size_t path = 0; path < std::size_t{1} << steps; ++path) {
      double x = 0.3, chance = 1;
      for (unsigned step = 0; step < steps; ++step) {
        const bool large = ((path >> step) & 1U) != 0;
        x += eta * direction(x, large ? 2 : -0.5);
        chance *= large ? 0.2 : 0.8;
      }
      ends.push_back(x);
      chances.push_back(chance);
    }
    double mean = 0;
    for (std::size_t i = 0; i < ends.size(); ++i) mean += chances[i] * ends[i];
    Moments made;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      made.variance += chances[i] * std::pow(ends[i] - mean, 2);
      made.third += chances[i] * std::pow(ends[i] - mean, 3);
    }
    return made;
  }
};

}  // namespace

TEST_CASE("third cumulants: of draws, of noise that grows and of a bend", "[moments]") {
  constexpr double eta = 0.1;
  constexpr unsigned steps = 14;
  for (const auto& [bend, growth] : {std::pair{0.0, 0.0}, {-3.0, 0.0}, {0.0, 3.0}, {2.0, -2.0}}) {
    const Lopsided toy{bend, growth};
    const Lopsided::Moments known = toy.over_all(eta, steps);
    const MomentLaw law = law_after(toy.rung(), eta, 1, steps);
    INFO("bend " << bend << ", growth " << growth);
    // The third cumulant of a draw is that of 1024 draws a step.
    CHECK(law.third.values(0, 0) == Approx(known.third).epsilon(0.06));
    CHECK(law.second(0, 0) == Approx(known.variance).epsilon(2e-3));
  }
}

TEST_CASE("third cumulants: equal steps are those steps one by one", "[moments]") {
  Stream stream(3, 0, 0);
  Matrix<double> a(3, 3), samples(3, 20);
  for (double& value : a.reshaped()) value = stream.normal() / 2;
  for (double& value : samples.reshaped()) value = stream.normal();
  const Matrix<double> source = third_of_samples(samples);
  Matrix<double> known = third_of_samples(samples.cwiseAbs());
  const Matrix<double> found = third_after(a, source, known, 11);
  for (int step = 0; step < 11; ++step) known = cubed(a, known) + source;
  CHECK((found - known).norm() < 1e-12 * known.norm());
  // Those of A x are A A A K.
  const Matrix<double> moved = third_of_samples(a * samples);
  CHECK((cubed(a, source) - moved).norm() < 1e-12 * moved.norm());
}

TEST_CASE("third cumulants: are what they are saved as", "[moments]") {
  Stream stream(4, 0, 0);
  Matrix<double> samples(4, 9), added(4, 4);
  for (double& value : samples.reshaped()) value = stream.normal();
  for (double& value : added.reshaped()) value = stream.normal();
  const ThirdCumulants law{Matrix<double>::Identity(4, 4), third_of_samples(samples), added};
  const Vector<double> numbers = law.packed();
  CHECK(numbers.size() == ThirdCumulants::packed_size(4));
  const ThirdCumulants back = ThirdCumulants::unpacked(numbers, 4);
  CHECK(back.axes == law.axes);
  CHECK((back.values - law.values).norm() < 1e-15);
  CHECK(back.added == law.added);
}

}  // namespace third_cumulants_test
