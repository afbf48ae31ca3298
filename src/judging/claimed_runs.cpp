#include "judging/claimed_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "popgrad/base/error.hpp"

namespace popgrad {

bool Suspect::one_sided() const {
  return kind == Kind::choice || (assumed == 0 && possible.low == 0);
}

double Suspect::value_at(double size) const {
  if (kind != Kind::batch) return assumed + size;
  return size < assumed ? assumed * assumed / (assumed - size)
                        : std::numeric_limits<double>::infinity();
}

double Suspect::size_at(double value) const {
  return kind == Kind::batch ? assumed - assumed * assumed / value : value - assumed;
}

double Suspect::slope_at(double size) const {
  return kind == Kind::batch ? std::pow(value_at(size) / assumed, 2) : 1;
}

Suspect momentum_suspect(const ClaimedRuns& claimed) {
  const WalkRequest& steps = claimed.steps;
  const bool given = steps.optimiser.rule == Optimiser::Rule::momentum;
  Suspect made{Suspect::Kind::momentum, "momentum", given ? steps.optimiser.momentum : 0, true};
  made.possible = within_below(0, 1);
  return made;
}

Suspect batch_suspect(const ClaimedRuns& claimed) {
  Suspect made{Suspect::Kind::batch, "batch", static_cast<double>(claimed.steps.batch)};
  made.possible = at_least(1);
  return made;
}

std::vector<Suspect> suspects(const ClaimedRuns& claimed, const std::vector<std::string>& named) {
  const WalkRequest& steps = claimed.steps;
  const auto is_named = [&](const std::string& name) {
    return std::find(named.begin(), named.end(), name) != named.end();
  };
  std::vector<Suspect> all{
      {Suspect::Kind::learning_rate, "learning rate", steps.step_size, is_named("eta")},
      batch_suspect(claimed),
  };
  all.front().possible = above(0);
  all.back().asked_for = is_named("batch");
  if (is_named("momentum")) all.push_back(momentum_suspect(claimed));
  const bool every = is_named("all");
  std::vector<std::string> known{"eta", "batch", "momentum", "all"};
  for (const ParameterInfo& info : claimed.model.parameters()) {
    const bool is_choice = info.kind == "choice";
    if ((info.kind != "number" && !is_choice) || !info.is_read_by(claimed.sampled.name)) continue;
    known.push_back(info.name);
    const bool asked_for = is_named(info.name);
    if (is_choice) {
      const std::string said = claimed.parameters.text(info.name, info.choices.front());
      for (const std::string& other : info.choices) {
        if (other == said || !(asked_for || info.usual_fault)) continue;
        all.push_back({Suspect::Kind::choice, info.name, 0, asked_for, said, other});
        all.back().possible = within(0, 1);
      }
      continue;
    }
    if (!every && !asked_for && !info.usual_fault) continue;
    double value = 0;
    try {
      value = claimed.parameters.number<double>(info.name, info.default_value);
    } catch (const InputError&) {
      // No number here, such as a default that depends on others.
      if (!asked_for) continue;
      if (claimed.parameters.has(info.name)) throw;
      reject(
          "popgrad", "suspect", info.name,
          fmt::format("has no value here ({}); give --{} as well", info.default_value, info.name));
    }
    if (!asked_for && !info.usual_fault && value == 0) continue;
    all.push_back({Suspect::Kind::parameter, info.name, value, asked_for});
    all.back().possible = info.range;
  }
  for (const std::string& name : named) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      reject("popgrad", "suspect", name,
             fmt::format("is not a setting of {} {}{}; give {}", claimed.model.name(),
                         claimed.sampled.name, suggestion(name, known), fmt::join(known, ", ")));
    }
  }
  return all;
}

RunSetting setting_with(const ClaimedRuns& claimed, const Suspect& suspect, double value) {
  RunSetting made{claimed.steps, claimed.parameters};
  auto& [steps, parameters, batch] = made;
  batch = static_cast<double>(steps.batch);
  switch (suspect.kind) {
    case Suspect::Kind::learning_rate:
      steps.step_size = value;
      break;
    case Suspect::Kind::batch:
      if (!(value > 0 && std::isfinite(value))) throw InputError("no such batch");
      batch = value;
      steps.batch = std::max<Index>(1, std::lround(value));
      break;
    case Suspect::Kind::momentum:
      steps.optimiser.rule = value == 0 ? Optimiser::Rule::plain : Optimiser::Rule::momentum;
      steps.optimiser.momentum = value;
      break;
    case Suspect::Kind::parameter:
      parameters.set(suspect.name, to_text(value));
      break;
    case Suspect::Kind::choice:
      if (value != 0) parameters.set(suspect.name, suspect.other);
      break;
  }
  return made;
}

}  // namespace popgrad
