#include "theorems/topic/checks/second_stage.hpp"

#include <Eigen/QR>
#include <boost/math/tools/minima.hpp>
#include <functional>

#include "popgrad/solving/solve.hpp"
#include "theorems/topic/checks/prelude.hpp"
#include "theorems/topic/rungs/block_flow.hpp"
#include "theorems/topic/rungs/optimum.hpp"
#include "theorems/topic/rungs/symmetric_flow.hpp"

namespace popgrad::topic::checks {

namespace {

constexpr double second_stage_tolerance = 1e-10;
// So many legs at most: what has not settled then says so by its error.
constexpr int most_legs = 8;
// Near a saddle a leg may change nothing that is seen: the first ones do not count.
constexpr int least_legs = 4;

TopicAttention best_at(const TopicLaw<double>& law, const BlockValue<double>& value, double mask) {
  const Landscape<double> made = landscape(law, value, MaskWeights<double>{mask, 1});
  // Optimal weights stay below their limit for many topics (topic.attention-limit); where topics are few, or [MASK]
  // weighs much, they may be beyond.
  double far = 4 * static_cast<double>(law.active * law.words) / ((1 - law.correct) * law.masked);
  constexpr int most_searches = 9;
  Minimum found;
  for (int search = 0; search < most_searches; ++search, far *= 4) {
    found = find_minimum(made, {0, far, 0, far});
    // With one word a topic there is no pair that beta could weigh.
    const double largest = law.words == 1 ? found.alpha : std::max(found.alpha, found.beta);
    if (largest < 0.99 * far) break;
  }
  return {found.alpha + static_cast<double>(law.words - 1) * found.beta, Quantity(mask),
          found.value};
}

// Of L at alpha = beta = `weight`. Its terms cancel where the loss is small, and each is a sum of
// seven squares and products over a normaliser.
ErrorPart rounding_of(const Landscape<double>& l, double weight) {
  double size = std::fabs(l.constant) + 1;  // the constant begins with E |e_w|^2 = 1
  for (const Landscape<double>::Part& part : l.parts) {
    const double n = part.normaliser(weight, weight);
    size += std::fabs(part.square(weight, weight) / (n * n)) +
            std::fabs(part.linear(weight, weight) / n);
  }
  constexpr double operations = 7;
  return ErrorPart::rounding(operations, size);
}

// Where rounding hides what a function rises by from its least value.
ErrorPart width_of_least(const ErrorPart& hidden, double curvature) {
  return ErrorPart::enclosure(std::sqrt(2 * hidden.size() / std::max(curvature, 0.0)));
}

// At the last of three times one interval apart: what the last interval changed, and, where changes
// fall, what their geometric series would add.
Quantity settling(const Solved& run, const Functional& functional) {
  Quantity last = run.at(2, functional);
  const double before = std::fabs(functional(run.state(1)) - functional(run.state(0)));
  const double change = std::fabs(last.value() - functional(run.state(1)));
  last.add(ErrorPart::next_order(change));
  if (change < before) last.add(ErrorPart::next_order(change * change / (before - change)));
  return last;
}

constexpr Index of_value = 4;  // entries of W_V in a state of SymmetricFlow

// Near rest x' = J (x - x*), so that x* - x = -J^+ x', however slow the slowest direction is, which
// the changes of a leg do not show. J by central differences; directions in which it is no larger
// than their error are those along which rest is not isolated.
Vector<double> way_to_rest(const AnyRung<double>& rung, const Vector<double>& x) {
  const double apart = std::cbrt(std::numeric_limits<double>::epsilon());
  const Index n = x.size();
  Matrix<double> slopes(n, n);
  Vector<double> ahead(n), behind(n), rate(n);
  for (Index j = 0; j < n; ++j) {
    const double step = apart * std::max(std::fabs(x[j]), apart);
    Vector<double> moved = x;
    moved[j] = x[j] + step;
    rung.field.value(moved, ahead, 0.0);
    moved[j] = x[j] - step;
    rung.field.value(moved, behind, 0.0);
    slopes.col(j) = (ahead - behind) / (2 * step);
  }
  rung.field.value(x, rate, 0.0);
  Eigen::CompleteOrthogonalDecomposition<Matrix<double>> inverse(n, n);
  inverse.setThreshold(apart * apart);
  return -inverse.compute(slopes).solve(rate);
}

// The state with rows of W_K and W_Q more, each a tenth of their size and orthogonal to all
// others, so that no saddle holds it: W_K' W_K and W_Q' W_Q grow by a multiple of the identity.
Vector<double> kicked(Vector<double> x) {
  constexpr Index corner = 0, diagonal = 3, entries = 6;  // of a SymmetricMatrix
  for (const Index begin : {of_value, of_value + entries}) {
    const double more = x.segment(begin, entries).cwiseAbs().maxCoeff() / (10 * 10);
    x[begin + corner] += more;
    x[begin + diagonal] += more;
  }
  return x;
}

}  // namespace

TopicAttention best_attention(const TopicLaw<double>& law, const BlockValue<double>& value) {
  return best_at(law, value, 1);
}

namespace {

// The least of `at`, which has the weight of [MASK], over that weight.
TopicAttention least_over_mask(const TopicLaw<double>& law, const BlockValue<double>& value,
                               const std::function<TopicAttention(double)>& at) {
  const auto least = [&](double log_mask) { return at(std::exp(log_mask)).loss; };
  // Wider until the least is inside: near a bound it may lie beyond.
  constexpr double widest = 24;
  double best_log = 0;
  for (double wide = 3; wide <= widest; wide *= 2) {
    best_log = boost::math::tools::brent_find_minima(least, -wide, wide,
                                                     std::numeric_limits<double>::digits / 2)
                   .first;
    if (std::fabs(best_log) < wide - 0.01) break;
  }
  TopicAttention best = at(std::exp(best_log));
  constexpr double aside = 0.1;
  const double curvature =
      (least(best_log + aside) - 2 * best.loss + least(best_log - aside)) / (aside * aside);
  const ErrorPart hidden =
      rounding_of(landscape(law, value, MaskWeights<double>{best.mask.value(), 1}),
                  best.sum.value() / static_cast<double>(law.words));
  best.mask.add(width_of_least(hidden, curvature).times(best.mask.value()));
  const TopicAttention beyond = at(best.mask.value() + best.mask.error());
  best.sum.add(ErrorPart::enclosure(beyond.sum.value() - best.sum.value()));
  return best;
}

}  // namespace

TopicAttention best_with_mask(const TopicLaw<double>& law, const BlockValue<double>& value) {
  return least_over_mask(law, value, [&](double mask) { return best_at(law, value, mask); });
}

TopicAttention best_mask_at(const TopicLaw<double>& law, const BlockValue<double>& value,
                            double sum) {
  const double weight = sum / static_cast<double>(law.words);
  return least_over_mask(law, value, [&](double mask) {
    const MaskWeights<double> weights{mask, 1};
    return TopicAttention{sum, Quantity(mask), landscape(law, value, weights)(weight, weight)};
  });
}

RestrictedEnd restricted_end(const TopicLaw<double>& law, const BlockValue<double>& value,
                             double goal) {
  const AnyRung<double> rung = forget_type(BlockFlow<double>(law, value, false, true));
  const auto sum = [&](const Vector<double>& x) {
    return std::exp(x[4]) + static_cast<double>(law.words - 1) * std::exp(x[5]);
  };
  const auto rate = [&](const Vector<double>& x) {
    Vector<double> dx(x.size());
    rung.field.value(x, dx, 0.0);
    const double fall =
        std::exp(x[4]) * dx[4] + static_cast<double>(law.words - 1) * std::exp(x[5]) * dx[5];
    return fall / (goal - sum(x));
  };
  // Of a rate read where g has `left` to go: `goal` is known to the width of the least loss, and the
  // slope of L by ln alpha, of degree 4 in it, to that many roundings of L. No rate can be read
  // where g starts within that width of its end, as it does for one topic a document.
  const auto unsure = [&](double left, double rate_there) {
    const auto v = static_cast<double>(law.words);
    const double weight = goal / v;
    const Landscape<double> made = landscape(law, value);
    const ErrorPart hidden = rounding_of(made, weight);
    const double width = width_of_least(hidden, made.hessian(weight, weight)(0, 0)).size();
    const double room = std::fabs(left) - width;
    if (!(room > 0)) return ErrorPart::enclosure(std::numeric_limits<double>::infinity());
    const double slope = 4 * hidden.size() * weight / (static_cast<double>(law.topics) * v);
    return ErrorPart::enclosure((slope + std::fabs(rate_there) * width) / room);
  };
  double end = static_cast<double>(law.topics * law.words);
  const auto left = [&](const Solved& run, std::size_t save) {
    return std::fabs(1 - sum(run.state(save)) / sum(run.state(run.size() - 1)));
  };
  constexpr std::size_t saves = 401;
  for (;; end *= 2) {
    const Solved run(rung, equally_spaced(0.0, end, saves), second_stage_tolerance);
    if (left(run, saves / 2) > 1e-5 && end < 1e12) continue;
    const auto first_within = [&](double share) {
      std::size_t save = 0;
      while (left(run, save) > share) ++save;
      return save;
    };
    constexpr double close = 1e-3;
    constexpr double less_close = 1e-2;
    const std::size_t near = first_within(close);
    RestrictedEnd found;
    found.rate = run.at(near, rate);
    found.rate.add(unsure(goal - sum(run.state(near)), found.rate.value()));
    found.rate.add(
        ErrorPart::next_order(rate(run.state(first_within(less_close))) - rate(run.state(near))));
    const Solved ends(rung, {end / 2, 3 * end / 4, end}, second_stage_tolerance);
    found.sum = settling(ends, sum);
    found.loss =
        settling(ends, [&](const Vector<double>& x) { return observed_at(rung, x, "loss"); });
    return found;
  }
}

FreeEnd free_end(const TopicLaw<double>& law, const BlockValue<double>& value, double start_size,
                 double settled) {
  const Index key_width = law.vocabulary();  // W_K' W_Q is of any rank
  AnyRung<double> rung = forget_type(SymmetricFlow<double>(law, value, key_width, start_size));
  rung.field.value = [inner = rung.field.value](const Vector<double>& x, Vector<double>& dx,
                                                const double& t) {
    inner(x, dx, t);
    dx.head(of_value).setZero();
  };
  const auto observed = [&](const char* name) {
    return [&rung, name](const Vector<double>& x) { return observed_at(rung, x, name); };
  };
  const auto sum = [&](const Vector<double>& x) {
    return observed("alpha")(x) + static_cast<double>(law.words - 1) * observed("beta")(x);
  };
  double end = 1024 / attention_rate(law, key_width);
  FreeEnd found;
  for (int leg = 0; leg < most_legs; ++leg, end *= 2) {
    const Solved run(rung, {end / 3, 2 * end / 3, end}, second_stage_tolerance);
    const FreeEnd before = found;
    const Vector<double> rest = run.state(2) + way_to_rest(rung, run.state(2));
    const auto ended = [&](const Quantity& earlier, const Functional& number) {
      Quantity last = settling(run, number);
      for (const double other : {earlier.value(), number(rest)}) {
        last.add(ErrorPart::next_order(other - last.value()));
      }
      return last;
    };
    found = {ended(before.loss, observed("loss")), ended(before.mask, observed("mask_weight")),
             ended(before.sum, sum)};
    const double moved = before.loss.value() - found.loss.value();
    const double left = observed("loss")(rest) - found.loss.value();
    if (leg >= least_legs && std::max(std::fabs(moved), std::fabs(left)) < settled) break;
    rung.initial = kicked(run.state(2));
  }
  return found;
}

}  // namespace popgrad::topic::checks
