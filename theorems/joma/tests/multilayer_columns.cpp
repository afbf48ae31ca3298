/// The columns of joma with several layers, from their definitions: every position of every
/// sequence on its own, padding included.

#include <algorithm>
#include <cmath>

#include "laws/columns.hpp"
#include "theorems/joma/rungs/multilayer_flow.hpp"

namespace popgrad::laws {
namespace {

using std::size_t;
using Numbers = std::vector<double>;

class PlainNetwork {
 public:
  PlainNetwork(const Case& made, const AnyRung<double>& rung, const Point& at)
      : parameters_(made.parameters), named_(by_name(rung, at.x)) {
    d_ = static_cast<size_t>(parameters_.count("d", 16, 1, 99));
    width_ = static_cast<size_t>(parameters_.count("width", static_cast<long>(4 * d_), 1, 999));
    layers_ = static_cast<size_t>(parameters_.count("layers", 2, 1, 3));
  }

  [[nodiscard]] size_t layers() const { return layers_; }

  struct Pass {
    Numbers logits;
    std::vector<Numbers> hidden;  ///< of every layer, at the last position
    Numbers entropy;              ///< of every layer, of the last query
  };

  [[nodiscard]] Pass pass(const std::vector<Index>& tokens, size_t classes) const {
    Pass result;
    std::vector<Numbers> x;
    for (const Index token : tokens) x.push_back(column("W_E", static_cast<size_t>(token), d_));
    for (size_t h = 0; h < layers_; ++h) {
      const std::string layer = "_" + std::to_string(h);
      std::vector<Numbers> next;
      for (size_t t = 0; t < x.size(); ++t) {
        const Numbers query = times("W_Q" + layer, x[t], d_);
        Numbers logits;
        for (size_t s = 0; s <= t; ++s) {
          const Numbers key = times("W_K" + layer, x[s], d_);
          double score = 0;
          for (size_t i = 0; i < d_; ++i) score += key[i] * query[i];
          logits.push_back(trained() ? score / std::sqrt(static_cast<double>(d_)) : 0.0);
        }
        const Numbers weights = attention(logits);
        Numbers u = x[t];
        for (size_t s = 0; s <= t; ++s) {
          const Numbers value = times("W_V" + layer, x[s], d_);
          for (size_t i = 0; i < d_; ++i) u[i] += weights[s] * value[i];
        }
        normalise(u, "_1" + layer);
        Numbers hidden = times("W_1" + layer, u, width_);
        for (size_t k = 0; k < width_; ++k) {
          hidden[k] = activated(hidden[k] + at("b_1" + layer + "_" + std::to_string(k)));
        }
        Numbers y = times("W_2" + layer, hidden, d_);
        for (size_t i = 0; i < d_; ++i) y[i] += u[i] + at("b_2" + layer + "_" + std::to_string(i));
        normalise(y, "_2" + layer);
        next.push_back(y);
        if (t + 1 < x.size()) continue;
        result.hidden.push_back(hidden);
        Numbers powers;
        for (const double l : logits) powers.push_back(std::exp(l));
        result.entropy.push_back(entropy_of(powers));
      }
      x = next;
    }
    result.logits = times("W_O", x.back(), classes);
    for (size_t c = 0; c < classes; ++c) result.logits[c] += at("b_O_" + std::to_string(c));
    return result;
  }

 private:
  [[nodiscard]] double at(const std::string& name) const { return named_.at(name); }
  [[nodiscard]] bool trained() const { return parameters_.flag("train-attention", true); }
  [[nodiscard]] Numbers column(const std::string& matrix, size_t j, size_t rows) const {
    Numbers found;
    for (size_t i = 0; i < rows; ++i) {
      found.push_back(at(matrix + "_" + std::to_string(i) + "_" + std::to_string(j)));
    }
    return found;
  }
  [[nodiscard]] Numbers times(const std::string& matrix, const Numbers& x, size_t rows) const {
    Numbers product(rows, 0.0);
    for (size_t j = 0; j < x.size(); ++j) {
      const Numbers own = column(matrix, j, rows);
      for (size_t i = 0; i < rows; ++i) product[i] += own[i] * x[j];
    }
    return product;
  }
  [[nodiscard]] Numbers attention(const Numbers& logits) const {
    const std::string kind = parameters_.text("attention", "softmax");
    Numbers weights;
    double total = 0;
    for (const double l : logits) {
      weights.push_back(kind == "linear" && trained() ? l : std::exp(l));
      total += weights.back();
    }
    const double divisor = kind == "softmax" ? total : static_cast<double>(logits.size());
    for (double& weight : weights) weight /= divisor;
    return weights;
  }
  void normalise(Numbers& u, const std::string& which) const {
    if (!parameters_.flag("layer-norm", false)) return;
    double mean = 0, square = 0;
    for (const double value : u) mean += value / static_cast<double>(d_);
    for (const double value : u) square += (value - mean) * (value - mean);
    const double root = std::sqrt(square / static_cast<double>(d_) + 1e-5);
    for (size_t i = 0; i < d_; ++i) {
      const std::string place = which + "_" + std::to_string(i);
      u[i] = at("gain" + place) * (u[i] - mean) / root + at("shift" + place);
    }
  }
  [[nodiscard]] double activated(double a) const {
    const std::string phi = parameters_.text("phi", "relu");
    if (phi == "relu") return std::max(a, 0.0);
    if (phi == "tanh") return std::tanh(a);
    if (phi == "gelu") return a * 0.5 * std::erfc(-a / std::sqrt(2.0));
    return a;
  }

  const Parameters& parameters_;
  std::map<std::string, double> named_;
  size_t d_ = 0, width_ = 0, layers_ = 0;
};

// |corr| of one unit and one latent.
double correlation_of(const Numbers& unit, const Numbers& latent, const Numbers& probability) {
  double h = 0, y = 0, hh = 0, hy = 0;
  for (size_t i = 0; i < probability.size(); ++i) {
    h += probability[i] * unit[i];
    y += probability[i] * latent[i];
  }
  for (size_t i = 0; i < probability.size(); ++i) {
    hh += probability[i] * (unit[i] - h) * (unit[i] - h);
    hy += probability[i] * (unit[i] - h) * (latent[i] - y);
  }
  return hh > 1e-20 ? std::fabs(hy) / std::sqrt(hh * y * (1 - y)) : 0.0;
}

// The best sum of entries in different rows and columns, over subsets of the shorter side.
double best_assignment(Grid table) {
  if (table.empty()) return 0;
  if (table.size() < table.front().size()) {
    Grid turned = zeros(static_cast<Index>(table.front().size()), static_cast<Index>(table.size()));
    for (size_t i = 0; i < table.size(); ++i) {
      for (size_t j = 0; j < table[i].size(); ++j) turned[j][i] = table[i][j];
    }
    table = turned;
  }
  const size_t few = table.front().size();
  Numbers best(size_t{1} << few, 0.0);
  for (const Numbers& row : table) {
    for (size_t set = best.size(); set-- > 1;) {
      for (size_t j = 0; j < few; ++j) {
        if ((set >> j & 1U) != 0) {
          best[set] = std::max(best[set], best[set ^ (size_t{1} << j)] + row[j]);
        }
      }
    }
  }
  return best.back();
}

}  // namespace

Columns multilayer_columns(const Case& made, const AnyRung<double>& rung, const Point& at) {
  const joma::SequenceData data = joma::multilayer_instance(made.parameters, made.seed).data;
  const PlainNetwork network(made, rung, at);
  Numbers probability;
  std::vector<Grid> hidden(network.layers());  // a row a sequence
  Columns columns;
  for (size_t i = 0; i < data.content.size(); ++i) {
    std::vector<Index> tokens(static_cast<size_t>(data.length) - data.content[i].size(), 0);
    tokens.insert(tokens.end(), data.content[i].begin(), data.content[i].end());
    const auto pass = network.pass(tokens, static_cast<size_t>(data.classes()));
    const double chance = data.probability[static_cast<Index>(i)];
    probability.push_back(chance);
    double partition = 0;
    for (const double l : pass.logits) partition += std::exp(l);
    const auto best = std::max_element(pass.logits.begin(), pass.logits.end());
    for (size_t c = 0; c < pass.logits.size(); ++c) {
      const double target = data.target(static_cast<Index>(c), static_cast<Index>(i));
      columns["loss"] += chance * target * (std::log(partition) - pass.logits[c]);
    }
    columns["accuracy"] += chance * data.target(best - pass.logits.begin(), static_cast<Index>(i));
    for (size_t h = 0; h < network.layers(); ++h) {
      columns["attention_entropy_" + std::to_string(h)] += chance * pass.entropy[h];
      hidden[h].push_back(pass.hidden[h]);
    }
  }
  for (size_t h = 0; h < network.layers(); ++h) {
    for (size_t l = 0; l < data.latent_means.size(); ++l) {
      const Grid means = grid(data.latent_means[l]);
      Grid table;
      double free = 0;
      for (const Numbers& latent : means) {
        double mean = 0;
        for (size_t i = 0; i < latent.size(); ++i) mean += probability[i] * latent[i];
        if (mean * (1 - mean) < 1e-12) continue;
        Numbers row;
        for (size_t k = 0; k < hidden[h].front().size(); ++k) {
          Numbers unit;
          for (const Numbers& sequence : hidden[h]) unit.push_back(sequence[k]);
          row.push_back(correlation_of(unit, latent, probability));
        }
        free += *std::max_element(row.begin(), row.end());
        table.push_back(row);
      }
      const std::string name = "_" + std::to_string(h) + "_" + std::to_string(l);
      const double count = std::max(1.0, static_cast<double>(table.size()));
      columns["correlation" + name] = free / count;
      columns["matched" + name] = best_assignment(table) / count;
    }
  }
  return columns;
}

}  // namespace popgrad::laws
