#pragma once
/// What the laws are checked on: every rung of every model, each on a pairwise cover of its options.
///
/// Rungs come from the registry, so a new one is here without a line; a new parameter needs a value
/// off its default in options.cpp, which a test asks for. Instances are tiny: three or four tokens.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "popgrad/rungs/model.hpp"

namespace popgrad::laws {

/// Alternatives of one kind; the first is the default. An alternative sets several parameters where
/// one needs the other, as theta needs a transfer start.
struct Option {
  std::string name;
  std::vector<Record> levels;
};

/// The options of a rung, in options.cpp; none for a model that it does not know.
std::vector<Option> options_of(const std::string& model, const std::string& rung);

/// Parameters without a level: name -> why ("read from a file; tests/... covers it").
std::map<std::string, std::string> parameters_left_out(const std::string& model);

struct Case {
  const Model* model = nullptr;
  RungInfo rung;
  Parameters parameters;
  std::uint64_t seed = 3;

  [[nodiscard]] AnyRung<double> make() const;
  /// `joma flow {"attention": "softmax"}`: what `popgrad run` takes to show it.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool is(std::string_view model_name, std::string_view rung_name) const;
};

/// Parameters that the rung accepts, by the table of the model and by its constructor?
bool accepted(const Case& made);

/// Every pair of levels that a rung accepts together occurs in one of its cases; made once.
const std::vector<Case>& cases();

/// A state, and the time that it is looked at.
struct Point {
  Vector<double> x;
  double t = 0;
};

/// The start, and two states in general position within the domain of the rung (columns of V sum to
/// 1, norms are not negative, ...); of a closed form its states at three times.
std::vector<Point> points(const Case& made, const AnyRung<double>& rung);

/// States within the later parts of a rung that has parts; none for the others.
std::vector<Point> trained_points(const Case& made, const AnyRung<double>& rung);

/// Value of a state component by its name.
std::map<std::string, double> by_name(const AnyRung<double>& rung, const Vector<double>& x);

std::vector<double> observed(const AnyRung<double>& rung, const Point& at);

/// Position of a column; -1 if there is none.
Index column(const AnyRung<double>& rung, std::string_view name);

}  // namespace popgrad::laws
