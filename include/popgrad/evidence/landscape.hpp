#pragma once
/// The loss over two coordinates, as a theory offers it to `popgrad landscape`: exact values, grids,
/// a certified minimum, and the loss of the whole model for slices around what training ends at.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "popgrad/base/range.hpp"
#include "popgrad/base/record.hpp"
#include "popgrad/rungs/parameters.hpp"
#include "popgrad/scalars/rational.hpp"
#include "popgrad/scalars/vector.hpp"

namespace popgrad {

struct LandscapeCoordinate {
  std::string name;        ///< `--NAME LOW,HIGH`; key in documents, column of tables
  std::string symbol;      ///< in pictures
  std::string usual;       ///< its range if none is given, in words
  double least_shown = 0;  ///< pictures reach at least as far, if no range is given
};

struct LandscapeBox {
  std::array<Rational, 2> low, high;
};

struct LandscapeLeaf {
  std::string path;    ///< halvings from the whole box: a, A (lower, upper half in x), b, B (in y)
  bool above = false;  ///< L > upper there; otherwise only L >= lower
};

/// lower <= min L <= upper in the box; every minimiser lies in a leaf that is not `above`.
struct LandscapeCertificate {
  Rational lower, upper;
  std::array<Rational, 2> point;  ///< where L = upper, exactly
  LandscapeBox box;
  /// w, where L depends on g = x + w y only: leaves are intervals of g, the minimisers a line.
  std::optional<Rational> line;
  std::vector<LandscapeLeaf> leaves;
  LandscapeBox minimisers;  ///< hull of the leaves that are not above (of g in x, on a line)
  std::size_t boxes = 0;    ///< examined
};

/// At one point, exact.
struct LandscapeCurvature {
  Vector<Rational> gradient;                 // (2)
  Matrix<Rational> hessian;                  // (2, 2)
  int positive = 0, zero = 0, negative = 0;  ///< eigenvalues of the Hessian, by sign
};

/// Where both derivatives of L(x, y) vanish.
struct LandscapeCritical {
  double x = 0, y = 0, value = 0;
  double slope = 0;  ///< length of the field of training there: 0 where training rests
  /// Directions of the whole state by the sign of the second derivative; zero ones are below 1e-9 of the largest.
  int negative = 0, zero = 0, positive = 0;
};

/// The point of the plane that is nearest to a state.
struct LandscapeNearest {
  double x = 0, y = 0;
  double distance = 0;  ///< of the whole state from that of the point
};

/// The loss L(x, y) at the parameters of an instance.
struct LandscapeLoss {
  std::string title, caption;  ///< of pictures
  std::string form;            ///< what the instance has, in a few words
  Record instance;             ///< what documents begin with
  Record certified;            ///< what else a certificate needs to be checked
  LandscapeBox box;            ///< where it is certified and drawn, if no range is given
  /// Nothing where it has no value.
  std::function<std::optional<Rational>(const Rational& x, const Rational& y)> value;
  /// Row by row, xs within ys, by `jobs` threads (0: all); after a request to stop the first rows.
  std::function<std::vector<double>(const std::vector<double>& xs, const std::vector<double>& ys,
                                    int jobs)>
      grid;
  /// Both empty where no minimum is certified.
  std::function<LandscapeCurvature(const Rational& x, const Rational& y)> curvature = {};
  /// Encloses the minimum to `tolerance` > 0 in the value. Throws std::runtime_error if it cannot.
  std::function<LandscapeCertificate(const LandscapeBox& box, const Rational& tolerance)> certify =
      {};
  /// Those in the box that Newton's method finds from a grid, by value; empty where there is no search.
  std::function<std::vector<LandscapeCritical>(const LandscapeBox& box)> critical = {};
  /// Of a state of one of `path_rungs`.
  std::function<LandscapeNearest(const std::string& rung, const Vector<double>& state)> nearest =
      {};
};

/// The loss of the whole model over the state of a rung.
struct WholeLoss {
  struct Block {
    Index begin = 0, rows = 0, columns = 0;
  };
  std::function<double(const Vector<double>& state)> loss;
  /// Matrices of the state, column by column: random directions have in each column its length.
  std::vector<Block> blocks;
};

struct LossLandscape {
  std::string name;     ///< among those of its theory
  std::string summary;  ///< what the loss is over: "the attention weights (alpha, beta)"
  std::array<LandscapeCoordinate, 2> coordinates;
  Range range = {};       ///< of both coordinates
  std::string meaning;    ///< why they have that range: "weights are >= 0"
  std::string undefined;  ///< what is wrong with a point that has no value
  /// Parameters in place of those of the model that have the same names. Of the others those are
  /// read that every rung of the model reads.
  std::vector<ParameterInfo> parameters;
  /// Throws InputError.
  std::function<LandscapeLoss(const Parameters& p)> at;
  std::vector<std::string> whole_rungs;  ///< whose state `whole` takes; empty: no slices
  std::function<WholeLoss(const Parameters& p, std::uint64_t seed)> whole;
  std::vector<std::string> path_rungs = {};  ///< whose training is shown in the plane
  std::string check;                         ///< how a certificate in a file is checked by itself
};

}  // namespace popgrad
