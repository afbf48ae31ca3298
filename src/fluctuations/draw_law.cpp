#include "popgrad/fluctuations/draw_law.hpp"

#include <cmath>

namespace popgrad {
namespace {

// Of a second difference: h^2/12 times the fourth derivative and 4 eps g/h^2 are near 1e-8 of g.
constexpr double difference = 1e-3;

// Number of ways to share `length` among the tokens that occur.
double counts_of(const Vector<double>& law, Index length) {
  const auto tokens = static_cast<double>((law.array() > 0).count());
  const auto total = static_cast<double>(length);
  return std::exp(std::lgamma(total + tokens) - std::lgamma(total + 1) - std::lgamma(tokens));
}

struct SecondOrder {
  Vector<double> mean;     ///< (n)
  Matrix<double> columns;  ///< deviations, (n x tokens); empty if not asked for
};

SecondOrder second_order(const DrawLaw& law, Index cls, Index dimension, const DrawField& field,
                         bool with_columns) {
  const Vector<double>& tokens = law.classes[static_cast<std::size_t>(cls)].tokens;
  const auto length = static_cast<double>(law.length);
  Vector<double> center(dimension), ahead(dimension), behind(dimension);
  field(cls, tokens, center);
  SecondOrder found{center, {}};
  if (with_columns) found.columns = Matrix<double>::Zero(dimension, tokens.size());
  for (Index token = 0; token < tokens.size(); ++token) {
    if (!(tokens[token] > 0)) continue;
    // S is the sum of p_l (e_l - p)(e_l - p)'.
    Vector<double> shift = -tokens;
    shift[token] += 1;
    shift *= difference * std::sqrt(tokens[token]);
    field(cls, tokens + shift, ahead);
    field(cls, tokens - shift, behind);
    found.mean += (ahead + behind - 2 * center) / (2 * difference * difference * length);
    if (with_columns) {
      found.columns.col(token) = (ahead - behind) / (2 * difference * std::sqrt(length));
    }
  }
  return found;
}

}  // namespace

void visit_counts(const Vector<double>& tokens, Index length,
                  const std::function<void(const Vector<double>&, double)>& use) {
  const Index last = tokens.size() - 1;
  const auto total = static_cast<double>(length);
  Vector<double> frequencies = Vector<double>::Zero(tokens.size());
  // `log` is that of length! prod p^count / count! so far.
  const std::function<void(Index, Index, double)> from = [&](Index token, Index left, double log) {
    const Index most = tokens[token] > 0 ? left : 0;
    if (token == last && most < left) return;
    for (Index count = token == last ? left : 0; count <= most; ++count) {
      const auto c = static_cast<double>(count);
      frequencies[token] = c / total;
      const double now = count > 0 ? log + c * std::log(tokens[token]) - std::lgamma(c + 1) : log;
      if (token == last) {
        use(frequencies, std::exp(now));
      } else {
        from(token + 1, left - count, now);
      }
    }
  };
  from(0, length, std::lgamma(total + 1));
}

double number_of_counts(const DrawLaw& law, Index labels) {
  double counts = 0;
  for (Index c = 0; c < std::ssize(law.classes); c += labels) {
    counts += counts_of(law.classes[static_cast<std::size_t>(c)].tokens, law.length);
  }
  return counts;
}

bool is_enumerated(const DrawLaw& law) {
  return law.length == 0 || number_of_counts(law) <= most_counts;
}

namespace {

// W (n x m) with W W' = Cov[g].
Matrix<double> draw_factor(const DrawLaw& law, Index dimension, const DrawField& field) {
  // Directions whose mean is taken off at the end, and columns that are deviations already.
  std::vector<Vector<double>> directions, deviations;
  std::vector<double> chances;
  Vector<double> direction(dimension);
  const bool enumerated = is_enumerated(law);
  for (Index c = 0; c < std::ssize(law.classes); ++c) {
    const DrawClass& one = law.classes[static_cast<std::size_t>(c)];
    const auto add = [&](const Vector<double>& of_sample, double chance) {
      directions.push_back(of_sample);
      chances.push_back(one.probability * chance);
    };
    if (law.length == 0) {
      field(c, one.tokens, direction);
      add(direction, 1);
    } else if (enumerated) {
      visit_counts(one.tokens, law.length, [&](const Vector<double>& x, double chance) {
        field(c, x, direction);
        add(direction, chance);
      });
    } else {
      const SecondOrder found = second_order(law, c, dimension, field, true);
      add(found.mean, 1);
      for (Index k = 0; k < found.columns.cols(); ++k) {
        deviations.emplace_back(std::sqrt(one.probability) * found.columns.col(k));
      }
    }
  }
  Vector<double> mean = Vector<double>::Zero(dimension);
  for (std::size_t i = 0; i < directions.size(); ++i) mean += chances[i] * directions[i];
  Matrix<double> factor(dimension, std::ssize(directions) + std::ssize(deviations));
  Index at = 0;
  for (std::size_t i = 0; i < directions.size(); ++i) {
    factor.col(at++) = std::sqrt(chances[i]) * (directions[i] - mean);
  }
  for (const Vector<double>& column : deviations) factor.col(at++) = column;
  return factor;
}

}  // namespace

Vector<double> draw_mean(const DrawLaw& law, Index dimension, const DrawField& field) {
  Vector<double> mean = Vector<double>::Zero(dimension);
  Vector<double> direction(dimension);
  const bool enumerated = is_enumerated(law);
  for (Index c = 0; c < std::ssize(law.classes); ++c) {
    const DrawClass& one = law.classes[static_cast<std::size_t>(c)];
    if (law.length == 0) {
      field(c, one.tokens, direction);
      mean += one.probability * direction;
    } else if (enumerated) {
      visit_counts(one.tokens, law.length, [&](const Vector<double>& x, double chance) {
        field(c, x, direction);
        mean += one.probability * chance * direction;
      });
    } else {
      mean += one.probability * second_order(law, c, dimension, field, false).mean;
    }
  }
  return mean;
}

Matrix<double> draw_covariance(const DrawLaw& law, const DrawField& field,
                               const Matrix<double>& vectors) {
  const Matrix<double> factor = draw_factor(law, vectors.rows(), field);
  return factor * (factor.transpose() * vectors);
}

}  // namespace popgrad
