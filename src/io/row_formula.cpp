#include "io/row_formula.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "formulas/elaborate.hpp"
#include "formulas/evaluator.hpp"
#include "formulas/syntax.hpp"

namespace popgrad {

struct RowFormula::Computation {
  formulas::Graph graph;
  std::optional<formulas::Evaluator<double>> evaluator;
  double unread = 0;  // for a column that the value does not depend on, as in 0 * x
};

RowFormula::RowFormula(std::string_view text, std::span<const std::string> columns)
    : computation_(std::make_unique<Computation>()) {
  const formulas::syntax::Tree tree = formulas::syntax::parse(text, columns);
  formulas::Scope scope;
  for (const std::string& column : columns) {
    if (!scope.contains(column)) scope.emplace(column, computation_->graph.variable(column, {}));
  }
  for (const formulas::syntax::Node& node : tree.nodes) {
    if (node.kind == formulas::syntax::Kind::number) {
      literals_.push_back(std::strtod(node.text.c_str(), nullptr));
      if (std::isinf(literals_.back()))
        throw formulas::FormulaError(node.place, "the number is too large for a double");
    }
    if (node.kind != formulas::syntax::Kind::name || !scope.contains(node.text)) continue;
    const auto column = static_cast<std::size_t>(
        std::find(columns.begin(), columns.end(), node.text) - columns.begin());
    if (std::find(reads_.begin(), reads_.end(), column) == reads_.end()) reads_.push_back(column);
  }
  const formulas::Array array = formulas::elaborate(tree, computation_->graph, scope);
  if (array.rank() > 0)
    throw InputError("it gives an array of shape " + formulas::to_text(array.shape()) +
                     ", and has to give a number a row");
  computation_->evaluator.emplace(std::vector{array});
  for (const std::size_t column : reads_) {
    const std::span<double> number = computation_->evaluator->variable(columns[column]);
    numbers_.push_back(number.empty() ? &computation_->unread : number.data());
  }
}

RowFormula::~RowFormula() = default;
RowFormula::RowFormula(RowFormula&&) noexcept = default;
RowFormula& RowFormula::operator=(RowFormula&&) noexcept = default;

double RowFormula::computed() const {
  computation_->evaluator->run();
  return computation_->evaluator->output(0).front();
}

}  // namespace popgrad
