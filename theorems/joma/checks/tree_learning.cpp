#include "theorems/joma/checks/approach.hpp"
#include "theorems/joma/checks/prelude.hpp"
#include "theorems/joma/checks/trees.hpp"

namespace popgrad::joma::checks::tree_learning {
namespace {

Statement sheet{.id = "joma.tree-learning",
                .paper = "arXiv 2310.00535, Section 5",
                .status = "argued in source",
                .about = "the reduced flow",
                .theorem = R"(
With mu_l = kappa P_l, P_l = P[y_l = 1 | y_m = 1] by Theorem 5, one token for each height at
which a leaf meets the query, strong co-occurrences are learned first: they are ahead at all
times, at first by
  ln(1/delta_j) - ln(1/delta_k) = kappa^2 (P_j^2 - P_k^2) s^3/(3 tau) + O(s^4),
and late their ln(1/delta) grow faster by the factor
  e^{kappa^2 (P_j^2 - P_k^2)/tau})",
                .reaches = {EvidenceKind::numerical},
                .false_version = "at-once",
                .knobs = {tau}};

const Clause ahead_first = sheet.clause(
    "`mu` in proportion to the co-occurrences of the latent tree: strong ones lead first as `s^3`");
const Clause faster_last = sheet.clause("last grow faster by an exponential factor");
const Clause always_ahead = sheet.clause("are not behind on the whole way");
[[maybe_unused]] const Clause trained =
    sheet.not_checked("that training on the tree makes `mu` so (`joma.tree-order`: no such order)");

const Hypothesis nonlinear =
    sheet.assume(by_construction("nonlinear `phi`", "the flow has a fixed point `mu`"));
const Hypothesis zero_start = sheet.assume("`v(0) = 0`");
const Hypothesis mu_of_tree = sheet.assume("`mu_l = kappa P[y_l = 1 | y_m = 1]`");

const Control larger_exponent =
    sheet.control("exponent", "`kappa^2 (P_j^2 - P_k^2)/tau` 10 % larger");
const Control larger_lead = sheet.control("first-lead", "the lead at small `s` 10 % larger");
const Control missed_edge = sheet.control("edges", "`rho^{2H - 1}` in place of `rho^{2H}` in `P`");
const Control at_once = sheet.control(
    "at-once", "strong co-occurrences are ahead by the exponential factor from the start");

const Rival uniform_attention = sheet.rival(
    "uniform-attention", "all are learned at one rate, as without attention", "a clock");

const Knob scale = sheet.knob(
    logarithmic_knob("scale", "kappa: mu of a token that always occurs with the query", 0.5, 5, 3));
const Knob levels_of_tree = sheet.knob(tree_depth);
const Knob edge = sheet.knob(linear_knob("rho", "correlation across an edge", 0.1, 0.95, 0.8));
const Knob labels = sheet.knob(label_count);
const Knob largest_polarity = sheet.knob(polarity);
const Knob start_size =
    sheet.knob(logarithmic_knob("start", "deviation of v(0), in units of kappa", 1e-4, 1, 0)
                   .breaking(zero_start));
const Knob noise = sheet.knob(
    logarithmic_knob("noise", "relative deviation of mu_l from kappa P[y_l = 1 | y_m = 1]", 1e-4, 1,
                     0)
        .breaking(mu_of_tree));

constexpr double late = 30;  // y of the weakest token: delta = e^-30

// One token for each height: token l meets the query l + 1 levels up, and has mu_l = kappa times the
// co-occurrence and v(0) = 0, up to `noise` and `start`.
ReducedInstance<double> learning_on(const LatentTree<double>& tree, const Setting& setting) {
  const double kappa = setting.value(scale);
  Stream stream(setting.seed, stream_of_drawn_instances, 13);
  ReducedInstance<double> instance;
  instance.nonlinear = true;
  instance.tau = setting.value(tau);
  instance.target.resize(tree.depth, 1);
  instance.start.resize(tree.depth, 1);
  instance.logits = Vector<double>::Zero(tree.depth);
  for (Index l = 0; l < tree.depth; ++l) {
    instance.target(l, 0) = kappa * cooccurrence_by_summation(tree, static_cast<int>(l) + 1) *
                            std::exp(setting.value(noise) * stream.normal());
    instance.start(l, 0) = setting.value(start_size) * kappa * stream.normal();
  }
  return instance;
}

// kappa^2 (P_1^2 - P_H^2)/tau for H = 2 .. L, by the formula of Theorem 5.
std::vector<Quantity> exponents(const LatentTree<double>& tree, const Setting& setting,
                                const TreeMistake& mistake) {
  const double unit = std::pow(setting.value(scale), 2) / setting.value(tau);
  std::vector<Quantity> values;
  for (int levels = 1; levels <= tree.depth; ++levels) {
    const double chance = cooccurrence_with(tree, levels, mistake);
    values.emplace_back(unit * chance * chance);
  }
  const Quantity strongest = values.front();
  for (Quantity& value : values) value = strongest - value;
  return {values.begin() + 1, values.end()};
}

// Until when the next terms, of relative order s and s^2, are small.
double early_time(const ReducedInstance<double>& instance) {
  return 0.01 / std::sqrt(1 + instance.target.cwiseAbs2().maxCoeff() / instance.tau);
}

// The lead of the strongest token over the others, per s^3/3, as s goes to 0.
std::vector<Quantity> first_leads(const ReducedInstance<double>& instance) {
  const std::vector<double> falling = falling_parameters(early_time(instance), 2, 2);
  const Solved run(forget_type(ReducedFlow<double>(instance)), {falling.rbegin(), falling.rend()},
                   1e-13);
  std::vector<Quantity> leads;
  for (Index l = 1; l < instance.tokens(); ++l) {
    const auto lead = [&](std::size_t save) {
      const double unit = 3 / std::pow(run.times()[save], 3);
      Quantity value = run.at(save, [&](const Vector<double>& v) {
        const Vector<double> moved = v - instance.start.col(0);
        const Vector<double> left = instance.target.col(0) - v;
        return unit * (std::log1p(moved[0] / left[0]) - std::log1p(moved[l] / left[l]));
      });
      value.add(ErrorPart::rounding(2, unit * run.times()[save]));
      return value;
    };
    std::vector<Quantity> own;
    for (std::size_t save = run.size(); save-- > 0;) own.push_back(lead(save));
    leads.push_back(limit_in(falling, own));
  }
  return leads;
}

// ln of the late rate of ln(1/delta) of the strongest token over that of the others.
std::vector<Quantity> late_exponents(const ReducedInstance<double>& instance) {
  const double step = std::log(2.0);
  const std::vector<double> falling = falling_parameters(1, 2, 2);  // delta where a rate begins
  std::vector<double> clock{late};
  for (std::size_t k = 1; k <= falling.size(); ++k) {
    clock.push_back(late + static_cast<double>(k) * step);
  }
  const auto logs = logarithms_of(instance, instance.tokens() - 1, clock);
  std::vector<Quantity> found;
  for (std::size_t l = 1; l < logs.front().size(); ++l) {
    const auto ratio = [&](std::size_t k) {
      return log((logs[k + 1][0] - logs[k][0]) / (logs[k + 1][l] - logs[k][l]));
    };
    std::vector<Quantity> ratios;
    for (std::size_t k = 0; k < falling.size(); ++k) ratios.push_back(ratio(k));
    found.push_back(limit_in(falling, ratios));
  }
  return found;
}

// The most by which ln(1/delta) of a leaf exceeds that of one that meets the query lower down.
void judge_order(const ReducedInstance<double>& instance, Examination& it) {
  const auto d = instance.tokens();
  const auto lead = [d](const Vector<double>& y) {
    return (y.segment(1, d - 1) - y.head(d - 1)).maxCoeff();
  };
  Quantity worst = largest_along(approach_of(instance, d - 1), late, 1e-12, lead);
  worst.add(ErrorPart::rounding(static_cast<double>(d), late));
  it.judge(always_ahead, at_most("lead of a weaker co-occurrence, the largest on the way", worst, 0)
                             .in_units_of(late));
}

void examine(const Setting& setting, Examination& it) {
  const LatentTree<double> tree = drawn_tree(setting, setting.value(edge));
  const ReducedInstance<double> instance = learning_on(tree, setting);
  const double kappa = setting.value(scale);
  it.parameters = parameters_of(instance, setting);
  double off = 0;
  for (Index l = 0; l < tree.depth; ++l) {
    const double chance = cooccurrence_by_summation(tree, static_cast<int>(l) + 1);
    off = std::fmax(off, std::fabs(instance.target(l, 0) / (kappa * chance) - 1));
  }
  const double largest = instance.start.cwiseAbs().maxCoeff() / kappa;
  it.require(zero_start, -largest, fmt::format("up to `{:.3g} kappa`", largest));
  it.require(mu_of_tree, -off, fmt::format("off by {:.3g}", off));
  const std::vector<Quantity> claimed = exponents(tree, setting, {});
  const std::vector<Quantity> with_missed_edge = exponents(tree, setting, {.edges_missed = 1});
  it.judge(ahead_first,
           equal("lead of siblings of the query over the others at small `s`, per `s^3/3`",
                 first_leads(instance), claimed)
               .unless(larger_lead, times(1.1))
               .unless(missed_edge, with_missed_edge)
               .unless(at_once, instead([&] {
                         std::vector<Quantity> leads;
                         for (const Quantity& gap : claimed) {
                           leads.push_back((exp(gap) - Quantity(1)) *
                                           Quantity(3 / std::pow(early_time(instance), 2)));
                         }
                         return leads;
                       }))
               .against(uniform_attention, 0.0));
  it.judge(faster_last,
           equal("logarithm of the late ratio of rates", late_exponents(instance), claimed)
               .unless(larger_exponent, times(1.1))
               .unless(missed_edge, with_missed_edge)
               .against(uniform_attention, 0.0));
  judge_order(instance, it);
  // The order and the late rates are those of the flow in logarithms.
  it.judge(always_ahead, flow_in_logarithms(instance));
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::joma::checks::tree_learning
