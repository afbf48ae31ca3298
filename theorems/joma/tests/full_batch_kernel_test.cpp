#include "theorems/joma/rungs/full_batch_kernel.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "popgrad/scalars/dual.hpp"
#include "popgrad/scalars/random.hpp"
#include "theorems/joma/rungs/population_flow.hpp"

namespace full_batch_kernel_test {

using namespace popgrad;

namespace {

joma::ClassInstance<double> drawn(joma::Attention attention, Index tokens, Index classes,
                                  double spread, double temperature) {
  Stream stream(7, static_cast<std::uint32_t>(tokens), static_cast<std::uint64_t>(classes));
  joma::ClassInstance<double> instance;
  instance.attention = attention;
  instance.temperature = temperature;
  instance.token_law.resize(tokens, classes);
  for (double& x : instance.token_law.reshaped()) x = stream.uniform();
  // Most contexts miss some token.
  for (Index c = 0; c < classes; ++c) instance.token_law(c % tokens, c) = tokens > 1 ? 0.0 : 1.0;
  instance.class_law.resize(classes);
  for (double& p : instance.class_law) p = stream.uniform();
  instance.class_law /= instance.class_law.sum();
  for (Index c = 0; c < classes; ++c) instance.token_law.col(c) /= instance.token_law.col(c).sum();
  instance.weights.resize(tokens + 1, classes);
  for (double& v : instance.weights.reshaped()) v = spread * stream.normal();
  instance.logits.resize(tokens);
  for (double& z : instance.logits) z = spread * stream.normal();
  return instance;
}

/// The field of the plain formulas, which dual numbers run.
Vector<double> plain_field(const joma::PopulationFlow<double>& flow, const Vector<double>& x) {
  const auto dual = flow.cast<Dual<double>>();
  const Vector<Dual<double>> point = x.cast<Dual<double>>();
  Vector<Dual<double>> image(x.size());
  dual.rhs(point, image, Dual<double>(0));
  Vector<double> values(x.size());
  for (Index i = 0; i < x.size(); ++i) values[i] = image[i].value;
  return values;
}

}  // namespace

TEST_CASE("FullBatchKernel: is the plain field up to rounding", "[joma][kernel]") {
  // Sizes around the widths of vectors; spread 40 makes all but one exponential vanish.
  const Index tokens = GENERATE(1, 2, 7, 8, 20, 33);
  const Index classes = GENERATE(2, 3, 8, 17, 20);
  const auto attention = GENERATE(joma::Attention::softmax, joma::Attention::exp);
  const double spread = GENERATE(0.01, 1.0, 40.0);
  const auto instance = drawn(attention, tokens, classes, spread, 0.5);
  const joma::PopulationFlow<double> flow(instance);
  const Vector<double> x = flow.initial();
  Vector<double> dx(x.size());
  const Vector<double> plain = plain_field(flow, x);

  // Sums of up to 33 + 20 products of numbers of size at most |x|, each rounded; exp below 2 units,
  // of an argument that is itself rounded at size |x|^2.
  // Weights of exp attention are not bounded by 1.
  const double scale = 1 + x.cwiseAbs().maxCoeff();
  const double weight = attention == joma::Attention::softmax
                            ? 1.0
                            : std::max(1.0, std::exp(instance.logits.maxCoeff() / 0.5));
  const double tolerance = 100 * machine_epsilon<double>() * scale * scale * weight;
  INFO("tokens " << tokens << ", classes " << classes << ", spread " << spread);
  for (const Index width : joma::FullBatchKernel::widths()) {
    INFO("width " << width);
    joma::FullBatchKernel kernel(instance.token_law, attention, instance.temperature, width);
    // Again on the same scratch space: nothing is left over from the first evaluation.
    for (int i = 0; i < 3; ++i) kernel.rhs(x, instance.class_law, dx);
    CHECK((dx - plain).cwiseAbs().maxCoeff() <= tolerance);
  }
  flow.rhs(x, dx, 0.0);
  CHECK((dx - plain).cwiseAbs().maxCoeff() <= tolerance);
}

TEST_CASE("FullBatchKernel: a slightly different temperature is seen", "[joma][kernel][control]") {
  // The same comparison separates fields whose temperatures differ by one part in 10^9.
  const auto instance = drawn(joma::Attention::exp, 20, 20, 1.0, 0.5);
  const joma::PopulationFlow<double> flow(instance);
  const joma::PopulationFlow<double> other(
      drawn(joma::Attention::exp, 20, 20, 1.0, 0.5 * (1 + 1e-9)));
  const Vector<double> x = flow.initial();
  Vector<double> dx(x.size());
  other.rhs(x, dx, 0.0);
  CHECK((dx - plain_field(flow, x)).cwiseAbs().maxCoeff() > 1e-12);
}

}  // namespace full_batch_kernel_test
