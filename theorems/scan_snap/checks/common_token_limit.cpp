#include "theorems/scan_snap/checks/one_common_token.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/rungs/reduced_flow.hpp"

namespace popgrad::scan_snap::checks {
namespace {

constexpr double tolerance = 1e-10;
constexpr double fewest_parts = 2;  // and twice and four times as many

// The same with every distinct token parted into `parts` alike, f_nc^2 smaller by that factor and
// M - 1 larger by its square. eta_Z makes up for it: 4 w K_m Gamma/C0 at `horizon` t0 stays.
OneCommonToken refined(const OneCommonToken& instance, Index parts, double horizon) {
  const SequenceClasses<double>& classes = instance.training.classes;
  const Index k = classes.classes();
  const auto many = static_cast<double>(parts);
  const Layout layout = lay_out(classes, true);
  Matrix<double> law = Matrix<double>::Zero(k, 1 + (classes.entries() - k) * parts);
  Index column = 1;
  for (Index e = 0; e < classes.entries(); ++e) {
    const auto at = static_cast<std::size_t>(e);
    if (!layout.entry_distinct[at]) continue;
    law.row(layout.entry_class[at]).segment(column, parts).setConstant(classes.law[e] / many);
    column += parts;
  }
  for (Index n = 0; n < k; ++n) {
    const double square = instance.squares[static_cast<std::size_t>(n)] / many;
    law(n, 0) = std::sqrt(square / (1 - square)) * law.row(n).norm();
    law.row(n) /= law.row(n).sum();
  }
  TrainingInstance<double> training = instance.training;
  training.classes =
      classes_from_matrix<double>(law, classes.query, std::max(classes.tokens, law.cols()));
  training.classes.weight = classes.weight;
  OneCommonToken finer = described(std::move(training));
  finer.vocabulary = 1 + (instance.vocabulary - 1) * many * many;
  const auto moved = [&](const OneCommonToken& of) {
    const CommonToken<double> token = of.token();
    const double draws = horizon * transition_time_of(of) / token.classes;
    const double h = decoder_scale(token.vocabulary, token.decoder_rate, draws);
    return accumulated_scale(token, h) / token.scale();
  };
  finer.training.attention_rate *= moved(instance) / moved(finer);
  return finer;
}

// B_n and z of the common token over their closed forms, one a time.
struct Quotients {
  std::vector<Quantity> growth, logit;
};

Quotients quotients(const OneCommonToken& instance, const std::vector<double>& times_in_t0) {
  const ReducedFlow<double> flow(instance.training, instance.vocabulary);
  const CommonToken<double> token = instance.token();
  const Layout& layout = flow.layout();
  const Index pair = layout.entry_pair[static_cast<std::size_t>(instance.entries.front())];
  std::vector<double> times;
  for (const double t : times_in_t0) times.push_back(t * transition_time_of(instance));
  const Solved run(forget_type(flow), times, tolerance);
  Quotients found;
  for (std::size_t save = 0; save < run.size(); ++save) {
    const double h = decoder_scale(token.vocabulary, token.decoder_rate,
                                   times[save] / static_cast<double>(token.classes));
    const double accumulated = accumulated_scale(token, h);
    found.growth.push_back(run.at(save, [&](const Vector<double>& x) {
      return x[layout.pairs() + 1] / growth_exponent(token, accumulated);
    }));
    found.logit.push_back(run.at(
        save, [&](const Vector<double>& x) { return x[pair] / common_logit(token, accumulated); }));
  }
  return found;
}

}  // namespace

double transition_time_of(const OneCommonToken& instance) {
  const CommonToken<double> token = instance.token();
  return transition_time(token.vocabulary, token.decoder_rate, token.classes);
}

InLimit over_closed_forms(const OneCommonToken& instance, const std::vector<double>& times_in_t0) {
  const std::vector<double> sizes = falling_parameters(1 / fewest_parts, 2, 3);
  std::vector<Quotients> found;
  InLimit limit;
  for (const double size : sizes) {
    limit.finest = refined(instance, std::lround(1 / size), times_in_t0.back());
    found.push_back(quotients(limit.finest, times_in_t0));
  }
  for (std::size_t i = 0; i < times_in_t0.size(); ++i) {
    std::vector<Quantity> growths, logits;
    for (const Quotients& one : found) {
      growths.push_back(one.growth[i]);
      logits.push_back(one.logit[i]);
    }
    limit.growth.push_back(limit_in(sizes, growths));
    limit.logit.push_back(limit_in(sizes, logits));
  }
  return limit;
}

}  // namespace popgrad::scan_snap::checks
