// Fields that follow from the loss of one sample, against sums over its draws written out.

#include "popgrad/learning/sample_loss.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "learning/loss_rung.hpp"
#include "learning/printed_field.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/base/memory.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/dual.hpp"
#include "popgrad/scalars/rational.hpp"
#include "popgrad/scalars/real.hpp"
#include "popgrad/solving/solve.hpp"
#include "popgrad/walks/walk.hpp"

namespace sample_loss_test {
namespace {

using namespace popgrad;

template <class T>
learning::LossFlow<T> rung_of(const SampleLoss& loss, const Record& given = {}) {
  return learning::LossFlow<T>(learning::loss_instance(loss, Parameters(loss.name, given), 1));
}

// Numbers without a pattern, in (-1, 1).
Vector<double> some_state(Index n) {
  return Vector<double>::NullaryExpr(
      n, [](Index i) { return std::sin(1.7 * static_cast<double>(i) + 0.3); });
}

template <class T>
Vector<T> field_at(const learning::LossFlow<T>& rung, const Vector<T>& x) {
  Vector<T> dx(x.size());
  rung.rhs(x, dx, T(0));
  return dx;
}

double loss_at(const learning::LossFlow<double>& rung, const Vector<double>& x) {
  return observed_at(rung, x, "loss");
}

constexpr std::array<std::array<double, 2>, 4> points{{{1, 0.5}, {-0.5, 2}, {0, -1}, {3, 1}}};
constexpr std::array<double, 4> weights{0.1, 0.2, 0.3, 0.4};
constexpr std::array<std::array<double, 3>, 4> labels{
    {{0.5, 0.25, 0.25}, {0, 0.125, 0.875}, {0.2, 0.3, 0.5}, {1, 0, 0}}};

template <class Rows>
Value lists(const Rows& rows) {
  Value::List list;
  for (const auto& row : rows) {
    Value::List entries(row.begin(), row.end());
    list.emplace_back(std::move(entries));
  }
  return list;
}

SampleLoss logistic() {
  return {
      .name = "logistic",
      .paper = "",
      .sizes = {{"points", 4}, {"classes", 3}, {"d", 2}},
      .parameters = {{.name = "X", .value = lists(points), .shape = "points, d"},
                     {.name = "p",
                      .value = Value(std::vector<double>(weights.begin(), weights.end())),
                      .shape = "points"},
                     {.name = "P", .value = lists(labels), .shape = "points, classes"}},
      .draws = {{"y", "categorical(P[i])"}, {"i", "categorical(p)"}},
      .states = {{.name = "W", .start = "arange(classes)[:, None] / 10", .shape = "classes, d"}},
      .loss = {{"loss", "-log_softmax(logits)[y]"}, {"logits", "W @ X[i]"}},
      .observables = {{.name = "accuracy", .formula = "expected(where(argmax(logits) == y, 1, 0))"},
                      {.name = "size", .formula = "sum(W**2, axis=1)"}}};
}

TEST_CASE("logistic regression over a finite law has the field written out", "[learning]") {
  const auto rung = rung_of<double>(logistic());
  REQUIRE(rung.dimension() == 6);
  CHECK(rung.initial() == Vector<double>{{0, 0, 0.1, 0.1, 0.2, 0.2}});
  CHECK(rung.state_names().at(3) == "W_1_1");
  CHECK(rung.columns() ==
        std::vector<std::string>{"loss", "accuracy", "size_0", "size_1", "size_2"});
  const Vector<double> x = some_state(6);
  Vector<double> by_hand = Vector<double>::Zero(6);
  double loss = 0, accuracy = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    std::array<double, 3> logit{};
    double total = 0;
    std::size_t best = 0;
    for (std::size_t c = 0; c < 3; ++c) {
      const auto at = static_cast<Index>(2 * c);
      logit[c] = x[at] * points[i][0] + x[at + 1] * points[i][1];
      total += std::exp(logit[c]);
      if (logit[c] > logit[best]) best = c;
    }
    accuracy += weights[i] * labels[i][best];
    for (std::size_t c = 0; c < 3; ++c) {
      loss += weights[i] * labels[i][c] * (std::log(total) - logit[c]);
      for (std::size_t d = 0; d < 2; ++d)
        by_hand[static_cast<Index>(2 * c + d)] +=
            weights[i] * (labels[i][c] - std::exp(logit[c]) / total) * points[i][d];
    }
  }
  CHECK((field_at(rung, x) - by_hand).norm() < 1e-15 * 10);
  CHECK(loss_at(rung, x) == Approx(loss).epsilon(1e-14));
  CHECK(observed_at(rung, x, "accuracy") == Approx(accuracy).epsilon(1e-14));
  CHECK(observed_at(rung, x, "size_1") == Approx(x[2] * x[2] + x[3] * x[3]));
  CHECK(no_gradient(logistic()).empty());
}

// Central differences of the loss, and dual numbers.
void check_gradient(const SampleLoss& loss) {
  const auto rung = rung_of<double>(loss);
  const auto dual = rung_of<Dual<double>>(loss);
  const Vector<double> x = some_state(rung.dimension());
  const Vector<double> field = field_at(rung, x);
  constexpr double step = 1e-5;
  for (Index k = 0; k < x.size(); ++k) {
    const Vector<double> e = step * Vector<double>::Unit(x.size(), k);
    const double slope = (loss_at(rung, x + e) - loss_at(rung, x - e)) / (2 * step);
    CHECK(field[k] == Approx(-slope).margin(1e-8));
    Vector<Dual<double>> point = x.cast<Dual<double>>();
    point[k].slope = 1;
    CHECK(field[k] == Approx(-observed_at(dual, point, "loss").slope).margin(1e-14));
  }
  const DigitsScope digits(50);
  const auto precise = rung_of<Real>(loss);
  const Vector<Real> exact = field_at(precise, Vector<Real>(x.cast<Real>()));
  for (Index k = 0; k < x.size(); ++k)
    CHECK(std::abs(to_double(exact[k] - Real(field[k]))) < 1e-14);
}

// Tokens z of a law that depends on the label, attention from a query token.
SampleLoss attention() {
  return {.name = "attention",
          .paper = "",
          .sizes = {{"tokens", 3}, {"length", 3}},
          .parameters = {{.name = "law",
                          .value = Value{Value{0.5, 0.25, 0.25}, Value{0.125, 0.125, 0.75}},
                          .shape = "2, tokens"}},
          .draws = {{"y", "bernoulli(1/3)"},
                    {"z", "categorical(law[y], length)"},
                    {"q", "index(tokens)"}},
          .states = {{.name = "A", .shape = "tokens, tokens"},
                     {.name = "v", .shape = "tokens", .rate = "2"}},
          .loss = {{"b", "softmax(A[q][z])"},
                   {"score", "b @ v[z]"},
                   {"loss", "softplus((1 - 2 * y) * score)"}}};
}

TEST_CASE("softmax attention over sampled tokens is summed over all sequences", "[learning]") {
  const auto rung = rung_of<double>(attention());
  const Vector<double> x = some_state(12);
  const auto& law = std::array<std::array<double, 3>, 2>{{{0.5, 0.25, 0.25}, {0.125, 0.125, 0.75}}};
  Vector<double> by_hand = Vector<double>::Zero(12);
  double loss = 0;
  for (int y = 0; y < 2; ++y) {
    for (int q = 0; q < 3; ++q) {
      for (int s = 0; s < 27; ++s) {
        const std::array<int, 3> z{s / 9, s / 3 % 3, s % 3};
        double p = (y == 1 ? 1.0 / 3 : 2.0 / 3) / 3, total = 0, score = 0;
        std::array<double, 3> b{};
        for (std::size_t t = 0; t < 3; ++t) {
          p *= law[static_cast<std::size_t>(y)][static_cast<std::size_t>(z[t])];
          b[t] = std::exp(x[3 * q + z[t]]);
          total += b[t];
        }
        for (std::size_t t = 0; t < 3; ++t) {
          b[t] /= total;
          score += b[t] * x[9 + z[t]];
        }
        const double sign = 1 - 2 * y;
        loss += p * std::log1p(std::exp(sign * score));
        const double slope = p * sign / (1 + std::exp(-sign * score));
        for (std::size_t t = 0; t < 3; ++t) {
          by_hand[3 * q + z[t]] -= slope * b[t] * (x[9 + z[t]] - score);
          by_hand[9 + z[t]] -= 2 * slope * b[t];
        }
      }
    }
  }
  CHECK((field_at(rung, x) - by_hand).norm() < 1e-14);
  CHECK(loss_at(rung, x) == Approx(loss).epsilon(1e-14));
  CHECK(rung.rates()[8] == 1);
  CHECK(rung.rates()[9] == 2);
}

TEST_CASE("fields of finite laws are gradients by differences, dual numbers and digits",
          "[learning]") {
  check_gradient(logistic());
  SampleLoss unrated = attention();
  unrated.states[1].rate = "1";
  check_gradient(unrated);
}

TEST_CASE("fields print as NumPy has them", "[learning]") {
  for (const SampleLoss& loss : {logistic(), attention()}) {
    const auto rung = rung_of<double>(loss);
    const Vector<double> x = some_state(rung.dimension());
    CHECK((printed::field_at(loss, x) - field_at(rung, x)).norm() < 1e-14);
  }
  const SampleLoss rows{.name = "rows",
                        .paper = "",
                        .sizes = {{"P", 5}, {"d", 2}},
                        .parameters = {{.name = "X", .value = "ones(P, d)"}},
                        .draws = {{"i", "index(P)"}},
                        .states = {{.name = "w", .shape = "d"}},
                        .loss = {{"loss", "(X[i] @ w - 1)**2 / 2"}}};
  const std::vector<std::string> lines = field_in_numpy(rows);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0] == "d_w = 0.2 * (X.T @ (1 - X @ w))");
}

TEST_CASE("a finite law is summed exactly on rationals", "[learning]") {
  const SampleLoss loss{
      .name = "rows",
      .paper = "",
      .sizes = {{"n", 3}},
      .parameters = {{.name = "X", .value = "(1 + arange(n)[:, None]) / (2 + arange(n))"}},
      .draws = {{"i", "index(n)"}, {"s", "bernoulli(1/7, 2)"}},
      .states = {{.name = "w", .start = "1 / (1 + arange(n))"}},
      .loss = {{"loss", "(X[i] @ w - s[0] - 3 * s[1] * i)**2 / 2 + sum(w**4) / 4"}}};
  const auto rung = rung_of<Rational>(loss);
  const Vector<Rational> w = rung.initial(), found = field_at(rung, w);
  Vector<Rational> by_hand(3);
  for (Index k = 0; k < 3; ++k) by_hand[k] = -w[k] * w[k] * w[k];
  for (long i = 0; i < 3; ++i) {
    for (long s = 0; s < 2; ++s) {
      for (long r = 0; r < 2; ++r) {
        const Rational p = Rational(s == 1 ? 1 : 6, 7) * Rational(r == 1 ? 1 : 6, 7) / 3;
        Rational residual = -s - 3 * r * i;
        for (Index k = 0; k < 3; ++k) residual += Rational(1 + i, 2 + k) * w[k];
        for (Index k = 0; k < 3; ++k) by_hand[k] -= p * residual * Rational(1 + i, 2 + k);
      }
    }
  }
  for (Index k = 0; k < 3; ++k) CHECK(found[k] == by_hand[k]);
}

TEST_CASE("summands that do not read a draw are not repeated for its values", "[learning]") {
  // Of the draws z all 3^12 values together would not fit into the memory that is allowed.
  SampleLoss loss{.name = "parts",
                  .paper = "",
                  .draws = {{"z", "categorical(ones(3) / 3, 12)"}, {"x", "bernoulli(0.5)"}},
                  .states = {{.name = "w"}},
                  .loss = {{"loss", "(w - x)**2 + w"}}};
  set_memory_limit(1e6);
  CHECK(field_at(rung_of<double>(loss), Vector<double>(Vector<double>::Constant(1, 2)))[0] == -4);
  loss.loss = {{"loss", "(w - mean(z))**2"}};
  CHECK_THROWS_WITH(model_of_loss(loss), Catch::Contains("the 5.31e+05 values of draw z"));
  set_memory_limit({});
}

TEST_CASE("a model of a loss flows, descends and is solved in digits", "[learning]") {
  const auto model = model_of_loss(logistic());
  const Parameters usual("logistic");
  SolveRequest<double> request;
  request.end = 5;
  request.save_at = {0, 5};
  request.relative_tolerance = request.absolute_tolerance = 1e-12;
  const auto solved = solve(model->rung("flow", usual, 1), request);
  CHECK(solved.rows[1][0] < solved.rows[0][0]);
  WalkRequest steps;
  steps.step_size = 1e-3;
  steps.steps = 5000;
  steps.save_steps = {5000};
  const auto gd = model->rung("gd", usual, 1);
  CHECK_FALSE(gd.draws.sample);
  CHECK(walk(gd, gd.initial, steps)[0].rows[0][0] == Approx(solved.rows[1][0]).epsilon(1e-3));
  const DigitsScope digits(40);
  const AnyRung<Real> precise = model->rung_in_digits("flow", usual, 1);
  CHECK(precise.initial[2] * 10 == 1);
  const AnyRung<double> started =
      model->rung("flow", Parameters("logistic", {{"state", Record{{"W_0_1", 7}}}}), 1);
  CHECK(started.initial[1] == 7);
}

TEST_CASE("mistakes in a loss are named with their place", "[learning]") {
  const auto refused = [](auto change) {
    SampleLoss loss = logistic();
    change(loss);
    try {
      (void)model_of_loss(loss);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(refused([](SampleLoss& l) { l.loss[1].formula = "W @ X[j]"; }) ==
        "logistic: loss step logits: line 1, column 7: unknown name j");
  CHECK(refused([](SampleLoss& l) { l.loss.pop_back(); }) ==
        "logistic: loss step loss: line 1, column 14: unknown name logits");
  CHECK(refused([](SampleLoss& l) { l.loss[1].formula = "logits + 1"; }) ==
        "logistic: loss step logits depends on itself: loss -> logits -> logits");
  CHECK(refused([](SampleLoss& l) { l.loss[0].name = "cost"; }) ==
        "logistic: loss no step is called 'loss'; it is the one that is trained");
  CHECK(refused([](SampleLoss& l) { l.loss[0].formula = "logits"; }) ==
        "logistic: loss step loss has shape (classes = 3,); the loss is a number");
  CHECK(refused([](SampleLoss& l) { l.draws[0].formula = "categorical(softmax(W[0]))"; }) ==
        "logistic: draw y may not depend on state W");
  CHECK(refused([](SampleLoss& l) { l.draws[0].formula = "categorical(P)"; }) ==
        "logistic: draw y: line 1, column 1: categorical takes a vector of probabilities first; "
        "this has shape (points = 4, classes = 3)");
  CHECK(refused([](SampleLoss& l) {
          l.parameters[1].value = Value{0.1, 0.2, 0.3, 0.5};
        }) == "logistic: draw i has probabilities that sum to 1.1; it must be 1 (to 1e-9)");
  CHECK(refused([](SampleLoss& l) {
          l.parameters[1].value = Value{0.1, 0.9};
        }) == "logistic: parameter p: numbers of shape (2,) are given; it has shape (points = 4,)");
  CHECK(refused([](SampleLoss& l) { l.parameters[2].name = "X"; }) ==
        "logistic: parameter X is a parameter already");
  CHECK(refused([](SampleLoss& l) { l.states[0].name = "sum"; }) ==
        "logistic: state sum is a reserved name");
  CHECK(refused([](SampleLoss& l) { l.observables[1].formula = "y + 1"; }) ==
        "logistic: observable size may not depend on draw y");
  CHECK(refused([](SampleLoss& l) { l.draws[1].formula = "normal(2)"; }) !=
        "accepted");  // no index
  CHECK(refused([](SampleLoss& l) {
          l.loss[0].formula += " + eps";
          l.draws.push_back({"eps", "uniform()"});
        }) ==
        "logistic: loss has no exact expectation (draw eps is neither normal nor of a finite law); "
        "give samples, such as 100000");
}

// A mixture of three normal laws with means m, deviations s and labels c.
SampleLoss mixture() {
  return {.name = "mixture",
          .paper = "",
          .sizes = {{"d", 2}},
          .parameters = {{.name = "p", .value = Value{"0.5", "0.3", "0.2"}},
                         {.name = "m",
                          .value = Value{Value{"1", "0"}, Value{"-0.5", "1"}, Value{"0", "-1"}}},
                         {.name = "s", .value = Value{"1", "0.5", "0.25"}},
                         {.name = "c", .value = Value{"1", "-1", "0.5"}}},
          .draws = {{"k", "categorical(p)"}, {"x", "m[k] + s[k] * normal(d)"}},
          .states = {{.name = "w", .shape = "d"}, {.name = "b"}},
          .loss = {{"loss", "(w @ x + b * (x @ x) - c[k])**2 / 2"}}};
}

TEST_CASE("a loss of normal draws is summed over their finite ones, exactly on rationals",
          "[learning][expectations]") {
  const auto rung = rung_of<Rational>(mixture());
  const Vector<Rational> x{{Rational(2, 5), Rational(-3, 10), Rational(1, 5)}};
  CHECK(observed_at(rung, x, "loss") == Rational(3384375, 10000000));
  CHECK_THAT(model_of_loss(mixture())->row("flow").info.cost,
             Catch::Contains("exact over normal draws") && Catch::Contains("summed over 3 values"));
  check_gradient(mixture());
  const auto exact = rung_of<double>(mixture());
  const Vector<double> state = some_state(3);
  CHECK((printed::field_at<double>(mixture(), state) - field_at(exact, state)).norm() < 1e-13);
}

TEST_CASE("the exact field of in-context regression is the mean over prompts",
          "[learning][expectations]") {
  const SampleLoss loss{
      .name = "regression in context",
      .paper = "",
      .sizes = {{"d", 2}, {"n", 3}},
      .parameters = {{.name = "L", .value = Value{1, 0.5}}},
      .draws = {{"w", "normal(d)"}, {"x", "normal(n, d, var=L)"}, {"q", "normal(d, var=L)"}},
      .states = {{.name = "U", .shape = "d, d"}, {.name = "u"}},
      .loss = {{"loss", "(u * (x @ w) @ x @ U @ q / n - w @ q)**2 / 2"}}};
  CHECK(no_gradient(loss).empty());
  SampleLoss sampled = loss;
  sampled.loss = {{"loss", "abs(u * (x @ w) @ x @ U @ q / n - w @ q)**2 / 2"}};
  sampled.samples = 20000;
  const auto exact = rung_of<double>(loss), by_samples = rung_of<double>(sampled);
  const Vector<double> state = some_state(5);
  const Vector<double> difference = field_at(exact, state) - field_at(by_samples, state);
  const auto errors = by_samples.errors(state);
  for (Index k = 0; k < 5; ++k) {
    CHECK(errors.gradient[k] > 0);
    CHECK(std::abs(difference[k]) < 4 * errors.gradient[k]);
  }
  CHECK(std::abs(loss_at(exact, state) - loss_at(by_samples, state)) < 4 * errors.loss);
  CHECK(field_in_numpy(loss).size() >= 2);
}

}  // namespace
}  // namespace sample_loss_test
