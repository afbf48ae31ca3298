#include "theorems/scan_snap/checks/one_common_token.hpp"

#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks {
namespace {

constexpr Knob queries_of_shared_token =
    whole_knob("queries", "queries, each of as many classes", 1, 3, 1);
constexpr Knob member_count =
    whole_knob("classes-of-a-query", "classes K_m of each query", 2, 6, 4);
constexpr Knob overlap =
    logarithmic_knob("overlap", "K f_c^2 of the common token at the start", 0.01, 0.1, 0.05);
constexpr Knob vocabulary_part =
    logarithmic_knob("vocabulary-part", "tokens M in units of 1/f_c^2", 10, 1000, 100);
constexpr Knob rate_of_decoder =
    logarithmic_knob("decoder-rate", "learning rate eta_Y", 0.1, 10, 1);
constexpr Knob rate_of_attention = logarithmic_knob(
    "attention-rate", "learning rate eta_Z in units of eta_Y K_m/(K^2 f_c^4)", 0.1, 1, 0.3);
constexpr Knob unlike_weights =
    logarithmic_knob("spread-of-common-weights",
                     "standard deviation of ln P(l|n) of the common token", 0.01, 3, 0)
        .breaking(classes_alike);

TrainingInstance<double> drawn_common_token(const Setting& setting) {
  const Index members = setting.count(member_count);
  const Index k = members * setting.count(queries_of_shared_token);
  const double square = setting.value(overlap) / static_cast<double>(k);
  const auto tokens = static_cast<Index>(setting.value(vocabulary_part) / square);
  Stream stream(setting.seed, stream_of_drawn_classes, 1);
  TrainingInstance<double> training;
  training.classes = random_classes(stream, k, 1, setting.count(distinct_count), 1.0, tokens, true);
  SequenceClasses<double>& classes = training.classes;
  for (Index n = 0; n < k; ++n) {
    const Index begin = classes.first[static_cast<std::size_t>(n)];
    const Index own = classes.first[static_cast<std::size_t>(n + 1)] - begin - 1;
    const double weight =
        std::sqrt(square / (1 - square)) * classes.law.segment(begin + 1, own).norm();
    const double unlike = std::exp(setting.value(unlike_weights) * stream.normal());
    reweigh(classes, begin, unlike * weight / classes.law[begin]);
    classes.query[static_cast<std::size_t>(n)] = n / members;
  }
  training.decoder_rate = setting.value(rate_of_decoder);
  training.attention_rate = setting.value(rate_of_attention) * training.decoder_rate *
                            static_cast<double>(members) /
                            (setting.value(overlap) * setting.value(overlap));
  return training;
}

double unlikeness(const auto& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return static_cast<double>(*most) / static_cast<double>(*least) - 1;
}

}  // namespace

std::vector<Knob> one_common_token_knobs() {
  return {queries_of_shared_token, member_count,    distinct_count,    overlap,
          vocabulary_part,         rate_of_decoder, rate_of_attention, unlike_weights};
}

CommonToken<double> OneCommonToken::token() const {
  const auto k = static_cast<double>(squares.size());
  double mean = 0;
  for (const double square : squares) mean += square / k;
  return {vocabulary,
          training.decoder_rate,
          training.attention_rate,
          static_cast<int>(squares.size()),
          static_cast<int>(members),
          std::sqrt(mean),
          training.clock == Clock::consistent ? 1 / k : 1.0};
}

OneCommonToken described(TrainingInstance<double> training) {
  OneCommonToken found;
  training.track_growth = true;
  found.vocabulary = static_cast<double>(training.classes.tokens);
  const SequenceClasses<double>& classes = training.classes;
  const Layout layout = lay_out(classes, true);
  const std::vector<Index> owners = classes_of_tokens(classes);
  found.commons = std::count_if(owners.begin(), owners.end(), [](Index n) { return n > 1; });
  Vector<double> f;
  features(classes, layout, Vector<double>(Vector<double>::Zero(layout.pairs())), f);
  for (Index e = 0; e < classes.entries(); ++e) {
    const Index l = classes.token[static_cast<std::size_t>(e)];
    if (owners[static_cast<std::size_t>(l)] != classes.classes()) continue;
    found.entries.push_back(e);
    found.squares.push_back(f[e] * f[e]);
  }
  std::vector<Index> members(layout.query_token.size(), 0);
  for (const Index q : layout.class_query) ++members[static_cast<std::size_t>(q)];
  found.members = *std::max_element(members.begin(), members.end());
  found.unlike = std::max(unlikeness(members), unlikeness(classes.weight));
  if (!found.squares.empty()) found.unlike = std::max(found.unlike, unlikeness(found.squares));
  found.training = std::move(training);
  return found;
}

OneCommonToken one_common_token(const Setting& setting) {
  return described(examined_training(setting, [&] { return drawn_common_token(setting); }));
}

Record common_token_parameters(const OneCommonToken& instance) {
  return {{"K", instance.training.classes.classes()},  {"K_m", instance.members},
          {"M", instance.training.classes.tokens},     {"eta_Y", instance.training.decoder_rate},
          {"eta_Z", instance.training.attention_rate}, {"f_c^2", instance.squares}};
}

bool require_one_common_token(const OneCommonToken& instance, Examination& it) {
  const bool shared = instance.commons == 1 && !instance.entries.empty();
  it.require(one_common, shared,
             fmt::format("{} common, {}in all classes", instance.commons,
                         instance.entries.empty() ? "not " : ""));
  const double rounding = static_cast<double>(instance.training.classes.entries()) *
                          std::numeric_limits<double>::epsilon();
  it.require(classes_alike, rounding - instance.unlike,
             fmt::format("`f_c`, `K_m` and `w` differ by {:.3g}", instance.unlike));
  return shared;
}

}  // namespace popgrad::scan_snap::checks
