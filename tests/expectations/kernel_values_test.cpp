// Kernels of one and two projections at drawn and degenerate variances and covariances, against double exponential
// quadrature of the functions themselves in extended precision.

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "expectations/expectation.hpp"
#include "formulas/elaborate.hpp"
#include "formulas/evaluator.hpp"
#include "popgrad/scalars/random.hpp"

namespace kernel_values_test {
namespace {

using namespace popgrad;
using namespace popgrad::formulas;
using expectations::Expectation;
using expectations::Nodes;
using expectations::NormalDraw;
using Wide = long double;

struct Named {
  const char* text;  ///< with {} for its argument
  std::function<Wide(Wide)> value;
};

Wide normal_cdf(Wide x) { return std::erfc(-x / std::sqrt(Wide(2))) / 2; }

const std::vector<Named>& functions() {
  static const std::vector<Named> all{
      {"erf({})", [](Wide a) { return std::erf(a); }},
      {"sign({})", [](Wide a) { return a > 0   ? Wide(1)
                                       : a < 0 ? Wide(-1)
                                               : Wide(0); }},
      {"where({} > 0, 1, 0)", [](Wide a) { return a > 0 ? Wide(1) : Wide(0); }},
      {"relu({})", [](Wide a) { return a > 0 ? a : Wide(0); }},
      {"abs({})", [](Wide a) { return std::abs(a); }},
      {"gelu({})", [](Wide a) { return a * normal_cdf(a); }},
      {"sin({} / 2)", [](Wide a) { return std::sin(a / 2); }},
      {"cos({} / 2)", [](Wide a) { return std::cos(a / 2); }},
      {"exp({} / 4)", [](Wide a) { return std::exp(a / 4); }},
      {"exp(-({})**2)", [](Wide a) { return std::exp(-a * a); }},
      {"({})", [](Wide a) { return a; }},
  };
  return all;
}
std::string of_argument(std::string text, const std::string& argument) {
  return text.replace(text.find("{}"), 2, argument);
}

/// Nodes of (0, 1), dense towards both ends: x = (1 + tanh(pi/2 sinh t))/2.
struct Places {
  std::vector<Wide> places, weights;

  Places() {
    constexpr Wide step = Wide(1) / 20, last = Wide(3.5), half_pi = std::numbers::pi_v<Wide> / 2;
    for (Wide t = -last; t <= last; t += step) {
      const Wide u = half_pi * std::sinh(t), scale = std::cosh(u);
      // Written so that places near 0 have all their digits.
      places.push_back(1 / (1 + std::exp(-2 * u)));
      weights.push_back(step * half_pi * std::cosh(t) / (2 * scale * scale));
    }
  }
};

constexpr Wide far = 12;  // the normal law has 4e-33 beyond

// use(z, weight of the standard normal law), in panels that end at 0, at a centre, and at these distances from it.
template <class Use>
void over_line(Wide centre, std::initializer_list<Wide> distances, const Use& use) {
  static const Places nodes;
  static const Wide scale = 1 / std::sqrt(2 * std::numbers::pi_v<Wide>);
  std::vector<Wide> ends{-far, 0, far, std::clamp(centre, -far, far)};
  for (const Wide distance : distances) {
    ends.push_back(std::clamp(centre - distance, -far, far));
    ends.push_back(std::clamp(centre + distance, -far, far));
  }
  std::sort(ends.begin(), ends.end());
  for (std::size_t k = 0; k + 1 < ends.size(); ++k) {
    const Wide length = ends[k + 1] - ends[k];
    if (length == 0) continue;
    for (std::size_t i = 0; i < nodes.places.size(); ++i) {
      const Wide z = ends[k] + length * nodes.places[i];
      use(z, length * nodes.weights[i] * scale * std::exp(-z * z / 2));
    }
  }
}
// Within which a function of this factor times a normal number changes.
Wide reach(Wide factor) { return factor == 0 ? far : 6 / std::abs(factor); }

/// E f(a) g(b), E |f(a) g(b)|, and what rounding of variances and the covariance does to it at most: they know the angle
/// between projections to 1e-16 over that angle.
struct Found {
  Wide mean = 0, size = 0, rounding = 0;
};
/// Of all pairs of functions, f by rows; each function is evaluated once at a node.
class Means {
 public:
  // a = alpha x, b = beta x + gamma y; kinks are where a and b are 0.
  Means(const std::vector<Named>& all, Wide alpha, Wide beta, Wide gamma)
      : count_(all.size()), found_(count_ * count_) {
    // The mean over y changes where beta x is some gamma: of nearly parallel projections in a narrow strip.
    const Wide width = beta == 0 ? far : far * std::abs(gamma / beta);
    struct Inner {
      Wide mean = 0, size = 0, square = 0;
    };
    std::vector<Inner> inner(count_);
    std::vector<Wide> squares_of_f(count_), squares_of_g(count_);
    over_line(0, {width, reach(alpha), reach(beta)}, [&](Wide x, Wide weight) {
      std::fill(inner.begin(), inner.end(), Inner{});
      const auto add = [&](Wide b, Wide own) {
        for (std::size_t k = 0; k < count_; ++k) {
          const Wide value = all[k].value(b);
          inner[k].mean += own * value;
          inner[k].size += own * std::abs(value);
          inner[k].square += own * value * value;
        }
      };
      if (gamma == 0) {
        add(beta * x, 1);
      } else {
        over_line(-beta * x / gamma, {reach(gamma)},
                  [&](Wide y, Wide own) { add(beta * x + gamma * y, own); });
      }
      for (std::size_t i = 0; i < count_; ++i) {
        const Wide value = all[i].value(alpha * x), left = weight * value;
        squares_of_f[i] += left * value;
        squares_of_g[i] += weight * inner[i].square;
        for (std::size_t k = 0; k < count_; ++k) {
          found_[i * count_ + k].mean += left * inner[k].mean;
          found_[i * count_ + k].size += std::abs(left) * inner[k].size;
        }
      }
    });
    const Wide sine = gamma == 0 || alpha == 0 ? 1 : std::abs(gamma) / std::hypot(beta, gamma);
    for (std::size_t i = 0; i < count_; ++i) {
      for (std::size_t k = 0; k < count_; ++k) {
        found_[i * count_ + k].rounding = std::numeric_limits<double>::epsilon() *
                                          std::sqrt(squares_of_f[i] * squares_of_g[k]) / sine;
      }
    }
  }

  [[nodiscard]] const Found& of(std::size_t f, std::size_t g) const {
    return found_[f * count_ + g];
  }

 private:
  std::size_t count_;
  std::vector<Found> found_;
};

/// Two projections of a draw of two entries: a = w @ z, b = v @ z.
struct Argument {
  std::array<double, 2> w, v;
};

// Deviations over two decades about 1, at any angle.
Argument drawn_argument(Stream& stream) {
  const auto vector = [&] {
    const double deviation = std::pow(10., 2 * stream.uniform() - 1.3);
    const double angle = 2 * std::numbers::pi * stream.uniform();
    return std::array<double, 2>{deviation * std::cos(angle), deviation * std::sin(angle)};
  };
  const auto w = vector();
  return {w, vector()};
}

std::vector<Argument> degenerate_arguments() {
  const std::array<double, 2> w{0.8, 0.3}, zero{0, 0}, across{-0.3, 0.8};
  const auto times = [&](double factor) {
    return std::array<double, 2>{factor * w[0], factor * w[1]};
  };
  return {
      {w, w},           {w, times(-1)},    {w, times(2)},     {w, times(-0.5)},      {w, zero},
      {zero, w},        {zero, zero},      {w, across},       {across, w},           {times(4), w},
      {times(0.01), w}, {w, times(0.001)}, {zero, times(-1)}, {times(-3), times(-3)}};
}

Wide dot(const std::array<double, 2>& a, const std::array<double, 2>& b) {
  return Wide(a[0]) * b[0] + Wide(a[1]) * b[1];
}
Means quadrature(const std::vector<Named>& all, const Argument& at) {
  const Wide alpha = std::sqrt(dot(at.w, at.w));
  if (alpha == 0) return {all, 0, 0, std::sqrt(dot(at.v, at.v))};
  const Wide across = Wide(at.w[0]) * at.v[1] - Wide(at.w[1]) * at.v[0];
  return {all, alpha, dot(at.w, at.v) / alpha, across / alpha};
}
std::vector<Means> means_of(const std::vector<Named>& all, const std::vector<Argument>& arguments) {
  std::vector<Means> made;
  for (const Argument& at : arguments) made.push_back(quadrature(all, at));
  return made;
}

Expectation kernel(const Named& f, const Named& g, Graph& graph, const Scope& scope,
                   Nodes nodes = Nodes::usual) {
  const std::string text = of_argument(f.text, "w @ z") + " * " + of_argument(g.text, "v @ z");
  return expectations::expectation(elaborate(syntax::parse(text), graph, scope),
                                   {NormalDraw{scope.at("z")}}, nodes);
}
double value_at(Evaluator<double>& evaluator, const Argument& at, std::size_t output = 0) {
  for (const auto& [name, vector] : {std::pair{"w", at.w}, std::pair{"v", at.v}}) {
    const auto to = evaluator.variable(name);
    if (!to.empty()) std::copy(vector.begin(), vector.end(), to.begin());
  }
  evaluator.run();
  return evaluator.output(output)[0];
}
Scope scope_of(Graph& graph) {
  Scope scope;
  for (const char* name : {"w", "v", "z"}) scope.emplace(name, graph.variable(name, {{2, {}}}));
  return scope;
}
// The largest error of the kernel of two functions over that allowed; negative: there is no closed form.
double largest_error(std::size_t i, std::size_t k, const std::vector<Argument>& arguments,
                     const std::vector<Means>& means) {
  const Named &f = functions()[i], &g = functions()[k];
  Graph graph;
  const Expectation found = kernel(f, g, graph, scope_of(graph));
  if (!found.mean || found.by_quadrature) return -1;
  Evaluator<double> evaluator({*found.mean});
  double largest = 0;
  for (std::size_t n = 0; n < arguments.size(); ++n) {
    const Argument& at = arguments[n];
    const double value = value_at(evaluator, at);
    const Found& expected = means[n].of(i, k);
    const Wide allowed = 1e-12 * expected.size + expected.rounding + 1e-300;  // 0 by 0 is right
    const auto error = static_cast<double>(std::abs(value - expected.mean) / allowed);
    INFO(f.text << " " << g.text << " at w = " << at.w[0] << ", " << at.w[1] << ", v = " << at.v[0]
                << ", " << at.v[1] << ": " << value << " for "
                << static_cast<double>(expected.mean));
    CHECK(error <= 1);
    largest = std::max(largest, error);
  }
  return largest;
}

std::vector<Argument> drawn_arguments(int count, std::uint64_t seed) {
  Stream stream(seed, 0, 0);
  std::vector<Argument> arguments;
  for (int k = 0; k < count; ++k) arguments.push_back(drawn_argument(stream));
  return arguments;
}

// Kernels that are there, and the largest error of all.
std::pair<int, double> check_all(const std::vector<Argument>& arguments) {
  int closed = 0;
  double largest = 0;
  const std::vector<Means> means = means_of(functions(), arguments);
  for (std::size_t i = 0; i < functions().size(); ++i) {
    for (std::size_t k = 0; k <= i; ++k) {
      const double error = largest_error(i, k, arguments, means);
      if (error >= 0) ++closed;
      largest = std::max(largest, error);
    }
  }
  return {closed, largest};
}

constexpr int closed_pairs = 60;  // of 66

TEST_CASE("kernels of two projections at drawn and degenerate arguments",
          "[expectations][kernels][unsanitized]") {
  std::vector<Argument> arguments = drawn_arguments(2, 5);
  arguments.push_back(degenerate_arguments().front());
  CHECK(check_all(arguments).first == closed_pairs);
}

TEST_CASE("rounding does not part projections that are parallel", "[expectations][kernels]") {
  Stream stream(8, 0, 0);
  Graph graph;
  const Scope scope = scope_of(graph);
  // By name, and the value where v is a multiple of w with covariance c of w @ z and v @ z.
  const std::vector<std::pair<const char*, double (*)(double)>> kernels{
      {"sign(w @ z) * sign(v @ z)", [](double c) { return c > 0 ? 1. : -1.; }},
      {"where(w @ z > 0, 1, 0) * where(v @ z > 0, 1, 0)",
       [](double c) { return c > 0 ? 0.5 : 0.; }},
      {"abs(w @ z) * abs(v @ z)", [](double c) { return std::abs(c); }},
      {"relu(w @ z) * relu(v @ z)", [](double c) { return c > 0 ? c / 2 : 0.; }}};
  for (const auto& [text, exact] : kernels) {
    const Expectation found = expectations::expectation(
        elaborate(syntax::parse(text), graph, scope), {NormalDraw{scope.at("z")}});
    REQUIRE(found.mean);
    Evaluator<double> evaluator({*found.mean});
    for (int k = 0; k < 400; ++k) {
      Argument at = drawn_argument(stream);
      const double factor = std::copysign(std::hypot(at.v[0], at.v[1]), at.v[0]);
      at.v = {factor * at.w[0], factor * at.w[1]};
      const auto c = static_cast<double>(dot(at.w, at.v));
      INFO(text << " at w = " << at.w[0] << ", " << at.w[1] << " times " << factor);
      CHECK(std::abs(value_at(evaluator, at) - exact(c)) <= 1e-15 * std::max(1., std::abs(c)));
    }
  }
}

const std::vector<Named>& integrated() {
  static const std::vector<Named> all{
      {"tanh({})", [](Wide a) { return std::tanh(a); }},
      {"sigmoid({})", [](Wide a) { return 1 / (1 + std::exp(-a)); }},
      {"softplus({})", [](Wide a) { return std::log1p(std::exp(a)); }},
      {"erf({} + 1/2)", [](Wide a) { return std::erf(a + Wide(0.5)); }},
      {"cos({} / 2 + 1)", [](Wide a) { return std::cos(a / 2 + 1); }},
      {"({})", [](Wide a) { return a; }},
  };
  return all;
}

TEST_CASE("smooth functions without kernels are sums over nodes, with an estimate of their error",
          "[expectations][kernels][unsanitized]") {
  std::vector<Argument> arguments = drawn_arguments(6, 7);
  const std::array<double, 2> w{0.8, 0.3}, opposite{-0.8, -0.3}, zero{0, 0};
  for (const Argument& at : {Argument{w, w}, {w, opposite}, {w, zero}, {zero, w}})
    arguments.push_back(at);
  constexpr double rounding = 1e-14;
  double closest = 1;
  const std::vector<Means> means = means_of(integrated(), arguments);
  for (std::size_t i = 0; i < integrated().size(); ++i) {
    for (std::size_t k = 0; k <= std::min<std::size_t>(i, 2); ++k) {
      const Named &f = integrated()[i], &g = integrated()[k];
      Graph graph;
      const Scope scope = scope_of(graph);
      const Expectation usual = kernel(f, g, graph, scope);
      const Expectation fewer = kernel(f, g, graph, scope, Nodes::fewer);
      REQUIRE(usual.mean);
      REQUIRE(usual.by_quadrature);
      Evaluator<double> evaluator({*usual.mean, *fewer.mean});
      for (std::size_t n = 0; n < arguments.size(); ++n) {
        const Argument& at = arguments[n];
        const double value = value_at(evaluator, at), gap = value - evaluator.output(1)[0];
        const Found& expected = means[n].of(i, k);
        const auto error = static_cast<double>(std::abs(value - expected.mean));
        INFO(f.text << " " << g.text << " at w = " << at.w[0] << ", " << at.w[1]
                    << ", v = " << at.v[0] << ", " << at.v[1] << ": " << value << " for "
                    << static_cast<double>(expected.mean));
        const auto size = static_cast<double>(expected.size);
        CHECK(error <= std::abs(gap) + rounding * (1 + size));
        if (std::max(dot(at.w, at.w), dot(at.v, at.v)) <= 1) CHECK(error <= 1e-12 * (1 + size));
        closest = std::min(closest, error);
      }
    }
  }
  CHECK(closest < rounding);
}

// Not among the usual tests: "[thousand-arguments]" runs them.
TEST_CASE("kernels of two projections at a thousand drawn and all degenerate arguments",
          "[.][thousand-arguments]") {
  std::vector<Argument> arguments = drawn_arguments(1000, 6);
  for (const Argument& at : degenerate_arguments()) arguments.push_back(at);
  const auto [closed, largest] = check_all(arguments);
  WARN(closed << " kernels, largest error over that allowed " << largest);
}

}  // namespace
}  // namespace kernel_values_test
