#include "laws/cases.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "popgrad/base/error.hpp"
#include "popgrad/evidence/theories.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/random.hpp"
#include "theorems/scb/rungs/instance.hpp"

namespace popgrad::laws {
namespace {

using Choice = std::vector<std::size_t>;  ///< a level of each option

struct Pair {
  std::size_t option, level, other_option, other_level;
};

bool contains(const Choice& choice, const Pair& pair) {
  return choice[pair.option] == pair.level && choice[pair.other_option] == pair.other_level;
}

Case with(const Model& model, const RungInfo& rung, const std::vector<Option>& options,
          const Choice& choice) {
  Case made{&model, rung, Parameters(model.name())};
  for (std::size_t i = 0; i < options.size(); ++i) {
    for (const auto& [name, value] : options[i].levels[choice[i]].entries()) {
      made.parameters.set(name, value);
    }
  }
  return made;
}

// Greedy: each case starts from a pair that is still missing and takes, option by option, the level
// that brings the most of the others.
std::vector<Case> pairwise(const Model& model, const RungInfo& rung,
                           const std::vector<Option>& options) {
  const Choice none(options.size(), 0);
  std::map<Choice, bool> known;  // the search comes by the same choices again
  const auto fits = [&](const Choice& choice) {
    const auto [at, is_new] = known.try_emplace(choice, false);
    if (is_new) at->second = accepted(with(model, rung, options, choice));
    return at->second;
  };
  std::vector<Pair> missing;
  for (std::size_t i = 0; i < options.size(); ++i) {
    for (std::size_t a = 0; a < options[i].levels.size(); ++a) {
      for (std::size_t j = i + 1; j < options.size(); ++j) {
        for (std::size_t b = 0; b < options[j].levels.size(); ++b) {
          Choice choice = none;
          choice[i] = a;
          choice[j] = b;
          if (fits(choice)) missing.push_back({i, a, j, b});
        }
      }
    }
  }
  std::vector<Case> made;
  while (!missing.empty()) {
    Choice choice = none;
    choice[missing.front().option] = missing.front().level;
    choice[missing.front().other_option] = missing.front().other_level;
    for (std::size_t i = 0; i < options.size(); ++i) {
      if (i == missing.front().option || i == missing.front().other_option) continue;
      std::size_t best = choice[i];
      std::ptrdiff_t most = -1;
      for (std::size_t level = 0; level < options[i].levels.size(); ++level) {
        Choice next = choice;
        next[i] = level;
        const auto brings = std::count_if(missing.begin(), missing.end(),
                                          [&](const Pair& pair) { return contains(next, pair); });
        if (brings > most && fits(next)) {
          most = brings;
          best = level;
        }
      }
      choice[i] = best;
    }
    std::erase_if(missing, [&](const Pair& pair) { return contains(choice, pair); });
    made.push_back(with(model, rung, options, choice));
  }
  return made;
}

// (I - 11'/N) D (I - mu 1') of the first N^2 numbers: where values may go.
void keep_constraints_of_values(const Case& made, Vector<double>& change) {
  const Vector<double> mu = scb::training<double>(made.parameters, made.seed).bigrams.stationary;
  const Index n = mu.size();
  Eigen::Map<Matrix<double>> v(change.data(), n, n);
  v.rowwise() -= v.colwise().mean().eval();
  const Vector<double> along = v * mu;
  v.colwise() -= along;
}

// The lumped rungs and the Gaussian ones live on sum a^k = 1.
void keep_mass(const Case& made, Vector<double>& x) {
  const scb::Bigrams<double> b = scb::training<double>(made.parameters, made.seed).bigrams;
  const Index n = b.tokens();
  Index at = n * n;
  for (Index k = 0; k < n; ++k) {
    if (made.rung.name == "noisy") {
      auto own = x.segment(at, b.context);
      own.array() += (1 - own.sum()) / static_cast<double>(b.context);
      at += b.context;
      continue;
    }
    const auto rest = static_cast<double>(b.context - b.support(k));
    double& m = x[at + b.support(k)];
    double& r = x[at + b.support(k) + 1];
    if (rest > 0) {
      m = (1 - x.segment(at, b.support(k)).sum()) / rest;
    } else {
      x[at] += 1 - x.segment(at, b.support(k)).sum();
      m = 0;
    }
    if (rest < 2) r = 0;
    at += b.support(k) + 2;
  }
}

Vector<double> in_general_position(const Case& made, const AnyRung<double>& rung, double size,
                                   std::uint64_t which) {
  Stream stream(made.seed, 0x1A55U, which);
  Vector<double> change(rung.initial.size());
  for (double& value : change) value = size * stream.normal();
  const bool lumped = rung.state_names.size() > 1 && made.model->name() == "scb" &&
                      std::any_of(rung.state_names.begin(), rung.state_names.end(),
                                  [](const std::string& name) { return name.starts_with("m_"); });
  if (made.model->name() == "scb" && made.rung.name != "reduced") {
    keep_constraints_of_values(made, change);
  }
  Vector<double> x = rung.initial + change;
  const bool one_word = made.model->name() == "topic" && made.parameters.text("v", "10") == "1";
  for (Index i = 0; i < x.size(); ++i) {
    const std::string& name = rung.state_names[static_cast<std::size_t>(i)];
    const bool kept = name == "part" || name == "steps_of_part";
    if (kept) x[i] = rung.initial[i];
    // Norms, and the traces of W'W.
    const bool positive = name == "h" || name == "w" || name.starts_with("r_") || name == "K_00" ||
                          name == "K_diagonal" || name == "Q_00" || name == "Q_diagonal";
    if (positive) x[i] = std::fabs(x[i]);
    // W'W is symmetric.
    if (name == "K_w0" || name == "Q_w0") x[i] = x[i - 1];
    // Entries of pairs of words of one topic: there are none.
    if (one_word && (name == "s" || name == "ln_beta" || name.ends_with("_same"))) x[i] = 0;
  }
  if (made.model->name() == "scb" && (lumped || made.rung.name == "noisy")) keep_mass(made, x);
  return x;
}

}  // namespace

AnyRung<double> Case::make() const { return model->rung(rung.name, parameters, seed); }

std::string Case::text() const {
  return model->name() + " " + rung.name + " " + json_text(Value(parameters.values()));
}

bool Case::is(std::string_view model_name, std::string_view rung_name) const {
  return model->name() == model_name && rung.name == rung_name;
}

bool accepted(const Case& made) {
  // Made anew from texts each time, which takes longer than most rungs do.
  static std::map<const Model*, std::vector<ParameterInfo>> tables;
  const auto [known, is_new] = tables.try_emplace(made.model);
  if (is_new) known->second = made.model->parameters();
  try {
    made.parameters.check_names(known->second, made.rung.name);
    static_cast<void>(made.make());
    return true;
  } catch (const InputError&) {
    return false;
  }
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> list;
    for (const Theory& theory : theories()) {
      const auto& model = theory.model;
      for (const RungInfo& rung : model->rungs()) {
        // States are moments of the states of sgd: moments.cpp goes through the cases of that.
        if (rung.kind == RungKind::moments) continue;
        std::vector<Case> more = pairwise(*model, rung, options_of(model->name(), rung.name));
        list.insert(list.end(), more.begin(), more.end());
      }
    }
    return list;
  }();
  return all;
}

std::vector<Point> points(const Case& made, const AnyRung<double>& rung) {
  if (rung.field.state_at) {
    std::vector<Point> at;
    for (const double t : {0.0, 0.2, 0.35}) at.push_back({rung.field.state_at(t), t});
    return at;
  }
  // exp attention in layers above each other overflows farther out.
  const double far = made.rung.name.starts_with("multilayer") ? 0.2 : 0.4;
  return {{rung.initial, 0.0},
          {in_general_position(made, rung, 0.1, 1), 0.3},
          {in_general_position(made, rung, far, 2), 5.0}};
}

std::vector<Point> trained_points(const Case& made, const AnyRung<double>& rung) {
  std::vector<Point> at;
  if (rung.observables.columns.back() != "nonzeros") return at;
  const auto part = static_cast<std::size_t>(column(rung, "part"));
  Vector<double> x = rung.initial;
  double before = 1;
  for (std::uint64_t step = 0; step < 60; ++step) {
    Stream stream(made.seed, 0, step);
    rung.draws.step(x, 0.4, stream,
                    rung.field.value && made.rung.kind == RungKind::descent ? 0 : 50);
    const double now = observed(rung, {x, 0.0})[part];
    if (now != before || step == 0) at.push_back({x, 0.4 * static_cast<double>(step + 1)});
    before = now;
  }
  at.push_back({x, 24.0});
  return at;
}

std::map<std::string, double> by_name(const AnyRung<double>& rung, const Vector<double>& x) {
  std::map<std::string, double> values;
  for (Index i = 0; i < x.size(); ++i) {
    values[rung.state_names[static_cast<std::size_t>(i)]] = x[i];
  }
  return values;
}

std::vector<double> observed(const AnyRung<double>& rung, const Point& at) {
  std::vector<double> row(rung.observables.columns.size());
  rung.observables.read(at.x, at.t, row);
  return row;
}

Index column(const AnyRung<double>& rung, std::string_view name) {
  const auto found =
      std::find(rung.observables.columns.begin(), rung.observables.columns.end(), name);
  return found == rung.observables.columns.end() ? -1 : found - rung.observables.columns.begin();
}

}  // namespace popgrad::laws
