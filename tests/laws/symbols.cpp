/// Law: the equations that `popgrad equations` prints, at numbers, are the field of the rung.

#include <ginac/ginac.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "laws/cases.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/evidence/theories.hpp"
#include "popgrad/rungs/rung.hpp"
#include "theorems/joma/rungs/instance.hpp"
#include "theorems/scb/tests/law.hpp"

namespace popgrad::laws::symbols_laws {
namespace {

using List = Value::List;
using Numbers = std::map<std::string, double>;

void check_equations(const Case& made, const Numbers& numbers) {
  INFO(made.text());
  const AnyRung<Expression> symbolic = made.model->symbolic_rung(made.rung.name, made.parameters);
  const AnyRung<double> rung = made.make();
  REQUIRE(symbolic.dimension == rung.dimension);
  REQUIRE(symbolic.state_names == rung.state_names);
  const Point at = points(made, rung)[1];
  Numbers all = numbers;
  for (Index i = 0; i < rung.dimension; ++i) {
    all[GiNaC::ex_to<GiNaC::symbol>(symbolic.initial[i]).get_name()] = at.x[i];
  }
  Vector<Expression> equations(rung.dimension);
  symbolic.field.value(symbolic.initial, equations, Expression(0));
  Vector<double> field(rung.dimension);
  rung.field.value(at.x, field, 0.0);
  for (Index i = 0; i < rung.dimension; ++i) {
    GiNaC::exmap values;
    for (auto part = equations[i].preorder_begin(); part != equations[i].preorder_end(); ++part) {
      if (!GiNaC::is_a<GiNaC::symbol>(*part)) continue;
      const auto found = all.find(GiNaC::ex_to<GiNaC::symbol>(*part).get_name());
      REQUIRE(found != all.end());
      values[*part] = found->second;
    }
    INFO(rung.state_names[static_cast<std::size_t>(i)]);
    const double value = to_double(Expression(equations[i].subs(values).evalf()));
    CHECK(value == Approx(field[i]).margin(1e-11));
  }
}

Case of(const char* model, const char* rung, Record parameters) {
  Case made;
  made.model = &find_model(model);
  made.rung = find_rung(*made.model, rung);
  made.parameters = Parameters(model, std::move(parameters));
  return made;
}

std::string two(const char* name, Index i, Index k) {
  return std::string(name) + "_" + std::to_string(i) + "_" + std::to_string(k);
}

}  // namespace

TEST_CASE("laws: equations of joma are its fields", "[law]") {
  for (const char* attention : {"exp", "softmax", "linear"}) {
    for (const char* phi : {"linear", "gelu", "relu"}) {
      for (const char* residual : {"true", "false"}) {
        const bool normalise = std::string(phi) == "gelu";
        const Case made =
            of("joma", "flow",
               {{"X", List{List{"0.7", "0.2"}, List{"0.3", "0.8"}}},
                {"W0", List{List{"0.3", "-0.2"}, List{"0.5", "0.4"}, List{"0.2", "0.6"}}},
                {"temperature", "0.7"},
                {"attention", attention},
                {"phi", phi},
                {"residual", residual},
                {"normalise", normalise ? "true" : "false"}});
        Numbers numbers{{"T", 0.7}};
        const joma::ClassInstance<double> drawn =
            joma::class_instance<double>(made.parameters, made.seed);
        for (Index i = 0; i < 2; ++i) {
          for (Index k = 0; k < 2; ++k) {
            numbers[two("X", i, k)] = drawn.token_law(i, k);
            if (drawn.decoder.size() > 0) numbers[two("O", i, k)] = drawn.decoder(i, k);
          }
        }
        check_equations(made, numbers);
        Case noisy = made;
        noisy.parameters.set("label_noise", "0.3");
        numbers["rho"] = 0.3;
        check_equations(noisy, numbers);
      }
    }
    for (const char* rung : {"stationary", "reduced"}) {
      for (const bool nonlinear : {true, false}) {
        // Of linear attention the reduced rung keeps the start, which symbols stand for too.
        const bool keeps_start =
            std::string(attention) == "linear" && std::string(rung) == "reduced";
        if (keeps_start) continue;
        const Case made = of("joma", rung,
                             {{nonlinear ? "mu" : "delta", List{"0.9", "-0.6", "1.2"}},
                              {"v0", List{"0.1", "0.2", "-0.1"}},
                              {"temperature", "0.7"},
                              {"attention", attention}});
        Numbers numbers{{"T", 0.7}, {"tau", 2 * 0.7 * 0.7}};
        const double target[] = {0.9, -0.6, 1.2};
        for (Index l = 0; l < 3; ++l) {
          numbers[(nonlinear ? "mu_" : "Delta_") + std::to_string(l)] = target[l];
        }
        check_equations(made, numbers);
      }
    }
  }
}

TEST_CASE("laws: equations of scan-snap are its fields", "[law]") {
  for (const char* rung : {"flow", "quasi-static", "fast-decoder", "reduced"}) {
    const Case made = of("scan-snap", rung,
                         {{"P", List{List{"0.6", "0.4", "0"}, List{"0.7", "0", "0.3"}}},
                          {"eta_Y", "1.7"},
                          {"eta_Z", "0.6"},
                          {"track-growth", "false"}});
    check_equations(made, {{"M", 3},
                           {"P_0_0", 0.6},
                           {"P_0_1", 0.4},
                           {"P_1_0", 0.7},
                           {"P_1_2", 0.3},
                           {"eta_Y", 1.7},
                           {"eta_Z", 0.6}});
  }
}

TEST_CASE("laws: equations of scb are its fields", "[law]") {
  const Value kernel = List{List{"0.6", "0.3"}, List{"0.4", "0.7"}};
  const Value context = List{List{"1", "0", "0"}, List{"0", "1", "0"}};
  for (const char* attention : {"linear", "softmax"}) {
    for (const char* project : {"true", "false"}) {
      const Case made = of("scb", "flow",
                           {{"P", kernel},
                            {"q", context},
                            {"eta_A", "1.7"},
                            {"attention", attention},
                            {"project", project}});
      const BigramLaw b = bigram_law(made);
      Numbers numbers{{"eta_A", 1.7}};
      for (Index i = 0; i < 2; ++i) {
        numbers["mu_" + std::to_string(i)] = b.mu[i];
        for (Index k = 0; k < 2; ++k) numbers[two("P", i, k)] = b.kernel(i, k);
      }
      check_equations(made, numbers);
    }
  }
  const Case made = of("scb", "reduced", {{"P", kernel}, {"q", context}});
  const BigramLaw b = bigram_law(made);
  double of_kernel = -b.mu.squaredNorm();
  for (Index k = 0; k < 2; ++k) of_kernel += b.mu[k] * b.kernel.col(k).squaredNorm();
  check_equations(made, {{"K_P", of_kernel}, {"K_Q", 1.0}, {"T", 3}, {"mu2", b.mu.squaredNorm()}});
}

TEST_CASE("laws: equations of topic are its fields", "[law]") {
  for (const char* words : {"1", "3"}) {
    const Case made = of(
        "topic", "block-reduced",
        {{"T", "4"}, {"tau", "2"}, {"v", words}, {"p_m", "0.4"}, {"p_c", "0.3"}, {"p_r", "0.25"}});
    check_equations(made, {{"p_m", 0.4}, {"p_c", 0.3}, {"p_r", 0.25}});
  }
}

}  // namespace popgrad::laws::symbols_laws
