#include "theorems/topic/trained_embedding.hpp"

#include <cmath>

#include "popgrad/rung.hpp"
#include "popgrad/solved.hpp"
#include "popgrad/topic/population_flow.hpp"

namespace popgrad::theorems::topic {

using namespace popgrad::topic;

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
  const Solved run(rung, {end / 2, end}, 1e-9);
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
      made.gaps.push_back(run.at(1, gap));
      made.gaps.back().add(ErrorPart::next_order(gap(run.state(1)) - gap(run.state(0))));
    }
  }
  const auto loss = [&](const Vector<double>& x) { return flow.loss(x); };
  Quantity fell = run.at(0, loss) - run.at(1, loss);
  fell.add(ErrorPart::rounding(static_cast<double>(law.vocabulary()), 1));
  made.falling = std::fabs(fell.value()) + fell.error();
  made.excess = run.at(1, loss).value() - (1 - 1 / static_cast<double>(law.active * law.words));
  return made;
}

}  // namespace popgrad::theorems::topic
