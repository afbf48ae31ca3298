/// The covariance of the gradient of one document from documents that are drawn once.

#include "popgrad/topic/sampled_documents.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "popgrad/model.hpp"
#include "popgrad/rung.hpp"
#include "popgrad/theories.hpp"
#include "popgrad/topic/population_flow.hpp"

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

}  // namespace

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
    REQUIRE(flow.known_draws() == PopulationFlow::KnownDraws::sampled);
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
      (void)model.rung("moments", p, 1);
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
             Catch::Contains("for --loss squared alone"));
  CHECK_THAT(message({{"documents", "lda"}}), Catch::Contains("drawn by LDA"));
  CHECK_THAT(message({{"longer", "10"}}), Catch::Contains("several lengths"));
}
