/// Law: one step of a random rung has the law that it says, by running through every sample.
///
/// What a sample moves is derived from the loss or from the definition; draws must all be among the
/// samples, as often as their probabilities say, and batches must average them; the mean and the
/// covariance that a rung knows of one draw are those of the samples.

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "popgrad/evidence/theories.hpp"

#include "laws/gradient.hpp"
#include "popgrad/rungs/rung.hpp"
#include "theorems/joma/rungs/multilayer_flow.hpp"
#include "theorems/scb/tests/law.hpp"
#include "theorems/topic/tests/law.hpp"

namespace popgrad::laws::one_step_laws {
namespace {

struct Sample {
  Vector<double> direction;
  double probability = 0;
};

/// Deviations that a true law exceeds once in some 10^8 comparisons.
constexpr double six = 6;

// Samples that move the state alike are one.
std::vector<Sample> merged(std::vector<Sample> all, const Vector<double>& key, double width) {
  std::sort(all.begin(), all.end(), [&](const Sample& a, const Sample& b) {
    return a.direction.dot(key) < b.direction.dot(key);
  });
  std::vector<Sample> kept;
  for (Sample& sample : all) {
    if (!kept.empty() && (kept.back().direction - sample.direction).norm() < width) {
      kept.back().probability += sample.probability;
    } else {
      kept.push_back(std::move(sample));
    }
  }
  return kept;
}

// Draws of one: each among the samples, as often as it should be. Draws of three: a third of the
// covariance. `width`: how exactly the directions of the samples are known.
void check_draws(const Case& made, const AnyRung<double>& rung, const Vector<double>& x,
                 std::vector<Sample> all, double width) {
  Stream names(11, 0, 0);
  Vector<double> key(x.size());
  for (double& value : key) value = names.normal();
  const std::vector<Sample> samples = merged(std::move(all), key, 10 * width);
  double total = 0;
  Vector<double> mean = Vector<double>::Zero(x.size());
  for (const Sample& sample : samples) {
    total += sample.probability;
    mean += sample.probability * sample.direction;
  }
  REQUIRE(total == Approx(1.0).margin(1e-9));
  Matrix<double> covariance = Matrix<double>::Zero(x.size(), x.size());
  for (const Sample& sample : samples) {
    const Vector<double> off = sample.direction - mean;
    covariance += sample.probability * off * off.transpose();
  }
  const Vector<double> variance = covariance.diagonal();
  REQUIRE(rung.draws.covariance);
  Matrix<double> known;
  rung.draws.covariance(x, Matrix<double>::Identity(x.size(), x.size()), known);
  CHECK((known - covariance).norm() <= 20 * width * (1 + covariance.norm()));
  Vector<double> expected_draw(x.size());
  if (rung.draws.mean) {
    rung.draws.mean(x, expected_draw);
  } else {
    rung.field.value(x, expected_draw, 0.0);
  }
  CHECK((expected_draw - mean).norm() <= width * (1 + mean.norm()));
  constexpr std::uint64_t draws = 6000;
  std::vector<double> counts(samples.size(), 0.0);
  Vector<double> draw(x.size());
  std::size_t strangers = 0;
  for (std::uint64_t i = 0; i < draws; ++i) {
    Stream stream(made.seed, 5, i);
    rung.draws.sample(x, draw, stream, 1);
    const double at = draw.dot(key);
    const double reach = 20 * width * key.norm();
    auto first = std::lower_bound(
        samples.begin(), samples.end(), at - reach,
        [&](const Sample& s, double value) { return s.direction.dot(key) < value; });
    while (first != samples.end() && (first->direction - draw).norm() > 20 * width &&
           first->direction.dot(key) <= at + reach) {
      ++first;
    }
    if (first == samples.end() || (first->direction - draw).norm() > 20 * width) {
      ++strangers;
    } else {
      counts[static_cast<std::size_t>(first - samples.begin())] += 1;
    }
  }
  CHECK(strangers == 0);
  if (strangers > 0) return;
  // Chi-square; rare samples are counted together.
  double statistic = 0, cells = 0, rare = 0, rare_seen = 0;
  const auto add = [&](double expected, double seen) {
    statistic += (seen - expected) * (seen - expected) / expected;
    cells += 1;
  };
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double expected = samples[i].probability * static_cast<double>(draws);
    if (expected >= 5) {
      add(expected, counts[i]);
    } else {
      rare += expected;
      rare_seen += counts[i];
    }
  }
  if (rare >= 5) add(rare, rare_seen);
  CHECK(statistic <= cells + six * std::sqrt(2 * cells) + six * six);
  // Means of three, each component against its standard error; the square deviation against three.
  constexpr Index batch = 3;
  Vector<double> sum = Vector<double>::Zero(x.size());
  double squares = 0, fourth = 0;
  constexpr std::uint64_t batches = 3000;
  for (std::uint64_t i = 0; i < batches; ++i) {
    Stream stream(made.seed, 6, i);
    rung.draws.sample(x, draw, stream, batch);
    sum += draw;
    const double square = (draw - mean).squaredNorm();
    squares += square;
    fourth += square * square;
  }
  const auto n = static_cast<double>(batches);
  for (Index i = 0; i < x.size(); ++i) {
    const double error = std::sqrt(variance[i] / (batch * n)) + 20 * width;
    INFO(rung.state_names[static_cast<std::size_t>(i)]);
    CHECK(std::fabs(sum[i] / n - mean[i]) <= six * error);
  }
  const double expected = variance.sum() / batch;
  const double spread = std::sqrt(std::max(0.0, fourth / n - squares / n * squares / n) / n);
  CHECK(std::fabs(squares / n - expected) <= six * spread + width);
}

// Every way to draw `count` of `law.size()` tokens in order, as frequencies, with its probability.
void for_each_draw(const Vector<double>& law, Index count,
                   const std::function<void(const Vector<double>&, double)>& visit) {
  std::vector<Index> drawn(static_cast<std::size_t>(count), 0);
  while (true) {
    double probability = 1;
    Vector<double> frequency = Vector<double>::Zero(law.size());
    for (const Index token : drawn) {
      probability *= law[token];
      frequency[token] += 1.0 / static_cast<double>(count);
    }
    if (probability > 0) visit(frequency, probability);
    std::size_t i = 0;
    while (i < drawn.size() && ++drawn[i] == law.size()) drawn[i++] = 0;
    if (i == drawn.size()) return;
  }
}

Value as_value(const Matrix<double>& m) {
  Value::List rows;
  for (Index i = 0; i < m.rows(); ++i) {
    Value::List row;
    for (Index j = 0; j < m.cols(); ++j) row.emplace_back(to_text(m(i, j)));
    rows.emplace_back(std::move(row));
  }
  return Value(std::move(rows));
}

Value as_list(const Vector<double>& values) {
  Value::List list;
  for (const double value : values) list.emplace_back(to_text(value));
  return list;
}

Value unit(Index size, Index at) {
  Value::List list;
  for (Index i = 0; i < size; ++i) list.emplace_back(i == at ? "1" : "0");
  return Value(std::move(list));
}

/// P(y | c), as label noise has it.
double chance_of_label(const Parameters& p, Index c, Index y, Index classes) {
  const double noise = p.number<double>("label_noise", "0");
  return (y == c ? 1 - noise : 0.0) + noise / static_cast<double>(classes);
}

Vector<double> class_law_of(const Parameters& p, Index classes) {
  if (p.has("class_law")) return p.vector<double>("class_law");
  return Vector<double>::Constant(classes, 1.0 / static_cast<double>(classes));
}

}  // namespace

TEST_CASE("laws: one step of joma sgd, over every class, token and label", "[law]") {
  std::size_t compared = 0;
  std::size_t noisy = 0;
  for (Case made : cases()) {
    if (!made.is("joma", "sgd") || !made.parameters.has("X")) continue;
    if (compared % 2 == 1) made.parameters.set("label_noise", "0.3");
    const Parameters& p = made.parameters;
    const AnyRung<double> rung = made.make();
    const Point at = points(made, rung)[1];
    const Matrix<double> law = p.matrix<double>("X");
    const Vector<double> weight = class_law_of(p, law.cols());
    const Index length = p.count("length", 0, 0, 10);
    std::vector<Sample> samples;
    for (Index c = 0; c < law.cols(); ++c) {
      const auto add = [&](const Vector<double>& x, double probability) {
        for (Index y = 0; y < law.cols(); ++y) {
          const double chance = probability * weight[c] * chance_of_label(p, c, y, law.cols());
          if (chance == 0) continue;
          // The field of a law that always gives class y, with this x.
          Case one = made;
          Matrix<double> only = law;
          only.col(y) = x;
          one.rung = find_rung(*made.model, "flow");
          one.parameters.set("X", as_value(only));
          one.parameters.set("class_law", unit(law.cols(), y));
          one.parameters.set("label_noise", "0");
          Sample sample{Vector<double>(at.x.size()), chance};
          one.make().field.value(at.x, sample.direction, 0.0);
          samples.push_back(std::move(sample));
        }
      };
      if (length == 0) {
        add(law.col(c), 1.0);
      } else {
        for_each_draw(law.col(c), length, add);
      }
    }
    INFO(made.text());
    check_draws(made, rung, at.x, std::move(samples), 1e-9);
    ++compared;
    if (p.has("label_noise")) ++noisy;
  }
  CHECK(compared >= 8);
  CHECK(noisy >= 4);
}

TEST_CASE("laws: one step of joma multilayer-sgd, over every sequence and class",
          "[law][unsanitized]") {
  std::size_t compared = 0;
  for (const Case& made : cases()) {
    if (!made.is("joma", "multilayer-sgd")) continue;
    const AnyRung<double> rung = made.make();
    const Point at = points(made, rung)[1];
    const joma::MultilayerInstance<double> drawn =
        joma::multilayer_instance(made.parameters, made.seed);
    std::vector<Sample> samples;
    for (Index i = 0; i < drawn.data.sequences(); ++i) {
      for (Index c = 0; c < drawn.data.classes(); ++c) {
        const double chance = drawn.data.probability[i] * drawn.data.target(c, i);
        if (chance == 0) continue;
        // The field of data that always show this sequence with this class.
        joma::MultilayerInstance<double> one = drawn;
        one.data.probability = Vector<double>::Unit(drawn.data.sequences(), i);
        one.data.target.col(i) = Vector<double>::Unit(drawn.data.classes(), c);
        Sample sample{Vector<double>(at.x.size()), chance};
        joma::MultilayerFlow<double>(one).rhs(at.x, sample.direction, 0.0);
        samples.push_back(std::move(sample));
      }
    }
    INFO(made.text());
    check_draws(made, rung, at.x, std::move(samples), 1e-9);
    ++compared;
  }
  CHECK(compared >= 8);
}

TEST_CASE("laws: one step of scan-snap sgd, over every class, sequence and label", "[law]") {
  std::size_t compared = 0;
  std::size_t noisy = 0;
  for (Case made : cases()) {
    if (!made.is("scan-snap", "sgd") || !made.parameters.has("P")) continue;
    made.parameters.set("T", "3");
    if (made.parameters.text("track-growth", "") == "true") continue;
    if (compared % 2 == 1) made.parameters.set("label_noise", "0.3");
    if (compared % 3 == 1) made.parameters.set("temperature", "1.6");
    const Parameters& p = made.parameters;
    const AnyRung<double> rung = made.make();
    const Point at = points(made, rung)[1];
    const std::map<std::string, double> state = by_name(rung, at.x);
    const Matrix<double> law = p.matrix<double>("P");
    const Vector<double> weight = class_law_of(p, law.rows());
    const Vector<double> query =
        p.has("psi") ? p.vector<double>("psi") : Vector<double>(Vector<double>::Zero(law.rows()));
    const double temperature = p.number<double>("temperature", "1");
    std::vector<Sample> samples;
    const auto add = [&](Index n, Index y, const Vector<double>& x, double chance) {
      // The field of a law that always gives class y, with these frequencies and the query of n;
      // what it lacks in tokens does not move. Its logits are z/temperature.
      Case one = made;
      Matrix<double> only = law;
      only.row(y) = x.transpose();
      Vector<double> queries = query;
      queries[y] = query[n];
      one.rung = find_rung(*made.model, "flow");
      one.parameters = Parameters("scan-snap");
      const std::set<std::string> of_sgd{"T", "watch", "label_noise", "temperature"};
      for (const auto& [name, value] : p.values().entries()) {
        if (!of_sgd.contains(name)) one.parameters.set(name, value);
      }
      one.parameters.set("P", as_value(only));
      one.parameters.set("psi", as_list(queries));
      one.parameters.set("class_law", unit(law.rows(), y));
      one.parameters.set("track-growth", "false");
      const AnyRung<double> flow = one.make();
      Vector<double> within(flow.dimension), moved(flow.dimension);
      for (Index i = 0; i < within.size(); ++i) {
        const std::string& name = flow.state_names[static_cast<std::size_t>(i)];
        const bool is_logit = name.starts_with("z_");
        // A pair that only class y had with its own query is gone from these frequencies.
        const auto own = state.find(name);
        within[i] = own == state.end() ? 0.0 : own->second / (is_logit ? temperature : 1.0);
      }
      flow.field.value(within, moved, 0.0);
      const std::map<std::string, double> direction = by_name(flow, moved);
      Sample sample{Vector<double>::Zero(at.x.size()), chance};
      for (Index i = 0; i < at.x.size(); ++i) {
        const std::string& name = rung.state_names[static_cast<std::size_t>(i)];
        const auto own = direction.find(name);
        if (own == direction.end()) continue;
        sample.direction[i] = own->second / (name.starts_with("z_") ? temperature : 1.0);
      }
      samples.push_back(std::move(sample));
    };
    for (Index n = 0; n < law.rows(); ++n) {
      for_each_draw(law.row(n).transpose(), 2, [&](const Vector<double>& x, double probability) {
        for (Index y = 0; y < law.rows(); ++y) {
          const double chance = probability * weight[n] * chance_of_label(p, n, y, law.rows());
          if (chance > 0) add(n, y, x, chance);
        }
      });
    }
    INFO(made.text());
    check_draws(made, rung, at.x, std::move(samples), 1e-9);
    ++compared;
    if (p.has("label_noise")) ++noisy;
  }
  CHECK(compared >= 5);
  CHECK(noisy >= 3);
}

TEST_CASE("laws: one step of scb sgd, over every sequence, query and label", "[law]") {
  std::size_t compared = 0;
  std::size_t query_last = 0;
  std::vector<Case> all;
  for (const Case& made : cases()) {
    if (made.is("scb", "sgd") && !made.parameters.has("algorithm")) all.push_back(made);
  }
  // Queries that look at themselves alone, at themselves among others, and not at all.
  for (const char* project : {"true", "false"}) {
    Case own = all.front();
    own.parameters = Parameters("scb");
    own.parameters.set(
        "P",
        as_value((Matrix<double>(3, 3) << 0.6, 0.1, 0.3, 0.3, 0.7, 0.2, 0.1, 0.2, 0.5).finished()));
    own.parameters.set(
        "q",
        as_value(
            (Matrix<double>(3, 4) << 0, 0, 0, 1, 0.2, 0, 0.3, 0.5, 0.4, 0.6, 0, 0).finished()));
    own.parameters.set("query_position", "last");
    own.parameters.set("eta_A", "1.7");
    own.parameters.set("label_noise", "0.2");
    own.parameters.set("project", project);
    all.push_back(own);
  }
  for (const Case& made : all) {
    const Parameters& p = made.parameters;
    const AnyRung<double> rung = made.make();
    const Point at = points(made, rung)[1];
    const BigramLaw b = bigram_law(made);
    Whole now = whole(made, b, rung, at.x);
    const Index n = b.tokens();
    const Index positions = b.positions();
    const bool softmax = p.text("attention", "linear") == "softmax";
    const bool project = p.flag("project", true);
    const double temperature = p.number<double>("temperature", "1");
    const double rate = p.number<double>("eta_A", "1") / temperature;
    const double noise = p.number<double>("label_noise", "0");
    const Matrix<double> rows = Matrix<double>::Identity(n, n) -
                                Matrix<double>::Constant(n, n, 1.0 / static_cast<double>(n));
    const Matrix<double> cols =
        Matrix<double>::Identity(n, n) - b.mu * Vector<double>::Ones(n).transpose();
    if (!softmax) now.attention /= temperature;
    std::vector<Sample> samples;
    const auto add = [&](const std::vector<Index>& x, Index query, Index label, double chance) {
      if (chance == 0) return;
      Vector<double> seen = Vector<double>::Zero(n);
      for (Index t = 0; t < positions; ++t) {
        seen[x[static_cast<std::size_t>(t)]] += now.attention(t, query);
      }
      Vector<double> miss = -(now.values * seen);
      miss[label] += 1;
      Matrix<double> dv = miss * seen.transpose() * b.mu.cwiseInverse().asDiagonal();
      if (project) dv = (rows * dv * cols).eval();
      Vector<double> da(positions);
      for (Index t = 0; t < positions; ++t) {
        da[t] = rate * miss.dot(now.values.col(x[static_cast<std::size_t>(t)])) / b.mu[query];
      }
      if (softmax) {
        const Vector<double> a = now.attention.col(query);
        const double along = a.dot(da);
        for (Index t = 0; t < positions; ++t) da[t] = a[t] * (da[t] - along);
      } else if (project) {
        const double level = da.mean();
        da.array() -= level;
      }
      Sample sample{Vector<double>::Zero(at.x.size()), chance};
      sample.direction.head(n * n) = dv.reshaped();
      sample.direction.segment(n * n + query * positions, positions) = da;
      samples.push_back(std::move(sample));
    };
    const bool last = p.text("query_position", "free") == "last";
    for_each_sample(
        b,
        [&](const std::vector<Index>& x, Index query, Index label, double chance) {
          add(x, query, label, (1 - noise) * chance);
          const double replaced = noise * chance / static_cast<double>(n);
          for (Index y = 0; noise > 0 && y < n; ++y) add(x, query, y, replaced);
        },
        last);
    INFO(made.text());
    check_draws(made, rung, at.x, std::move(samples), 1e-9);
    ++compared;
    if (last) ++query_last;
  }
  CHECK(compared >= 4);
  CHECK(query_last >= 4);
}

TEST_CASE("laws: one step of topic sgd, over every document of two tokens and its masks",
          "[law][unsanitized]") {
  // Values of every option, one at a time, on the smallest model.
  const std::vector<Record> options{{},
                                    {{"loss", "cross-entropy"}},
                                    {{"lambda", "0.05"}},
                                    {{"p_m", "0.4"}, {"p_c", "0.3"}, {"p_r", "0.25"}},
                                    {{"d_e", "2"}},
                                    {{"train", "V"}},
                                    {{"value", "identity"}},
                                    {{"temperature", "0.6"}},
                                    {{"label_noise", "0.4"}}};
  for (const Record& option : options) {
    Case made;
    made.model = &find_model("topic");
    made.rung = find_rung(*made.model, "sgd");
    made.parameters =
        Parameters("topic", Record{{"T", "2"}, {"tau", "1"}, {"v", "2"}, {"d_a", "2"}, {"N", "2"}});
    for (const auto& [name, value] : option.entries()) made.parameters.set(name, value);
    const Parameters& p = made.parameters;
    const TopicWorld w = topic_world(p);
    const AnyRung<double> rung = made.make();
    const Point at = points(made, rung)[2];
    const double penalty = p.number<double>("lambda", "0");
    const bool embedded = p.has("d_e");
    const std::string trained = p.text("train", embedded ? "VKQE" : "VKQ");
    using Tokens = std::vector<std::pair<Index, Index>>;  // shown, true word or -1 if not selected
    struct Layer {
      WholeLayer whole;
      double penalty;
    };
    const auto layer_at = [&](const Vector<double>& x) {
      const Weights weights = weights_of(made, rung, x);
      return Layer{layer_of(weights), penalty * weights.values.squaredNorm()};
    };
    const auto loss = [&](const Layer& at_point, const Tokens& tokens) {
      const WholeLayer& layer = at_point.whole;
      double sum = at_point.penalty;
      for (const auto& [query, word] : tokens) {
        if (word < 0) continue;
        Vector<double> out = Vector<double>::Zero(w.vocabulary());
        double partition = 0;
        for (const auto& [key, unused] : tokens) {
          const double weight = std::exp(layer.logits(key, query));
          partition += weight;
          out += weight * layer.value.col(key);
        }
        out /= partition;
        sum += loss_of_output(w, out, word) / (w.masked * static_cast<double>(tokens.size()));
      }
      return sum;
    };
    // Once for all samples: a component moved by h either way, and by 2 h.
    constexpr double h = 5e-4;
    std::vector<std::array<Layer, 4>> moved;
    for (Index i = 0; i < at.x.size(); ++i) {
      const auto by = [&](double change) {
        Vector<double> x = at.x;
        x[i] += change;
        return layer_at(x);
      };
      moved.push_back({by(h), by(-h), by(2 * h), by(-2 * h)});
    }
    const auto gradient = [&](const Tokens& tokens) {
      Vector<double> g = Vector<double>::Zero(at.x.size());
      for (std::size_t i = 0; i < moved.size(); ++i) {
        if (trained.find(rung.state_names[i][2]) == std::string::npos) continue;
        const auto& [above, below, far_above, far_below] = moved[i];
        const double near = (loss(above, tokens) - loss(below, tokens)) / (2 * h);
        const double far = (loss(far_above, tokens) - loss(far_below, tokens)) / (4 * h);
        g[static_cast<Index>(i)] = -(4 * near - far) / 3;
      }
      return g;
    };
    // What becomes of a position of this word.
    const auto masked = [&](Index word) {
      std::vector<std::pair<std::pair<Index, Index>, double>> all{
          {{word, -1}, 1 - w.masked},
          {{word, word}, w.masked * w.correct},
          {{0, word}, w.masked * (1 - w.correct - w.random)}};
      for (Index shown = 1; shown < w.vocabulary(); ++shown) {
        all.push_back({{shown, word}, w.masked * w.random / 4});
      }
      return all;
    };
    // The same with its label in place of the word.
    const auto fates = [&](Index word) {
      std::vector<std::pair<std::pair<Index, Index>, double>> all;
      for (const auto& [position, chance] : masked(word)) {
        if (position.second < 0 || w.label_noise == 0) {
          all.emplace_back(position, chance);
          continue;
        }
        for (Index label = 1; label < w.vocabulary(); ++label) {
          const double own = label == word ? 1 - w.label_noise : 0.0;
          all.push_back({{position.first, label}, chance * (own + w.label_noise / 4)});
        }
      }
      return all;
    };
    std::vector<Sample> samples;
    for (Index topic = 0; topic < 2; ++topic) {
      for (Index first = 1 + 2 * topic; first < 3 + 2 * topic; ++first) {
        for (Index second = 1 + 2 * topic; second < 3 + 2 * topic; ++second) {
          for (const auto& [one, chance] : fates(first)) {
            for (const auto& [other, other_chance] : fates(second)) {
              samples.push_back({gradient({one, other}), chance * other_chance / 8});
            }
          }
        }
      }
    }
    INFO(made.text());
    check_draws(made, rung, at.x, std::move(samples), 1e-7);
  }
}

namespace {

struct NoiseLaw {
  Matrix<double> values;  ///< covariance of V by columns, divided by nothing
  double attention = 0;   ///< s of each coordinate before its mean is taken off
};

// eta^2/B sigma_V^2 (I - 11'/N) (x) (I - mu 1')'(I - mu 1'), and eta eta_A sigma_A/sqrt B.
NoiseLaw noise_of(const Case& made, const BigramLaw& b, const Whole& now, double eta,
                  double batch) {
  const Index n = b.tokens();
  double square = 0, size = 0, kernel = -b.mu.squaredNorm(), context = 0;
  const Vector<double> mean = now.values * b.mu;
  for (Index k = 0; k < n; ++k) {
    square += b.mu[k] * now.values.col(k).squaredNorm();
    size += b.mu[k] * now.attention.col(k).squaredNorm();
    kernel += b.mu[k] * b.kernel.col(k).squaredNorm();
    context += b.mu[k] * b.context.col(k).squaredNorm();
  }
  square -= mean.squaredNorm();
  const bool constant = made.parameters.text("noise", "multiplicative") != "multiplicative";
  const double scale_v = constant ? 1 : std::sqrt(size / context);
  const double scale_a = constant ? 1 : std::sqrt(square / kernel);
  const double sigma_v = made.parameters.number<double>("sigma_V", "0");
  const double sigma_a = made.parameters.number<double>("sigma_A", "0");
  const double rate = made.parameters.number<double>("eta_A", "1");
  const Matrix<double> rows =
      Matrix<double>::Identity(n, n) - Matrix<double>::Constant(n, n, 1.0 / static_cast<double>(n));
  const Matrix<double> cols =
      Matrix<double>::Identity(n, n) - b.mu * Vector<double>::Ones(n).transpose();
  const Matrix<double> right = cols.transpose() * cols;
  NoiseLaw law;
  law.values.resize(n * n, n * n);
  for (Index i = 0; i < n; ++i) {
    for (Index k = 0; k < n; ++k) {
      for (Index j = 0; j < n; ++j) {
        for (Index l = 0; l < n; ++l) {
          law.values(i + n * k, j + n * l) =
              eta * eta / batch * std::pow(sigma_v * scale_v, 2) * rows(i, j) * right(k, l);
        }
      }
    }
  }
  law.attention = eta * rate * sigma_a * scale_a / std::sqrt(batch);
  return law;
}

}  // namespace

TEST_CASE("laws: one step of the Gaussian scb rungs, mean and covariance", "[law]") {
  std::size_t compared = 0;
  for (Case made : cases()) {
    const bool lumped = made.is("scb", "noisy-lumped");
    if (!lumped && !made.is("scb", "noisy")) continue;
    if (made.parameters.has("algorithm")) continue;
    made.parameters.set("sigma_V", "0.3");
    made.parameters.set("sigma_A", "0.2");
    const AnyRung<double> rung = made.make();
    const Point at = points(made, rung)[1];
    const BigramLaw b = bigram_law(made);
    const Index n = b.tokens();
    const auto positions = static_cast<double>(b.positions());
    constexpr double eta = 0.4;
    constexpr Index batch = 3;
    const NoiseLaw law = noise_of(made, b, whole(made, b, rung, at.x), eta, batch);
    Vector<double> field(at.x.size());
    rung.field.value(at.x, field, 0.0);
    // Of the dense state, or of V and the support; m and r are looked at below.
    Matrix<double> covariance = Matrix<double>::Zero(at.x.size(), at.x.size());
    covariance.topLeftCorner(n * n, n * n) = law.values;
    std::vector<Index> norms, rests;
    Index begin = n * n;
    for (Index k = 0; k < n; ++k) {
      const Index support = (b.context.col(k).array() > 0).count();
      const Index count = lumped ? support : b.positions();
      const double s = law.attention;
      for (Index i = 0; i < count; ++i) {
        for (Index j = 0; j < count; ++j) {
          covariance(begin + i, begin + j) = s * s * ((i == j ? 1.0 : 0.0) - 1 / positions);
        }
      }
      if (lumped) {
        const auto rest = static_cast<double>(b.positions() - count);
        const Index m = begin + count;
        if (rest > 0) {
          covariance(m, m) = s * s * (1 / rest - 1 / positions);
          for (Index i = 0; i < count; ++i) {
            covariance(m, begin + i) = covariance(begin + i, m) = -s * s / positions;
          }
        }
        rests.push_back(b.positions() - count);
        norms.push_back(m + 1);
      }
      begin += count + (lumped ? 2 : 0);
    }
    if (rung.draws.covariance) {
      Matrix<double> known;
      rung.draws.covariance(at.x, Matrix<double>::Identity(at.x.size(), at.x.size()), known);
      INFO(made.text());
      CHECK((eta * eta / batch * known - covariance).norm() <= 1e-12 * (1 + covariance.norm()));
    }
    const auto check = [&](bool by_step) {
      INFO(made.text() << (by_step ? " by steps" : " by its field"));
      constexpr std::uint64_t draws = 8000;
      Vector<double> sum = Vector<double>::Zero(at.x.size());
      Matrix<double> squares = Matrix<double>::Zero(at.x.size(), at.x.size());
      Vector<double> norm_sum = Vector<double>::Zero(n), norm_square = norm_sum;
      const Vector<double> center = at.x + eta * field;
      for (std::uint64_t i = 0; i < draws; ++i) {
        Stream stream(made.seed, 7, i);
        Vector<double> x = at.x;
        if (by_step) {
          rung.draws.step(x, eta, stream, batch);
        } else {
          Vector<double> draw(x.size());
          rung.draws.sample(x, draw, stream, batch);
          x += eta * draw;
        }
        for (std::size_t k = 0; k < norms.size(); ++k) {
          const double square = x[norms[k]] * x[norms[k]];
          norm_sum[static_cast<Index>(k)] += square;
          norm_square[static_cast<Index>(k)] += square * square;
          x[norms[k]] = center[norms[k]];
        }
        const Vector<double> off = x - center;
        sum += off;
        squares += off * off.transpose();
      }
      const auto count = static_cast<double>(draws);
      for (Index i = 0; i < at.x.size(); ++i) {
        INFO(rung.state_names[static_cast<std::size_t>(i)]);
        CHECK(std::fabs(sum[i] / count) <= six * std::sqrt(covariance(i, i) / count) + 1e-12);
        for (Index j = 0; j <= i; ++j) {
          // Of a normal law.
          const double error = std::sqrt(
              (covariance(i, i) * covariance(j, j) + std::pow(covariance(i, j), 2)) / count);
          CHECK(std::fabs(squares(i, j) / count - covariance(i, j)) <= six * error + 1e-12);
        }
      }
      // r^2 -> |rho r e + s xi|^2 in n - 1 dimensions.
      const double square = [&] {
        const Matrix<double> v = whole(made, b, rung, at.x).values;
        double norm = 0;
        for (Index k = 0; k < n; ++k) norm += b.mu[k] * v.col(k).squaredNorm();
        return norm - (v * b.mu).squaredNorm();
      }();
      const double rho = 1 - eta * made.parameters.number<double>("eta_A", "1") * square;
      for (std::size_t k = 0; k < norms.size(); ++k) {
        const auto degrees = static_cast<double>(rests[k] - 1);
        if (degrees < 1) continue;
        const double s = law.attention * law.attention;
        const double moved = std::pow(rho * at.x[norms[k]], 2);
        const double mean = moved + s * degrees;
        const double variance = 4 * moved * s + 2 * s * s * degrees;
        const double seen = norm_sum[static_cast<Index>(k)] / count;
        CHECK(std::fabs(seen - mean) <= six * std::sqrt(variance / count));
        const double spread = norm_square[static_cast<Index>(k)] / count - seen * seen;
        CHECK(spread == Approx(variance).epsilon(0.35));
      }
    };
    check(true);
    if (rung.draws.sample) check(false);
    ++compared;
  }
  CHECK(compared >= 6);
}

}  // namespace popgrad::laws::one_step_laws
