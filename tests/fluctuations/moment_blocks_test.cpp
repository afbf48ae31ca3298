/// Blocks of steps on laws that are polynomials in the number of the step.

#include "fluctuations/moment_blocks.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

namespace moment_blocks_test {

using namespace popgrad;

namespace {

constexpr double eta = 0.01;

// a' = direction(a, b, c), b' = turned(a, b, c), c' = 1, so that c = eta k after k steps; draws of a have
// the variance noise(c). On the path a = b = 0.
struct Clocked {
  using Formula = std::function<double(double a, double b, double c)>;
  Formula a = [](double, double, double) { return 0.0; };
  Formula b = a;
  std::function<double(double)> noise = [](double) { return 0.0; };

  [[nodiscard]] AnyRung<double> rung() const {
    AnyRung<double> any;
    any.dimension = 3;
    any.initial = Vector<double>::Zero(3);
    any.field.value = [own = *this](const Vector<double>& x, Vector<double>& dx, const double&) {
      dx = Vector<double>{{own.a(x[0], x[1], x[2]), own.b(x[0], x[1], x[2]), 1.0}};
    };
    any.draws.covariance = [own = *this](const Vector<double>& x, const Matrix<double>& vectors,
                                         Matrix<double>& images) {
      images = Vector<double>{{own.noise(x[2]), 0.0, 0.0}}.asDiagonal() * vectors;
    };
    return any;
  }
};

constexpr double variance_a = 1, variance_b = 2;
const double b_over_a = std::sqrt(variance_b / variance_a);

// Of variances variance_a, variance_b and 0, and as second order nothing.
MomentLaw begin_law() {
  MomentLaw law;
  law.path = law.shift = law.gap = Vector<double>::Zero(3);
  law.first = Vector<double>{{variance_a, variance_b, 0.0}}.asDiagonal();
  law.second = Matrix<double>::Zero(3, 3);
  return law;
}

constexpr std::uint64_t of_first = 128, of_second = 64;

// The second block, after one that is twice as long.
MomentBlocks second_block(const Clocked& law, Index batch, const MomentLaw& begin = begin_law()) {
  MomentBlocks blocks(law.rung(), 1024, {});
  blocks.make(begin, {eta, batch, 0, of_first}, true);
  blocks.make(MomentLaw(blocks.after(of_first)), {eta, batch, of_first, of_second}, true);
  return blocks;
}

// A cubic k (k - L/2) (k - L), which the quadratic leaves out, has the sum L^4/64 (1 - 4/L^2) over half of
// L steps.
double left_out(double cubic) {
  constexpr double length = of_second;
  return std::pow(length, 4) / 64 * (1 - 4 / (length * length)) * cubic * std::pow(eta, 3);
}

double cube(double c) { return c * c * c; }

}  // namespace

TEST_CASE("moment blocks: the estimate is the error where third differences are constant",
          "[moments]") {
  constexpr double half = of_second / 2.0, size = 0.01;
  SECTION("of what a step multiplies by") {
    Clocked law;
    law.a = [](double, double b, double c) { return size * cube(c) * b; };
    const MomentBlocks blocks = second_block(law, 0);
    double covariance = 0;
    for (double k = 0; k < of_first + half; ++k) {
      covariance += eta * size * cube(eta * k) * variance_b;
    }
    const double off = covariance - blocks.after(of_second / 2).first(0, 1);
    CHECK(off == Approx(eta * left_out(size) * variance_b).epsilon(0.02));
    CHECK(blocks.error() == Approx(off / std::sqrt(variance_a * variance_b) / 2).epsilon(0.02));
  }
  SECTION("of the noise") {
    Clocked law;
    law.noise = cube;
    const MomentBlocks blocks = second_block(law, 1);
    double variance = variance_a;
    for (double k = 0; k < of_first + half; ++k) variance += eta * eta * cube(eta * k);
    const double off = variance - blocks.after(of_second / 2).first(0, 0);
    CHECK(off == Approx(eta * eta * left_out(1)).epsilon(1e-6));
    CHECK(blocks.error() == Approx(off / variance_a / 2).epsilon(0.05));
  }
  SECTION("of a multiplier and the noise, which add up") {
    Clocked law;
    law.a = [](double a, double, double c) { return eta / 2 * cube(c) * a; };
    law.noise = cube;
    const MomentBlocks blocks = second_block(law, 1);
    const double off = eta * eta * left_out(1) * (variance_a + 1);
    CHECK(blocks.error() == Approx(off / variance_a / 2).epsilon(0.05));
  }
  SECTION("of the drift") {
    Clocked law;
    law.a = [](double, double b, double c) { return cube(c) * b * b / 2; };
    const MomentBlocks blocks = second_block(law, 0);
    double mean = 0;
    for (double k = 0; k < of_first + half; ++k) mean += eta * cube(eta * k) * variance_b / 2;
    const double off = mean - blocks.after(of_second / 2).shift[0];
    CHECK(off == Approx(eta * left_out(1) * variance_b / 2).epsilon(1e-4));
    CHECK(blocks.error() == Approx(off / std::sqrt(variance_a)).epsilon(2e-3));
  }
  SECTION("of a multiplied mean and the drift, which add up") {
    // A mean of b of 1000, of which a thousandth drives a.
    Clocked law;
    law.a = [](double, double b, double c) { return cube(c) * (b / 1000 + b * b / 2); };
    MomentLaw begin = begin_law();
    begin.shift[1] = 1000;
    const MomentBlocks blocks = second_block(law, 0, begin);
    const double off = eta * left_out(1) * (1 + variance_b / 2);
    CHECK(blocks.error() == Approx(off / std::sqrt(variance_a)).epsilon(0.05));
  }
}

TEST_CASE("moment blocks: of a first block the second difference counts as if it were new",
          "[moments]") {
  Clocked law;
  constexpr double size = 0.01;
  law.a = [](double, double b, double c) { return size * c * c * b; };
  MomentBlocks blocks(law.rung(), 1024, {});
  constexpr double length = 64;
  blocks.make(begin_law(), {eta, 0, 0, 64}, true);
  // Third difference d over steps half a block apart: the cubic d/(6 (L/2)^3).
  const double difference = size * eta * eta * eta * length * length / 2;
  const double cubic = difference / (6 * std::pow(length / 2, 3));
  const double off = std::pow(length, 4) / 64 * cubic;
  CHECK(blocks.error() == Approx(off * b_over_a / 2).epsilon(1e-3));
}

namespace {

constexpr double length = 64;

// Makes a first block in which b grows at the rate c. The middle is taken where that rate stays 0, and
// its slope is of the covariance there: the share of C_bb by which that is off.
double share_guessed(MomentBlocks& blocks) {
  MomentLaw begin = begin_law();
  begin.second = begin.first;
  blocks.make(begin, {eta, 0, 0, 64}, true);
  double growth = 1;
  for (double k = 0; k < length / 2; ++k) growth *= std::pow(1 + eta * eta * k, 2);
  return (1 - 1 / growth) / 2;
}

}  // namespace

TEST_CASE("moment blocks: a covariance that was guessed is off in what it contributes",
          "[moments]") {
  // Both grow at the rate c, which is linear in the step. At second order b^3 has the slope 3 C_bb.
  constexpr double q = 0.005;
  Clocked law;
  law.a = [](double a, double b, double c) { return c * a + q * b * b * b; };
  law.b = [](double, double b, double c) { return c * b; };
  MomentBlocks blocks(law.rung(), 1024, {});
  const double guessed = share_guessed(blocks);
  const double contributed = length * eta * 3 * q * variance_b * b_over_a / 2;
  CHECK(blocks.error() == Approx(guessed * contributed).epsilon(0.01));
}

TEST_CASE("moment blocks: what is contributed is a share of the covariance that it leads to",
          "[moments]") {
  // A guess of b as above; at second order a^3 has the slope 3 C_aa, with which a itself grows.
  constexpr double q = 0.05;
  Clocked law;
  law.a = [](double a, double, double) { return q * a * a * a; };
  law.b = [](double, double b, double c) { return c * b; };
  MomentBlocks blocks(law.rung(), 1024, {});
  const double guessed = share_guessed(blocks);
  // The slope in the middle is of the covariance to which that at first leads.
  const double middle = variance_a * std::pow(1 + 3 * eta * q * variance_a, length);
  const double contributed = length * 2 * eta * 3 * q * middle;
  CHECK(blocks.error() == Approx(guessed * contributed / (1 + contributed) / 2).epsilon(0.01));
}

TEST_CASE("moment blocks: a glance is the law where that is quadratic in the step", "[moments]") {
  Clocked law;
  law.a = [](double, double b, double c) { return c * b * b / 2; };
  law.noise = [](double c) { return 1 + c; };
  MomentBlocks blocks(law.rung(), 1024, {});
  MomentLaw begin = begin_law();
  begin.second = begin.first / 3;
  blocks.make(begin, {eta, 1, 0, 16}, true);
  for (const unsigned k : {0U, 3U, 8U, 13U, 16U}) {
    const MomentLaw known = blocks.after(k);
    const MomentBlocks::Glance found = blocks.glance(k);
    CHECK(found.path == known.path);
    CHECK(found.shift[0] == Approx(known.shift[0]).margin(1e-12));
    CHECK(found.gap[0] == Approx(known.gap[0]).margin(1e-12));
    CHECK(found.first == Approx(known.first.trace()).epsilon(1e-12));
    CHECK(found.second == Approx(known.second.trace()).epsilon(1e-12));
  }
  CHECK(blocks.after(16).shift[0] > 1e-3);
}

}  // namespace moment_blocks_test
