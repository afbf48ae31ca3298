// Reductions, closed forms and invariants of a loss: right ones vanish, wrong ones are found out with their place.

#include "popgrad/learning/residual.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "learning/law_mutants.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/rungs/parameters.hpp"

namespace residual_test {
namespace {

using namespace popgrad;
using Outcome = Residual::Outcome;

Residual residual_of(const SampleLoss& loss, const std::string& subject) {
  const std::vector<Residual> found = residuals(loss, {}, {.subjects = {subject}});
  REQUIRE(found.size() == 1);
  INFO(to_text(found[0]));
  CHECK(found[0].subject == subject);
  return found[0];
}

SampleLoss edge() {
  return {.name = "edge",
          .paper = "",
          .states = {{.name = "x", .start = "2.4"}, {.name = "y", .start = "0.5"}},
          .loss = {{"loss", "(x * y - 1)**2 / 2"}},
          .invariants = {{"balance", "x**2 - y**2"}, {"size", "x**2 + y**2"}},
          .rungs = {{.name = "pair",
                     .of = "gd",
                     .map = {{"p", "x * y"}, {"s", "x**2 + y**2"}},
                     .step = {{"p", "p - eta * (p - 1) * s + eta**2 * (p - 1)**2 * p"},
                              {"s", "s - 4 * eta * (p - 1) * p + eta**2 * (p - 1)**2 * s"}}}}};
}

TEST_CASE("a proof that would be too long stops, and the line has the reason", "[learning]") {
  // A sum of twelve to the sixth power, in two orders: 12^6 terms.
  SampleLoss loss{
      .name = "sums",
      .paper = "",
      .invariants = {{.name = "apart", .formula = "x - y", .of = "sums"}},
      .rungs = {{.name = "sums",
                 .of = "",
                 .states = {{.name = "x", .start = "1"}, {.name = "y", .start = "1"}}}}};
  LossRung& rung = loss.rungs.front();
  std::string forwards, backwards;
  for (const char letter : std::string("abcdefghijkl")) {
    const std::string name = fmt::format("w_{}", letter);
    rung.states.push_back({.name = name, .start = "1"});
    rung.flow.push_back({name, "1"});
    forwards = forwards.empty() ? name : forwards + " + " + name;
    backwards = backwards.empty() ? name : name + " + " + backwards;
  }
  rung.flow.push_back({"x", fmt::format("({})**6", forwards)});
  rung.flow.push_back({"y", fmt::format("({})**6", backwards)});
  CHECK(to_text(residual_of(loss, "invariant.apart")) ==
        "invariant.apart: zero at 8 rational points; not proved: it has more than 20000 terms as a "
        "polynomial");
}

TEST_CASE("steps through a map are proved, and a wrong sign has a component and a point",
          "[learning]") {
  CHECK(to_text(residual_of(edge(), "rung.pair")) == "rung.pair: proved for all values");
  SampleLoss wrong = edge();
  wrong.rungs[0].step[1].formula = "s - 4 * eta * (p - 1) * p - eta**2 * (p - 1)**2 * s";
  const Residual found = residual_of(wrong, "rung.pair");
  CHECK(found.outcome == Outcome::refuted);
  CHECK(found.component == "s");
  CHECK(found.place.find("x = ") != std::string::npos);
  CHECK(found.largest > 1e-3);
  CHECK(to_text(found).find(", should be 0") != std::string::npos);
}

TEST_CASE("an invariant is proved, and a quantity that changes is refuted", "[learning]") {
  CHECK(residual_of(edge(), "invariant.balance").outcome == Outcome::proved);
  const Residual size = residual_of(edge(), "invariant.size");
  CHECK(size.outcome == Outcome::refuted);
  CHECK(size.component == "size");
}

SampleLoss layers() {
  return {.name = "layers",
          .paper = "",
          .sizes = {{"n", 3}, {"H", 4}},
          .parameters = {{.name = "s", .value = Value{3, 1.5, 0.8}, .shape = "n"},
                         {.name = "scale", .value = 0.1}},
          .draws = {{"x", "normal(n)"}},
          .states = {{.name = "W1", .start = "sqrt(scale) * diag(ones(n), H, n)"},
                     {.name = "W2", .start = "sqrt(scale) * diag(ones(n), n, H)"}},
          .loss = {{"loss", "sum((s * x - W2 @ W1 @ x)**2) / 2"}},
          .rungs = {{.name = "modes",
                     .map = {{"v", "diag(W2 @ W1)"}},
                     .lift = {{"W1", "diag(sqrt(v), H, n)"}, {"W2", "diag(sqrt(v), n, H)"}},
                     .flow = {{"v", "2 * v * (s - v)"}},
                     .closed = {{"v", "s / (1 + (s / start(v) - 1) * exp(-2 * s * t))"}},
                     .domain = "v > 0"}}};
}

TEST_CASE("modes of a deep linear network are proved at several sizes, their closed form at all",
          "[learning]") {
  // A rectangular diagonal depends on which size is larger.
  CHECK(to_text(residual_of(layers(), "rung.modes")) ==
        "rung.modes: proved for all values at sizes n = 3, H = 4 and 3 others");
  CHECK(to_text(residual_of(layers(), "rung.modes.closed")) ==
        "rung.modes.closed: proved for all values and sizes");
  SampleLoss wrong = layers();
  wrong.rungs[0].flow[0].formula = "2 * v * (s + v)";
  const Residual sign = residual_of(wrong, "rung.modes");
  CHECK(sign.outcome == Outcome::refuted);
  CHECK(sign.component.starts_with("W2["));
  CHECK(sign.place.starts_with("v = ["));
  SampleLoss doubled = layers();
  doubled.rungs[0].closed[0].formula = "s / (1 + (s / start(v) - 1) * exp(-s * t))";
  CHECK(residual_of(doubled, "rung.modes.closed").outcome == Outcome::refuted);
  // The start, not the equation.
  doubled.rungs[0].closed[0].formula = "s / (1 + (s / start(v) - 2) * exp(-2 * s * t))";
  const Residual start = residual_of(doubled, "rung.modes.closed");
  CHECK(start.outcome == Outcome::refuted);
  CHECK(start.component.starts_with("start of v["));
}

TEST_CASE("inputs of a finite law with irrational entries vanish in 50 digits", "[learning]") {
  SampleLoss finite = layers();
  finite.draws = {{"i", "index(n)"}};
  finite.loss = {{"x", "sqrt(n) * eye(n)[i]"}, {"loss", "sum((s * x - W2 @ W1 @ x)**2) / 2"}};
  const Residual found = residual_of(finite, "rung.modes");
  CHECK(found.outcome == Outcome::zero_at_points);
  CHECK(found.how.starts_with("at 8 points in 50 digits"));
}

TEST_CASE("order parameters of phase retrieval close, and with a wrong factor they do not",
          "[learning]") {
  SampleLoss retrieval{
      .name = "retrieval",
      .paper = "",
      .sizes = {{"d", 5}},
      .parameters = {{.name = "B", .value = "ones(d)", .shape = "d"}},
      .constants = {{"T", "B @ B"}},
      .draws = {{"x", "normal(d)"}},
      .states = {{.name = "J", .start = "ones(d) / 10"}},
      .loss = {{"loss", "((J @ x)**2 - (B @ x)**2)**2 / 4"}},
      .rungs = {{.name = "overlaps",
                 .map = {{"R", "J @ B"}, {"Q", "J @ J"}},
                 .flow = {{"R", "3 * R * (T - Q)"}, {"Q", "2 * (T * Q + 2 * R**2 - 3 * Q**2)"}}}}};
  CHECK(to_text(residual_of(retrieval, "rung.overlaps")) ==
        "rung.overlaps: proved for all values and sizes");
  retrieval.rungs[0].flow[1].formula = "2 * (T * Q + R**2 - 3 * Q**2)";
  const Residual wrong = residual_of(retrieval, "rung.overlaps");
  CHECK(wrong.outcome == Outcome::refuted);
  CHECK(wrong.component == "Q");
}

TEST_CASE("a proof is one for all sizes only where sizes have their names", "[learning][sizes]") {
  const auto text_of = [](long n, long d, const std::string& flow) {
    const SampleLoss regression{
        .name = "regression",
        .paper = "",
        .sizes = {{"n", n}, {"d", d}},
        .draws = {{"X", "normal(n, d)"}, {"q", "normal(d)"}, {"w", "normal(d)"}},
        .states = {{.name = "u", .start = "1"}},
        .loss = {{"loss", "(u * ((X @ w) @ (X @ q)) / n - w @ q)**2 / 2"}},
        .rungs = {
            {.name = "own", .map = {{"v", "u"}}, .lift = {{"u", "v"}}, .flow = {{"v", flow}}}}};
    return to_text(residual_of(regression, "rung.own"));
  };
  const std::string everywhere = "rung.own: proved for all values and sizes";
  CHECK(text_of(4, 3, "d - d * (1 + (d + 1) / n) * v") == everywhere);
  // Sizes that are equal here differ at the others.
  CHECK(text_of(3, 3, "d - d * (1 + (d + 1) / n) * v") == everywhere);
  const std::string here = text_of(4, 3, "3 - 6 * v");
  CHECK(here.find("with other sizes not") != std::string::npos);
  CHECK(here.find("and sizes") == std::string::npos);
  CHECK(text_of(4, 3, "d - d * (1 + d / n) * v").find("refuted") != std::string::npos);
}

TEST_CASE("a law that is left out has the residual of what is derived", "[learning]") {
  SampleLoss derived = layers();
  derived.rungs[0].flow.clear();
  derived.rungs[0].closed.clear();
  CHECK(residual_of(derived, "rung.modes").is_zero());
  derived.rungs[0].lift[0].formula = "diag(v, H, n)";
  CHECK(residual_of(derived, "rung.modes").outcome == Outcome::refuted);
}

TEST_CASE("a reduction that holds at the parameters given only is reported as such", "[learning]") {
  const SampleLoss loss{
      .name = "pull",
      .paper = "",
      .parameters = {{.name = "a", .value = 2}, {.name = "b", .value = 2}},
      .states = {{.name = "x", .start = "1"}, {.name = "y", .start = "1"}},
      .loss = {{"loss", "a * x**2 / 2 + b * y**2 / 2"}},
      .rungs = {{.name = "sum", .map = {{"u", "x + y"}}, .flow = {{"u", "-a * u"}}}}};
  const Residual found = residual_of(loss, "rung.sum");
  CHECK(found.outcome == Outcome::zero_at_points);
  CHECK(found.how.find("with these parameters; with others not: u at ") != std::string::npos);
  Parameters others("pull");
  others.set("b", 3);
  CHECK(residuals(loss, others)[0].outcome == Outcome::refuted);
}

TEST_CASE("an approximation is measured along its flow, and a sampled field with its error",
          "[learning]") {
  SampleLoss about = layers();
  about.rungs[0].approximate = true;
  about.rungs[0].flow[0].formula = "2.1 * v * (s - v)";
  const Residual measured = residual_of(about, "rung.modes");
  CHECK(measured.outcome == Outcome::measured);
  CHECK(std::abs(measured.largest - 0.1 / 2.1) < 1e-9);  // the share of what is too much
  CHECK(measured.error == 0);
  about.rungs[0].flow[0].formula = "2 * v * s";  // early
  about.rungs[0].domain = "v < s / 2";
  CHECK(residual_of(about, "rung.modes").largest < 1);
  about.rungs[0].domain = "v < s / 10";
  about.rungs[0].map.clear();
  about.rungs[0].states = {{.name = "v", .start = "s / 100"}};
  CHECK(residual_of(about, "rung.modes").largest < 0.1 / 0.9);

  SampleLoss sampled{
      .name = "odd",
      .paper = "",
      .draws = {{"x", "normal()"}},
      .states = {{.name = "a", .start = "1"}, {.name = "b", .start = "1/2"}},
      .loss = {{"loss", "logsumexp(stack([(a + b) * x, 0, -1])) + (a - b)**2"}},
      .rungs = {{.name = "difference", .map = {{"c", "a - b"}}, .flow = {{"c", "-4 * c"}}},
                {.name = "sum", .map = {{"u", "a + b"}}, .flow = {{"u", "-u / 4"}}}},
      .samples = 4000,
      .end = 1};
  const Residual difference = residual_of(sampled, "rung.difference");
  CHECK(difference.outcome == Outcome::measured);
  CHECK(difference.largest < 1e-12);  // the sampled part cancels
  const Residual sum = residual_of(sampled, "rung.sum");
  CHECK(sum.outcome == Outcome::measured);
  CHECK(sum.error > 1e-3);
  CHECK(sum.standard_errors > 5);
  // The same by quadrature.
  sampled.loss[0].formula = "softplus((a + b) * x) + (a - b)**2";
  CHECK(residual_of(sampled, "rung.difference").largest < 1e-12);
  const Residual integrated = residual_of(sampled, "rung.sum");
  CHECK(integrated.outcome == Outcome::measured);
  CHECK(integrated.error < 1e-6);
  CHECK(integrated.standard_errors > 1e3);
  CHECK(std::abs(integrated.largest - sum.largest) < 4 * sum.error);
}

TEST_CASE("a rung in a time of its own has a residual with the slope of that time", "[learning]") {
  SampleLoss loss{.name = "clock",
                  .paper = "",
                  .states = {{.name = "x", .start = "1"}},
                  .loss = {{"loss", "x**2 / 2"}},
                  .rungs = {{.name = "fast",
                             .map = {{"y", "x"}},
                             .flow = {{"y", "-y / (2 * t)"}},
                             .closed = {{"y", "start(y) * exp(-sqrt(t))"}},
                             .time = "t**2"}}};
  // y' = 2 t (-y / (2 t^2)) = -y / t in the time of x.
  CHECK(residual_of(loss, "rung.fast").outcome == Outcome::refuted);
  loss.rungs[0].flow[0].formula = "-y / (2 * sqrt(t))";
  CHECK(residual_of(loss, "rung.fast").is_zero());
  CHECK(residual_of(loss, "rung.fast.closed").outcome == Outcome::proved);
}

TEST_CASE("rungs of random steps are not examined", "[learning]") {
  SampleLoss random = edge();
  random.rungs[0].of = "sgd";
  random.rungs[0].lift = {{"x", "sqrt(s)"}, {"y", "p / sqrt(s)"}};
  CHECK(to_text(residual_of(random, "rung.pair")) ==
        "rung.pair: not examined: steps of sgd are random; their mean is compared by a map "
        "without a lift");
}

TEST_CASE("mistakes made by program in a law are refuted", "[learning]") {
  const learning::MutatedLoss mutated = learning::mutated_loss(edge(), "rung.pair", 40);
  CHECK(mutated.mutants.size() == 19);
  ResidualRequest request{.subjects = {}, .seed = 3, .only_points = true};
  for (const learning::LawMutant& mutant : mutated.mutants)
    request.subjects.push_back(mutant.subject);
  for (const Residual& found : residuals(mutated.loss, {}, request)) {
    INFO(to_text(found));
    CHECK(found.outcome == Outcome::refuted);
  }
  CHECK(learning::mutated_loss(edge(), "rung.pair", 5).mutants.size() == 5);
  std::vector<std::string> kinds;
  for (const formulas::Mutant& mutant :
       learning::mutated_formulas("-x[0]**2 + sum(W, axis=1)[1] * 0.5"))
    kinds.push_back(mutant.kind);
  CHECK(kinds == std::vector<std::string>{"index", "exponent", "sign", "index", "index", "constant",
                                          "sign", "factor"});
}

SampleLoss least_squares(const std::string& loss, const std::string& expected) {
  return {.name = "squares",
          .paper = "",
          .sizes = {{"n", 3}},
          .parameters = {{.name = "v", .value = "1 / (1 + arange(n))", .shape = "n"},
                         {.name = "noise", .value = 0.5}},
          .draws = {{"x", "normal(n)"}, {"z", "normal()"}},
          .states = {{.name = "w", .start = "ones(n) / 4"}},
          .loss = {{"loss", loss}},
          .expected = {{"expected", expected}}};
}

TEST_CASE("an expected loss that is written is held to the law", "[learning]") {
  const std::string of_sample = "(w @ x - v @ x - noise * z)**2 / 2";
  SampleLoss right = least_squares(of_sample, "((w - v) @ (w - v) + noise**2) / 2");
  CHECK(residual_of(right, "loss.expected").outcome == Outcome::proved);
  CHECK(field_in_numpy(right) == std::vector<std::string>{"d_w = v - w"});
  const SampleLoss wrong = least_squares(of_sample, "((w - v) @ (w - v) + noise) / 2");
  const Residual refuted = residual_of(wrong, "loss.expected");
  CHECK(refuted.outcome == Outcome::refuted);
  CHECK(refuted.component == "expected");
  const learning::MutatedLoss mutated = learning::mutated_loss(right, "loss.expected", 32);
  CHECK(mutated.mutants.size() >= 4);
  for (const learning::LawMutant& mutant : mutated.mutants) {
    CAPTURE(mutant.what);
    CHECK(residual_of(mutated.loss, mutant.subject).outcome == Outcome::refuted);
  }
}

TEST_CASE("an expected loss without an exact one is measured by samples", "[learning]") {
  // The series in the variance of one normal number.
  SampleLoss loss = least_squares("sqrt(1 + (w @ x)**2)",
                                  "1 + w @ w / 2 - 3 * (w @ w)**2 / 8 + 15 * (w @ w)**3 / 16");
  loss.end = 0.01;
  loss.states[0].start = "ones(n) / 10";
  const Residual near = residual_of(loss, "loss.expected");
  CHECK(near.outcome == Outcome::measured);
  CHECK(near.error > 0);
  CHECK(near.standard_errors < 5);
  loss.expected[0].formula = "1 + w @ w";
  CHECK(residual_of(loss, "loss.expected").standard_errors > 5);
}

TEST_CASE("an expected loss reads no draws, and jumps have none", "[learning]") {
  const auto refused = [](const SampleLoss& loss) {
    try {
      (void)learning::mutated_loss(loss, "loss.expected", 1);
      (void)residuals(loss);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(refused(least_squares("(w @ x)**2", "w @ x")) ==
        "squares: loss expected may not depend on draw x");
  CHECK(refused(least_squares("(w @ x)**2", "w")) ==
        "squares: loss expected has shape (n = 3,); the loss is a number");
  CHECK(refused(least_squares("sign(w @ x) * z * (w @ x)", "0 * w[0]"))
            .starts_with("squares: loss expected has not the field of sgd for its gradient: "));
}

}  // namespace
}  // namespace residual_test
