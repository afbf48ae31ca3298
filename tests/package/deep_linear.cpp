// A theory of one's own as a new user writes it: every kind of measurement, none of which says how it is
// refined. check.cmake searches every statement for a miss, which would be a false alarm, and its control.

#include <popgrad/commands/program.hpp>
#include <popgrad/evidence/solved.hpp>
#include <popgrad/evidence/theories.hpp>
#include <popgrad/rungs/law_model.hpp>
#include <popgrad/statistics/order.hpp>
#include <popgrad/walks/ensemble.hpp>
#include <popgrad/walks/walk.hpp>

using namespace popgrad;

/// Two layers of two linear units, target diag(s, s/2), both layers of a seed or sqrt(u0) times 1:
///   L = |S - V W|^2/2,  W' = V^T (S - V W),  V' = (S - V W) W^T
/// State: W by columns, then V. A draw adds noise to the target.
template <Transcendental T>
struct DeepLinear {
  using Scalar = T;
  T s, u0, noise;
  std::vector<T> start = {};

  using Square = Eigen::Matrix<T, 2, 2>;
  static Square lower(const Vector<T>& x) { return Eigen::Map<const Square>(x.data()); }
  static Square upper(const Vector<T>& x) { return Eigen::Map<const Square>(x.data() + 4); }
  Square target() const {
    Square t = Square::Constant(T(0));
    t(0, 0) = s;
    t(1, 1) = s / T(2);
    return t;
  }
  Index dimension() const { return 8; }
  Vector<T> initial() const {
    using std::sqrt;
    Vector<T> x = Vector<T>::Constant(8, T(0));
    for (const Index i : {0, 3, 4, 7}) x[i] = sqrt(u0);
    for (std::size_t i = 0; i < start.size(); ++i) x[Index(i)] = start[i];
    return x;
  }
  std::vector<std::string> state_names() const {
    return {"W_11", "W_21", "W_12", "W_22", "V_11", "V_21", "V_12", "V_22"};
  }
  std::vector<std::string> columns() const { return {"u"}; }
  void observe(const Vector<T>& x, const T&, std::span<T> row) const {
    row[0] = (upper(x) * lower(x))(0, 0);
  }
  void descend(const Vector<T>& x, Vector<T>& dx, const Square& towards) const {
    const Square left = towards - upper(x) * lower(x);
    dx.head(4) = (upper(x).transpose() * left).reshaped();
    dx.tail(4) = (left * lower(x).transpose()).reshaped();
  }
  void rhs(const Vector<T>& x, Vector<T>& dx, const T&) const { descend(x, dx, target()); }
  void sample_rhs(const Vector<T>& x, Vector<T>& dx, Stream& stream, Index batch) const {
    Square drawn = target();
    for (Index i = 0; i < batch; ++i) {
      drawn(0, 0) = drawn(0, 0) + noise * T(stream.normal() / double(batch));
    }
    descend(x, dx, drawn);
  }
  std::vector<EventFinder<T>> events() const {
    const auto u = [](const Vector<T>& x, const T&) { return T((upper(x) * lower(x))(0, 0)); };
    return {{"half", "u", EventKind::crossing,
             [=, half = T(s / T(2))](const Vector<T>& x, const T& t) { return T(u(x, t) - half); },
             u}};
  }
};

constexpr Knob strength = logarithmic_knob("s", "largest singular value", 0.3, 3, 1);
constexpr Knob small = logarithmic_knob("u0", "V W at the start, over s", 1e-4, 0.3, 0.01);
constexpr Knob late = logarithmic_knob("t", "when it is measured, over 1/s", 0.05, 40, 2);
constexpr Knob accuracy = whole_knob("accuracy", "digits of the solves", 6, 13, 10);

constexpr Hypothesis small_start{"`s > u0`"};

double tolerance_of(const Setting& setting) { return std::pow(10, -setting.value(accuracy)); }

double mode(const Vector<double>& x) {
  using Law = DeepLinear<double>;
  return (Law::upper(x) * Law::lower(x))(0, 0);
}

DeepLinear<double> law_of(const Setting& setting, Examination& it) {
  const double s = setting.value(strength);
  const DeepLinear<double> law{s, s * setting.value(small), 0.01 * s};
  it.parameters = {{"s", s}, {"u0", law.u0}, {"seed", setting.seed}};
  it.require(small_start, s - law.u0);
  return law;
}

constexpr Control a_thousandth{"factor", "a thousandth larger"};

// u' = 2 u (s - u)
void measure_mode(const Setting& setting, Examination& it) {
  const auto law = law_of(setting, it);
  const double end = setting.value(late) / law.s;
  const Solved run(forget_type(law), {end / 4, end / 2, end}, tolerance_of(setting));
  std::vector<Quantity> closed;
  for (const double t : run.times()) {
    closed.emplace_back(law.s / (1 + (law.s / law.u0 - 1) * std::exp(-2 * law.s * t)));
  }
  it.judge(equal("`u` along the flow", run.along(mode), closed)
               .at(run.places())
               .unless(a_thousandth, times(1.001)));
}

// W W^T - V^T V
void measure_balance(const Setting& setting, Examination& it) {
  DeepLinear<double> law = law_of(setting, it);
  Stream stream(setting.seed, 1, 0);
  for (int i = 0; i < 8; ++i) law.start.push_back(std::sqrt(law.u0) * stream.normal());
  const auto balance = [](const Vector<double>& x) -> Vector<double> {
    using Law = DeepLinear<double>;
    const Eigen::Matrix2d w = Law::lower(x), v = Law::upper(x);
    return (w * w.transpose() - v.transpose() * v).reshaped();
  };
  const Solved run(forget_type(law), {0, setting.value(late) / law.s}, tolerance_of(setting));
  const std::vector<Quantity> at_start = run.all_at(0, balance);
  double largest = 0;
  for (const Quantity& entry : at_start) largest = std::max(largest, std::abs(entry.value()));
  it.judge(equal("`W W' - V'V`, by entries", run.all_at(1, balance), at_start)
               .in_units_of(largest)
               .unless(a_thousandth, times(1.001)));
}

// u' is largest at u = s/2, where it is s^2/2.
void measure_steepest(const Setting& setting, Examination& it) {
  const auto law = law_of(setting, it);
  const auto slope = [&](const Vector<double>& x) {
    Vector<double> dx(8);
    law.rhs(x, dx, 0.0);
    return dx[0] * x[4] + x[0] * dx[4];
  };
  const double end = std::log(law.s / law.u0) / law.s;
  const Quantity largest = largest_along(forget_type(law), end, tolerance_of(setting), slope);
  it.judge(equal("largest `u'`", largest, law.s * law.s / 2).unless(a_thousandth, times(1.001)));
}

// u = s/2 at t = ln(s/u0 - 1)/(2 s)
void measure_event(const Setting& setting, Examination& it) {
  const auto law = law_of(setting, it);
  const double half = std::log(law.s / law.u0 - 1) / (2 * law.s);
  const auto events = events_of(forget_type(law), 2 * half, tolerance_of(setting));
  it.judge(equal("time of `u = s/2`", events.at(0).time, half).unless(a_thousandth, times(1.001)));
}

// The mean of a step of SGD is the step of descent.
void measure_noise(const Setting& setting, Examination& it) {
  const auto law = law_of(setting, it);
  const AnyRung<double> rung = forget_type(law);
  WalkRequest step{.step_size = 1 / law.s,
                   .steps = 1,
                   .save_steps = {1},
                   .batch = 1,
                   .seed = setting.draw_seed(),
                   .runs = setting.draws(4000),
                   .jobs = setting.jobs,
                   .keep_states = true};
  const auto runs = walk(rung, rung.initial, step);
  Matrix<double> moved(std::ssize(runs), 1);
  for (Index i = 0; i < moved.rows(); ++i) {
    moved(i, 0) = runs[std::size_t(i)].states[0][0] - rung.initial[0];
  }
  it.judge(equal("mean step of `W_11`", sample_moments(moved, setting.false_alarm).mean,
                 std::sqrt(law.u0) * (1 - law.u0 / law.s))
               .of_kind(EvidenceKind::statistical)
               .unless(a_thousandth, times(1.001)));
}

// ln(u/u0)/(2 t) -> s as u0 -> 0
void measure_limit(const Setting& setting, Examination& it) {
  const auto law = law_of(setting, it);
  const double t = 1 / law.s;
  const auto rate = [&](double u0) {
    const DeepLinear<double> smaller{.s = law.s, .u0 = u0, .noise = 0};
    const Solved run(forget_type(smaller), {t}, tolerance_of(setting));
    return log(run.at(0, mode) / Quantity(u0)) / Quantity(2 * t);
  };
  it.judge(equal("rate of growth from a small start", limit_of(rate, 1e-2 * law.u0, 2, 3), law.s)
               .unless(a_thousandth, times(1.001)));
}

Statement statement(const char* id, const char* claim, auto examine, std::vector<Knob> knobs,
                    EvidenceKind kind = EvidenceKind::numerical) {
  return {.id = id,
          .claim = claim,
          .paper = "deep linear networks",
          .status = "derived here",
          .hypotheses = {small_start},
          .reaches = {kind},
          .controls = {a_thousandth},
          .knobs = knobs,
          .examine = examine};
}

int main(int argc, char** argv) {
  std::vector<Theory> all;
  all.push_back(
      {.model = model_of_law<DeepLinear>(
           {.name = "deep-linear", .paper = "deep linear networks", .law = "W' = V'(S - V W)"},
           {{.name = "s", .meaning = "largest singular value", .standard = "1", .range = above(0)},
            {.name = "u0", .meaning = "first u", .standard = "0.01", .range = above(0)},
            {.name = "noise",
             .meaning = "of the target",
             .standard = "0.01",
             .range = at_least(0)}}),
       .statements = {statement("deep-linear.mode", "`u' = 2 u (s - u)`", measure_mode,
                                {strength, small, late, accuracy}),
                      statement("deep-linear.balance", "`W W' - V'V` is conserved", measure_balance,
                                {strength, small, late, accuracy}),
                      statement("deep-linear.steepest", "`u' <= s^2/2`", measure_steepest,
                                {strength, small, accuracy}),
                      statement("deep-linear.event", "`u = s/2` at `ln(s/u0 - 1)/(2 s)`",
                                measure_event, {strength, small, accuracy}),
                      statement("deep-linear.noise", "a step is unbiased", measure_noise,
                                {strength, small}, EvidenceKind::statistical),
                      statement("deep-linear.limit", "`u` grows at `2 s`", measure_limit,
                                {strength, small, accuracy})}});
  return popgrad::main(argc, argv, all);
}
