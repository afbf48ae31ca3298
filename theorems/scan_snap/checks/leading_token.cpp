#include "theorems/scan_snap/checks/leading_token.hpp"

#include "popgrad/scalars/real.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/rungs/random_classes.hpp"

namespace popgrad::scan_snap::checks {
namespace {

constexpr Knob rival =
    logarithmic_knob("rival", "P(l|n) of another distinct token of n in units of that of l0", 1.01,
                     30, 0)
        .breaking(leads);
constexpr Knob trace = logarithmic_knob("trace",
                                        "of a token twice as likely in n as l0: its P(l|n') "
                                        "elsewhere, in units of P(l|n); 0: no such token",
                                        1e-6, 1e-3, 0)
                           .breaking(commons_lose);

// A token of all classes that hardly any but class 0 has; gains attention as a distinct one does.
void add_trace(SequenceClasses<double>& classes, double in_class_0, double share) {
  const Layout layout = lay_out(classes, true);
  Matrix<double> law = Matrix<double>::Constant(classes.classes(), classes.token.back() + 2, 0);
  law.rightCols(1).setConstant(share * in_class_0);
  law(0, law.cols() - 1) = in_class_0;
  for (std::size_t e = 0; e < classes.token.size(); ++e) {
    law(layout.entry_class[e], classes.token[e]) = classes.law[static_cast<Index>(e)];
  }
  for (auto row : law.rowwise()) row /= row.sum();
  classes = classes_from_matrix<double>(law, classes.query, classes.tokens);
}

TrainingInstance<double> drawn_training(const Setting& setting) {
  Stream stream(setting.seed, stream_of_drawn_classes, 0);
  TrainingInstance<double> training =
      with_ratio(random_classes(stream, setting.count(class_count), setting.count(common_count),
                                setting.count(distinct_count), setting.value(common_weight),
                                setting.count(vocabulary)),
                 setting.value(rate_ratio));
  if (setting.value(rival) > 0) {
    hand_over_none(
        "an l0 that does not lead is not in an instance file, of which l0 is the leader");
  }
  if (setting.value(trace) > 0) {
    const LeadingToken token(training);
    SequenceClasses<double>& classes = training.classes;
    add_trace(classes, 2 * classes.law[token.leader()], setting.value(trace));
  }
  return training;
}

}  // namespace

std::vector<Knob> leading_token_knobs() {
  return {class_count, common_count, distinct_count, common_weight, vocabulary,
          rate_ratio,  rival,        trace,          horizon};
}

LeadingToken::LeadingToken(const Setting& setting)
    : training_(examined_training(setting, [&] { return drawn_training(setting); })) {
  training_.track_growth = true;
  choose_richest();
  if (setting.instance == nullptr && setting.value(rival) > 0) {
    SequenceClasses<double>& classes = training_.classes;
    const Index other = others_.front();
    reweigh(classes, other, setting.value(rival) * classes.law[leader_] / classes.law[other]);
  }
  flow_ = std::make_shared<ReducedFlow<double>>(training_);
}

LeadingToken::LeadingToken(TrainingInstance<double> training) : training_(std::move(training)) {
  training_.track_growth = true;
  choose_richest();
  flow_ = std::make_shared<ReducedFlow<double>>(training_);
}

LeadingToken LeadingToken::of_class(Index n) const {
  LeadingToken other = *this;
  other.choose(n);
  return other;
}

void LeadingToken::choose_richest() {
  const Layout layout = lay_out(training_.classes, true);
  std::vector<Index> distinct(static_cast<std::size_t>(training_.classes.classes()), 0);
  for (std::size_t e = 0; e < layout.entry_class.size(); ++e) {
    if (layout.entry_distinct[e]) ++distinct[static_cast<std::size_t>(layout.entry_class[e])];
  }
  const auto most = std::max_element(distinct.begin(), distinct.end());
  if (*most == 0) throw std::invalid_argument("no token of this instance is distinct");
  choose(most - distinct.begin());
}

void LeadingToken::choose(Index n) {
  n_ = n;
  leader_ = -1;
  others_.clear();
  common_.clear();
  const SequenceClasses<double>& classes = training_.classes;
  const Layout layout = lay_out(classes, true);
  for (Index e = classes.first[static_cast<std::size_t>(n)];
       e < classes.first[static_cast<std::size_t>(n + 1)]; ++e) {
    if (!layout.entry_distinct[static_cast<std::size_t>(e)]) {
      common_.push_back(e);
    } else if (leader_ < 0 || classes.law[e] > classes.law[leader_]) {
      if (leader_ >= 0) others_.push_back(leader_);
      leader_ = e;
    } else {
      others_.push_back(e);
    }
  }
}

double LeadingToken::lead() const {
  double least = std::numeric_limits<double>::infinity();
  const Vector<double>& law = training_.classes.law;
  for (const Index e : others_) least = std::min(least, law[leader_] / law[e]);
  return least;
}

double LeadingToken::logit(const Vector<double>& x, Index entry) const {
  return x[flow_->layout().entry_pair[static_cast<std::size_t>(entry)]];
}

double LeadingToken::square(const Vector<double>& x, Index entry) const {
  const double f = flow_->features_at(x)[entry];
  return f * f;
}

Vector<double> LeadingToken::rates(const Vector<double>& x) const {
  return rates_while_learning(*flow_, training_.classes.tokens, x);
}

double LeadingToken::rest(const Vector<double>& x) const { return rest_of(flow_->features_at(x)); }

template <class T>
T LeadingToken::rest_of(const Vector<T>& f) const {  // c_n up to a factor
  const auto n = static_cast<std::size_t>(n_);
  T others(0);
  for (Index e = training_.classes.first[n]; e < training_.classes.first[n + 1]; ++e) {
    if (e != leader_) others += f[e];
  }
  return others / (others + f[leader_]);
}
template double LeadingToken::rest_of(const Vector<double>&) const;
template Real LeadingToken::rest_of(const Vector<Real>&) const;

double LeadingToken::entropy(const Vector<double>& x) const {
  return attention_entropies(training_.classes, flow_->layout(), flow_->features_at(x), n_).second;
}

double LeadingToken::drive(const Vector<double>& x) const { return growth(rates(x)); }

double LeadingToken::least_loss(const Vector<double>& x) const {
  const Vector<double> rate = rates(x);
  double least = std::numeric_limits<double>::infinity();
  for (const Index e : common_) least = std::min(least, -logit(rate, e) / growth(rate));
  return least;
}

Index LeadingToken::members() const {
  const std::vector<Index>& query = training_.classes.query;
  return std::count(query.begin(), query.end(), query[static_cast<std::size_t>(n_)]);
}

double LeadingToken::rise(const Vector<double>& x) const {
  const Vector<double> rate = rates(x);
  const Vector<double> f = flow_->features_at(x);
  double mean = 0;
  for (Index e = training_.classes.first[static_cast<std::size_t>(n_)];
       e < training_.classes.first[static_cast<std::size_t>(n_ + 1)]; ++e) {
    mean += f[e] * f[e] * logit(rate, e);
  }
  return (logit(rate, leader_) - mean) / growth(rate);
}

}  // namespace popgrad::scan_snap::checks
