#include "theorems/scan_snap/checks/fates_instance.hpp"

#include "popgrad/scalars/real.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks {
namespace {

constexpr Knob second_common =
    logarithmic_knob("second-common-token", "weight of a second common token in units of the first",
                     0.01, 10, 0)
        .breaking(single_common);

TrainingInstance<double> drawn_training(const Setting& setting) {
  Stream stream(setting.seed, stream_of_drawn_classes, 2);
  const double second = setting.value(second_common);
  SequenceClasses<double> classes = random_classes(
      stream, setting.count(class_count), second > 0 ? 2 : 1, setting.count(distinct_count),
      setting.value(common_weight), setting.count(vocabulary));
  for (Index n = 0; second > 0 && n < classes.classes(); ++n) {
    reweigh(classes, classes.first[static_cast<std::size_t>(n)] + 1, second);
  }
  return with_ratio(classes, setting.value(rate_ratio));
}

}  // namespace

std::vector<Knob> fates_knobs() {
  return {class_count, distinct_count, common_weight, vocabulary,
          rate_ratio,  second_common,  horizon};
}

FatesInstance::FatesInstance(const Setting& setting)
    : FatesInstance(examined_training(setting, [&] { return drawn_training(setting); })) {}

FatesInstance::FatesInstance(TrainingInstance<double> training)
    : training_(std::move(training)), layout_(lay_out(training_.classes, true)) {
  const std::vector<Index> owners = classes_of_tokens(training_.classes);
  commons_ = std::count_if(owners.begin(), owners.end(), [](Index n) { return n > 1; });
  const auto first = std::find_if(owners.begin(), owners.end(), [](Index n) { return n > 1; });
  for (Index e = 0; e < training_.classes.entries(); ++e) {
    const auto at = static_cast<std::size_t>(e);
    if (layout_.entry_distinct[at]) distinct_.push_back(e);
    if (training_.classes.token[at] == first - owners.begin()) common_.push_back(e);
  }
}

template <class T>
Vector<T> FatesInstance::start() const {
  Vector<T> f;
  features(training_in<T>(training_).classes, layout_, Vector<T>(Vector<T>::Zero(layout_.pairs())),
           f);
  return f;
}

template <class T>
Vector<T> FatesInstance::common_parts(const Vector<T>& f) const {
  Vector<T> parts = Vector<T>::Zero(training_.classes.classes());
  for (const Index e : common_) parts[layout_.entry_class[static_cast<std::size_t>(e)]] = f[e];
  return parts;
}

template <class T>
Vector<T> FatesInstance::measured(const Vector<T>& logit_rates, const Vector<T>& f,
                                  const T& gamma) const {
  Vector<T> numbers = Vector<T>::Zero(this->numbers());
  Index at = 0;
  for (const Index e : distinct_) {
    numbers[at++] = logit_rates[layout_.entry_pair[static_cast<std::size_t>(e)]] / (f[e] * f[e]);
  }
  for (const Index e : common_) {
    const Index query = layout_.class_query[static_cast<std::size_t>(
        layout_.entry_class[static_cast<std::size_t>(e)])];
    numbers[at + query] = logit_rates[layout_.entry_pair[static_cast<std::size_t>(e)]];
  }
  const T weight =
      training_.clock == Clock::consistent ? T(1) / T(training_.classes.classes()) : T(1);
  return numbers / T(T(training_.attention_rate) * weight * gamma);
}

template <class T>
Vector<T> FatesInstance::numbers_by(const Vector<T>& gains, const Vector<T>& losses) const {
  Vector<T> numbers = Vector<T>::Zero(this->numbers());
  Index at = 0;
  for (const Index e : distinct_) {
    numbers[at++] = gains[layout_.entry_class[static_cast<std::size_t>(e)]];
  }
  for (Index n = 0; n < losses.size(); ++n) {
    numbers[at + layout_.class_query[static_cast<std::size_t>(n)]] -= losses[n];
  }
  return numbers;
}

template Vector<double> FatesInstance::start() const;
template Vector<Real> FatesInstance::start() const;
template Vector<double> FatesInstance::common_parts(const Vector<double>&) const;
template Vector<Real> FatesInstance::common_parts(const Vector<Real>&) const;
template Vector<double> FatesInstance::measured(const Vector<double>&, const Vector<double>&,
                                                const double&) const;
template Vector<Real> FatesInstance::measured(const Vector<Real>&, const Vector<Real>&,
                                              const Real&) const;

template Vector<double> FatesInstance::numbers_by(const Vector<double>&,
                                                  const Vector<double>&) const;
template Vector<Real> FatesInstance::numbers_by(const Vector<Real>&, const Vector<Real>&) const;

Record FatesInstance::parameters() const {
  return {{"K", training_.classes.classes()},
          {"M", training_.classes.tokens},
          {"entries of P", training_.classes.entries()},
          {"lambda_max(E)", largest_overlap(training_.classes)},
          {"eta_Y", training_.decoder_rate},
          {"eta_Z", training_.attention_rate}};
}

void FatesInstance::require_hypotheses(Examination& it) const {
  it.require(single_common, 1 - static_cast<double>(commons_),
             fmt::format("{} tokens are common", commons_));
  const Index lacking = training_.classes.classes() - static_cast<Index>(common_.size());
  it.require(everywhere, -static_cast<double>(lacking), fmt::format("{} classes lack it", lacking));
  require_equally_likely(it, training_.classes.weight);
}

}  // namespace popgrad::scan_snap::checks
