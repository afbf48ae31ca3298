/// Law: an option that a rung accepts changes what the rung does.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "laws/cases.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/rungs/rung.hpp"
#include "theorems/joma/rungs/instance.hpp"

namespace popgrad::laws::options_matter_laws {
namespace {

// Everything that a run could show of a rung: names, start, field, columns and draws.
std::vector<double> fingerprint(const Case& made) {
  const AnyRung<double> rung = made.make();
  std::vector<double> seen;
  std::vector<Point> at = points(made, rung);
  if (!rung.field.state_at) {
    // The same numbers for rungs of one size, wherever they start.
    Stream stream(9, 0, 0);
    Vector<double> x(rung.dimension);
    for (double& value : x) value = std::fabs(0.3 * stream.normal()) + 0.1;
    if (!rung.varying_length && rung.observables.columns.back() != "nonzeros") {
      at.push_back({x, 0.1});
      at.push_back({x, 2.0});
    }
  }
  for (const std::string& name : rung.observables.columns) {
    for (const char c : name) seen.push_back(c);
  }
  for (const Point& point : at) {
    for (const double value : observed(rung, point)) seen.push_back(value);
    Vector<double> dx(point.x.size());
    if (rung.field.value) {
      rung.field.value(point.x, dx, point.t);
      seen.insert(seen.end(), dx.begin(), dx.end());
    }
    if (rung.draws.sample) {
      for (std::uint64_t step = 0; step < 4; ++step) {
        Stream stream(1, 0, step);
        rung.draws.sample(point.x, dx, stream, 3);
        seen.insert(seen.end(), dx.begin(), dx.end());
      }
    }
  }
  if (rung.draws.step) {
    Vector<double> x = rung.initial;
    for (std::uint64_t step = 0; step < 40; ++step) {
      Stream stream(1, 0, step);
      rung.draws.step(x, 0.4, stream, made.rung.kind == RungKind::descent ? 0 : 20);
      seen.insert(seen.end(), x.begin(), x.end());
    }
  }
  return seen;
}

bool equal(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && !(std::isnan(a[i]) && std::isnan(b[i]))) return false;
  }
  return true;
}

/// Why a parameter leaves a case as it is, where that is right; empty where it is not.
std::string idle(const Case& made, const std::string& name) {
  const Parameters& p = made.parameters;
  const std::string at = made.model->name() + " " + made.rung.name + " " + name;
  if (name == "mu" && made.model->name() == "scb") return "is checked against P, which fixes it";
  if ((name == "pilot" || name == "pilot_at") && p.has("sigma_V") && p.has("sigma_A")) {
    return "both of the levels that a pilot measures are given";
  }
  if (at == "scan-snap reduced next" || at == "scan-snap closed-form next") {
    return "classes are alike, whatever their next tokens are called";
  }
  if (at == "scan-snap closed-form watch" || at == "scan-snap closed-form track-growth") {
    return "the closed form has columns of its own";
  }
  if (at == "scan-snap sgd track-growth" && (p.has("label_noise") || p.has("temperature"))) {
    return "growth is of the theory alone: off is the only value";
  }
  if (name == "start" && made.model->name() == "scan-snap" && p.text("start", "") == "zero") {
    return "is the default; some rungs have no other";
  }
  if (name == "start" && made.model->name() == "scb" && p.has("mu")) {
    return "11'/N is mu 1' for this mu";
  }
  if (name == "pilot" && p.text("pilot_at", "") == "start" && p.has("sigma_V")) {
    return "the level of attention is 0 at the start, however it is measured";
  }
  if (made.is("joma", "closed-form") && p.text("attention", "") == "linear" && !p.has("z0")) {
    return "v = z = 0 is an equilibrium of linear attention";
  }
  if (made.is("joma", "closed-form") && p.has("X")) {
    if (name == "units" && p.has("W0")) return "W0 has as many columns";
    const joma::ReducedInstance<double> made_of = joma::reduced_instance<double>(p, made.seed);
    if (made_of.target.isZero(0)) return "the one unit is off in every class, and stays";
  }
  if (at == "topic optimum value" && p.text("value", "") == "block") return "is its default";
  if (name == "attention" && p.text("train-attention", "") == "false") {
    return "uniform attention is the same whatever makes weights of logits";
  }
  if (at == "joma stationary W0" && !p.has("X")) return "v0 is the start beside mu and delta";
  return {};
}

// The case without the parameter, and with every other value that the options have for it.
std::vector<Case> alternatives(const Case& made, const std::string& name) {
  std::vector<Case> others;
  Case without = made;
  without.parameters = Parameters(made.model->name());
  for (const auto& [other, kept] : made.parameters.values().entries()) {
    if (other != name) without.parameters.set(other, kept);
  }
  if (accepted(without)) others.push_back(without);
  for (const Option& option : options_of(made.model->name(), made.rung.name)) {
    for (const Record& level : option.levels) {
      const Value* value = level.find(name);
      if (value == nullptr || *value == *made.parameters.values().find(name)) continue;
      Case other = made;
      other.parameters.set(name, *value);
      if (accepted(other)) others.push_back(other);
    }
  }
  return others;
}

}  // namespace

TEST_CASE("laws: options change what a rung does", "[law]") {
  for (const Case& made : cases()) {
    const std::vector<double> with = fingerprint(made);
    for (const auto& [name, value] : made.parameters.values().entries()) {
      if (!idle(made, name).empty()) continue;
      // Data and sizes that others are given for; an option that others need.
      const std::set<std::string> frame{"P", "X",   "mu", "delta", "q", "T",
                                        "N", "d_a", "v",  "tau",   "Q", "algorithm"};
      const bool framing = frame.contains(name) &&
                           !(made.model->name() == "joma" && name == "tau") &&
                           !(made.model->name() == "topic" && name == "d_a") &&
                           !(made.model->name() == "scan-snap" && name == "T") &&
                           !(made.model->name() == "topic" && name == "N");
      if (framing) continue;
      const std::vector<Case> others = alternatives(made, name);
      if (others.empty()) continue;
      INFO(made.text() << ": nothing changes with another " << name << ", or without");
      CHECK(std::any_of(others.begin(), others.end(),
                        [&](const Case& other) { return !equal(with, fingerprint(other)); }));
    }
  }
}

}  // namespace popgrad::laws::options_matter_laws
