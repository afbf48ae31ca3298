// Critical batch size (75 %) and sequences (batch times steps) of stage 2 against T, for softmax
// attention, for l1 steps and for plain linear steps, on the same sampled sequences. N = 3, Q = 2.
//   start     alpha_V = alpha_A = 0.5: V = mu 1' + (P - mu 1')/2, a^k = 1/T + beta (u^k - 1/T)
//             with u^k even on the support of q^k: shares within it are still to be learnt;
//             softmax: w^k = ln a^k
//   rates     eta_A = K_Q/K_P for linear attention, so that A relaxes as fast as V; softmax:
//             (Q/alpha_A)^2 as much, so that shares move as fast at the start
//   l1        lambda for which expected gradients end at eps/2
//   end       the same for all: entries below alpha_A q_min/2 become 0, each a^k is divided by its
//             sum S_k, V <- mu 1' + (sum_k mu_k S_k)(V - mu 1'); success: dist_P and dist_Q <= eps
// Runs last six relaxation times; after ten, l1 steps needed five to ten times as many sequences.
// The second table fits each curve by c T^p and by c (ln T)^m.

#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "statistics/critical.hpp"
#include "theorems/scb/checks/halfway.hpp"
#include "theorems/scb/rungs/parameters.hpp"
#include "theorems/scb/rungs/schedule.hpp"
#include "theorems/scb/rungs/sequence_sgd.hpp"

namespace popgrad::scb::figures::softmax_stage_figure {
namespace {

constexpr double goal = 0.15;      // eps
constexpr double step = 0.2;       // eta
constexpr double relaxations = 6;  // of V and A, at the solution

enum class Method { softmax, l1, plain };

constexpr std::array<std::pair<Method, const char*>, 3> methods{
    {{Method::softmax, "softmax"}, {Method::l1, "l1"}, {Method::plain, "plain"}}};

struct Ends {
  double distance_P = 0, distance_Q = 0;
  [[nodiscard]] double worse() const { return std::max(distance_P, distance_Q); }
};

// One method from the common start.
class StageTwo {
 public:
  StageTwo(const Training<double>& linear, Method method)
      : linear_(linear),
        own_(method == Method::softmax ? checks::halfway_softmax(linear) : linear),
        l1_(method == Method::l1) {
    const Bigrams<double>& b = linear.bigrams;
    steps_ = static_cast<std::uint64_t>(std::ceil(relaxations / (context_size(b) * step)));
    threshold_ = checks::half * b.law.minCoeff() / 2;
    if (l1_) choose_weight();
  }

  [[nodiscard]] double steps() const { return static_cast<double>(steps_); }
  [[nodiscard]] double weight() const { return weight_; }
  // Where the start would end if it did not move.
  [[nodiscard]] Ends unmoved() const {
    return normalised(own_.initial(), own_.dimension() - attention_size());
  }

  // Batch 0: on expected gradients.
  [[nodiscard]] Ends run(Index batch, std::uint64_t seed, std::uint32_t run) const {
    const Index values = own_.dimension() - attention_size();
    Vector<double> x = own_.initial();
    Vector<double> dx(x.size());
    const double cut = step * own_.training().attention_rate * weight_;
    for (std::uint64_t i = 0; i < steps_; ++i) {
      if (batch == 0) {
        own_.rhs(x, dx, 0.0);
      } else {
        Stream stream(seed, run, i);
        own_.sample_rhs(x, dx, stream, batch);
      }
      x += step * dx;
      if (l1_) {
        for (double& a : x.tail(attention_size())) a = soft_threshold(a, cut);
      }
      if (batch > 0 && !own_.divergence(x, step, batch).empty()) return {1e9, 1e9};
    }
    return normalised(x, values);
  }

 private:
  [[nodiscard]] Index attention_size() const {
    const Bigrams<double>& b = linear_.training().bigrams;
    return b.tokens() * b.context;
  }

  [[nodiscard]] Ends normalised(Vector<double> x, Index values) const {
    const Bigrams<double>& b = linear_.training().bigrams;
    const Index n = b.tokens();
    double mass = 0;
    for (Index k = 0; k < n; ++k) {
      Vector<double> a = own_.attention(x, k);
      a = (a.array() < threshold_).select(0.0, a);
      const double sum = a.sum();
      if (sum > 0) a /= sum;
      mass += b.stationary[k] * sum;
      x.segment(values + k * b.context, b.context) = a;
    }
    Eigen::Map<Matrix<double>> v(x.data(), n, n);
    v = (mass * (v.colwise() - b.stationary)).colwise() + b.stationary;
    return {observed_at(linear_, x, "dist_P"), observed_at(linear_, x, "dist_Q")};
  }

  void choose_weight() {
    weight_ = goal * transition_size(linear_.training().bigrams) / 10;
    constexpr int rounds = 12;  // each leaves a fraction of the miss
    for (int round = 0; round < rounds; ++round) weight_ *= goal / 2 / run(0, 0, 0).worse();
  }

  SequenceSgd<double> linear_, own_;
  bool l1_;
  std::uint64_t steps_ = 0;
  double threshold_ = 0;
  double weight_ = 0;  // lambda
};

// The same P and q at every T: q^k attends to the first positions, which are as good as any.
Training<double> training_at(Index context, Index least, const FigureRequest& request) {
  Parameters parameters = request.parameters;
  parameters.set("T", std::to_string(least));
  Training<double> training = scb::training<double>(parameters, request.seed);
  training.bigrams.context = context;
  return checks::halfway(std::move(training.bigrams));
}

CountSuccesses counter(const StageTwo& stage, const FigureRequest& request) {
  return [&stage, &request](double size, std::uint32_t first_run, std::uint32_t runs) {
    const Index batch = std::max<Index>(1, std::llround(size));
    const int jobs = request.jobs > 0 ? request.jobs : omp_get_num_procs();
    std::uint32_t successes = 0;
#pragma omp parallel num_threads(jobs)
    {
      const StageTwo own = stage;
#pragma omp for schedule(dynamic, 1) reduction(+ : successes)
      for (std::uint32_t run = first_run; run < first_run + runs; ++run) {
        successes += own.run(batch, request.seed, run).worse() <= goal ? 1U : 0U;
      }
    }
    return successes;
  };
}

std::vector<FigureFile> data(const FigureRequest& request) {
  FigureTable table;
  FigureTable fits;
  const std::vector<Index> contexts{30, 100, 300, 1000};
  for (const auto& [method, name] : methods) {
    table.block(name);
    CrossingRequest crossing;
    crossing.level = 0.75;
    crossing.runs = method == Method::l1 ? 24 : 40;
    crossing.factor = 1.6;
    crossing.bisections = 2;
    crossing.first = method == Method::l1 ? 2500 : method == Method::plain ? 350 : 150;
    crossing.largest = 2e4;
    std::vector<double> lengths, logarithms;
    std::vector<Crossing> found;
    for (const Index context : contexts) {
      const StageTwo stage(training_at(context, contexts.front(), request), method);
      Crossing own = find_crossing(counter(stage, request), crossing);
      if (!own.found) continue;
      crossing.first = own.size;
      const double batch = own.size;
      for (double* const value : {&own.size, &own.low, &own.high}) *value *= stage.steps();
      lengths.push_back(static_cast<double>(context));
      logarithms.push_back(std::log(lengths.back()));
      found.push_back(own);
      const Ends unmoved = stage.unmoved();
      table.add("T", context, "sequences", own.size, "low", own.low, "high", own.high, "B", batch,
                "steps", stage.steps(), "lambda", stage.weight(), "no_noise",
                stage.run(0, 0, 0).worse(), "unmoved_P", unmoved.distance_P, "unmoved_Q",
                unmoved.distance_Q, "method", name);
    }
    if (found.size() < 3) continue;
    for (const bool power : {true, false}) {
      const Exponent own = fit_exponent(power ? lengths : logarithms, found);
      fits.add("method", name, "against", power ? "T" : "ln T", "exponent", own.value, "half_width",
               own.half_width, "misfit", own.misfit, "degrees_of_freedom", found.size() - 2);
    }
  }
  return {table.file(request), fits.file(request, "fits")};
}

Picture picture() {
  const auto line = [](Method method) {
    return plot::line_with_error_bars("T", "sequences", "low", "high")
        .of(methods[static_cast<std::size_t>(method)].second);
  };
  return {.height = 2.5,
          .panels = {
              {.x = {.label = "context length T",
                     .range = "22:1400",
                     .logarithmic = true,
                     .tics = "(30, 100, 300, 1000)"},
               .y = {.label = "sequences for 75 % success", .logarithmic = true},
               .key = "top left",
               .curves = {line(Method::plain).colour(2).mark(5, 0.5).titled("linear, plain steps"),
                          line(Method::l1).colour(3).mark(9, 0.6).titled("linear, l1 steps"),
                          line(Method::softmax).colour(1).mark(7, 0.5).titled("softmax")}}}};
}

}  // namespace

FigureMaker figure() {
  return {
      .info = {.name = "scb-softmax-stage",
               .title =
                   "Sequences of stage 2 for softmax attention, `l1` and plain steps against `T`",
               .shows = {"scb.softmax-link", "scb.convergence"},
               .parameters = {{parameter::N, "3"}, {parameter::Q, "2"}}},
      .data = data,
      .picture = picture};
}

}  // namespace popgrad::scb::figures::softmax_stage_figure
