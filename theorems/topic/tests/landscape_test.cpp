#include "theorems/topic/rungs/landscape.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "popgrad/base/error.hpp"
#include "popgrad/scalars/dual.hpp"
#include "popgrad/scalars/random.hpp"
#include "popgrad/scalars/rational.hpp"
#include "popgrad/scalars/real.hpp"
#include "theorems/topic/rungs/optimum.hpp"
#include "theorems/topic/rungs/value_optimum.hpp"

namespace landscape_test {

using namespace popgrad;
using namespace popgrad::topic;

namespace {

template <class T>
TopicLaw<T> small_law(Index topics, Index active, Index words) {
  return {topics, active, words, T(T(3) / T(20)), T(T(1) / T(10)), T(T(1) / T(10))};
}

// Sum over all subsets, words kept and words drawn, as the model says it.
Rational brute_force(const TopicLaw<Rational>& law, const Matrix<Rational>& value,
                     const Rational& alpha, const Rational& beta) {
  const Index size = law.vocabulary();
  Rational loss(0);
  const auto all = subsets(law.topics, law.active);
  for (const auto& subset : all) {
    Vector<Rational> frequency(size);
    Vector<Rational> words = Vector<Rational>::Constant(size, Rational(0));
    for (Index j = 1; j < size; ++j) {
      const bool in = std::find(subset.begin(), subset.end(), law.topic_of(j)) != subset.end();
      frequency[j] = law.frequency(in);
      if (in) words[j] = Rational(1) / Rational(static_cast<int>(law.active * law.words));
    }
    frequency[0] = law.mask();
    const auto output = [&](Index query) {
      Vector<Rational> pull = frequency;
      for (Index j = 1; j < size && query > 0; ++j) {
        if (j == query) {
          pull[j] *= alpha;
        } else if (law.topic_of(j) == law.topic_of(query)) {
          pull[j] *= beta;
        }
      }
      return Vector<Rational>(value * pull / pull.sum());
    };
    const auto miss = [](Vector<Rational> out, Index target) {
      out[target] -= 1;
      return out.squaredNorm();
    };
    const Rational any = Rational(1) / Rational(static_cast<int>(size - 1));
    for (Index target = 1; target < size; ++target) {
      if (words[target] == 0) continue;
      loss += words[target] * law.correct * miss(output(target), target);
      loss += words[target] * law.hidden() * miss(output(0), target);
      for (Index query = 1; query < size; ++query) {
        loss += words[target] * law.random * any * miss(output(query), target);
      }
    }
  }
  return loss / Rational(static_cast<int>(all.size()));
}

}  // namespace

TEST_CASE("topic: the landscape is the sum over all documents, exactly", "[topic]") {
  for (const auto& [topics, active, words] :
       {std::tuple<Index, Index, Index>{2, 1, 2}, {3, 2, 1}, {4, 2, 3}, {4, 3, 2}}) {
    CAPTURE(topics, active, words);
    const auto law = small_law<Rational>(topics, active, words);
    Matrix<Rational> whole(law.vocabulary(), law.vocabulary());
    Stream stream(1, 0, 0);
    for (Rational& x : whole.reshaped()) {
      x = Rational(static_cast<int>(stream.index(21)) - 10) / Rational(7);
    }
    const Rational alpha = Rational(7) / 3;
    const Rational beta = Rational(2) / 5;
    CHECK(landscape(law, whole)(alpha, beta) == brute_force(law, whole, alpha, beta));
    for (const Rational& theta : {Rational(0), Rational(1) / 3, Rational(1)}) {
      BlockValue<Rational> value = mixture_value(law, theta);
      CHECK(landscape(law, value)(alpha, beta) ==
            brute_force(law, expand(law, value), alpha, beta));
      value.same += Rational(1) / 9;  // out of the solution family
      value.mask -= Rational(2) / 9;
      CHECK(landscape(law, value)(alpha, beta) ==
            brute_force(law, expand(law, value), alpha, beta));
    }
  }
}

TEST_CASE("topic: gradient and Hessian of the landscape are those of dual numbers", "[topic]") {
  const auto law = small_law<double>(5, 2, 3);
  const Landscape<double> made = landscape(law, mixture_value(law, 0.7));
  const auto dual_law = law.cast<Dual<double>>();
  const auto dual = landscape(dual_law, mixture_value(law, 0.7).cast<Dual<double>>());
  const double alpha = 3.7;
  const double beta = 0.6;
  CHECK(made.gradient(alpha, beta)[0] == Approx(dual({alpha, 1}, {beta, 0}).slope).epsilon(1e-13));
  CHECK(made.gradient(alpha, beta)[1] == Approx(dual({alpha, 0}, {beta, 1}).slope).epsilon(1e-13));
  const Matrix<double> hessian = made.hessian(alpha, beta);
  for (int k = 0; k < 2; ++k) {
    const auto slope = dual.gradient({alpha, k == 0 ? 1.0 : 0.0}, {beta, k == 1 ? 1.0 : 0.0});
    CHECK(hessian(0, k) == Approx(slope[0].slope).epsilon(1e-12));
    CHECK(hessian(1, k) == Approx(slope[1].slope).epsilon(1e-12));
  }
}

TEST_CASE("topic: the grid is the landscape", "[topic]") {
  const auto law = small_law<double>(10, 4, 10);
  const Landscape<double> made = landscape(law, diagonal_value(law));
  std::vector<double> alphas;
  std::vector<double> betas;
  for (int i = 0; i < 37; ++i) alphas.push_back(0.3 * i);
  for (int i = 0; i < 11; ++i) betas.push_back(0.2 * i);
  for (const int jobs : {1, 2}) {
    const std::vector<double> values = on_grid(made, alphas, betas, jobs);
    for (std::size_t i = 0; i < values.size(); ++i) {
      CHECK(values[i] == Approx(made(alphas[i % 37], betas[i / 37])).epsilon(1e-14));
    }
  }
}

TEST_CASE("topic: certified minima are those of the theory", "[topic]") {
  const auto law = small_law<Rational>(5, 2, 3);
  const Rational tolerance = Rational(1) / 1000000000;
  const Box<Rational> box{0, 120, 0, 20};
  const auto made = landscape(law, diagonal_value(law));
  const Certificate c = certify_minimum(law, made, box, tolerance);
  CHECK_FALSE(c.on_line);
  CHECK(to_double(c.alpha) == Approx(11.72566).epsilon(1e-6));
  CHECK(to_double(c.beta) == Approx(0.930191).epsilon(1e-6));
  CHECK(c.lower <= c.upper);
  CHECK(c.upper == made(c.alpha, c.beta));
  CHECK(c.minimisers.alpha_low <= c.alpha);
  CHECK(c.alpha <= c.minimisers.alpha_high);
  CHECK(inertia(made.hessian(c.alpha, c.beta)).positive == 2);
  // No point of a fine grid is below.
  const Landscape<double> rounded = made.cast<double>();
  for (double a = 0; a <= 120; a += 0.7) {
    for (double b = 0; b <= 20; b += 0.11) CHECK(rounded(a, b) >= to_double(c.lower));
  }
  // Claims that are too high and too low.
  for (const int sign : {-1, 1}) {
    const Rational wrong = c.upper + Rational(sign) / 100000;
    CHECK_THROWS_AS(certify_minimum(law, made, box, tolerance, &wrong), std::domain_error);
  }
  const Certificate line =
      certify_minimum(law, landscape(law, minimum_norm_value(law)), box, tolerance);
  CHECK(line.on_line);
  const Rational g = line.alpha + Rational(2) * line.beta;
  CHECK(line.minimisers.alpha_low <= g);
  CHECK(g <= line.minimisers.alpha_high);
  CHECK(to_double(g) == Approx(13.7020).epsilon(1e-4));
  // One topic a document: g* = v exactly.
  const auto one = small_law<Rational>(5, 1, 3);
  const auto flat = landscape(one, minimum_norm_value(one));
  CHECK(flat.gradient(1, 1).cwiseAbs().maxCoeff() == 0);
}

TEST_CASE("topic: the value under uniform attention solves its equations exactly", "[topic]") {
  const auto law = small_law<Rational>(4, 2, 3);
  const Matrix<Rational> moment = second_moment(law);
  const Matrix<Rational> cross = cross_moment(law);
  for (const BlockValue<Rational>& value : {minimum_norm_value(law), diagonal_value(law),
                                            member(law, Rational(Rational(3) / 7), Rational(0))}) {
    const Matrix<Rational> gradient = expand(law, value) * moment - cross.transpose();
    CHECK(gradient.cwiseAbs().maxCoeff() == 0);
    CHECK(uniform_loss(law, expand(law, value)) == Rational(1) - Rational(1) / Rational(6));
  }
  const Rational lambda = Rational(1) / 50;
  const Matrix<Rational> penalised = expand(law, penalised_value(law, lambda));
  CHECK((penalised * moment + lambda * penalised - cross.transpose()).cwiseAbs().maxCoeff() == 0);
}

TEST_CASE("topic: a large penalty on W_V puts the best attention on the own topic at 0",
          "[topic]") {
  const TopicLaw<Rational> law{
      7, 5, 2, Rational(Rational(2) / 5), Rational(Rational(1) / 20), Rational(Rational(3) / 10)};
  const BlockValue<Rational> value = penalised_value(law, Rational(1));
  CHECK(to_double(value.same) == Approx(.0046744530551).epsilon(1e-10));
  CHECK(to_double(value.other) == Approx(.0032009598).epsilon(1e-8));
  const Landscape<Rational> exact = landscape(law, value);
  CHECK(exact(0, 0) == brute_force(law, expand(law, value), 0, 0));
  const Landscape<double> made = exact.cast<double>();
  CHECK(made(0, 0) == Approx(.986525).epsilon(1e-6));
  CHECK(loss_at_infinity(made) == Approx(.988954).epsilon(1e-6));
  CHECK(loss_at_infinity(made) == Approx(made(1e12, 0)).epsilon(1e-10));
  // Where the slope at 0 changes its sign the best weight comes to 0, without a jump.
  const auto best = [&](const Rational& lambda) {
    return find_minimum_on_line(landscape(law, penalised_value(law, lambda)).cast<double>());
  };
  const auto slope_at_0 = [&](const Rational& lambda) {
    return landscape(law, penalised_value(law, lambda)).gradient(0, 0)[0];
  };
  Rational low = Rational(4) / 100;
  Rational high = Rational(5) / 100;
  for (int i = 0; i < 20; ++i) {
    const Rational middle = (low + high) / 2;
    (slope_at_0(middle) < 0 ? low : high) = middle;
  }
  CHECK(to_double(high) == Approx(0.0417796887).epsilon(1e-6));
  CHECK(best(high).alpha == 0);
  CHECK(best(low).alpha > 0);
  CHECK(best(low).alpha < 1e-4);
  for (const int percent : {5, 6, 7, 8, 10, 30, 100}) {
    CHECK(best(Rational(percent) / 100).alpha == 0);
  }
}

TEST_CASE("topic: laws that make no sense are refused", "[topic]") {
  const auto law_of = [](const char* name, const char* value) {
    Parameters p("topic");
    p.set(name, value);
    return topic_law<double>(p);
  };
  CHECK_THROWS_WITH(law_of("tau", "10"), Catch::Contains("every document is the same"));
  CHECK_THROWS_WITH(law_of("p_c", "0.9"), Catch::Contains("leaves nothing for [MASK]"));
  CHECK_THROWS_WITH(law_of("p_m", "0"), Catch::Contains("must be > 0"));
  CHECK_THROWS_AS(law_of("v", "0"), InputError);
}

}  // namespace landscape_test
