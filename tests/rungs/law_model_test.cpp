#include "popgrad/rungs/law_model.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "popgrad/base/error.hpp"
#include "popgrad/solving/solve.hpp"
#include "popgrad/walks/walk.hpp"

namespace law_model_test {

using namespace popgrad;

namespace {

/// x' = -rate x, x(0) = start.
template <Transcendental T>
struct Decay {
  using Scalar = T;
  T rate, start;

  Index dimension() const { return 1; }
  Vector<T> initial() const { return Vector<T>::Constant(1, start); }
  std::vector<std::string> state_names() const { return {"x"}; }
  std::vector<std::string> columns() const { return {"square"}; }
  void observe(const Vector<T>& x, const T&, std::span<T> row) const { row[0] = x[0] * x[0]; }
  void rhs(const Vector<T>& x, Vector<T>& dx, const T&) const { dx[0] = -rate * x[0]; }
};

/// The same with a factor of mean 1 drawn at random.
template <Transcendental T>
struct RandomDecay : Decay<T> {
  void sample_rhs(const Vector<T>& x, Vector<T>& dx, Stream& stream, Index batch) const {
    double factor = 0;
    for (Index i = 0; i < batch; ++i) factor += 2 * stream.uniform() / static_cast<double>(batch);
    dx[0] = -this->rate * T(factor) * x[0];
  }
};

template <template <Transcendental> class Law>
std::shared_ptr<const Model> decay_model() {
  return model_of_law<Law>(
      {.name = "decay", .paper = "none", .law = "x' = -rate x", .end = 2, .step = 0.5},
      {{.name = "rate", .meaning = "decay per unit of time", .standard = "1", .range = at_least(0)},
       {.name = "start", .meaning = "x(0)", .standard = "3"}});
}

Parameters parameters(Record values) { return Parameters("decay", std::move(values)); }

}  // namespace

TEST_CASE("a law gives a flow and descent, and SGD where its field can be drawn", "[model]") {
  const auto names = [](const Model& model) {
    std::vector<std::string> all;
    for (const RungInfo& info : model.rungs()) all.push_back(info.name);
    return all;
  };
  const auto plain = decay_model<Decay>();
  const auto random = decay_model<RandomDecay>();
  CHECK(names(*plain) == std::vector<std::string>{"gd", "flow"});
  CHECK(names(*random) == std::vector<std::string>{"sgd", "gd", "flow"});
  CHECK(plain->ladder().size() == 1);
  CHECK(random->ladder().size() == 2);
  const RungInfo flow = find_rung(*plain, "flow");
  CHECK(flow.column_note.empty());  // nothing to say besides what the law names
  CHECK(flow.default_end == "2");
  CHECK(find_rung(*plain, "gd").default_end == "4");  // steps of 0.5 to t = 2
  CHECK_FALSE(random->rung("gd", parameters({}), 1).draws.sample);
  CHECK(random->rung("sgd", parameters({}), 1).draws.sample);
  CHECK_THROWS_WITH(plain->rung("sgd", parameters({}), 1),
                    Catch::Contains("rung sgd is not known"));
  CHECK_THROWS_WITH(find_rung(*plain, "flwo"), Catch::Contains("did you mean 'flow'"));
}

TEST_CASE("a law reads its parameters in the order declared, and refuses what it must", "[model]") {
  const auto model = decay_model<Decay>();
  const AnyRung<double> usual = model->rung("flow", parameters({}), 1);
  CHECK(usual.initial[0] == 3);
  const AnyRung<double> given = model->rung("flow", parameters({{"rate", 2}, {"start", "5"}}), 1);
  CHECK(given.initial[0] == 5);
  Vector<double> rate(1);
  given.field.value(given.initial, rate, 0.0);
  CHECK(rate[0] == -10);
  CHECK_THROWS_WITH(model->rung("flow", parameters({{"rate", -1}}), 1),
                    Catch::Contains("decay: --rate -1 must be >= 0"));
  CHECK(model->parameters().size() == 2);
}

TEST_CASE("a law without a default of a parameter is refused", "[model]") {
  CHECK_THROWS_WITH(model_of_law<Decay>({.name = "decay"},
                                        {{.name = "rate", .standard = "1"}, {.name = "start"}}),
                    Catch::Contains("a default of start"));
}

TEST_CASE("a law is solved in double and in digits, and walked", "[model]") {
  const auto model = decay_model<RandomDecay>();
  SolveRequest<double> request;
  request.end = 2;
  request.save_at = {2};
  request.relative_tolerance = request.absolute_tolerance = 1e-12;
  const auto solved = solve(model->rung("flow", parameters({}), 1), request);
  CHECK(solved.rows[0][0] == Approx(9 * std::exp(-4.0)).epsilon(1e-10));
  {
    const DigitsScope digits(40);
    const AnyRung<Real> rung = model->rung_in_digits("flow", parameters({{"start", "0.1"}}), 1);
    CHECK(rung.initial[0] * 10 == 1);
    CHECK_THROWS_AS(model->rung_in_digits("gd", parameters({}), 1), InputError);
  }
  const AnyRung<double> rung = model->rung("sgd", parameters({}), 1);
  WalkRequest steps;
  steps.step_size = 0.5;
  steps.steps = 4;
  steps.save_steps = {4};
  const auto descent = walk(rung, rung.initial, steps);
  CHECK(descent[0].rows[0][0] == Approx(9 * std::pow(0.5, 8)));
  steps.batch = 1;
  steps.runs = 2;
  const auto runs = walk(rung, rung.initial, steps);
  CHECK(runs[0].rows[0][0] != runs[1].rows[0][0]);
}

TEST_CASE("a law over symbols has a symbol for each parameter and component", "[model]") {
  const AnyRung<Expression> rung = decay_model<Decay>()->symbolic_rung("flow", parameters({}));
  Vector<Expression> rate(1);
  rung.field.value(rung.initial, rate, Expression(0));
  const std::string text = to_text(rate[0]);
  CHECK((text == "-rate*x" || text == "-x*rate"));
  CHECK(to_text(rate[0], Notation::latex).find("\\mathrm{rate}") != std::string::npos);
}

TEST_CASE("a model that offers no digits and no symbols says so", "[model]") {
  Rung only;
  only.info.name = "flow";
  only.make = [](const Parameters&, std::uint64_t) { return AnyRung<double>(); };
  const Model least({.name = "least", .paper = "none", .rungs = {only}});
  CHECK(least.ladder().empty());
  CHECK(least.regimes().empty());
  CHECK(least.parameters().empty());
  CHECK_THROWS_WITH(least.rung_in_digits("flow", parameters({}), 1),
                    Catch::Contains("least flow: --digits"));
  CHECK_THROWS_WITH(least.symbolic_rung("flow", parameters({})),
                    Catch::Contains("has no form over symbols"));
}

}  // namespace law_model_test
