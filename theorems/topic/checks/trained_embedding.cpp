#include "theorems/topic/checks/trained_embedding.hpp"

#include <array>

#include "solving/common_error.hpp"
#include "theorems/topic/checks/prelude.hpp"

namespace popgrad::topic::checks {

namespace {

// Once the fast directions have relaxed, stability limits the steps and not the tolerance: errors go up
// and down from step to step and may pass 0 in looser solves as they do not in the sharpest. The largest
// over some of the last steps does not.
constexpr std::array late{0.96, 0.97, 0.98, 0.99, 1.0};  // of the time of training

Training training_of(const TopicLaw<double>& law, Index width, std::uint64_t seed, double start) {
  Training training;
  training.law = law;
  training.embedding_width = width;
  training.key_width = 1;
  training.scale = start;
  training.start = ValueStart::identity;
  training.train_value = training.train_attention = false;
  training.seed = seed;
  return training;
}

ConstView words_of(const Layout& layout, const Vector<double>& x) {
  return {x.data() + layout.embedding() + layout.width, layout.width, layout.vocabulary - 1};
}

}  // namespace

double kept_of_start(const TopicLaw<double>& law, Index width, std::uint64_t seed, double start) {
  const Training training = training_of(law, width, seed, start);
  const Layout layout(training);
  Matrix<double> w = words_of(layout, topic::start(training));
  for (Index t = 0; t < law.topics; ++t) {
    auto block = w.middleCols(t * law.words, law.words);
    block.colwise() -= block.rowwise().mean().eval();
  }
  return w.squaredNorm() / static_cast<double>(w.cols());
}

TrainedEmbedding train_embedding(const TopicLaw<double>& law, Index width, double entries,
                                 std::uint64_t seed, double start) {
  const Training training = training_of(law, width, seed, start);
  const PopulationFlow flow(training);
  AnyRung<double> rung = forget_type(PopulationFlow(training));
  rung.initial.head(flow.layout().values()) *= entries / training.scale;
  // Relaxation times go as those of W_V under uniform attention.
  const double end = 30 / value_rate(law);
  std::vector<double> times{end / 2};
  for (const double share : late) times.push_back(share * end);
  const Solved run(rung, times, 1e-9);
  const std::size_t last = times.size() - 1;
  TrainedEmbedding made;
  const auto read = [&](const Functional& number) {
    std::vector<Quantity> saved;
    for (std::size_t save = 1; save <= last; ++save) saved.push_back(run.at(save, number));
    Quantity end = with_common_error(saved).back();
    end.add(ErrorPart::next_order(number(run.state(last)) - number(run.state(0))));
    return end;
  };
  for (Index i = 1; i < law.vocabulary(); ++i) {
    for (Index t = 0; t < law.topics; ++t) {
      if (t == law.topic_of(i)) continue;
      const auto gap = [&](const Vector<double>& x) {
        const ConstView w(x.data() + flow.layout().embedding(), width, law.vocabulary());
        const auto block = [&](Index of) {
          return w.col(i).dot(w.middleCols(1 + of * law.words, law.words).rowwise().sum());
        };
        return block(law.topic_of(i)) - block(t);
      };
      made.gaps.push_back(read(gap));
    }
  }
  const auto others = [&](const Vector<double>& x) {
    const ConstView w = words_of(flow.layout(), x);
    const auto v = static_cast<double>(law.words);
    double inside = -w.squaredNorm();  // without own words
    for (Index t = 0; t < law.topics; ++t) {
      inside += w.middleCols(t * law.words, law.words).rowwise().sum().squaredNorm();
    }
    const double outside = w.rowwise().sum().squaredNorm() - w.squaredNorm() - inside;
    const auto all = static_cast<double>(w.cols());
    return inside / (all * (v - 1)) - outside / (all * (all - v));
  };
  if (law.words > 1) made.others = read(others);
  const auto loss = [&](const Vector<double>& x) { return flow.loss(x); };
  Quantity fell = run.at(0, loss) - run.at(last, loss);
  fell.add(ErrorPart::rounding(static_cast<double>(law.vocabulary()), 1));
  made.falling = std::fabs(fell.value()) + fell.error();
  made.excess = run.at(last, loss).value() - (1 - 1 / static_cast<double>(law.active * law.words));
  return made;
}

}  // namespace popgrad::topic::checks
