#include "learning/laws.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "expectations/expectation.hpp"
#include "formulas/blocks.hpp"
#include "formulas/gradient.hpp"
#include "formulas/operation.hpp"
#include "formulas/rebuild.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/base/memory.hpp"

namespace popgrad::learning {
namespace laws_cpp {
namespace {

double entries_of(const Draw& draw) {
  return static_cast<double>(formulas::entries(draw.variable.shape()));
}

void require_vector(const Array& p, std::string_view law) {
  if (p.rank() != 1) {
    throw InputError(fmt::format("{} takes a vector of probabilities first; this has shape {}", law,
                                 to_text(p.shape())));
  }
}

// E over one draw.
Array expected_over(const Draw& draw, const Array& formula) {
  if (!reads(formula, draw.variable)) return formula;
  const std::string_view name = formula.node().operation->name;
  if (name == "negative") return -expected_over(draw, formula.input(0));
  if (name == "add" || name == "subtract") {
    const Array a = formula.input(0), b = formula.input(1);
    if (!reads(a, draw.variable) || !reads(b, draw.variable))
      return formulas::apply(name, {expected_over(draw, a), expected_over(draw, b)});
  }
  const Array values = all_values(draw);
  const std::vector<formulas::Samples> samples{{draw.variable, values}};
  const Array of_all = over_batch(formula, samples);
  if (of_all.rank() == formula.rank()) return of_all;
  const auto sum = [](const Array& all) { return reduce("sum", all, 0); };
  if (draw.law == Law::index) return sum(of_all) / of_all.number(of_all.shape()[0].extent);
  const Array weights = over_batch(probability(draw), samples);
  if (weights.rank() == 0) return weights * sum(of_all);
  std::string axes;
  for (Index k = 1; k < of_all.rank(); ++k) axes += static_cast<char>('a' + k);
  return formulas::einsum("a,a" + axes + "->" + axes, {weights, of_all});
}

// stop_gradient(f(w, x)) as f(stop_gradient(w), x), which has the same value and derivatives and is a polynomial in x where
// f is one.
Array with_stops_at_variables(Array formula, const std::vector<Draw>& draws) {
  formulas::Graph& graph = *formula.graph;
  for (std::size_t k = 0; k <= formula.place; ++k) {
    const Array stop{&graph, k};
    if (!stop.is("stop_gradient") || stop.input(0).is("variable") ||
        !formulas::needed_for({formula})[k])
      continue;
    const Array inner = stop.input(0);
    std::vector<Array> variables, stopped;
    const std::vector<bool> needed = formulas::needed_for({inner});
    for (std::size_t i = 0; i < needed.size(); ++i) {
      const Array part{&graph, i};
      const bool drawn = std::any_of(draws.begin(), draws.end(),
                                     [&](const Draw& draw) { return draw.variable == part; });
      if (!needed[i] || !part.is("variable") || drawn) continue;
      variables.push_back(part);
      stopped.push_back(formulas::apply("stop_gradient", {part}));
    }
    // What is stopped once is so twice.
    const Array made = inner.is("stop_gradient")
                           ? inner
                           : formulas::substituted({inner}, variables, stopped).front();
    formula = formulas::substituted({formula}, {stop}, {made}).front();
  }
  return formula;
}

bool jumps(const Array& node) {
  return node.is("sign") || node.node().operation->result == formulas::Result::truth;
}
bool has_kink(const Array& node) { return node.is("relu") || node.is("abs"); }

// Whether there is such a node, as a function of states and normal draws.
bool has_any(const Array& part, const std::vector<expectations::NormalDraw>& normals,
             const std::vector<Array>& states, bool (*is_such)(const Array&)) {
  const std::vector<bool> needed = formulas::needed_for({part});
  for (std::size_t k = 0; k < needed.size(); ++k) {
    const Array node{part.graph, k};
    if (!needed[k] || !is_such(node)) continue;
    const auto is_read = [&](const Array& variable) { return reads(node, variable); };
    if (std::any_of(states.begin(), states.end(), is_read) &&
        std::any_of(normals.begin(), normals.end(), [&](const expectations::NormalDraw& normal) {
          return is_read(normal.variable);
        }))
      return true;
  }
  return false;
}

// Normal draws among those that are read, or why there is no expectation over them.
struct NormalsOf {
  std::vector<expectations::NormalDraw> draws{};
  std::string why{};
};
NormalsOf normals_of(const std::vector<Draw>& read) {
  NormalsOf normals;
  for (const Draw& draw : read) {
    if (draw.is_finite()) continue;
    if (draw.law != Law::normal)
      return {.why = "draw " + draw.name() + " is neither normal nor of a finite law"};
    normals.draws.push_back({draw.variable, draw.covariance});
  }
  for (const Draw& draw : read) {
    for (const expectations::NormalDraw& normal : normals.draws) {
      if (draw.probabilities && reads(*draw.probabilities, normal.variable))
        return {.why = "the law of draw " + draw.name() + " depends on a normal one"};
    }
  }
  return normals;
}

// As expectations are taken of it.
Array prepared_formula(const Array& formula, const std::vector<Draw>& read) {
  return formulas::by_blocks(with_stops_at_variables(formula, read));
}

OverNormals with_way(const expectations::Expectation& found) {
  if (!found.mean) return {.way = found.why};
  OverNormals made{
      .mean = found.mean,
      .way = fmt::format("{} over normal draws, {} terms",
                         found.by_quadrature ? "by quadrature" : "exact", found.terms)};
  if (!found.kernels.empty())
    made.way += fmt::format(", kernels {}", fmt::join(found.kernels, ", "));
  return made;
}

}  // namespace
}  // namespace laws_cpp

double Draw::values() const {
  return std::pow(static_cast<double>(categories), laws_cpp::entries_of(*this));
}

const std::vector<std::string>& law_names() {
  static const std::vector<std::string> names{"normal",      "uniform", "bernoulli",
                                              "categorical", "index",   "orthogonal"};
  return names;
}

std::optional<CalledLaw> called_law(
    const formulas::syntax::Node& call, const std::string& name, formulas::Graph& graph,
    const std::function<Array(std::size_t)>& array,
    const std::function<formulas::Shape(std::size_t, std::size_t)>& shape) {
  using formulas::Type;
  const auto found = std::find(law_names().begin(), law_names().end(), call.text);
  if (found == law_names().end()) return std::nullopt;
  const auto law = static_cast<Law>(found - law_names().begin());
  const std::size_t positional = call.parts.size() - call.keywords.size();
  const bool takes_argument = law != Law::normal && law != Law::uniform && law != Law::orthogonal;
  for (const std::string& keyword : call.keywords) {
    if (law != Law::normal || (keyword != "var" && keyword != "cov") || call.keywords.size() > 1) {
      throw InputError(fmt::format(
          "{}: there is no argument {}=; normal takes var= or cov=", call.text, keyword));
    }
  }
  if (takes_argument && positional == 0)
    throw InputError(fmt::format("{} needs its first argument, as in {}", call.text,
                                 law == Law::index ? "index(n)" : call.text + "(p)"));
  Shape extents = shape(takes_argument ? 1 : 0, positional);
  Draw draw{.law = law};
  const auto make_variable = [&](Type type) {
    draw.variable = graph.variable(name, extents, type);
    return CalledLaw{draw, draw.variable};
  };
  if (law == Law::uniform) return make_variable(Type::real);
  if (law == Law::orthogonal) {
    if (extents.size() != 2)
      throw InputError("orthogonal takes rows and columns: orthogonal(m, n)");
    return make_variable(Type::real);
  }
  if (law == Law::normal) {
    if (!call.keywords.empty() && call.keywords.front() == "cov") {
      const Array covariance = array(positional);
      const Shape& square = covariance.shape();
      if (extents.empty() || square.size() != 2 || square[0].extent != extents.back().extent ||
          square[1].extent != extents.back().extent) {
        throw InputError(
            fmt::format("normal: cov of shape {} is no covariance of the last axis of {}",
                        to_text(square), to_text(extents)));
      }
      draw.covariance = covariance;
    }
    const CalledLaw standard = make_variable(Type::real);
    if (call.keywords.empty() || draw.covariance) return standard;
    const Array scaled = formulas::apply("sqrt", {array(positional)}) * standard.value;
    if (scaled.rank() != standard.value.rank() ||
        formulas::entries(scaled.shape()) != formulas::entries(extents)) {
      throw InputError(fmt::format("normal: var of shape {} does not stretch to {}",
                                   to_text(array(positional).shape()), to_text(extents)));
    }
    return CalledLaw{standard.draw, scaled};
  }
  const Array first = array(0);
  if (law == Law::index) {
    draw.categories = whole_number(first);
  } else if (law == Law::categorical) {
    laws_cpp::require_vector(first, call.text);
    draw.probabilities = first;
    draw.categories = first.shape()[0].extent;
  } else {
    if (positional == 1) extents = first.shape();
    draw.probabilities = broadcast(first, extents);
    draw.categories = 2;
  }
  if (draw.categories < 1) throw InputError(fmt::format("{} over no values", call.text));
  return make_variable(Type::whole);
}

Array correlated(const Array& standard, const Array& covariance) {
  return matmul(standard, transpose(formulas::of_square_matrix("cholesky", covariance)));
}

bool reads(const Array& formula, const Array& variable) {
  return variable.place <= formula.place && formulas::needed_for({formula})[variable.place];
}

std::vector<Draw> read_draws(const Array& formula, const std::vector<Draw>& draws) {
  std::vector<Draw> found;
  for (std::size_t k = draws.size(); k-- > 0;) {
    const Draw& draw = draws[k];
    const bool needed = reads(formula, draw.variable) ||
                        std::any_of(found.begin(), found.end(), [&](const Draw& later) {
                          return later.probabilities && reads(*later.probabilities, draw.variable);
                        });
    if (needed) found.push_back(draw);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

Array probability(const Draw& draw) {
  const Array& k = draw.variable;
  if (draw.law == Law::index)
    return k.number(Rational(1) / pow(boost::multiprecision::mpz_int(draw.categories),
                                      static_cast<unsigned>(formulas::entries(k.shape()))));
  const Array& p = *draw.probabilities;
  const Array each = draw.law == Law::categorical
                         ? take(p, k)
                         : where(formulas::apply("equal", {k, k.number(1)}), p, 1 - p);
  return reduce("prod", each);
}

Array all_values(const Draw& draw) {
  const Shape& shape = draw.variable.shape();
  const Index count = formulas::entries(shape);
  require_memory(draw.values() * static_cast<double>(count + 1) * sizeof(double),
                 fmt::format("the {:.3g} values of draw {}", draw.values(), draw.name()),
                 "lower the sizes, or give samples");
  formulas::Graph& graph = *draw.variable.graph;
  const Dimension values{static_cast<Index>(std::llround(draw.values())), {}};
  const Array places = graph.arange(values);
  Shape all{values};
  all.insert(all.end(), shape.begin(), shape.end());
  if (count == 0) return broadcast(graph.constant(0), all);
  if (count == 1) return reshape(places, all);
  std::vector<Array> digits;
  Index left = values.extent;
  for (Index e = 0; e < count; ++e) {
    left /= draw.categories;
    const Array slower = formulas::apply("floor_divide", {places, places.number(left)});
    digits.push_back(keep_axes(
        e == 0 ? slower : formulas::apply("mod", {slower, places.number(draw.categories)}), 1, 1));
  }
  return reshape(concatenate(digits, 1), all);
}

Array expected(const Array& formula, const std::vector<Draw>& draws) {
  Array mean = formula;
  for (std::size_t k = draws.size(); k-- > 0;) mean = laws_cpp::expected_over(draws[k], mean);
  return mean;
}

FiniteDraws finite_draws(const std::vector<Draw>& draws) {
  FiniteDraws made;
  for (const Draw& draw : draws) {
    if (!draw.is_finite()) continue;
    made.draws.push_back(draw);
    made.values *= draw.values();
  }
  return made;
}

OverNormals over_normals(const Array& part, const std::vector<Draw>& read,
                         const std::vector<Array>& states) {
  const auto [normals, why] = laws_cpp::normals_of(read);
  if (!why.empty()) return {.way = why};
  if (normals.empty()) return {.mean = part};
  const auto mean_of = [&, &draws = normals](const Array& formula, expectations::Nodes nodes) {
    return expectations::expectation(laws_cpp::prepared_formula(formula, read), draws, nodes);
  };
  const expectations::Expectation found = mean_of(part, expectations::Nodes::usual);
  OverNormals made = laws_cpp::with_way(found);
  if (found.by_quadrature) made.fewer = mean_of(part, expectations::Nodes::fewer).mean;
  if (!made.mean) return made;
  // Where it jumps, the gradient of its mean is not the mean gradient. Where it has kinks it is, and as mean gradient it
  // is shorter and divides by no angle between projections.
  const bool is_needed = laws_cpp::has_any(part, normals, states, laws_cpp::jumps);
  if (!is_needed && !laws_cpp::has_any(part, normals, states, laws_cpp::has_kink)) return made;
  std::vector<Array> slopes;
  for (const Array& slope : formulas::gradient(part, states)) {
    const expectations::Expectation mean = mean_of(slope, expectations::Nodes::usual);
    if (mean.mean && !mean.by_quadrature) {
      slopes.push_back(*mean.mean);
      continue;
    }
    if (!is_needed) return made;
    return {.way = mean.mean ? "its gradient jumps, and needs quadrature"
                             : "its gradient: " + mean.why};
  }
  made.slopes = std::move(slopes);
  made.way += ", after the gradient";
  return made;
}

OverNormals covariance_over_normals(const Array& f, const Array& g, const std::vector<Draw>& read) {
  const auto [normals, why] = laws_cpp::normals_of(read);
  if (!why.empty()) return {.way = why};
  return laws_cpp::with_way(expectations::covariance(laws_cpp::prepared_formula(f, read),
                                                     laws_cpp::prepared_formula(g, read), normals));
}

}  // namespace popgrad::learning
