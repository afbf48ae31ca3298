#include "theorems/topic/rungs/optimum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "popgrad/base/failure.hpp"
#include "popgrad/base/stop.hpp"
#include "popgrad/scalars/real.hpp"
#include "scalars/linear_algebra.hpp"

namespace popgrad::topic {
namespace {

// ---- polynomials in alpha and beta, of degree at most 4 in each -------------------------------

constexpr std::size_t degree = 4;
constexpr std::size_t side = degree + 1;

struct Polynomial {
  std::vector<Rational> c = std::vector<Rational>(side * side, Rational(0));  // c[i * side + j]
  Rational& at(std::size_t i, std::size_t j) { return c[i * side + j]; }
  [[nodiscard]] const Rational& at(std::size_t i, std::size_t j) const { return c[i * side + j]; }
};

Polynomial operator*(const Polynomial& f, const Polynomial& g) {
  Polynomial h;
  for (std::size_t i = 0; i < side; ++i) {
    for (std::size_t j = 0; j < side; ++j) {
      if (f.at(i, j) == 0) continue;
      for (std::size_t k = 0; i + k < side; ++k) {
        for (std::size_t l = 0; j + l < side; ++l) h.at(i + k, j + l) += f.at(i, j) * g.at(k, l);
      }
    }
  }
  return h;
}

Polynomial operator+(Polynomial f, const Polynomial& g) {
  for (std::size_t i = 0; i < f.c.size(); ++i) f.c[i] += g.c[i];
  return f;
}

Polynomial of(const LinearForm<Rational>& f) {
  Polynomial p;
  p.at(0, 0) = f.c[0];
  p.at(1, 0) = f.c[1];
  p.at(0, 1) = f.c[2];
  return p;
}

Polynomial of(const QuadraticForm<Rational>& f) {
  Polynomial p;
  p.at(0, 0) = f.q[0];
  p.at(1, 0) = f.q[1];
  p.at(0, 1) = f.q[2];
  p.at(2, 0) = f.q[3];
  p.at(1, 1) = f.q[4];
  p.at(0, 2) = f.q[5];
  return p;
}

Polynomial times(const Rational& factor, Polynomial p) {
  for (Rational& c : p.c) c *= factor;
  return p;
}

// What does not depend on the level, so that (L - level) N_0^2 N_1^2 costs one more product.
struct Cleared {
  Polynomial numerator, denominator;  // of L
  explicit Cleared(const Landscape<Rational>& l) {
    const Polynomial n0 = of(l.parts[0].normaliser);
    const Polynomial n1 = of(l.parts[1].normaliser);
    const Polynomial s0 = n0 * n0;
    const Polynomial s1 = n1 * n1;
    const auto cleared = [](const Landscape<Rational>::Part& part, const Polynomial& n) {
      return of(part.square) + times(Rational(-1), of(part.linear) * n);
    };
    denominator = s0 * s1;
    numerator = times(l.constant, denominator) + cleared(l.parts[0], n0) * s1 +
                cleared(l.parts[1], n1) * s0;
  }
  [[nodiscard]] Polynomial minus(const Rational& level) const {
    return numerator + times(Rational(-level), denominator);
  }
};

Rational choose(std::size_t n, std::size_t k) {
  Rational value(1);
  for (std::size_t i = 0; i < k; ++i) {
    value *= Rational(static_cast<int>(n - i));
    value /= Rational(static_cast<int>(i + 1));
  }
  return value;
}

// One variable: power coefficients on [low, high] to Bernstein coefficients.
void to_bernstein(Rational* c, std::size_t stride, const Rational& low, const Rational& high) {
  std::vector<Rational> shifted(side, Rational(0));
  // x = low + width t.
  const Rational width = high - low;
  for (std::size_t i = 0; i < side; ++i) {
    Rational power(1);
    for (std::size_t k = i + 1; k-- > 0;) {
      shifted[k] += c[i * stride] * choose(i, k) * power;
      power *= low;
    }
  }
  Rational scale(1);
  for (std::size_t k = 0; k < side; ++k) {
    shifted[k] *= scale;
    scale *= width;
  }
  for (std::size_t i = 0; i < side; ++i) {
    Rational sum(0);
    for (std::size_t k = 0; k <= i; ++k) sum += shifted[k] * choose(i, k) / choose(degree, k);
    c[i * stride] = sum;
  }
}

Polynomial bernstein(Polynomial p, const Box<Rational>& box) {
  for (std::size_t j = 0; j < side; ++j) to_bernstein(&p.c[j], side, box.alpha_low, box.alpha_high);
  for (std::size_t i = 0; i < side; ++i) {
    to_bernstein(&p.c[i * side], 1, box.beta_low, box.beta_high);
  }
  return p;
}

// de Casteljau at one half: both halves.
std::pair<Polynomial, Polynomial> halves(const Polynomial& p, bool in_alpha) {
  Polynomial low;
  Polynomial high;
  const std::size_t step = in_alpha ? side : 1;
  const std::size_t other = in_alpha ? 1 : side;
  const Rational half = Rational(1) / Rational(2);
  for (std::size_t line = 0; line < side; ++line) {
    std::vector<Rational> c(side);
    for (std::size_t i = 0; i < side; ++i) c[i] = p.c[line * other + i * step];
    for (std::size_t level = 0; level < side; ++level) {
      low.c[line * other + level * step] = c[0];
      high.c[line * other + (degree - level) * step] = c[degree - level];
      for (std::size_t i = 0; i + 1 < side - level; ++i) c[i] = (c[i] + c[i + 1]) * half;
    }
  }
  return {low, high};
}

bool all_positive(const Polynomial& p) {
  return std::all_of(p.c.begin(), p.c.end(), [](const Rational& c) { return c > 0; });
}

bool all_at_least_zero(const Polynomial& p) {
  return std::all_of(p.c.begin(), p.c.end(), [](const Rational& c) { return c >= 0; });
}

// (L - upper) and (L - lower), cleared, on one box; corners are values of the polynomial.
struct Task {
  Polynomial above, near;
  Box<Rational> box;
  std::string path;
};

// As a function of g: alpha is g, beta 0.
Landscape<Rational> in_sum_alone(Landscape<Rational> l) {
  for (auto& part : l.parts) {
    part.square.q[2] = part.square.q[4] = part.square.q[5] = 0;
    part.linear.c[2] = part.normaliser.c[2] = 0;
  }
  return l;
}

// ---- polynomials of one variable, coefficients ascending ---------------------------------------

std::vector<double> product(const std::vector<double>& f, const std::vector<double>& g) {
  std::vector<double> h(f.size() + g.size() - 1, 0.0);
  for (std::size_t i = 0; i < f.size(); ++i) {
    for (std::size_t j = 0; j < g.size(); ++j) h[i + j] += f[i] * g[j];
  }
  return h;
}

// Where f changes its sign on y > 0, ascending: once at most between those of its derivative.
std::vector<double> sign_changes(std::vector<double> f) {
  while (!f.empty() && f.back() == 0) f.pop_back();
  if (f.size() < 2) return {};
  std::vector<double> derivative;
  double largest = 0;
  for (std::size_t i = 0; i + 1 < f.size(); ++i) {
    derivative.push_back(static_cast<double>(i + 1) * f[i + 1]);
    largest = std::max(largest, std::fabs(f[i]));
  }
  const auto negative = [&f](double y) {
    double sum = 0;
    for (std::size_t i = f.size(); i-- > 0;) sum = sum * y + f[i];
    return sum < 0;
  };
  std::vector<double> ends = sign_changes(std::move(derivative));
  ends.push_back(1 + largest / std::fabs(f.back()));  // Cauchy's bound of all roots
  std::vector<double> found;
  double low = 0;
  for (const double end : ends) {
    double high = end;
    const bool before = negative(low);
    if (before != negative(high)) {
      for (double middle = (low + high) / 2; low < middle && middle < high;
           middle = (low + high) / 2) {
        (negative(middle) == before ? low : high) = middle;
      }
      found.push_back(high);
    }
    low = end;
  }
  return found;
}

Rational rational_of(double x) { return Rational(x); }

std::string shown(const Rational& x) { return fmt::format("{:.6g}", to_double(x)); }

}  // namespace

Minimum find_minimum(const Landscape<double>& l, const Box<double>& box) {
  constexpr int points = 200;
  std::vector<double> alphas;
  std::vector<double> betas;
  // Denser near 0, where L varies most.
  for (int i = 0; i <= points; ++i) {
    const double s = static_cast<double>(i) / points;
    alphas.push_back(box.alpha_low + (box.alpha_high - box.alpha_low) * s * s);
    betas.push_back(box.beta_low + (box.beta_high - box.beta_low) * s * s);
  }
  const std::vector<double> values = on_grid(l, alphas, betas, 1);
  throw_if_stopped();
  const auto best =
      static_cast<std::size_t>(std::min_element(values.begin(), values.end()) - values.begin());
  Minimum m{alphas[best % alphas.size()], betas[best / alphas.size()], values[best]};
  const auto clamp = [&](Vector<double> x) {
    x[0] = std::clamp(x[0], box.alpha_low, box.alpha_high);
    x[1] = std::clamp(x[1], box.beta_low, box.beta_high);
    return x;
  };
  Vector<double> x(2);
  x << m.alpha, m.beta;
  for (int i = 0; i < 200; ++i) {
    Vector<double> gradient = l.gradient(x[0], x[1]);
    Matrix<double> hessian = l.hessian(x[0], x[1]);
    // A coordinate at a bound that descent would leave stays there.
    const double scale = hessian.cwiseAbs().maxCoeff();
    const std::array<std::pair<double, double>, 2> bounds{
        {{box.alpha_low, box.alpha_high}, {box.beta_low, box.beta_high}}};
    for (int k = 0; k < 2; ++k) {
      const auto& [low, high] = bounds[static_cast<std::size_t>(k)];
      if (!(x[k] <= low && gradient[k] > 0) && !(x[k] >= high && gradient[k] < 0)) continue;
      gradient[k] = 0;
      hessian.row(k).setZero();
      hessian.col(k).setZero();
      hessian(k, k) = scale;
    }
    // Newton steps on |curvature|; along a line of minimisers the gradient is 0, and nothing moves.
    const PrincipalAxes curvature = principal_axes(hessian);
    Vector<double> step = Vector<double>::Zero(2);
    for (int k = 0; k < 2; ++k) {
      const Vector<double> direction = curvature.vectors.col(k);
      const double size = std::max(std::fabs(curvature.values[k]), 1e-9 * scale);
      step -= gradient.dot(direction) / size * direction;
    }
    double taken = 1;
    Vector<double> next = clamp(x + step);
    while (taken > 1e-9 && !(l(next[0], next[1]) <= m.value)) {
      taken /= 2;
      next = clamp(x + taken * step);
    }
    if (!(l(next[0], next[1]) < m.value)) break;
    x = next;
    m = {x[0], x[1], l(x[0], x[1])};
  }
  return m;
}

template <class T>
T loss_at_infinity(const Landscape<T>& l) {
  T sum = l.constant;
  for (const auto& part : l.parts) {
    const T& rise = part.normaliser.c[1];
    if (rise == T(0)) continue;  // p_r = 0: no query is of a topic that its document has not
    sum += (part.square.q[3] / rise - part.linear.c[1]) / rise;
  }
  return sum;
}
template double loss_at_infinity(const Landscape<double>&);
template Real loss_at_infinity(const Landscape<Real>&);

// dL/dalpha = A_0/N_0^3 + A_1/N_1^3 with linear A_x; in units y = pi_1 alpha.
Minimum find_minimum_on_line(const Landscape<double>& l) {
  const double unit = l.parts[1].normaliser.c[1];
  std::array<std::vector<double>, 2> slopes;
  std::array<std::vector<double>, 2> cubes;
  for (std::size_t x = 0; x < 2; ++x) {
    const auto& q = l.parts[x].square.q;
    const auto& p = l.parts[x].linear.c;
    const auto& n = l.parts[x].normaliser.c;
    const double rise = n[1] / unit;
    const double linear = (p[1] * n[0] - p[0] * n[1]) / unit;
    slopes[x] = {q[1] / unit * n[0] - 2 * rise * q[0] - linear * n[0],
                 (2 * q[3] / unit * n[0] - q[1] * rise) / unit - linear * rise};
    const std::vector<double> normaliser{n[0], rise};
    cubes[x] = product(product(normaliser, normaliser), normaliser);
  }
  const std::vector<double> first = product(slopes[0], cubes[1]);
  std::vector<double> numerator = product(slopes[1], cubes[0]);
  for (std::size_t i = 0; i < numerator.size(); ++i) numerator[i] += first[i];
  Minimum least{0, 0, l(0, 0)};
  for (const double y : sign_changes(numerator)) {
    const double alpha = y / unit;
    if (l(alpha, 0) < least.value) least = {alpha, 0, l(alpha, 0)};
  }
  const double infinite = loss_at_infinity(l);
  if (infinite < least.value) least = {std::numeric_limits<double>::infinity(), 0, infinite};
  return least;
}

Certificate certify_minimum(const TopicLaw<Rational>& law, const Landscape<Rational>& given,
                            const Box<Rational>& box, const Rational& tolerance,
                            const Rational* claimed, std::size_t most_boxes) {
  if (!(tolerance > 0)) throw std::invalid_argument("certify_minimum: the tolerance must be > 0");
  Certificate made;
  made.box = box;
  made.on_line = given.depends_on_sum_alone(law.words);
  const Rational others(static_cast<int>(law.words - 1));
  const Landscape<double> rounded = given.cast<double>();
  const Minimum found = find_minimum(rounded, {to_double(box.alpha_low), to_double(box.alpha_high),
                                               to_double(box.beta_low), to_double(box.beta_high)});
  // Twenty-four bits are enough to be within the tolerance at a smooth minimum, and keep fractions
  // short; a point rounded out of the box goes back to its side.
  const auto short_rational = [](double x, const Rational& low, const Rational& high) {
    int exponent = 0;
    const double mantissa = std::frexp(x, &exponent);
    const Rational r = rational_of(std::ldexp(std::round(std::ldexp(mantissa, 30)), exponent - 30));
    return r < low ? low : r > high ? high : r;
  };
  made.alpha = short_rational(found.alpha, box.alpha_low, box.alpha_high);
  made.beta = short_rational(found.beta, box.beta_low, box.beta_high);
  made.upper = claimed != nullptr ? *claimed : given(made.alpha, made.beta);
  // A level between the two, short in digits; a tolerance below the spacing of doubles has none.
  made.lower = rational_of(to_double(Rational(made.upper - tolerance)));
  if (made.lower < made.upper - tolerance || made.lower >= made.upper) {
    made.lower = made.upper - tolerance;
  }

  const Landscape<Rational> examined = made.on_line ? in_sum_alone(given) : given;
  Box<Rational> whole = box;
  if (made.on_line) {
    whole = {Rational(box.alpha_low + others * box.beta_low),
             Rational(box.alpha_high + others * box.beta_high), Rational(0), Rational(0)};
  }
  const Cleared cleared(examined);
  std::vector<Task> open{{bernstein(cleared.minus(made.upper), whole),
                          bernstein(cleared.minus(made.lower), whole),
                          whole,
                          {}}};
  bool any = false;
  while (!open.empty()) {
    throw_if_stopped();
    Task task = std::move(open.back());
    open.pop_back();
    if (++made.boxes > most_boxes) {
      throw Failure(fmt::format(
          "the certificate needs more than {} boxes; raise the tolerance or narrow the box",
          most_boxes));
    }
    if (all_positive(task.above)) {
      made.leaves.push_back({task.path, true});
      continue;
    }
    const auto narrow = [](const Rational& width, const Rational& of) { return width * 256 <= of; };
    const bool small =
        narrow(task.box.alpha_high - task.box.alpha_low, whole.alpha_high - whole.alpha_low) &&
        narrow(task.box.beta_high - task.box.beta_low, whole.beta_high - whole.beta_low);
    const bool near = small && all_at_least_zero(task.near);
    if (task.near.c[0] < 0) {
      throw Refuted(fmt::format("L({}, {}) lies below {:.17g}, so {:.17g} is not the minimum",
                                shown(task.box.alpha_low), shown(task.box.beta_low),
                                to_double(made.lower), to_double(made.upper)));
    }
    if (near) {
      made.leaves.push_back({task.path, false});
      Box<Rational>& hull = made.minimisers;
      if (!any) {
        hull = task.box;
      } else {
        hull = {std::min(hull.alpha_low, task.box.alpha_low),
                std::max(hull.alpha_high, task.box.alpha_high),
                std::min(hull.beta_low, task.box.beta_low),
                std::max(hull.beta_high, task.box.beta_high)};
      }
      any = true;
      continue;
    }
    // The side that is longer in relation to the whole.
    const auto& b = task.box;
    const bool in_alpha =
        made.on_line || (b.alpha_high - b.alpha_low) * (whole.beta_high - whole.beta_low) >=
                            (b.beta_high - b.beta_low) * (whole.alpha_high - whole.alpha_low);
    auto [above_low, above_high] = halves(task.above, in_alpha);
    auto [near_low, near_high] = halves(task.near, in_alpha);
    Box<Rational> low = b;
    Box<Rational> high = b;
    if (in_alpha) {
      low.alpha_high = high.alpha_low = (b.alpha_low + b.alpha_high) / 2;
    } else {
      low.beta_high = high.beta_low = (b.beta_low + b.beta_high) / 2;
    }
    open.push_back(
        {std::move(above_low), std::move(near_low), low, task.path + (in_alpha ? 'a' : 'b')});
    open.push_back(
        {std::move(above_high), std::move(near_high), high, task.path + (in_alpha ? 'A' : 'B')});
  }
  if (!any) {
    throw Refuted(fmt::format("L lies above {:.17g} on the whole box: it is not attained",
                              to_double(made.upper)));
  }
  return made;
}

Inertia inertia(const Matrix<Rational>& m) {
  const Rational determinant = m(0, 0) * m(1, 1) - m(0, 1) * m(0, 1);
  const Rational trace = m(0, 0) + m(1, 1);
  if (determinant < 0) return {1, 0, 1};
  if (determinant > 0) return trace > 0 ? Inertia{2, 0, 0} : Inertia{0, 0, 2};
  if (trace == 0) return {0, 2, 0};
  return trace > 0 ? Inertia{1, 1, 0} : Inertia{0, 1, 1};
}

}  // namespace popgrad::topic
