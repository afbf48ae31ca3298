#include "theorems/topic/checks/trained_pairs.hpp"

#include "popgrad/walks/walk.hpp"
#include "theorems/topic/checks/prelude.hpp"

namespace popgrad::topic::checks {

std::vector<TrainedCase> trained_cases(const Training& given) {
  const TopicLaw<double>& law = given.law;
  Training base;
  base.law = law;
  base.document = given.document;
  base.longer = given.longer;
  base.documents = given.documents;
  base.concentration = given.concentration;
  base.loss = given.loss;
  base.temperature = given.temperature;
  base.label_noise = given.label_noise;
  base.key_width = 20;
  base.seed = given.seed;
  Training block = base;
  block.start = ValueStart::block;
  block.train_value = false;
  block.value = minimum_norm_value(law);
  Training diagonal = block;
  diagonal.value = diagonal_value(law);
  Training embedded = base;
  embedded.embedding_width = 12;
  embedded.start = ValueStart::identity;
  embedded.train_value = embedded.train_attention = false;
  embedded.scale = 0.1;
  return {{"attention, W_V trained", base},
          {"attention, W_V block-wise", block},
          {"attention, W_V diagonal", diagonal},
          {"inner products", embedded, true}};
}

TrainedPairs trained_pairs(const TrainedCase& one, std::uint64_t steps, const Setting& setting) {
  const PopulationFlow flow(one.training);
  const Layout& layout = flow.layout();
  AnyRung<double> rung = forget_type(PopulationFlow(flow));
  if (one.embedding) rung.initial.head(layout.values()).setZero();
  WalkRequest request;
  request.step_size = 0.01;
  request.optimiser.rule = Optimiser::Rule::adam;
  request.steps = steps;
  request.save_steps = {steps};
  request.batch = 8;
  request.runs = 8;
  request.seed = setting.draw_seed();
  request.jobs = setting.jobs;
  request.keep_states = true;
  const Index words = layout.vocabulary - 1;
  TrainedPairs found;
  for (const Trajectory<double>& run : walk(rung, rung.initial, request)) {
    const Vector<double>& x = run.last_state;
    if (one.embedding) {
      const ConstView whole(x.data() + layout.embedding(), layout.width, layout.vocabulary);
      const Matrix<double> e = whole.rightCols(words);
      found.runs.emplace_back(e.transpose() * e);
      continue;
    }
    const Matrix<double> logits = effective(layout, x).logits.bottomRightCorner(words, words);
    const auto apart = logits.colwise().maxCoeff() - logits.colwise().minCoeff();
    found.spread += apart.mean() / static_cast<double>(request.runs);
    Matrix<double> pairs = logits.array().exp();
    for (auto query : pairs.colwise()) query /= query.mean();
    found.runs.push_back(pairs);
  }
  return found;
}

}  // namespace popgrad::topic::checks
