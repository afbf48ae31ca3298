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

}  // namespace

TrainedEmbedding train_embedding(const TopicLaw<double>& law, Index width, double entries,
                                 std::uint64_t seed) {
  Training training;
  training.law = law;
  training.embedding_width = width;
  training.key_width = 1;
  training.scale = embedding_start;
  training.start = ValueStart::identity;
  training.train_value = training.train_attention = false;
  training.seed = seed;
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
      std::vector<Quantity> read;
      for (std::size_t save = 1; save <= last; ++save) read.push_back(run.at(save, gap));
      made.gaps.push_back(with_common_error(read).back());
      made.gaps.back().add(ErrorPart::next_order(gap(run.state(last)) - gap(run.state(0))));
    }
  }
  const auto loss = [&](const Vector<double>& x) { return flow.loss(x); };
  Quantity fell = run.at(0, loss) - run.at(last, loss);
  fell.add(ErrorPart::rounding(static_cast<double>(law.vocabulary()), 1));
  made.falling = std::fabs(fell.value()) + fell.error();
  made.excess = run.at(last, loss).value() - (1 - 1 / static_cast<double>(law.active * law.words));
  return made;
}

}  // namespace popgrad::topic::checks
