#include "theorems/scan_snap/rungs/audit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "scalars/linear_algebra.hpp"
#include "theorems/scan_snap/rungs/features.hpp"
#include "theorems/scan_snap/rungs/layout.hpp"

namespace popgrad::scan_snap {
namespace {

Truth decided(bool condition) { return condition ? Truth::yes : Truth::no; }

void audit_law(const SequenceClasses<double>& classes, Examination& result) {
  const Index k = classes.classes();
  const double most = classes.weight.maxCoeff() * static_cast<double>(k);
  result.hypotheses.push_back({"classes are equally likely, P(n) = 1/K", decided(most < 1 + 1e-9),
                               fmt::format("largest K P(n) = {:.4g}", most)});
  std::set<Index> seen, several;
  std::set<std::pair<Index, Index>> pairs;
  for (std::size_t n = 0; n < classes.next.size(); ++n) {
    if (!pairs.insert({classes.next[n], classes.query[n]}).second) continue;
    if (!seen.insert(classes.next[n]).second) several.insert(classes.next[n]);
  }
  result.hypotheses.push_back(
      {"each next token has one query psi(n)", decided(several.empty()),
       fmt::format("{} of {} next tokens follow several queries", several.size(), seen.size())});
}

// What training does that is not in the theory.
void audit_training(const TrainingInstance<double>& instance, Examination& result) {
  if (instance.label_noise > 0) {
    result.hypotheses.push_back(
        {"labels are the next tokens of the classes", Truth::no,
         fmt::format("a share of {:.4g} is drawn from all classes", instance.label_noise)});
  }
  if (instance.temperature != 1) {
    result.hypotheses.push_back({"attention is softmax(z)", Truth::no,
                                 fmt::format("temperature {:.4g}", instance.temperature)});
  }
}

void audit_overlap(const TrainingInstance<double>& instance, const Layout& layout,
                   const Vector<double>& f, Examination& result) {
  const Index k = instance.classes.classes();
  const Matrix<double> overlaps = gram(layout, k, f);
  Index apart = 0;
  for (Index n = 0; n < k; ++n) {
    if (overlaps.row(n).sum() - overlaps(n, n) <= 0) ++apart;
  }
  result.hypotheses.push_back({"every class overlaps another", decided(apart == 0),
                               fmt::format("{} of {} classes overlap none", apart, k)});
  const Vector<double> lambda = symmetric_eigenvalues<double>(overlaps).array() - 1;
  const double largest = lambda.maxCoeff();
  result.hypotheses.push_back(
      {"F has full rank", decided(lambda.minCoeff() > -1 + 1e-12),
       fmt::format("smallest eigenvalue of F'F {:.3g}", lambda.minCoeff() + 1)});
  const double bound = 1 / (1 + std::sqrt(static_cast<double>(k - 1)));
  result.hypotheses.push_back({"lambda_max(E) < 1/(1 + sqrt(K-1)), which makes xi_n > 0",
                               decided(largest < bound),
                               fmt::format("{:.4g} against {:.4g}", largest, bound)});
  const double upper = 1 / static_cast<double>(k);
  const double lower = 6 / std::sqrt(static_cast<double>(instance.classes.tokens));
  const double least = lambda.cwiseAbs().minCoeff();
  result.hypotheses.push_back(
      {"Assumption 2: lambda_max(E) < 1/K and |lambda_i(E)| >= 6/sqrt(M)",
       decided(largest < upper && least >= lower),
       fmt::format("{:.4g} against {:.4g}; {:.3g} against {:.4g}", largest, upper, least, lower)});
  const double ratio = instance.decoder_rate / instance.attention_rate;
  result.hypotheses.push_back({"eta_Y >> eta_Z (10 times or more)", decided(ratio >= 10),
                               fmt::format("eta_Y/eta_Z = {:.4g}", ratio)});
}

// A conclusion about many tokens or classes: the share that misses it, allowed none.
Evidence share(const std::string& what, Index missing, Index all) {
  const double part = all > 0 ? static_cast<double>(missing) / static_cast<double>(all) : 0;
  return bounded(EvidenceKind::numerical, what, part, 0, "the theorem allows none",
                 fmt::format("{} of {}", missing, all));
}

}  // namespace

Examination audit(const TrainingInstance<double>& instance, const Vector<double>& first_logits,
                  const Vector<double>& last_logits, const std::vector<double>& last_xi) {
  Examination result;
  const SequenceClasses<double>& classes = instance.classes;
  const Layout layout = lay_out(classes, instance.shares_column());
  Vector<double> before, after;
  features(classes, layout, first_logits, before);
  features(classes, layout, last_logits, after);
  audit_law(classes, result);
  audit_training(instance, result);
  audit_overlap(instance, layout, before, result);

  Index distinct = 0, fallen = 0, common = 0, risen = 0;
  for (std::size_t e = 0; e < layout.entry_pair.size(); ++e) {
    const Index pair = layout.entry_pair[e];
    const double gain = last_logits[pair] - first_logits[pair];
    if (layout.entry_distinct[e]) {
      ++distinct;
      if (gain < 0) ++fallen;
    } else {
      ++common;
      if (gain > 0) ++risen;
    }
  }
  result.evidence.push_back(
      share("Theorem 2: distinct tokens that lost attention", fallen, distinct));
  result.evidence.push_back(share("Theorem 2: common tokens that gained attention", risen, common));
  const auto negative =
      std::count_if(last_xi.begin(), last_xi.end(), [](double xi) { return xi < 0; });
  result.evidence.push_back(share("Theorem 1: classes with xi_n < 0 at the end", negative,
                                  static_cast<Index>(last_xi.size())));

  // Theorem 3 for the two leading distinct tokens of every class that has two unequal ones.
  std::vector<double> defects;
  for (Index n = 0; n < classes.classes(); ++n) {
    Index first = -1;
    Index second = -1;
    for (Index e = classes.first[static_cast<std::size_t>(n)];
         e < classes.first[static_cast<std::size_t>(n + 1)]; ++e) {
      if (!layout.entry_distinct[static_cast<std::size_t>(e)]) continue;
      if (first < 0 || before[e] > before[first]) {
        second = first;
        first = e;
      } else if (second < 0 || before[e] > before[second]) {
        second = e;
      }
    }
    if (second < 0 || before[first] <= before[second]) continue;
    const auto quotient = [&](const Vector<double>& f) {
      return std::pow(f[first] / f[second], 2) - 1;
    };
    const Index pair = layout.entry_pair[static_cast<std::size_t>(first)];
    const double chi = std::exp(2 * (last_logits[pair] - first_logits[pair]));
    defects.push_back(std::fabs(quotient(after) / (quotient(before) * chi) - 1));
  }
  if (!defects.empty()) {
    const auto middle = defects.begin() + static_cast<std::ptrdiff_t>(defects.size() / 2);
    std::nth_element(defects.begin(), middle, defects.end());
    result.evidence.push_back(bounded(
        EvidenceKind::numerical, "Theorem 3: defect of r(t) = r(0) chi(t), median over classes",
        *middle, 1e-6, "an identity of the reduced flow; solver tolerance",
        fmt::format("{} classes with two unequal distinct tokens", defects.size())));
  }
  return result;
}

}  // namespace popgrad::scan_snap
