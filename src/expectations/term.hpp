#pragma once
/// Monomials in arrays: what expectations are computed from.
///
///   T[out] = coefficient * (sum over the labels that are not in `out`) product of entries of the factors
///
/// A label stands for one index wherever it is found: of one axis, of several, or of none, which gives its extent
/// as a factor. Twice in `out` it is a diagonal.

#include <cstddef>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "expectations/coefficient.hpp"
#include "formulas/graph.hpp"

namespace popgrad::expectations {

using formulas::Dimension;
using formulas::Shape;
using Label = std::size_t;

/// Thrown where an expectation is not computed: the reason.
class NotHandled : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// It would take too much work.
class TooLong final : public NotHandled {
 public:
  using NotHandled::NotHandled;
};

enum class FactorKind { atom, draw, hole, function };

/// What a factor is of its array, entry by entry: step is 1 above 0, else 0; gaussian exp(-a^2); delta the slope of
/// step. Those from exponential on are weights: a normal density times them is a normal density, up to a factor.
enum class Function {
  erf,
  sign,
  step,
  relu,
  abs,
  sine,
  cosine,
  tanh,
  sigmoid,
  softplus,
  exponential,
  gaussian,
  delta
};
std::string_view name_of(Function function);
inline bool is_weight(Function function) { return function >= Function::exponential; }

struct Factor {
  Array array;
  std::vector<Label> labels;  ///< of its axes
  FactorKind kind = FactorKind::atom;
  bool symmetric = false;             ///< in its labels
  Function function = Function::erf;  ///< of those of that kind

  /// A draw, or a function of draws.
  [[nodiscard]] bool is_random() const {
    return kind == FactorKind::draw || kind == FactorKind::function;
  }
};

struct Term {
  Coefficient coefficient{};
  std::vector<Factor> factors{};
  std::map<Label, Dimension> dimensions{};  ///< of all labels
  std::vector<Label> out{};                 ///< of the axes of the term

  /// A label that is not there yet.
  Label add_label(const Dimension& dimension);
  /// Makes two labels one, of a name that either has.
  void identify(Label kept, Label other);
  /// Sums over an axis.
  void sum_over(std::size_t axis) { out.erase(out.begin() + static_cast<Index>(axis)); }
  /// Makes the labels of two axes one, and one axis of both.
  void identify_axes(std::size_t kept, std::size_t gone);
  [[nodiscard]] Shape shape() const;
};

/// An array as a term of one factor, by what it is made of where that is simpler: numbers become the coefficient,
/// transposes and broadcasting labels.
Term term_of(const Array& array, FactorKind kind = FactorKind::atom);

/// The axes of `a`, then those of `b`.
Term outer_product(const Term& a, const Term& b);
/// Entry by entry, of equal shapes.
Term product(const Term& a, const Term& b);
/// The term times an entry of another: its axes get these labels.
Term with_entry(Term term, const Term& entry, const std::vector<Label>& labels);
/// With axes in front and stretched ones, as NumPy broadcasts.
Term stretched(Term term, const Shape& shape);

/// Takes sqrt(a) sqrt(a) together and labels of no factor into the coefficient; puts factors and labels into an
/// order of their own. Equal terms get equal texts, apart from their coefficients; equal texts are equal terms. Where
/// a term has more symmetries than are worth a search, equal ones may get different texts.
std::string make_canonical(Term& term);

/// By text; coefficients of equal terms are added.
class TermSum {
 public:
  void add(Term term);
  [[nodiscard]] std::size_t size() const { return terms_.size(); }
  /// Those whose coefficient is not 0.
  [[nodiscard]] std::vector<Term> terms() const;

 private:
  std::map<std::string, Term> terms_;
};

}  // namespace popgrad::expectations
