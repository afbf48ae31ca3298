#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/rungs/population_flow.hpp"
#include "theorems/scb/rungs/sequence_sgd.hpp"

namespace popgrad::scb::checks::softmax_link {
namespace {

Statement sheet{.id = "scb.softmax-link",
                .paper = "arXiv 2410.23438, reply to the reviewers",
                .status = "claimed in source (the authors' reply), corrected here",
                .about = "the population flow",
                .theorem = R"(
Softmax attention moves by J^2, J = diag(a) - a a', of what moves linear attention:
  (J^2)_ij = a_i^2 delta_ij - a_i a_j (a_i + a_j - |a|^2)
  J^2      = (I - 11'/T)/T^2   at a = 1/T;
so near the start softmax with eta T^2 follows linear attention with eta, ahead by
  alpha_A (softmax)/alpha_A (linear) = 1 + kappa T alpha_A + ...
  kappa = sum_k mu_k sum_t (q^k_t - 1/T)^3 / (K_Q - 1/T))",
                .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
                .false_version = "one-rate",
                .reads = "flow"};

const Clause by_square =
    sheet.clause("softmax attention moves by `J^2` of what moves linear attention");
const Clause slowed_down = sheet.clause("near the start it is slowed down by `T^2`");
const Clause ahead = sheet.clause("ahead by `kappa T alpha_A`");

const Hypothesis near_start = sheet.assume("near the start");
const Hypothesis projected = sheet.assume("projected");

const Control jacobian = sheet.control("jacobian", "`J` in place of `J^2`");
const Control one_position_less =
    sheet.control("one-position-less", "`eta T (T - 1)` in place of `eta T^2`");
const Control other_power = sheet.control("other-power", "`eta T^1.9` in place of `eta T^2`");
const Control late_lead =
    sheet.control("late-lead", "`kappa` 4/3, as while `alpha_A` grows like an exponential");

const Rival one_rate = sheet.rival(
    "one-rate",
    "softmax attention near the start is linear attention at another rate, without a lead",
    "a rate");

const Knob vocabulary = sheet.knob(tokens_knob);
const Knob length =
    sheet.knob(logarithmic_knob("length", "positions T of the context", 50, 1e6, 1000));
const Knob positions_knob = sheet.knob(support_knob);
const Knob logit = sheet.knob(logarithmic_knob(
    "logit", "T alpha_A from which the limit at 0 is extrapolated", 1e-3, 0.03, 0.01));
const Knob far_from_start = sheet.knob(
    logarithmic_knob("far-from-start",
                     "T alpha_A at which the curves are compared; 0: as it goes to 0", 0.01, 10, 0)
        .breaking(near_start));

// How the attention a of token 0 moves under softmax, by the chain rule along the field of its
// logits; and the field of linear attention at the same a. Two tokens, three positions, everything
// generic.
struct Movement {
  Vector<Expression> softmax, linear;
};
Movement movement(const Vector<Expression>& a, const Expression& rate, bool project) {
  Training<Expression> law;
  law.bigrams.transition = symbols("P", 2, 2);
  law.bigrams.stationary = symbols("mu", 2);
  law.bigrams.context = 3;
  law.bigrams.first = {0, 2, 4};
  law.bigrams.position = {0, 1, 1, 2};
  law.bigrams.law = symbols("q", 4);
  law.project = project;
  const SequenceSgd<Expression> linear(law);
  law.softmax = true;
  law.attention_rate = rate;
  const SequenceSgd<Expression> softmax(law);
  Vector<Expression> x = symbols("x", linear.dimension());
  const Vector<Expression> weights = softmax.attention(x, 0);
  Vector<Expression> field(x.size());
  softmax.rhs(x, field, Expression(0));
  Movement found{Vector<Expression>(3), Vector<Expression>(3)};
  GiNaC::lst logits;
  for (Index t = 0; t < 3; ++t) logits.append(x[4 + t] == GiNaC::log(a[t]));
  for (Index t = 0; t < 3; ++t) {
    found.softmax[t] = rate_along(weights[t], x, field).subs(logits);
  }
  x.segment(4, 3) = a;
  linear.rhs(x, field, Expression(0));
  found.linear = field.segment(4, 3);
  return found;
}

// Both flows where T alpha_A of the linear one is about `top`, a half and a quarter of it, and as a
// refinement goes on.
struct Curves {
  std::vector<double> logits;
  std::vector<Quantity> ratio;  ///< of alpha_A, softmax over linear
  std::vector<Quantity> slope;  ///< (ratio - 1)/(T alpha_A)
};
template <class T>
Curves follow(const Training<double>& training, double top, double power) {
  using std::pow;
  const Bigrams<double>& b = training.bigrams;
  const auto positions = static_cast<double>(b.context);
  const double rate = training.attention_rate;
  Training<T> own_training = training.cast<T>();
  own_training.softmax = false;
  const AnyRung<T> linear = forget_type(PopulationFlow<T>(own_training));
  own_training.softmax = true;
  own_training.attention_rate = T(rate) * T(pow(T(positions), T(power)));
  const AnyRung<T> softmax = forget_type(PopulationFlow<T>(own_training));
  // T alpha_A = rate (<V(0), P> T t + K_P t^2/2) at first.
  const double size = transition_size(b);
  const double pull = std::fabs(covariance_product(training.start, b.transition, b.stationary));
  const auto n = static_cast<double>(b.tokens());
  const bool at_rest = pull <= ErrorPart::rounding(n * n, 1).size();
  constexpr double tolerance = 1e-13;  // of the solves
  Curves found;
  std::vector<double> at_times;
  for (const double logit_there : falling_parameters(top, 2, 3)) {
    found.logits.push_back(logit_there);
    const double moved = logit_there / rate;
    at_times.insert(at_times.begin(),
                    at_rest ? std::sqrt(2 * moved / size) : moved / pull / positions);
  }
  const SolvedIn<T> slow(linear, at_times, tolerance);
  const SolvedIn<T> fast(softmax, at_times, tolerance);
  const ErrorPart cancelled = ErrorPart::rounding(static_cast<double>(b.entries() + b.tokens()),
                                                  1 / (positions * context_size(b)));
  const auto alpha_A = [&](const SolvedIn<T>& run, const AnyRung<T>& rung, std::size_t save) {
    Quantity own =
        run.at(save, [&](const Vector<T>& x) -> T { return observed_at(rung, x, "alpha_A"); });
    if constexpr (std::is_same_v<T, double>) own.add(cancelled);
    return own;
  };
  for (std::size_t save = at_times.size(); save-- > 0;) {
    const Quantity own = alpha_A(slow, linear, save);
    const Quantity ratio = alpha_A(fast, softmax, save) / own;
    found.ratio.push_back(ratio);
    found.slope.push_back((ratio - Quantity(1)) / (own * Quantity(positions)));
  }
  return found;
}

// J^2 of the linear field, or J of it.
template <bool square>
Truth moves_by() {
  Vector<Expression> a = symbols("a", 3);
  a[2] = 1 - a[0] - a[1];
  const Movement found = movement(a, 1, false);
  Matrix<Expression> by(3, 3);
  for (Index i = 0; i < 3; ++i) {
    for (Index j = 0; j < 3; ++j) {
      const Expression own = i == j ? a[i] : Expression(0);
      by(i, j) = square ? own * a[i] - a[i] * a[j] * (a[i] + a[j] - a.squaredNorm())
                        : Expression(own - a[i] * a[j]);
    }
  }
  return vanishes(Matrix<Expression>(found.softmax - by * found.linear));
}

// At a = 1/T, T = 3.
template <int rate>
Truth same_at_start() {
  const Movement found = movement(Vector<Expression>::Constant(3, Expression(1) / 3), rate, true);
  return vanishes(Matrix<Expression>(found.softmax - found.linear));
}

void prove(Examination& it) {
  it.judge(by_square, identity("velocity of softmax attention minus `J^2` times the linear field",
                               moves_by<true>)
                          .unless(jacobian, moves_by<false>)
                          .with("generic `V`, `P`, `mu`, `q`, `a`; `N = 2`, `T = 3`"));
  it.judge(slowed_down,
           identity("velocity of softmax at `a = 1/T` and rate `T^2` minus the linear one",
                    same_at_start<9>)
               .unless(one_position_less, same_at_start<6>));
}

// kappa.
double lead(const Bigrams<double>& b) {
  const double share = 1 / static_cast<double>(b.context);
  double cubes = 0;
  for (Index k = 0; k < b.tokens(); ++k) {
    const auto law = b.law.segment(b.first[static_cast<std::size_t>(k)], b.support(k)).array();
    const auto rest = static_cast<double>(b.context - b.support(k));
    cubes += b.stationary[k] * ((law - share).cube().sum() - rest * std::pow(share, 3));
  }
  return cubes / (context_size(b) - share);
}

void examine(const Setting& setting, Examination& it) {
  const Training<double> training = examined_training(setting, [&] {
    return from_scratch(setting.count(vocabulary), setting.count(length),
                        setting.count(positions_knob), setting.seed);
  });
  const double far = setting.value(far_from_start);
  const double top = far > 0 ? far : setting.value(logit);
  it.parameters = {{"N", training.bigrams.tokens()},
                   {"T", training.bigrams.context},
                   {"T alpha_A", top},
                   {"seed", setting.seed}};
  it.require(near_start, 0 - far, fmt::format("compared at `T alpha_A = {:.3g}`", far));
  it.require(projected, training.project);
  const auto at_start = [&](const Curves& curves, const std::vector<Quantity>& values) {
    return far > 0 ? values.front() : limit_in(curves.logits, values);
  };
  in_refined_digits([&]<class T>() {
    const Curves curves = follow<T>(training, top, 2);
    const auto ratio_at_other_power = [&] {
      const Curves other = follow<T>(training, top, 1.9);
      return at_start(other, other.ratio);
    };
    it.judge(slowed_down, equal("`alpha_A` of softmax over that of linear attention",
                                at_start(curves, curves.ratio), 1)
                              .unless(other_power, ratio_at_other_power)
                              .with(fmt::format("{:.6g} at `T alpha_A = {:.3g}`",
                                                curves.ratio.front().value(), top)));
    it.judge(ahead, equal("lead of softmax over `T alpha_A`", at_start(curves, curves.slope),
                          lead(training.bigrams))
                        .unless(jacobian, times(0.5))
                        .against(one_rate, 0)
                        .unless(late_lead, times(4.0 / 3)));
  });
}

}  // namespace

Statement statement() { return sheet.checked_by(examine, prove); }

}  // namespace popgrad::scb::checks::softmax_link
