#include "popgrad/rungs/law_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "popgrad/base/error.hpp"

namespace popgrad {

LawModel::LawModel(LawDescription description, std::vector<LawParameter> parameters)
    : description_(std::move(description)), parameters_(std::move(parameters)) {}

std::vector<RungInfo> LawModel::rungs() const {
  RungInfo flow;
  flow.name = "flow";
  flow.kind = RungKind::flow;
  flow.summary = description_.law;
  flow.cost = description_.cost;
  flow.default_end = fmt::format("{:g}", description_.end);
  RungInfo descent = flow;
  descent.name = "gd";
  descent.kind = RungKind::descent;
  descent.summary = "gradient descent: steps along the expected field";
  descent.default_end = fmt::format("{}", std::lround(description_.end / description_.step));
  descent.default_step = fmt::format("{:g}", description_.step);
  if (!random()) return {descent, flow};
  RungInfo random = descent;
  random.name = "sgd";
  random.kind = RungKind::random;
  random.summary = "SGD: steps along the field of one minibatch";
  random.default_batch = description_.batch;
  return {random, descent, flow};
}

std::vector<ParameterInfo> LawModel::parameters() const {
  std::vector<ParameterInfo> infos;
  for (const LawParameter& parameter : parameters_) {
    ParameterInfo info;
    info.name = parameter.name;
    info.kind = "number";
    info.default_value = parameter.usual;
    info.help = parameter.meaning;
    infos.push_back(std::move(info));
  }
  return infos;
}

std::vector<LadderStep> LawModel::ladder() const {
  const std::string end = fmt::format("{:g}", description_.end);
  const LadderStep steps{"gd", "flow", "steps of length 0", end, {}, false};
  if (!random()) return {steps};
  return {{"sgd", "gd", "the expectation in place of a minibatch", end, {}, false}, steps};
}

void LawModel::check_rung(std::string_view name) const {
  std::vector<std::string> names{"flow", "gd"};
  if (random()) names.emplace_back("sgd");
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  reject(this->name(), "rung", name, "is not known" + suggestion(name, names));
}

template <class T>
std::vector<T> LawModel::values(const Parameters& p) const {
  std::vector<T> numbers;
  for (const LawParameter& parameter : parameters_) {
    numbers.push_back(p.number<T>(parameter.name, parameter.usual));
    if (numbers.back() >= T(parameter.least)) continue;
    reject(name(), "--" + parameter.name, to_text(numbers.back()),
           fmt::format("must be >= {:g}", parameter.least));
  }
  return numbers;
}

std::vector<Expression> LawModel::symbols() const {
  std::vector<Expression> made;
  for (const LawParameter& parameter : parameters_) {
    made.emplace_back(GiNaC::symbol(parameter.name));
  }
  return made;
}

template std::vector<double> LawModel::values(const Parameters& p) const;
template std::vector<Real> LawModel::values(const Parameters& p) const;

}  // namespace popgrad
