/// Labels replaced at random: which, how often, by what; expectations against every label.

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <vector>

#include "popgrad/evidence/theories.hpp"
#include "popgrad/rungs/rung.hpp"
#include "theorems/topic/rungs/documents.hpp"
#include "theorems/topic/rungs/population_flow.hpp"

namespace label_noise_test {

using namespace popgrad;
using namespace popgrad::topic;

namespace {

Training small_training(double label_noise) {
  Training t;
  t.law = {3, 2, 2, 0.3, 0.2, 0.25};
  t.key_width = 4;
  t.scale = 0.5;
  t.start = ValueStart::normal;
  t.label_noise = label_noise;
  return t;
}

Vector<double> drawn_field(const Training& training, std::uint64_t step, Index batch) {
  const PopulationFlow flow(training);
  Vector<double> dx(flow.dimension());
  Stream stream(5, 2, step);
  flow.sample_rhs(flow.initial(), dx, stream, batch);
  return dx;
}

Vector<double> gradient_of(const PopulationFlow& flow, DocumentLoss& document) {
  const Vector<double> x = flow.initial();
  const Effective now = effective(flow.layout(), x);
  const Index size = flow.layout().vocabulary;
  Matrix<double> dvalue = Matrix<double>::Zero(size, size);
  Matrix<double> dlogits = Matrix<double>::Zero(size, size);
  document.add_gradient(now, 1, dvalue, dlogits);
  Vector<double> dx = Vector<double>::Zero(x.size());
  chain(flow.layout(), x, dvalue, dlogits, dx);
  return dx;
}

// One position, selected and shown: at W_V = 0 only its column of dL/dW_V is not 0, and there only
// the label.
Training one_position(double label_noise) {
  Training t = small_training(label_noise);
  t.law = {3, 2, 2, 1, 0.5, 0.3};
  t.start = ValueStart::zero;
  t.document = 1;
  return t;
}

struct ShownAndLabel {
  Index shown = 0, label = 0;
};

ShownAndLabel seen_at(double label_noise, std::uint64_t step) {
  const Training t = one_position(label_noise);
  const Vector<double> dx = drawn_field(t, step, 1);
  const Layout l(t);
  const ConstView values(dx.data() + l.values(), l.width, l.width);
  ShownAndLabel seen;
  CHECK(values.maxCoeff(&seen.label, &seen.shown) == Approx(2));
  CHECK(values.sum() == Approx(2));
  return seen;
}

}  // namespace

TEST_CASE("topic: label noise leaves documents and masks as they are", "[topic]") {
  for (const DocumentKind kind : {DocumentKind::uniform, DocumentKind::lda}) {
    Training clean = small_training(0);
    clean.documents = kind;
    clean.longer = 7;
    clean.start = ValueStart::zero;
    const Layout l(clean);
    for (std::uint64_t step = 0; step < 5; ++step) {
      const Vector<double> before = drawn_field(clean, step, 6);
      // W_V = 0: a label adds one to the sum of the column of every key, whichever row it is in.
      const auto by_key = [&](const Vector<double>& dx) {
        return Vector<double>(
            ConstView(dx.data() + l.values(), l.width, l.width).colwise().sum().transpose());
      };
      Training rare = clean;
      rare.label_noise = 1e-300;  // none replaced, all numbers taken
      CHECK(drawn_field(rare, step, 6) == before);
      for (const double share : {0.1, 1.0}) {
        Training noisy = clean;
        noisy.label_noise = share;
        const Vector<double> after = drawn_field(noisy, step, 6);
        CHECK((by_key(after) - by_key(before)).cwiseAbs().maxCoeff() < 1e-13);
        CHECK((after - before).norm() > 0.01);
      }
    }
  }
}

TEST_CASE("topic: a little more noise replaces a few more labels", "[topic]") {
  Training t = small_training(0.3);
  t.start = ValueStart::zero;
  const auto at = [&](double share, std::uint64_t step) {
    t.label_noise = share;
    return drawn_field(t, step, 6);
  };
  double few = 0, all = 0;
  for (std::uint64_t step = 0; step < 8; ++step) {
    few += (at(0.32, step) - at(0.3, step)).squaredNorm();
    all += (at(0.3, step) - at(0, step)).squaredNorm();
  }
  // Near 0.03; 0.2 if numbers were taken only where a label is replaced.
  CHECK(few < 0.1 * all);
}

TEST_CASE("topic: labels are replaced as often as said and by every word alike", "[topic]") {
  constexpr int draws = 12'000;
  constexpr double share = 0.3;
  int changed = 0, lost = 0;
  std::map<Index, int> by;
  for (int i = 0; i < draws; ++i) {
    const auto step = static_cast<std::uint64_t>(i);
    const ShownAndLabel own = seen_at(0, step);
    const ShownAndLabel some = seen_at(share, step);
    CHECK(own.shown == some.shown);
    if (some.label == own.label) continue;
    ++changed;
    ++by[some.label];
    // More noise replaces these too, and by the same.
    if (seen_at(0.6, step).label != some.label) ++lost;
  }
  const auto within = [](int count, double number, double probability) {
    const double mean = number * probability;
    return std::fabs(count - mean) < 4.5 * std::sqrt(mean * (1 - probability));
  };
  // One of six replacements is the word itself.
  CHECK(within(changed, draws, share * 5 / 6));
  CHECK(lost == 0);
  CHECK(by.size() == 6);
  for (const auto& [label, count] : by) CHECK((label >= 1 && within(count, changed, 1.0 / 6)));
}

TEST_CASE("topic: draws with label noise average to the sum over all labels", "[topic]") {
  for (const LossKind loss : {LossKind::squared, LossKind::cross_entropy}) {
    Training t = small_training(0.4);
    t.law = {3, 2, 2, 1, 1, 0};  // a document that is shown and asked for as it is
    t.loss = loss;
    t.corpus = {{1, 4}};
    const PopulationFlow flow(t);
    DocumentLoss document(t);
    const auto chance = [](Index label, Index word) {
      return 0.4 / 6 + (label == word ? 0.6 : 0.0);
    };
    Vector<double> expected = Vector<double>::Zero(flow.dimension());
    const Vector<double> halves = Vector<double>::Constant(2, 0.5);
    for (Index first = 1; first <= 6; ++first) {
      for (Index second = 1; second <= 6; ++second) {
        const std::vector<Position> labelled{{1, first}, {4, second}};
        document.take(labelled, halves);
        expected -= chance(first, 1) * chance(second, 4) * gradient_of(flow, document);
      }
    }
    constexpr int rounds = 400;
    Vector<double> mean = Vector<double>::Zero(flow.dimension());
    Vector<double> square = mean;
    for (int i = 0; i < rounds; ++i) {
      const Vector<double> dx = drawn_field(t, static_cast<std::uint64_t>(i), 16);
      mean += dx / rounds;
      square += dx.cwiseAbs2() / rounds;
    }
    const Vector<double> error =
        ((square - mean.cwiseAbs2()).cwiseMax(0) / (rounds - 1)).cwiseSqrt();
    // 105 looks at 5 deviations: 1e-4 in all.
    CHECK(((mean - expected).cwiseAbs() - 5 * error).maxCoeff() < 1e-12);
    // The clean expectation is another.
    const std::vector<Position> own{{1, 1}, {4, 4}};
    document.take(own, halves);
    CHECK(((mean + gradient_of(flow, document)).cwiseAbs() - 5 * error).maxCoeff() > 0.01);
  }
}

TEST_CASE("topic: the expectation with label noise descends its loss, fast or plain", "[topic]") {
  for (const LossKind loss : {LossKind::squared, LossKind::cross_entropy}) {
    Training t = small_training(0.35);
    t.loss = loss;
    const PopulationFlow flow(t);
    const Vector<double> x = flow.initial();
    Vector<double> dx(x.size());
    flow.rhs(x, dx, 0.0);
    constexpr double h = 1e-6;
    for (Index i = 0; i < x.size(); i += 5) {
      Vector<double> moved = x;
      moved[i] += h;
      const double up = flow.loss(moved);
      moved[i] -= 2 * h;
      // Rounding 1e-16/h, truncation h^2.
      CHECK(-(up - flow.loss(moved)) / (2 * h) == Approx(dx[i]).margin(1e-8));
    }
    const Effective at = effective(flow.layout(), x);
    const SubsetExpectation fast(t.law, loss, false, 0.35);
    const SubsetExpectation plain(t.law, loss, true, 0.35);
    Matrix<double> dv, ds, dv_plain, ds_plain;
    const double value = fast(at.value, at.logits, &dv, &ds);
    CHECK(value == Approx(plain(at.value, at.logits, &dv_plain, &ds_plain)).epsilon(1e-14));
    CHECK((dv - dv_plain).cwiseAbs().maxCoeff() < 1e-14);
    CHECK((ds - ds_plain).cwiseAbs().maxCoeff() < 1e-14);
    CHECK(flow.loss(x) == value);
    // Linear in the noise, between the clean loss and that of labels without information.
    const auto at_noise = [&](double share) {
      return SubsetExpectation(t.law, loss, false, share)(at.value, at.logits);
    };
    CHECK(value == Approx(0.65 * at_noise(0) + 0.35 * at_noise(1)).epsilon(1e-13));
    CHECK(std::fabs(value - at_noise(0)) > 1e-3);
  }
}

TEST_CASE("topic: the mean of noisy documents is their second order", "[topic]") {
  for (const double share : {0.0, 0.3}) {
    Training t = small_training(share);
    t.document = 1000;
    const PopulationFlow flow(t);
    const Vector<double> x = flow.initial();
    Vector<double> known(x.size()), long_documents(x.size());
    flow.draw_mean(x, known);
    flow.rhs(x, long_documents, 0.0);
    const DocumentLaw law = document_law(t);
    double total = 0;
    for (const DrawClass& one : law.draws.classes) {
      CHECK(one.tokens.sum() == Approx(1).epsilon(1e-13));
      total += static_cast<double>(one.tokens.size());
    }
    CHECK(total == positions_of_law(t));
    DocumentLoss document(t);
    const Vector<double> expanded = draw_mean(
        law.draws, x.size(), [&](Index cls, const Vector<double>& frequencies, Vector<double>& dx) {
          document.take(law.positions[static_cast<std::size_t>(cls)], frequencies);
          dx = -gradient_of(flow, document);
        });
    // Second differences are good to 1e-5 of a term of order 1/N.
    const double bias = (known - long_documents).cwiseAbs().maxCoeff();
    CHECK(bias > 1e-5);
    CHECK((known - expanded).cwiseAbs().maxCoeff() < 1e-3 * bias);
  }
}

TEST_CASE("topic: a list of noisy labels that is too long is not a law of draws", "[topic]") {
  const Model& model = find_model("topic");
  const auto known = [&](const char* words, const char* share) {
    const Parameters p("topic", Record{{"T", "4"},
                                       {"tau", "2"},
                                       {"v", words},
                                       {"N", "1000"},
                                       {"d_a", "2"},
                                       {"label_noise", share}});
    return static_cast<bool>(model.rung("sgd", p, 1).draws.covariance);
  };
  CHECK(known("3", "0.1"));
  CHECK(known("150", "0"));
  CHECK_FALSE(known("150", "0.1"));  // 6 subsets of 600 words: 2.2e6 labels
}

}  // namespace label_noise_test
