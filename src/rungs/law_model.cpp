#include "popgrad/rungs/law_model.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "scalars/latex_name.hpp"

namespace popgrad {
namespace {

// In the order declared, checked.
template <class T>
std::vector<T> values_of(const std::vector<NumberParameter>& parameters, const Parameters& p) {
  std::vector<T> numbers;
  for (const NumberParameter& parameter : parameters) numbers.push_back(read<T>(p, parameter));
  return numbers;
}

GiNaC::symbol symbol_of(const std::string& name) { return {name, latex_name(name)}; }

// A symbol for each parameter and each component of the state.
AnyRung<Expression> over_symbols(const AnyLaw& law,
                                 const std::vector<NumberParameter>& parameters) {
  std::vector<Expression> symbols;
  for (const NumberParameter& parameter : parameters) {
    symbols.emplace_back(symbol_of(std::string(parameter.name)));
  }
  AnyRung<Expression> rung = law.over_symbols(symbols);
  for (Index i = 0; i < rung.dimension; ++i) {
    rung.initial[i] = symbol_of(rung.state_names[static_cast<std::size_t>(i)]);
  }
  return rung;
}

}  // namespace

ModelTable table_of_law(const LawDescription& description,
                        const std::vector<NumberParameter>& parameters, const AnyLaw& law,
                        bool random) {
  Rung flow;
  flow.info.name = "flow";
  flow.info.kind = RungKind::flow;
  flow.info.summary = description.law;
  flow.info.cost = description.cost;
  flow.info.default_end = fmt::format("{:g}", description.end);
  for (const NumberParameter& parameter : parameters) {
    if (parameter.standard.empty()) {
      throw std::logic_error(fmt::format("model {}: its law needs a default of {} (.standard)",
                                         description.name, parameter.name));
    }
    flow.reads.push_back(info_of(parameter));
  }
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
