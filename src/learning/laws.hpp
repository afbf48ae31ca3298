#pragma once
/// Laws of draws: their calls in formulas, and sums over their values.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "formulas/batch.hpp"
#include "formulas/graph.hpp"
#include "formulas/syntax.hpp"

namespace popgrad::learning {

/// The last, of a matrix with orthonormal rows or columns, is of starts and [fixed] only.
enum class Law { normal, uniform, bernoulli, categorical, index, orthogonal };

/// A call of a law: independent draws from it, as a variable. Of a normal law the variable is standard, apart from a
/// covariance.
struct Draw {
  Law law = Law::uniform;
  formulas::Array variable;
  /// Of bernoulli that of 1, for each entry; of categorical a vector. May depend on draws before.
  std::optional<formulas::Array> probabilities;
  Index categories = 0;                         ///< values of one entry: 0, 1, ...; 0: a density
  std::optional<formulas::Array> covariance{};  ///< of the last axis of normal draws

  [[nodiscard]] bool is_finite() const { return categories > 0; }
  [[nodiscard]] const std::string& name() const { return variable.node().text; }
  /// Of all its entries together; 1e300 and more is not counted exactly.
  [[nodiscard]] double values() const;
};

using formulas::Array;
using formulas::Dimension;
using formulas::Shape;

/// The draw of a call of a law, named `name`, and what the call stands for. `array` gives the array of an argument,
/// `shape` that of arguments from one on. Nothing where the function is no law.
struct CalledLaw {
  Draw draw;
  Array value;
};
std::optional<CalledLaw> called_law(
    const formulas::syntax::Node& call, const std::string& name, formulas::Graph& graph,
    const std::function<Array(std::size_t)>& array,
    const std::function<formulas::Shape(std::size_t, std::size_t)>& shape);

/// Standard normal numbers with a covariance of their last axis.
Array correlated(const Array& standard, const Array& covariance);

/// Names of the laws.
const std::vector<std::string>& law_names();

/// Whether a formula reads a variable.
bool reads(const Array& formula, const Array& variable);
/// Draws that the formula reads, and those that their probabilities read, in the order of `draws`.
std::vector<Draw> read_draws(const Array& formula, const std::vector<Draw>& draws);

/// Of the values of a finite draw: a formula of it and of draws before. A number.
Array probability(const Draw& draw);

/// All values along a first axis: entry e of value a is digit e of a, the first entry changing slowest.
Array all_values(const Draw& draw);

/// Those of finite laws, and how many values they have together.
struct FiniteDraws {
  std::vector<Draw> draws{};
  double values = 1;
};
FiniteDraws finite_draws(const std::vector<Draw>& draws);

/// A formula after the expectation over the normal draws among `read`, those that it reads.
struct OverNormals {
  std::optional<Array> mean{};
  std::string way{};             ///< how it is had, empty without normal draws; or why it is not
  std::vector<Array> slopes{};   ///< one a state, where they are not the gradient of the mean
  std::optional<Array> fewer{};  ///< the mean by fewer nodes, where there is quadrature in it
};
/// Where it jumps as a function of normal draws and of states, slopes are expectations of its gradient.
OverNormals over_normals(const Array& formula, const std::vector<Draw>& read,
                         const std::vector<Array>& states = {});

/// The covariance of two formulas over the normal draws among `read`: axes of `f`, then those of `g`.
OverNormals covariance_over_normals(const Array& f, const Array& g, const std::vector<Draw>& read);

/// Sums over all values of finite draws, of which later ones may depend on earlier ones; summands and terms that do
/// not read a draw are kept out of its sum. Throws InputError where the values do not fit into memory.
Array expected(const Array& formula, const std::vector<Draw>& draws);

}  // namespace popgrad::learning
