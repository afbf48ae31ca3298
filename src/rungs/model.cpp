#include "popgrad/rungs/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "popgrad/base/error.hpp"
#include "popgrad/rungs/rung.hpp"

namespace popgrad {
namespace {

std::vector<ParameterInfo> parameters_of(const std::vector<Rung>& rungs) {
  std::vector<ParameterInfo> all;
  for (const Rung& rung : rungs) {
    for (const ParameterInfo& read : rung.reads) {
      auto known = std::find_if(all.begin(), all.end(),
                                [&](const ParameterInfo& info) { return info.name == read.name; });
      if (known == all.end()) known = all.insert(all.end(), read);
      known->rungs.push_back(rung.info.name);
    }
  }
  for (ParameterInfo& info : all) {
    if (info.rungs.size() == rungs.size()) info.rungs.clear();
  }
  return all;
}

}  // namespace

Model::Model(ModelTable table) : table_(std::move(table)) {
  for (auto one = table_.rungs.begin(); one != table_.rungs.end(); ++one) {
    if (std::any_of(table_.rungs.begin(), one,
                    [&](const Rung& other) { return other.info.name == one->info.name; })) {
      throw std::logic_error(
          fmt::format("model {}: two rungs have the name {}", table_.name, one->info.name));
    }
  }
  parameters_ = parameters_of(table_.rungs);
}

std::vector<RungInfo> Model::rungs() const {
  std::vector<RungInfo> infos;
  for (const Rung& rung : table_.rungs) infos.push_back(rung.info);
  return infos;
}

const Rung& Model::row(std::string_view name) const {
  std::vector<std::string> names;
  for (const Rung& rung : table_.rungs) {
    if (rung.info.name == name) return rung;
    names.push_back(rung.info.name);
  }
  reject(this->name(), "rung", name,
         fmt::format("is not known{}; see 'popgrad list {}'", suggestion(name, names), word()));
}

AnyRung<double> Model::rung(std::string_view name, const Parameters& p, std::uint64_t seed) const {
  const Rung& rung = row(name);
  if (rung.make) return rung.make(p, seed);
  reject(this->name(), "rung", name, "is predicted, and takes no steps of its own; take sgd");
}

AnyRung<Real> Model::rung_in_digits(std::string_view name, const Parameters& p,
                                    std::uint64_t seed) const {
  const Rung& rung = row(name);
  if (rung.make_in_digits) return rung.make_in_digits(p, seed);
  std::string others;
  for (const Rung& other : table_.rungs) {
    if (other.make_in_digits) others += (others.empty() ? "" : ", ") + other.info.name;
  }
  reject(fmt::format("{} {}", this->name(), name), "--digits", std::to_string(digits()),
         others.empty() ? "is not offered by this model; its rungs run in double"
                        : fmt::format("is for {}; this rung runs in double", others));
}

AnyRung<Expression> Model::symbolic_rung(std::string_view name, const Parameters& p) const {
  const Rung& rung = row(name);
  if (rung.make_over_symbols) return rung.make_over_symbols(p);
  reject(this->name(), "rung", name, rung.why_no_symbols);
}

std::shared_ptr<const Examination> Model::audit(std::string_view rung, const Parameters& p,
                                                std::uint64_t seed, const AnyRung<double>& made,
                                                const Trajectory<double>& run) const {
  return table_.audit ? table_.audit(rung, p, seed, made, run) : nullptr;
}

std::set<std::string> rungs_of_training(const Model& model, const std::string& rung) {
  std::set<std::string> names;
  for (bool grows = true; grows;) {
    grows = false;
    for (const LadderStep& step : model.ladder()) {
      const bool own = step.finer == rung || step.coarser == rung || names.contains(step.finer) ||
                       names.contains(step.coarser);
      if (step.special || !own) continue;
      grows = names.insert(step.finer).second || grows;
      grows = names.insert(step.coarser).second || grows;
    }
  }
  return names;
}

FlowDefaults flow_defaults(const Model& model, const Parameters& parameters) {
  FlowDefaults defaults;
  for (const ParameterInfo& info : model.parameters()) {
    if (!parameters.has(info.name)) continue;
    if (!info.flow_end.empty()) defaults.end = info.flow_end;
    if (!info.flow_tolerance.empty()) defaults.tolerance = info.flow_tolerance;
  }
  return defaults;
}

void require_read(const Parameters& parameters, const Model& model,
                  const std::vector<std::string>& rungs) {
  std::vector<ParameterInfo> known = model.parameters();
  // As if the first one read what any of them does.
  for (ParameterInfo& info : known) {
    const bool read = std::any_of(rungs.begin(), rungs.end(),
                                  [&](const std::string& rung) { return info.is_read_by(rung); });
    if (read) info.rungs.clear();
  }
  parameters.check_names(known, rungs.front());
}

}  // namespace popgrad
