#include <omp.h>

#include <functional>

#include "popgrad/rungs/trajectory.hpp"
#include "popgrad/walks/ensemble.hpp"
#include "theorems/scb/checks/branching.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/rungs/noise.hpp"
#include "theorems/scb/rungs/population_flow.hpp"

namespace popgrad::scb::checks::softmax_scratch {
namespace {

Statement sheet{.id = "scb.softmax-scratch",
                .paper = "arXiv 2410.23438, global reply to the reviewers",
                .status = "claimed in source, scaling derived here",
                .about = "softmax steps with Gaussian noise",
                .theorem = R"(
Softmax does not cure stage 1. With eta_A = c T^2, v = T alpha_V and logits w begin at 0 and are
of order one where runs leave the start. A step on V adds Gaussian noise of level sigma_V
sqrt(d/K_Q), along P, with C = diag(mu) - mu mu',
  eta sigma_V sqrt(d/(K_Q B)) |P C|/K_P
and d = 1/T at first; that of logits, which <V,V> scales, is O(T^(-1/2)) of it. As T grows with
T/B fixed
  dv   = sum_k mu_k q^k.exp(w^k) dt + noise of level sqrt(T/B) sigma_V |P C|/(K_P sqrt(K_Q))
  dw_t = c K_P v q_t exp(w_t) dt
  T alpha_A = sum_k mu_k sum_t q^k_t (exp(w^k_t) - 1)/K_Q,
where T and B occur as T/B only, so that the batch at which runs leave the start with a given
probability goes as T, as for linear attention (scb.two-stages). A run has left where T alpha_A
reaches 10 within twice the time that expected gradients take.)",
                .reaches = {EvidenceKind::statistical},
                .false_version = "with-logarithm"};

const Clause batch_as_length = sheet.clause(
    "from scratch softmax attention needs a batch that grows as `T`, with Gaussian noise");

const Clause on_sequences = sheet.not_checked("on sequences");

const Hypothesis long_context = sheet.assume(
    "`T` large: noise of logits, `sqrt(K_Q/T) sigma_A K_P/(sigma_V |P C|)`, and `10/T` below 0.05");
const Hypothesis one_law = sheet.assume(
    by_construction("Gaussian noise, `eta`, `eta_A/T^2` and the instance fixed while `T` grows",
                    "one law and one step are run at both lengths"));

const Control smaller_power = sheet.control("smaller-power", "`B` as `T^0.9`");
const Control larger_power = sheet.control("larger-power", "`B` as `T^1.1`");
const Control half_batch = sheet.control("smaller", "half the batch");

const Rival with_logarithm =
    sheet.rival("with-logarithm", "the batch grows as `T ln T`", "a factor");

const Rival as_linear = sheet.rival(
    "linear", "softmax attention leaves the start as linear attention does, with `Phi(z)`");

const Knob vocabulary = sheet.knob(whole_knob("tokens", "tokens N of the vocabulary", 2, 5, 3));
const Knob few_positions = sheet.knob(support_knob);
const Knob length =
    sheet.knob(logarithmic_knob("length", "positions T of the shorter context", 1e4, 1e5, 2e4));
const Knob short_length =
    sheet.knob(logarithmic_knob("short-length", "the same, too short; 0: length", 20, 100, 0)
                   .breaking(long_context));
const Knob step_knob =
    sheet.knob(linear_knob("step", "learning rate eta times the growth rate", 0.1, 0.3, 0.2));
const Knob argument_knob = sheet.knob(
    linear_knob("argument", "z, where Phi(z) would be the share of linear attention", 0.6, 1, 0.8));

constexpr double longer = 1000;
constexpr double left = 10;  // T alpha_A
constexpr std::uint32_t usual_runs = 40000;

// Does a run leave within `most` steps? `most` 0: after how many steps, without noise.
using Run = std::function<std::uint64_t(std::uint64_t most, std::uint32_t run)>;

// Share of runs that leave within twice the steps that expected gradients take.
Quantity share_of(const Run& leaves, std::uint32_t first_run, const Setting& setting) {
  const std::uint32_t runs = setting.draws(usual_runs);
  const std::uint64_t most = 2 * leaves(0, 0);
  throw_if_stopped();
  const int jobs = setting.jobs > 0 ? setting.jobs : omp_get_num_procs();
  std::uint32_t leave = 0;
#pragma omp parallel num_threads(jobs) reduction(+ : leave)
  {
    const Run own = leaves;  // with scratch space of its own
#pragma omp for schedule(dynamic, 8)
    for (std::uint32_t run = first_run; run < first_run + runs; ++run) {
      leave += !stop_asked() && own(most, run) < most ? 1U : 0U;
    }
  }
  throw_if_stopped();
  return success_probability(leave, runs, setting.false_alarm);
}

// Stage 1 of a law at eta = step/g, g = sqrt(c K_P K_Q) the growth rate; c = 1.
struct Boost {
  const Setting& setting;
  Bigrams<double> b;
  double transition = transition_size(b), context = context_size(b);
  double level = noise_at_solution(b).value;  // sigma_V
  Matrix<double> covariance = token_covariance(b.stationary);
  double along = (b.transition * covariance).norm() / transition;  // |P C|/K_P
  double rate = std::sqrt(transition * context);
  double step = setting.value(step_knob) / rate;
  std::uint64_t seed = setting.draw_seed();

  // T/B at which the share of the linear model would be Phi(z):
  // B = z^2 eta T g W_V/(2 K_P K_Q), W_V = sigma_V^2 |P C|^2/K_P (scb.two-stages).
  [[nodiscard]] double load() const {
    const double z = setting.value(argument_knob);
    return 2 * context / (z * z * step * rate * std::pow(level * along, 2));
  }
  // d = sum_k mu_k |a^k|^2 at a state: from the loss it would cancel.
  [[nodiscard]] double attention_square(const Vector<double>& x, double positions) const {
    double size = 0;
    Index at = b.tokens() * b.tokens();
    for (Index k = 0; k < b.tokens(); ++k) {
      const auto rest = positions - static_cast<double>(b.support(k));
      const auto own = x.segment(at, b.support(k) + 1).array().exp();
      const double last = own[b.support(k)];
      const double total = own.sum() + (rest - 1) * last;
      size += b.stationary[k] * (own.square().sum() + (rest - 1) * last * last) / (total * total);
      at += b.support(k) + 1;
    }
    return size;
  }
  // With B = T/load; its sampling error, and as next order the noise of logits and 10/T, what
  // attention takes from other positions.
  [[nodiscard]] Quantity share(double positions, double own_load, std::uint32_t first_run) const {
    const Index n = b.tokens();
    const Vector<double>& mu = b.stationary;
    Training<double> training;
    training.bigrams = b;
    training.bigrams.context = std::lround(positions);
    training.start = mu * Vector<double>::Ones(n).transpose();
    training.softmax = true;
    training.attention_rate = positions * positions;
    const double noise = step * level * std::sqrt(own_load / positions / context);
    const PopulationFlow<double> flow(training);
    const Run leaves = [&, flow](std::uint64_t most, std::uint32_t run) {
      Vector<double> x = flow.initial();
      Vector<double> dx(x.size());
      const std::size_t alpha_A = place_of(flow.columns(), "alpha_A");
      std::vector<double> row(flow.columns().size());
      Matrix<double> kick(n, n);
      std::uint64_t i = 0;
      for (; most == 0 || i < most; ++i) {
        flow.observe(x, 0.0, row);
        if (row[alpha_A] * positions >= left || stop_asked()) break;
        flow.rhs(x, dx, 0.0);
        if (most > 0) {
          const double size = attention_square(x, positions);
          Stream stream(seed, run, i);
          for (double& value : kick.reshaped()) value = stream.normal();
          kick.rowwise() -= kick.colwise().mean().eval();
          kick.colwise() -= (kick * mu).eval();
          dx.head(n * n) += (noise / step * std::sqrt(size)) * kick.reshaped();
        }
        x += step * dx;
      }
      return i;
    };
    Quantity found = share_of(leaves, first_run, setting);
    const double of_logits = noise_at_solution(b).attention.maxCoeff() / (level * along);
    found.add(ErrorPart::next_order(std::sqrt(context / positions) * of_logits));
    found.add(ErrorPart::next_order(left / positions));
    return found;
  }
  // The same in the limit.
  [[nodiscard]] Quantity limit_share(double own_load) const {
    const double noise = step * level * along * std::sqrt(own_load / context);
    Vector<double> weight(b.entries());  // mu_k q^k_t
    for (Index k = 0; k < b.tokens(); ++k) {
      const Index first = b.first[static_cast<std::size_t>(k)];
      weight.segment(first, b.support(k)) = b.stationary[k] * b.law.segment(first, b.support(k));
    }
    const Run leaves = [&](std::uint64_t most, std::uint32_t run) {
      Vector<double> w = Vector<double>::Zero(b.entries());
      double v = 0;
      std::uint64_t i = 0;
      for (; most == 0 || i < most; ++i) {
        const Vector<double> grown = w.array().exp();
        const double overlap = weight.dot(grown);
        if ((overlap - weight.sum()) / context >= left) break;
        Stream stream(seed, run, i);
        w.array() += step * transition * v * b.law.array() * grown.array();
        v += step * overlap + (most > 0 ? noise * stream.normal() : 0.0);
      }
      return i;
    };
    return share_of(leaves, 0, setting);
  }
};

void examine(const Setting& setting, Examination& it) {
  const Index support = setting.count(few_positions);
  const Bigrams<double> b =
      random_bigrams(setting.count(vocabulary), 4 * support, support, setting.seed);
  const Knob& own_length = setting.value(short_length) > 0 ? short_length : length;
  const double positions = std::round(setting.value(own_length));
  it.parameters = {{"N", b.tokens()}, {"T", positions}, {"Q", support}, {"seed", setting.seed}};
  const Boost boost{setting, b};
  const double load = boost.load();
  const std::uint32_t runs = setting.draws(usual_runs);
  std::uint32_t first_run = 0;
  const auto share = [&](double ratio, double own_load) {
    first_run += runs;
    return boost.share(ratio * positions, own_load, first_run);
  };
  const Quantity at_first = share(1, load);
  const double of_logits = at_first.error("next order");
  it.require(long_context, 0.05 - of_logits, fmt::format("{:.3g}", of_logits));
  const auto grown = [&](double power) {
    return std::vector{at_first, share(longer, load * std::pow(longer, 1 - power))};
  };
  const Quantity in_limit = boost.limit_share(load);
  const auto by_logarithm = [&] {
    const double more = std::log(longer * positions) / std::log(positions);
    return std::vector{at_first, boost.limit_share(load * more)};
  };
  it.judge(batch_as_length,
           equal("share of softmax runs that leave the start, `B` as `T`", grown(1), in_limit)
               .of_kind(EvidenceKind::statistical)
               .in_units_of(1)
               .unless(smaller_power, [&] { return grown(0.9); })
               .unless(larger_power, [&] { return grown(1.1); })
               .unless(half_batch, [&] { return share(1, load * 2); })
               .against(as_linear, normal_share(setting.value(argument_knob)))
               .against(with_logarithm, instead(by_logarithm))
               .with(fmt::format("{} runs, `T/B = {:.4g}`", runs, load)));
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scb::checks::softmax_scratch
