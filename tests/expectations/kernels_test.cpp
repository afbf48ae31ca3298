// Exact expectations of functions of normal projections against quadrature of the same formulas, and against closed
// forms of committee machines.

#include <algorithm>
#include <boost/math/quadrature/gauss.hpp>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "expectations/expectation.hpp"
#include "formulas/elaborate.hpp"
#include "formulas/evaluator.hpp"
#include "formulas/gradient.hpp"

namespace kernels_test {
namespace {

using namespace popgrad;
using namespace popgrad::formulas;
using expectations::Expectation;
using expectations::expectation;
using expectations::NormalDraw;
using Numbers = std::vector<double>;

// Formulas of a draw z and of variables, all in double.
struct Example {
  Graph graph;
  Scope scope{};
  std::vector<NormalDraw> draws{};
  std::map<std::string, Numbers> numbers{};

  static Shape shape_of(const std::vector<Index>& extents) {
    Shape shape;
    for (const Index extent : extents) shape.push_back({extent, {}});
    return shape;
  }
  void variable(const std::string& name, const std::vector<Index>& extents, Numbers values) {
    numbers[name] = std::move(values);
    scope.emplace(name, graph.variable(name, shape_of(extents)));
  }
  void draw(const std::string& name, const std::vector<Index>& extents) {
    draws.push_back({graph.variable(name, shape_of(extents))});
    scope.emplace(name, draws.back().variable);
  }
  Array array(const std::string& formula) {
    return elaborate(syntax::parse(formula), graph, scope);
  }
  void step(const std::string& name, const std::string& formula) {
    scope.emplace(name, array(formula));
  }
  std::vector<Array> variables() {
    std::vector<Array> all;
    for (const auto& [name, values] : numbers) all.push_back(scope.at(name));
    return all;
  }
  void set(Evaluator<double>& evaluator) const {
    for (const auto& [name, values] : numbers) {
      const auto to = evaluator.variable(name);
      if (!to.empty()) std::copy(values.begin(), values.end(), to.begin());
    }
  }
  // A formula and its gradient.
  std::vector<Array> with_gradient(const Array& formula) {
    std::vector<Array> outputs{formula};
    for (const Array& slope : gradient(formula, variables())) outputs.push_back(slope);
    return outputs;
  }
  Numbers exact(const std::string& formula) {
    const Expectation found = expectation(array(formula), draws);
    INFO(formula << ": " << found.why);
    REQUIRE(found.mean);
    Evaluator<double> evaluator(with_gradient(*found.mean));
    set(evaluator);
    evaluator.run();
    return all_outputs(evaluator);
  }
  [[nodiscard]] Numbers all_outputs(const Evaluator<double>& evaluator) const {
    Numbers all;
    for (std::size_t k = 0; k <= numbers.size(); ++k)
      all.insert(all.end(), evaluator.output(k).begin(), evaluator.output(k).end());
    return all;
  }
};

// Value and gradient as sums over nodes of z; sizes are the sums of magnitudes.
struct Quadrature {
  Quadrature(Example& test, const std::string& formula)
      : test_(test), evaluator_(test.with_gradient(test.array(formula))) {
    test.set(evaluator_);
  }
  void add(double weight, const Numbers& z) {
    const auto to = evaluator_.variable("z");
    std::copy_n(z.begin(), to.size(), to.begin());
    evaluator_.run();
    const Numbers outputs = test_.all_outputs(evaluator_);
    sums.resize(outputs.size());
    sizes.resize(outputs.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      sums[i] += weight * outputs[i];
      sizes[i] += weight * std::abs(outputs[i]);
    }
  }
  Numbers sums{}, sizes{};

 private:
  Example& test_;
  Evaluator<double> evaluator_;
};

using Rule = boost::math::quadrature::gauss<double, 20>;
void over_panels(const Numbers& ends, double longest,
                 const std::function<void(double, double)>& add) {
  for (std::size_t k = 0; k + 1 < ends.size(); ++k) {
    const double length = ends[k + 1] - ends[k];
    const int parts = std::max(1, static_cast<int>(std::ceil(length / longest)));
    const double half = length / parts / 2;
    for (int part = 0; part < parts && half > 0; ++part) {
      const double middle = ends[k] + (2 * part + 1) * half;
      for (std::size_t i = 0; i < Rule::abscissa().size(); ++i) {
        add(middle + half * Rule::abscissa()[i], half * Rule::weights()[i]);
        add(middle - half * Rule::abscissa()[i], half * Rule::weights()[i]);
      }
    }
  }
}

// Over z of two entries, in polar coordinates; kinks are on lines through 0 across these vectors.
void integrate_plane(Quadrature& to, const std::vector<Numbers>& across) {
  constexpr double pi = std::numbers::pi, far = 12, longest = 2.4, widest = 0.7;
  Numbers angles{0, 2 * pi};
  for (const Numbers& w : across) {
    if (w[0] == 0 && w[1] == 0) continue;
    const double angle = std::atan2(w[0], -w[1]);
    for (const double other : {angle, angle + pi, angle + 2 * pi}) {
      if (other > 0 && other < 2 * pi) angles.push_back(other);
    }
  }
  std::sort(angles.begin(), angles.end());
  over_panels(angles, widest, [&](double angle, double width) {
    over_panels({0, far}, longest, [&](double r, double length) {
      to.add(width * length * r * std::exp(-r * r / 2) / (2 * pi),
             {r * std::cos(angle), r * std::sin(angle)});
    });
  });
}

// Over one entry, with kinks.
void integrate_line(Quadrature& to, Numbers kinks) {
  constexpr double far = 14;
  kinks.insert(kinks.end(), {-far, far});
  std::sort(kinks.begin(), kinks.end());
  over_panels(kinks, 1, [&](double z, double length) {
    to.add(length * std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi), {z, 0});
  });
}

void check_equal(const Numbers& found, const Quadrature& expected) {
  REQUIRE(found.size() == expected.sums.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    INFO("entry " << i << ": " << found[i] << " for " << expected.sums[i]);
    CHECK(std::abs(found[i] - expected.sums[i]) <= 1e-12 * (expected.sizes[i] + 1));
  }
}

const std::vector<std::string> smooth_and_kinked{
    "erf(w @ z) * erf(v @ z)",
    "relu(w @ z) * relu(v @ z)",
    "abs(w @ z) * abs(v @ z) + relu(w @ z) + abs(v @ z)",
    "relu(w @ z) * erf(v @ z) + abs(w @ z) * erf(v @ z)",
    "abs(w @ z) * relu(v @ z)",
    "max(w @ z, v @ z) * min(w @ z, 2 * (v @ z))",
    "gelu(w @ z) * gelu(v @ z)",
    "gelu(w @ z) * relu(v @ z)",
    "(u @ z)**2 * erf(w @ z) * erf(v @ z)",
    "(u @ z)**3 * erf(w @ z)",
    "(u @ z)**3 * relu(w @ z) * relu(v @ z)",
    "relu(w @ z)**2 * relu(v @ z)",
    "relu(w @ z)**2 * relu(v @ z)**2",
    "(erf(w @ z) - (v @ z)**3 / 3)**2",
    "(relu(w @ z) - relu(v @ z) + u @ z)**2 / 2",
    "exp(u @ z) * relu(w @ z) * (v @ z)",
    "exp(u @ z - (v @ z)**2 / 2) * erf(w @ z)",
    "exp(-(u @ z)**2 / 3) * erf(w @ z) * erf(v @ z)",
    "exp(-2 * (u @ z)**2) * relu(w @ z) * relu(v @ z)",
    "(u @ z)**2 * exp(-(w @ z)**2) * exp(-(v @ z)**2 / 2) * (w @ z)**2",
    "exp(w @ z) * exp(v @ z) * (u @ z)**2",
    "cos(w @ z) * cos(v @ z) * (u @ z)**2",
    "sin(w @ z) * sin(v @ z) * (1 + u @ z)",
    "exp(u @ z) * cos(w @ z) * sin(v @ z)",
    "sin(w @ z) * relu(v @ z)",
    "relu(-sign(u @ z) * (w @ z)) * (v @ z)",
};
// Of functions that jump the gradient before the expectation is another one.
const std::vector<std::string> jumping{
    "sign(w @ z) * sign(v @ z)",
    "where(w @ z > 0, 1, 0) * where(v @ z <= 0, u @ z, 2)",
    "sign(w @ z) * erf(v @ z)",
    "sign(w @ z) * relu(v @ z) + where(w @ z > 0, relu(v @ z), 0)",
    "(u @ z) * sign(w @ z)",
    "where(w @ z >= 0, (u @ z)**2, abs(v @ z))",
    "where(w @ z > 0, 1, 0) * where(v @ z > 0, 1, 0) * where(u @ z > 0, 1, 0)",
    "sign(w @ z) * sign(v @ z) * (u @ z)**2",
};

struct Vectors {
  Numbers u, w, v;
};
const std::vector<Vectors> drawn{{{0.4, -0.7}, {0.8, 0.3}, {-0.5, 1.1}},
                                 {{-0.6, 0.2}, {1.3, -0.4}, {0.7, 0.9}}};
const std::vector<Vectors> degenerate{{{0.4, -0.7}, {0.8, 0.3}, {0.8, 0.3}},
                                      {{0.4, -0.7}, {0.8, 0.3}, {-0.8, -0.3}},
                                      {{0.4, -0.7}, {0.8, 0.3}, {1.6, 0.6}},
                                      {{0.4, -0.7}, {0.8, 0.3}, {0, 0}}};

void check_formula(const std::string& formula, const Vectors& given, bool values_only) {
  INFO(formula << " at w = " << given.w[0] << ", " << given.w[1] << ", v = " << given.v[0] << ", "
               << given.v[1]);
  Example test;
  test.draw("z", {2});
  test.variable("u", {2}, given.u);
  test.variable("v", {2}, given.v);
  test.variable("w", {2}, given.w);
  Quadrature expected(test, formula);
  std::vector<Numbers> kinks{given.u, given.w, given.v};
  for (const double factor : {1., 2.})
    kinks.push_back({given.w[0] - factor * given.v[0], given.w[1] - factor * given.v[1]});
  integrate_plane(expected, kinks);
  Numbers found = test.exact(formula);
  if (values_only) {
    found.resize(1);
    expected.sums.resize(1);
  }
  check_equal(found, expected);
}

TEST_CASE("functions of two projections against quadrature",
          "[expectations][kernels][unsanitized]") {
  for (const std::string& formula : smooth_and_kinked) {
    for (const Vectors& given : drawn) check_formula(formula, given, false);
  }
  for (const std::string& formula : jumping) {
    for (const Vectors& given : drawn) check_formula(formula, given, true);
  }
}

TEST_CASE("softmax of two projections is a sum over nodes",
          "[expectations][kernels][quadrature][unsanitized]") {
  for (const std::string formula :
       {"softmax(stack([w @ z, v @ z]))[0] * erf(u @ z)", "sum(softmax(stack([w @ z, v @ z]))**2)",
        "log_softmax(stack([w @ z, v @ z]))[1]", "logsumexp(stack([w @ z, 1 + v @ z]))"}) {
    for (const Vectors& given : drawn) check_formula(formula, given, false);
  }
}

TEST_CASE("functions of equal, opposite and vanishing projections against quadrature",
          "[expectations][kernels][unsanitized]") {
  for (const std::string& formula : smooth_and_kinked) {
    for (const Vectors& given : degenerate) check_formula(formula, given, false);
  }
  for (const std::string& formula : jumping) {
    for (const Vectors& given : degenerate) check_formula(formula, given, true);
  }
}

TEST_CASE("functions of one projection with a mean against quadrature", "[expectations][kernels]") {
  const double deviation = 0.7;
  for (const double mean : {0.4, -1.5, 0.}) {
    for (const std::string formula :
         {"erf(m + s * z)", "relu(m + s * z)", "abs(m + s * z) * s", "gelu(m + s * z)",
          "(z - m)**2 * relu(m + s * z)", "relu(m + s * z)**2", "erf(m + s * z) * z",
          "exp(m + s * z)", "cos(m + s * z) * sin(2 * m - s * z)", "sin(m + s * z)",
          "exp(-(m + s * z)**2) * z", "exp(-(m + s * z)**2 / 2) * relu(s * z + m)",
          "(1 + z) * exp(s * z) * erf(m - z)", "exp(s * z) * cos(m + z)"}) {
      INFO(formula << " at m = " << mean);
      Example test;
      test.draw("z", {});
      test.variable("m", {}, {mean});
      test.variable("s", {}, {deviation});
      Quadrature expected(test, formula);
      integrate_line(expected, {-mean / deviation, mean});
      check_equal(test.exact(formula), expected);
    }
    for (const std::string formula :
         {"sign(m + s * z)", "where(m + s * z > 0, z, 1)", "sign(m + s * z) * z**3"}) {
      INFO(formula << " at m = " << mean);
      Example test;
      test.draw("z", {});
      test.variable("m", {}, {mean});
      test.variable("s", {}, {deviation});
      Quadrature expected(test, formula);
      integrate_line(expected, {-mean / deviation});
      Numbers found = test.exact(formula);
      CHECK(std::abs(found[0] - expected.sums[0]) <= 1e-12 * (1 + expected.sizes[0]));
    }
  }
}

TEST_CASE("functions that have no closed form are refused", "[expectations][kernels]") {
  Example test;
  test.draw("z", {2});
  test.variable("u", {2}, {1, 2});
  test.variable("w", {2}, {2, 1});
  for (const auto& [formula, why] :
       {std::pair{"relu(1 + w @ z) * relu(u @ z)", "relu relu"},
        {"erf(erf(w @ z))", "products of draws"},
        {"relu((w @ z)**2)", "products of draws"},
        {"exp((w @ z)**2)", "exp"},
        {"sin(w @ z) * sign(u @ z)", "sin"},
        {"tanh(w @ z) * relu(u @ z)", "not all are smooth"},
        {"tanh(w @ z) * tanh(u @ z) * tanh(z[0]) * tanh(z[1])", "of 4 projections"},
        {"relu(z[0]) * relu(z[1] + z[0]) * relu(z[1])", "relu"}}) {
    const Expectation found = expectation(test.array(formula), test.draws);
    INFO(formula << ": " << found.why);
    CHECK_FALSE(found.mean);
    CHECK(found.why.find(why) != std::string::npos);
  }
  CHECK(expectation(test.array("erf(w @ z) * erf(u @ z)"), test.draws).kernels ==
        std::vector<std::string>{"erf erf"});
}

// Soft committee machine (Saad and Solla 1995): students J, teachers B, overlaps by I2.
TEST_CASE("a soft committee has the closed form of its overlaps", "[expectations][kernels]") {
  constexpr Index n = 1000, students = 3, teachers = 2;
  Example test;
  unsigned state = 7;
  const auto numbers = [&](Index count) {
    Numbers all;
    for (Index i = 0; i < count; ++i) {
      state = state * 1664525u + 1013904223u;
      all.push_back((static_cast<double>(state >> 8) / (1 << 24) - 0.5) / 10);
    }
    return all;
  };
  test.variable("J", {students, n}, numbers(students * n));
  test.variable("B", {teachers, n}, numbers(teachers * n));
  test.variable("noise", {}, {0.3});
  test.draw("x", {n});
  test.draw("z", {});
  const Expectation found = expectation(
      test.array("(sum(erf(J @ x / sqrt(2))) - sum(erf(B @ x / sqrt(2))) - noise * z)**2 / 2"),
      test.draws);
  INFO(found.why);
  REQUIRE(found.mean);
  CHECK(found.terms <= 4);
  Evaluator<double> evaluator(test.with_gradient(*found.mean));
  test.set(evaluator);
  evaluator.run();
  const Numbers ours = test.all_outputs(evaluator);
  // E erf(a/sqrt(2)) erf(b/sqrt(2)) = 2/pi asin(c / sqrt((1 + q)(1 + s))).
  const auto i2 = [](const std::string& overlap, const std::string& q, const std::string& s) {
    return "sum(asin(" + overlap + " / sqrt(outer(1 + " + q + ", 1 + " + s + ")))) / pi";
  };
  const Array closed =
      test.array(i2("(J @ J.T)", "diag(J @ J.T)", "diag(J @ J.T)") + " - 2 * " +
                 i2("(J @ B.T)", "diag(J @ J.T)", "diag(B @ B.T)") + " + " +
                 i2("(B @ B.T)", "diag(B @ B.T)", "diag(B @ B.T)") + " + noise**2 / 2");
  Evaluator<double> theirs(test.with_gradient(closed));
  test.set(theirs);
  theirs.run();
  const Numbers expected = test.all_outputs(theirs);
  REQUIRE(ours.size() == expected.size());
  double largest = 0;
  for (std::size_t i = 0; i < ours.size(); ++i)
    largest = std::max(largest, std::abs(ours[i] - expected[i]));
  CHECK(largest <= 1e-13);
}

TEST_CASE("a committee of relu units has the closed form of its overlaps",
          "[expectations][kernels]") {
  Example test;
  test.variable("J", {3, 4}, {0.9, -0.2, 0.4, 0.1, 0.3, 0.8, -0.5, 0.2, -0.6, 0.1, 0.7, 1.1});
  test.variable("B", {2, 4}, {1, 0.2, 0, -0.3, 0.1, 0.9, 0.4, 0});
  test.draw("x", {4});
  const Numbers ours = test.exact("(sum(relu(J @ x)) - sum(relu(B @ x)))**2 / 2");
  // E relu(a) relu(b) = sqrt(q s) (sin theta + (pi - theta) cos theta) / (2 pi): Cho, Saul 2009.
  test.step("C", "concatenate([J, B])");
  test.step("size", "sqrt(outer(sum(C**2, 1), sum(C**2, 1)))");
  test.step("cosine", "(C @ C.T) / size * (1 - eye(5)) + eye(5)");
  test.step("theta", "atan2(sqrt(relu(1 - cosine**2)), cosine)");
  test.step("signs", "concatenate([ones(3), -ones(2)])");
  const Array closed =
      test.array("signs @ (size * (sin(theta) + (pi - theta) * cosine)) @ signs / (4 * pi)");
  Evaluator<double> theirs({closed});
  test.set(theirs);
  theirs.run();
  CHECK(std::abs(ours[0] - theirs.output(0)[0]) <= 1e-14 * ours[0]);
}

}  // namespace
}  // namespace kernels_test
