#include "theorems/scan_snap/checks/symmetric_classes.hpp"

#include "popgrad/scalars/real.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks {
namespace {

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

// Largest relative difference of numbers of two lists; infinite if they are not of one length.
double difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = a.size() == b.size() ? 0 : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    largest = std::max(largest, std::fabs(a[i] - b[i]) / std::max(a[i], b[i]));
  }
  return largest;
}

}  // namespace

std::vector<Knob> symmetric_classes_knobs() {
  return {class_count, several_commons, distinct_count, common_weight,  vocabulary,
          rate_ratio,  horizon,         common_spread,  distinct_spread};
}

SymmetricClasses::SymmetricClasses(const Setting& setting)
    : training_(examined_training(setting, [&] { return drawn_training(setting); })),
      layout_(lay_out(training_.classes, true)) {
  for (std::size_t r = 0; r + 1 < layout_.row_first.size(); ++r) {
    std::vector<Index> own;
    for (Index i = layout_.row_first[r]; i < layout_.row_first[r + 1]; ++i) {
      own.push_back(layout_.row_entry[static_cast<std::size_t>(i)]);
    }
    if (own.size() < 2) continue;
    pairs_.push_back(layout_.entry_pair[static_cast<std::size_t>(own.front())]);
    entries_.push_back(own);
  }
}

template <class T>
Vector<T> SymmetricClasses::squares(const Vector<T>& f) const {
  Vector<T> means = Vector<T>::Zero(commons());
  for (std::size_t c = 0; c < entries_.size(); ++c) {
    for (const Index e : entries_[c]) means[static_cast<Index>(c)] += f[e] * f[e];
  }
  return means / T(training_.classes.classes());
}

template <class T>
Vector<T> SymmetricClasses::squares_at_start() const {
  Vector<T> f;
  features(training_in<T>(training_).classes, layout_, Vector<T>(Vector<T>::Zero(layout_.pairs())),
           f);
  return squares(f);
}

template Vector<double> SymmetricClasses::squares(const Vector<double>&) const;
template Vector<Real> SymmetricClasses::squares(const Vector<Real>&) const;
template Vector<double> SymmetricClasses::squares_at_start() const;
template Vector<Real> SymmetricClasses::squares_at_start() const;

void SymmetricClasses::require_hypotheses(Examination& it) const {
  const SequenceClasses<double>& classes = training_.classes;
  const Index k = classes.classes();
  const double rounding =
      static_cast<double>(classes.entries()) * std::numeric_limits<double>::epsilon();
  std::vector<std::vector<double>> common(static_cast<std::size_t>(k)), distinct = common;
  for (Index e = 0; e < classes.entries(); ++e) {
    const auto at = static_cast<std::size_t>(e);
    auto& of_kind = layout_.entry_distinct[at] ? distinct : common;
    of_kind[static_cast<std::size_t>(layout_.entry_class[at])].push_back(classes.law[e]);
  }
  double common_apart = 0;
  double distinct_apart = 0;
  for (std::size_t n = 0; n < common.size(); ++n) {
    std::sort(distinct[n].begin(), distinct[n].end());
    common_apart = std::max(common_apart, difference(common[n], common[0]));
    distinct_apart = std::max(distinct_apart, difference(distinct[n], distinct[0]));
  }
  it.require(one_query,
             rounding + 1 - static_cast<double>(layout_.queries()) -
                 (classes.weight.maxCoeff() / classes.weight.minCoeff() - 1),
             fmt::format("{} queries", layout_.queries()));
  it.require(commons_alike, rounding - common_apart, fmt::format("apart by {:.3g}", common_apart));
  it.require(distinct_alike, rounding - distinct_apart,
             fmt::format("apart by {:.3g}", distinct_apart));
}

}  // namespace popgrad::scan_snap::checks
