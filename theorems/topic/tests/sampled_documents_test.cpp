/// The covariance of the gradient of one document from documents that are drawn once.

#include "theorems/topic/rungs/sampled_documents.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "popgrad/evidence/theories.hpp"
#include "popgrad/fluctuations/sampled_draws.hpp"
#include "popgrad/rungs/model.hpp"
#include "popgrad/rungs/rung.hpp"
#include "theorems/topic/rungs/linear_documents.hpp"
#include "theorems/topic/rungs/population_flow.hpp"

namespace sampled_documents_test {

using namespace popgrad;
using namespace popgrad::topic;

namespace {

Training small_training(Index embedding) {
  Training t;
  t.law.topics = 3;
  t.law.active = 2;
  t.law.words = 2;
  t.law.masked = 0.3;
  t.law.correct = 0.2;
  t.law.random = 0.2;
  t.key_width = 2;
  t.embedding_width = embedding;
  t.scale = 0.5;
  t.start = ValueStart::normal;
  t.document = 100;
  t.label_noise = embedding > 0 ? 0.3 : 0.0;
  t.temperature = 0.8;
  return t;
}

Effective drawn_matrices(const Training& t) {
  Stream stream(6, 0, 0);
  const Index size = t.law.vocabulary();
  Effective now{Matrix<double>(size, size), Matrix<double>(size, size)};
  for (double& value : now.value.reshaped()) value = 0.5 * stream.normal();
  for (double& logit : now.logits.reshaped()) logit = 0.5 * stream.normal();
  return now;
}

// Gradients of W_V and the logits as one vector.
Vector<double> gradient_of(const DocumentLoss& document, const Effective& now) {
  Matrix<double> dvalue = Matrix<double>::Zero(now.value.rows(), now.value.cols());
  Matrix<double> dlogits = dvalue;
  document.add_gradient(now, 1, dvalue, dlogits);
  Vector<double> stacked(2 * dvalue.size());
  stacked << dvalue.reshaped(), dlogits.reshaped();
  return stacked;
}

}  // namespace

TEST_CASE("topic: gradients of documents to first order", "[topic]") {
  for (const double label_noise : {0.0, 0.3}) {
    Training t = small_training(0);
    t.label_noise = label_noise;
    const DocumentLaw law = document_law(t);
    const Effective now = drawn_matrices(t);
    const LinearDocuments linear(t, law, now);
    DocumentLoss document(t);
    Vector<double> to_first_order;
    // Off the mean by h in some direction, what is left out falls as h^2.
    for (std::size_t cls = 0; cls < law.positions.size(); ++cls) {
      const Vector<double>& mean = law.draws.classes[cls].tokens;
      Stream stream(7, 0, cls);
      Vector<double> shift = mean;
      for (double& entry : shift) entry *= stream.normal();
      shift -= shift.sum() * mean;
      const auto left_out = [&](double h) {
        document.take(law.positions[cls], mean + h * shift);
        linear.gradient(document, cls, to_first_order);
        return (gradient_of(document, now) - to_first_order).norm();
      };
      CHECK(left_out(0) < 1e-12);
      CHECK(left_out(0.02) > 1e-6);
      CHECK(left_out(0.02) / left_out(0.01) == Approx(4).epsilon(0.05));
    }
  }
}

TEST_CASE("topic: the covariance of gradients to first order is exact", "[topic]") {
  for (const double label_noise : {0.0, 0.3}) {
    // All documents of two positions.
    Training t = small_training(0);
    t.law.topics = 2;
    t.law.active = 1;
    t.document = 2;
    t.label_noise = label_noise;
    const DocumentLaw law = document_law(t);
    REQUIRE(is_enumerated(law.draws));
    const LinearDocuments linear(t, law, drawn_matrices(t));
    const Index numbers = 2 * t.law.vocabulary() * t.law.vocabulary();
    const Matrix<double> identity = Matrix<double>::Identity(numbers, numbers);
    DocumentLoss document(t);
    const Matrix<double> enumerated = draw_covariance(
        law.draws,
        [&](Index cls, const Vector<double>& frequencies, Vector<double>& gradient) {
          const auto c = static_cast<std::size_t>(cls);
          document.take(law.positions[c], frequencies);
          linear.gradient(document, c, gradient);
        },
        identity);
    REQUIRE(enumerated.norm() > 0.1);
    CHECK((linear.covariance(identity) - enumerated).norm() < 1e-12 * enumerated.norm());
    const Matrix<double> some = identity.middleCols(3, 2);
    CHECK((linear.covariance(some) - enumerated.middleCols(3, 2)).norm() <
          1e-12 * enumerated.norm());
  }
}

TEST_CASE("topic: what is known to first order need not be sampled", "[topic]") {
  const Training t = small_training(0);
  const PopulationFlow flow(t);
  const Vector<double> x = flow.initial();
  const Index n = x.size();
  const Matrix<double> identity = Matrix<double>::Identity(n, n);
  Matrix<double> first, second;
  flow.covariance_of_nodes(x, identity, NodeSet::first, first);
  flow.covariance_of_nodes(x, identity, NodeSet::second, second);
  // Of variances, from 2000 documents each: by draws alone sqrt(2/1000) or more.
  const Vector<double> apart = (first - second).diagonal().array() / second.diagonal().array();
  const double error = std::sqrt(apart.squaredNorm() / static_cast<double>(n));
  CHECK(error < 0.5 * std::sqrt(2.0 / 1000));
  CHECK(error > 1e-3);
}

TEST_CASE("topic: the adjoint of the chain rule", "[topic]") {
  for (const Index embedding : {0, 4}) {
    const Training t = small_training(embedding);
    const Layout l(t);
    Stream stream(5, 0, 0);
    const auto fill = [&](auto&& values) {
      for (double& value : values.reshaped()) value = stream.normal();
    };
    Vector<double> x(l.size()), direction(l.size());
    fill(x);
    fill(direction);
    Matrix<double> dvalue(l.vocabulary, l.vocabulary), dlogits = dvalue;
    fill(dvalue);
    fill(dlogits);
    Vector<double> image = Vector<double>::Zero(l.size());
    chain(l, x, dvalue, dlogits, image);
    const Effective adjoint = chain_adjoint(l, x, direction);
    CHECK(adjoint.value.cwiseProduct(dvalue).sum() + adjoint.logits.cwiseProduct(dlogits).sum() ==
          Approx(image.dot(direction)).epsilon(1e-12));
  }
}

TEST_CASE("topic: the covariance of sampled documents is that of draws", "[topic]") {
  for (const Index embedding : {0, 4}) {
    const PopulationFlow flow(small_training(embedding));
    REQUIRE(flow.known_draws() == KnownDraws::from_nodes);
    const Vector<double> x = flow.initial();
    const Index n = x.size();
    Matrix<double> whole, some;
    flow.draw_covariance(x, Matrix<double>::Identity(n, n), whole);
    // All at once and one by one.
    const Matrix<double> few = Matrix<double>::Identity(n, n).leftCols(3);
    flow.draw_covariance(x, few, some);
    CHECK((some - whole.leftCols(3)).norm() < 1e-10 * whole.norm());
    constexpr int draws = 6000;
    Vector<double> draw(n), mean = Vector<double>::Zero(n), known(n);
    Matrix<double> seen = Matrix<double>::Zero(n, n);
    flow.draw_mean(x, known);
    for (int i = 0; i < draws; ++i) {
      Stream stream(9, 4, static_cast<std::uint64_t>(i));
      flow.sample_rhs(x, draw, stream, 1);
      mean += draw / draws;
      seen += draw * draw.transpose() / draws;
    }
    seen -= mean * mean.transpose();
    // Each of n numbers to one in the square root of the draws; of the documents there are 4000.
    CHECK((seen - whole).norm() < 0.1 * whole.norm());
    CHECK(seen.trace() == Approx(whole.trace()).epsilon(0.05));
    CHECK((mean - known).norm() < 4 * std::sqrt(whole.trace() / draws));
    CHECK((mean - known).norm() > 0.3 * std::sqrt(whole.trace() / draws));
  }
}

TEST_CASE("topic: which documents have a law of one draw", "[topic]") {
  const Model& model = find_model("topic");
  const auto message = [&](Record record) -> std::string {
    const Parameters p("topic", std::move(record));
    try {
      (void)model.row("moments").predict(p, 1);
    } catch (const std::exception& error) {
      return error.what();
    }
    return {};
  };
  CHECK(message({{"T", "4"}, {"tau", "2"}, {"v", "3"}, {"d_a", "2"}, {"N", "100"}}).empty());
  CHECK_THAT(message({{"T", "4"}, {"tau", "2"}, {"v", "3"}, {"d_a", "2"}, {"N", "99"}}),
             Catch::Contains("give --N 100 or more"));
  CHECK_THAT(message({}), Catch::Contains("lower --T, --tau or --v"));
  CHECK_THAT(message({{"T", "4"}, {"tau", "2"}, {"v", "3"}, {"loss", "cross-entropy"}}),
             Catch::Contains("only for --loss squared"));
  CHECK_THAT(message({{"documents", "lda"}}), Catch::Contains("drawn by LDA"));
  CHECK_THAT(message({{"longer", "10"}}), Catch::Contains("several lengths"));
}

}  // namespace sampled_documents_test
