#include "popgrad/rungs/law_model.hpp"

#include <fmt/format.h>

#include <cmath>

#include "popgrad/base/error.hpp"

namespace popgrad {
namespace {

// In the order declared, checked.
template <class T>
std::vector<T> values_of(const std::vector<LawParameter>& parameters, const Parameters& p) {
  std::vector<T> numbers;
  for (const LawParameter& parameter : parameters) {
    numbers.push_back(p.number<T>(parameter.name, parameter.usual));
    if (numbers.back() >= T(parameter.least)) continue;
    reject(p.model(), "--" + parameter.name, to_text(numbers.back()),
           fmt::format("must be >= {:g}", parameter.least));
  }
  return numbers;
}

// A symbol for each parameter and each component of the state.
AnyRung<Expression> over_symbols(const AnyLaw& law, const std::vector<LawParameter>& parameters) {
  std::vector<Expression> symbols;
  for (const LawParameter& parameter : parameters) {
    symbols.emplace_back(GiNaC::symbol(parameter.name));
  }
  AnyRung<Expression> rung = law.over_symbols(symbols);
  for (Index i = 0; i < rung.dimension; ++i) {
    rung.initial[i] = GiNaC::symbol(rung.state_names[static_cast<std::size_t>(i)]);
  }
  return rung;
}

std::vector<ParameterInfo> infos_of(const std::vector<LawParameter>& parameters) {
  std::vector<ParameterInfo> infos;
  for (const LawParameter& parameter : parameters) {
    ParameterInfo info;
    info.name = parameter.name;
    info.kind = "number";
    info.default_value = parameter.usual;
    info.help = parameter.meaning;
    infos.push_back(std::move(info));
  }
  return infos;
}

}  // namespace

ModelTable table_of_law(const LawDescription& description,
                        const std::vector<LawParameter>& parameters, const AnyLaw& law,
                        bool random) {
  Rung flow;
  flow.info.name = "flow";
  flow.info.kind = RungKind::flow;
  flow.info.summary = description.law;
  flow.info.cost = description.cost;
  flow.info.default_end = fmt::format("{:g}", description.end);
  flow.reads = infos_of(parameters);
  flow.make_over_symbols = [=](const Parameters& /*p*/) { return over_symbols(law, parameters); };
  Rung sgd = flow;
  sgd.make = [=](const Parameters& p, std::uint64_t /*seed*/) {
    return law.in_double(values_of<double>(parameters, p));
  };
  flow.make_in_digits = [=](const Parameters& p, std::uint64_t /*seed*/) {
    return law.in_digits(values_of<Real>(parameters, p));
  };
  flow.make = [make = sgd.make](const Parameters& p, std::uint64_t seed) {
    return without_draws(make(p, seed));
  };
  sgd.info.default_end = fmt::format("{}", std::lround(description.end / description.step));
  sgd.info.default_step = fmt::format("{:g}", description.step);
  Rung gd = sgd;
  gd.info.name = "gd";
  gd.info.kind = RungKind::descent;
  gd.info.summary = "gradient descent: steps along the expected field";
  gd.make = flow.make;
  sgd.info.name = "sgd";
  sgd.info.kind = RungKind::random;
  sgd.info.summary = "SGD: steps along the field of one minibatch";
  sgd.info.default_batch = description.batch;

  ModelTable table{
      .name = description.name, .paper = description.paper, .regimes = description.regimes};
  const std::string end = fmt::format("{:g}", description.end);
  if (random) {
    table.rungs.push_back(std::move(sgd));
    table.ladder.push_back(
        {"sgd", "gd", "the expectation in place of a minibatch", end, {}, false});
  }
  table.rungs.push_back(std::move(gd));
  table.rungs.push_back(std::move(flow));
  table.ladder.push_back({"gd", "flow", "steps of length 0", end, {}, false});
  return table;
}

}  // namespace popgrad
