#pragma once
/// What one theory brings to a program: a model, its statements, errata, figures and landscapes.
///
/// A theory is a folder with one function that makes it; a program is a list of theories, given to
/// popgrad::main (popgrad/commands/program.hpp). Nothing else has to know of a theory.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/evidence/landscape.hpp"
#include "popgrad/evidence/statement.hpp"
#include "popgrad/rungs/model.hpp"
#include "popgrad/scalars/expression.hpp"

namespace popgrad {

struct Theory {
  std::shared_ptr<const Model> model;
  std::vector<Statement> statements = {};  ///< ids begin with the model's name and a dot
  std::vector<Erratum> errata = {};
  std::vector<FigureMaker> figures = {};
  std::vector<LossLandscape> landscapes = {};  ///< the first is the usual one
  std::string file = {};                       ///< that it was read from: another name of the model
  /// Of one that is written in formulas: the law of motion of a rung as lines. Throws InputError.
  std::function<std::vector<std::string>(const std::string& rung, const Parameters& p,
                                         Notation notation)>
      written = {};
  /// Of the same: "torch" or "numpy", a script of its training from the start that the seed draws; "latex", the whole
  /// as a document. Throws InputError.
  std::function<std::string(const std::string& form, const Parameters& p, std::uint64_t seed)>
      exported = {};
};

/// In the order of `popgrad list`.
using Theories = std::span<const Theory>;

/// By the name of the model, or of its file. Throws InputError with the nearest name.
const Theory& find_theory(Theories theories, std::string_view name);
const Model& find_model(Theories theories, std::string_view name);
bool has_model(Theories theories, std::string_view name);

/// Of all theories, in their order.
std::vector<const Statement*> statements(Theories theories);
std::vector<Erratum> errata(Theories theories);
std::vector<FigureInfo> figures(Theories theories);

/// Throws InputError for what no program could use: no theory or model, a name that occurs twice, a
/// statement whose id is not `MODEL.SUBJECT`, that has no check, no hypothesis or no control, a
/// figure that shows a statement which there is not, a landscape without a name or a loss.
void check_theories(Theories theories);

}  // namespace popgrad
