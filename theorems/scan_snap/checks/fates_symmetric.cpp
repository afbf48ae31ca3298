#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/rungs/backprop.hpp"

namespace popgrad::scan_snap::checks::fates_symmetric {
namespace {

constexpr Hypothesis one_query{"one query, its classes equally likely"};
constexpr Hypothesis commons_alike{
    "`P(l|n)` of a common token is the same in all classes of the query"};
constexpr Hypothesis distinct_alike{"classes have distinct tokens of the same weights"};

constexpr Knob several_commons =
    whole_knob("common-tokens", "tokens that all classes have", 2, 6, 3);
constexpr Knob common_spread =
    logarithmic_knob("spread-of-common-weights",
                     "standard deviation of ln P(l|n) of a common token between classes", 0.01, 3,
                     0)
        .breaking(commons_alike);
constexpr Knob distinct_spread =
    logarithmic_knob("spread-of-distinct-weights",
                     "standard deviation of ln P(l|n) of a distinct token between classes", 0.01, 3,
                     0)
        .breaking(distinct_alike);

Statement sheet{.id = "scan-snap.fates-symmetric",
                .paper = "arXiv 2305.16380, Corollary 2",
                .status = "proved in source",
                .about = "the reduced flow, the population flow",
                .theorem = R"(
K classes of one query, images of each other, with common tokens alike: all common tokens lose
attention. With s = sum_c f_c^2 over the common tokens and q1 = M/(M-1), q0 = -M/(M-1)^2, on
reduced
  z_c' = -eta_Z w gamma K (K-1) f_c^2 (q1 s - q0)/(1 + (K-1) s),
and on flow, at any ratio of the rates, as t -> 0
  z_c' = -eta_Z eta_Y w^2 K (K-1) f_c^2 (1 - s) t/M;
as eta_Z -> 0 they lose on flow at later times, too.)",
                .hypotheses = {one_query, commons_alike, distinct_alike},
                .reaches = {EvidenceKind::numerical},
                .false_version = "each-alone",
                .knobs = {class_count, several_commons, distinct_count, common_weight, vocabulary,
                          rate_ratio, horizon, common_spread, distinct_spread},
                .reads = "reduced"};

const Clause on_reduced =
    sheet.clause("common tokens that classes have alike all lose attention on the reduced flow");
const Clause at_first = sheet.clause("on the flow at first");
const Clause later_on = sheet.clause("and later if `eta_Z -> 0`");

const Control all_classes = sheet.control("all-classes", "`K` in place of `K - 1`");
const Control overlap_only =
    sheet.control("overlap-only", "no term `q0` on reduced, as if `M` were infinite");
const Control undamped = sheet.control("undamped", "no `1 - s` on flow");
const Control distinct_too = sheet.control("distinct-too", "distinct tokens lose, too");

const Rival each_alone =
    sheet.rival("each-alone", "each common token loses as if it were the only one", "a rate");

// Other shares of the same sum.
void make_unlike(Stream& stream, double width, Eigen::Ref<Vector<double>> part) {
  const double sum = part.sum();
  for (double& p : part) p *= std::exp(width * stream.normal());
  if (width > 0) part *= sum / part.sum();
}

TrainingInstance<double> drawn_training(const Setting& setting) {
  Stream stream(setting.seed, stream_of_drawn_classes, 3);
  const Index commons = setting.count(several_commons);
  SequenceClasses<double> classes =
      random_classes(stream, setting.count(class_count), commons, setting.count(distinct_count),
                     setting.value(common_weight), setting.count(vocabulary), true);
  for (Index n = 0; n < classes.classes(); ++n) {
    const Index begin = classes.first[static_cast<std::size_t>(n)];
    const Index end = classes.first[static_cast<std::size_t>(n + 1)];
    make_unlike(stream, setting.value(common_spread), classes.law.segment(begin, commons));
    make_unlike(stream, setting.value(distinct_spread),
                classes.law.segment(begin + commons, end - begin - commons));
  }
  return with_ratio(classes, setting.value(rate_ratio));
}

// Classes as a user or knobs and seed give them, and which of their tokens are common.
struct SymmetricClasses {
  TrainingInstance<double> training;
  Layout layout;
  std::vector<Index> rows, pairs;  // of common tokens, in Y and in z
  std::vector<Index> distinct;     // distinct tokens, in z

  explicit SymmetricClasses(const Setting& setting)
      : training(examined_training(setting, [&] { return drawn_training(setting); })),
        layout(lay_out(training.classes, true)) {
    for (std::size_t r = 0; r + 1 < layout.row_first.size(); ++r) {
      const Index first = layout.row_first[r];
      const Index entry = layout.row_entry[static_cast<std::size_t>(first)];
      const Index pair = layout.entry_pair[static_cast<std::size_t>(entry)];
      if (layout.row_first[r + 1] < first + 2) {
        distinct.push_back(pair);
        continue;
      }
      rows.push_back(static_cast<Index>(r));
      pairs.push_back(pair);
    }
  }

  [[nodiscard]] Index commons() const { return static_cast<Index>(pairs.size()); }

  // f_c^2 of every common token, mean over classes, from f (nnz).
  template <class T>
  [[nodiscard]] Vector<T> squares(const Vector<T>& f) const {
    Vector<T> sums = Vector<T>::Zero(layout.rows());
    for (Index e = 0; e < f.size(); ++e) {
      sums[layout.entry_row[static_cast<std::size_t>(e)]] += f[e] * f[e];
    }
    return sums(rows) / T(training.classes.classes());
  }

  // z' of every common token, or of other `tokens`, on a rung.
  template <class T>
  [[nodiscard]] Vector<T> pulls(const auto& rung, const Vector<T>& x) const {
    return pulls(rung, x, pairs);
  }
  template <class T>
  [[nodiscard]] static Vector<T> pulls(const auto& rung, const Vector<T>& x,
                                       const std::vector<Index>& tokens) {
    Vector<T> rate(x.size());
    rung.rhs(x, rate, T(0));
    return rung.logits_at(rate)(tokens);
  }
};

void require_hypotheses(const SymmetricClasses& symmetric, Examination& it) {
  const SequenceClasses<double>& classes = symmetric.training.classes;
  const Layout& layout = symmetric.layout;
  // Largest relative difference of weights to those of the first class; infinite between different
  // numbers of tokens.
  const auto difference = [&](bool distinct) {
    std::vector<std::vector<double>> laws(static_cast<std::size_t>(classes.classes()));
    for (std::size_t e = 0; e < layout.entry_class.size(); ++e) {
      if (layout.entry_distinct[e] != distinct) continue;
      laws[static_cast<std::size_t>(layout.entry_class[e])].push_back(
          classes.law[static_cast<Index>(e)]);
    }
    double largest = 0;
    for (std::vector<double>& law : laws) {
      if (distinct) std::ranges::sort(law);
      if (law.size() != laws[0].size()) return std::numeric_limits<double>::infinity();
      for (std::size_t i = 0; i < law.size(); ++i) {
        const double apart = std::fabs(law[i] - laws[0][i]) / std::max(law[i], laws[0][i]);
        largest = std::max(largest, apart);
      }
    }
    return largest;
  };
  const double rounding =
      static_cast<double>(classes.entries()) * std::numeric_limits<double>::epsilon();
  it.require(one_query,
             rounding + 1 - static_cast<double>(layout.queries()) -
                 (classes.weight.maxCoeff() / classes.weight.minCoeff() - 1),
             fmt::format("{} queries", layout.queries()));
  const auto require_alike = [&](const Hypothesis& hypothesis, double apart) {
    it.require(hypothesis, rounding - apart, fmt::format("apart by {:.3g}", apart));
  };
  require_alike(commons_alike, difference(false));
  require_alike(distinct_alike, difference(true));
}

constexpr double tolerance = 1e-12;

template <class T>
void judge_reduced(const SymmetricClasses& symmetric, double end, Examination& it) {
  const ReducedFlow<T> flow(training_in<T>(symmetric.training));
  const auto m = static_cast<T>(symmetric.training.classes.tokens);
  const auto k = static_cast<T>(symmetric.training.classes.classes());
  const SolvedIn<T> run(forget_type(flow), {end / 64, end / 8, end}, tolerance);
  const auto predicted = [&](const T& others, const T& finite) {
    return read_all(run, symmetric.commons(), [&](const Vector<T>& x) -> Vector<T> {
      const Vector<T> squares = symmetric.squares(flow.features_at(x));
      const T s = squares.sum();
      const T pull = k * others * (own_scale(m) * s - finite);
      return squares * T(-pull / (T(1) + (k - T(1)) * s));
    });
  };
  const T weight = symmetric.training.clock == Clock::consistent ? T(1) / k : T(1);
  const auto measured = [&](const Vector<T>& x) -> Vector<T> {
    const T gamma = backprop_scale(m, T(x[flow.layout().pairs()]));
    return symmetric.pulls(flow, x) / T(T(symmetric.training.attention_rate) * weight * gamma);
  };
  std::vector<Quantity> found = read_all(run, symmetric.commons(), measured);
  add_rounding_of_gram(run, flow, found);
  const T q0 = cross_scale(m);
  const auto by_itself = [&] {
    if (symmetric.commons() == 1) return predicted(k - T(1), q0);
    std::vector<Quantity> numbers =
        read_all(run, symmetric.commons(), [&](const Vector<T>& x) -> Vector<T> {
          Vector<T> pulls = symmetric.squares(flow.features_at(x));
          for (T& f : pulls) f *= T(-k * (own_scale(m) * f - q0) / (T(1) + (k - T(1)) * f));
          return pulls;
        });
    double product = 0, square = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      product += found[i].value() * numbers[i].value();
      square += numbers[i].value() * numbers[i].value();
    }
    for (Quantity& number : numbers) number = number * Quantity(product / square);
    return numbers;
  };
  it.judge(on_reduced, equal("`z_c'/(eta_Z w gamma)` on reduced", found, predicted(k - T(1), q0))
                           .unless(all_classes, predicted(k, q0))
                           .unless(overlap_only, predicted(k - T(1), T(0)))
                           .against(each_alone, instead(by_itself)));
}

// z'/(eta_Z w) of `tokens` on flow at time t, over `unit`; w = 1/K in either reading of Eqn 10.
template <class T>
std::vector<Quantity> pulls_on_flow(const SymmetricClasses& symmetric,
                                    const std::vector<Index>& tokens, double attention_rate,
                                    double t, double unit) {
  TrainingInstance<double> training = symmetric.training;
  training.attention_rate = attention_rate;
  const PopulationFlow<T> flow(training_in<T>(training));
  const T scale = T(attention_rate) * T(unit) / static_cast<T>(training.classes.classes());
  return read_all(
      SolvedIn<T>(forget_type(flow), {t}, tolerance), std::ssize(tokens),
      [&](const Vector<T>& x) -> Vector<T> { return symmetric.pulls(flow, x, tokens) / scale; });
}

template <class T>
void judge_flow(const SymmetricClasses& symmetric, double end, Examination& it) {
  const TrainingInstance<double>& training = symmetric.training;
  const auto m = static_cast<double>(training.classes.tokens);
  const auto k = static_cast<double>(training.classes.classes());
  // Logits of the decoder have then moved by a thousandth, those of attention by less.
  const double early = 1e-3 * k / std::max(training.decoder_rate, training.attention_rate);
  const PopulationFlow<T> flow(training_in<T>(training));
  const Vector<T> squares = symmetric.squares(flow.features_at(flow.initial()));
  const auto predicted = [&](double others, const T& free) {
    std::vector<Quantity> values;
    for (const T& f : squares) {
      values.emplace_back(to_double(T(-T(training.decoder_rate) * others * f * free / m)));
    }
    return values;
  };
  const T free = T(1) - squares.sum();
  const auto over_time = [&](double t) {
    return pulls_on_flow<T>(symmetric, symmetric.pairs, training.attention_rate, t, t);
  };
  it.judge(at_first, equal("`z_c'/(eta_Z w t)` on flow as `t -> 0`",
                           limits_of(over_time, early, 2, 3), predicted(k - 1, free))
                         .unless(all_classes, predicted(k, free))
                         .unless(undamped, predicted(k - 1, T(1))));
  const double slow = training.decoder_rate / (100 * end);
  // Common tokens, then distinct ones.
  std::vector<Index> tokens = symmetric.pairs;
  tokens.insert(tokens.end(), symmetric.distinct.begin(), symmetric.distinct.end());
  const std::vector<Quantity> ends = limits_of(
      [&](double other) { return pulls_on_flow<T>(symmetric, tokens, other, end, 1); }, slow, 2, 3);
  const auto commons = ends.begin() + symmetric.commons();
  Comparison later = below("`z_c'/(eta_Z w)` on flow as `eta_Z -> 0`",
                           std::vector<Quantity>(ends.begin(), commons), 0)
                         .in_units_of(training.decoder_rate);
  if (commons != ends.end()) {
    later.unless(distinct_too, [first = *commons, count = symmetric.pairs.size()] {
      return std::vector<Quantity>(count, first);
    });
  }
  it.judge(later_on, later);
}

void examine(const Setting& setting, Examination& it) {
  const SymmetricClasses symmetric(setting);
  const TrainingInstance<double>& training = symmetric.training;
  const double end = setting.value(horizon);
  it.parameters = {{"K", training.classes.classes()},
                   {"M", training.classes.tokens},
                   {"common tokens", symmetric.commons()},
                   {"eta_Y", training.decoder_rate},
                   {"eta_Z", training.attention_rate},
                   {"t", end},
                   {"seed", setting.seed}};
  require_hypotheses(symmetric, it);
  if (symmetric.commons() == 0) return;
  in_refined_digits([&]<class T>() {
    judge_reduced<T>(symmetric, end, it);
    judge_flow<T>(symmetric, end, it);
  });
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scan_snap::checks::fates_symmetric
