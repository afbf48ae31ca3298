// Theorem    scan-snap.gradient
// Status     proved in source (Lemma 1)
// Source     Tian et al., Scan and Snap, arXiv 2305.16380, Lemma 1
// Statement  the training formulas
//              dY   = eta_Y sum_n w_n f_n (e_n - alpha_n)'
//              dz_m = eta_Z sum_n w_n diag(f_n) (I - f_n f_n') Y (e_n - alpha_n)
//            are eta_Y, eta_Z times the derivatives of
//              sum_n w_n ln alpha_n(n)
// Hypotheses H1 every class has a positive weight and f_n does not vanish
// Check      the derivative of the objective on generic symbols (M = 3, two classes, one shared
//            token), taken of the code that training runs; central differences on Syn-Small and,
//            in a search, on random classes of unequal probabilities and two queries
// Controls   the projection I - f f' left out; the norm of f left out
// Uses       rung flow

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "popgrad/identity.hpp"
#include "popgrad/scan_snap/features.hpp"
#include "popgrad/scan_snap/population_flow.hpp"
#include "popgrad/scan_snap/response.hpp"
#include "theorems/scan_snap/examples.hpp"
#include "theorems/scan_snap/statements.hpp"

namespace popgrad::theorems::scan_snap {
namespace {

constexpr Knob class_count{.name = "classes",
                           .meaning = "classes K",
                           .low = 1,
                           .high = 6,
                           .usual = 2,
                           .spacing = Spacing::whole};
constexpr Knob common_count{.name = "common-tokens",
                            .meaning = "tokens that all classes have",
                            .low = 0,
                            .high = 4,
                            .usual = 2,
                            .spacing = Spacing::whole};
constexpr Knob common_weight{.name = "common-weight",
                             .meaning = "weight of a common token in units of a distinct one",
                             .low = 1e-3,
                             .high = 1e3,
                             .usual = 1,
                             .spacing = Spacing::logarithmic};
constexpr Knob state_size{.name = "size-of-the-state",
                          .meaning = "standard deviation of the entries of Y and Z",
                          .low = 0.01,
                          .high = 10,
                          .usual = 1,
                          .spacing = Spacing::logarithmic};

// The attention part of the field by the formula as a control has it; Y by rows, full columns.
template <class T>
Vector<T> attention_part(const PopulationFlow<T>& flow, const Vector<T>& x,
                         std::string_view variant) {
  const SequenceClasses<T>& classes = flow.instance().classes;
  const Layout& layout = flow.layout();
  const Index columns = layout.columns();
  const Vector<T> f = flow.features_at(x);
  const Vector<T> multiplicity = Vector<T>::Constant(columns, T(1));
  Vector<T> rate = Vector<T>::Constant(layout.pairs(), T(0));
  for (Index n = 0; n < classes.classes(); ++n) {
    const auto at = static_cast<std::size_t>(n);
    Vector<T> logits = Vector<T>::Constant(columns, T(0));
    for (Index e = classes.first[at]; e < classes.first[at + 1]; ++e) {
      const Index row = layout.entry_row[static_cast<std::size_t>(e)];
      for (Index c = 0; c < columns; ++c) logits[c] = logits[c] + f[e] * x[row * columns + c];
    }
    Vector<T> residual(columns);
    respond(static_cast<const T*>(logits.data()), multiplicity, layout.class_column[at],
            residual.data());
    const T along = logits.dot(residual);
    T total(0);  // of f: the norm of c is 1/total
    for (Index e = classes.first[at]; e < classes.first[at + 1]; ++e) total = total + f[e];
    for (Index e = classes.first[at]; e < classes.first[at + 1]; ++e) {
      const Index row = layout.entry_row[static_cast<std::size_t>(e)];
      T g(0);
      for (Index c = 0; c < columns; ++c) g = g + x[row * columns + c] * residual[c];
      T part = variant == "no-projection" ? T(f[e] * g) : T(f[e] * (g - f[e] * along));
      if (variant == "no-norm") part = part / total;
      T& to = rate[layout.entry_pair[static_cast<std::size_t>(e)]];
      to = to + flow.instance().attention_rate * classes.weight[n] * part;
    }
  }
  return rate;
}

// The field, with the attention part of a control put in its place.
template <class T>
Vector<T> field(const PopulationFlow<T>& flow, const Vector<T>& x, std::string_view variant) {
  Vector<T> rate(x.size());
  flow.rhs(x, rate, T(0));
  if (!variant.empty()) rate.tail(flow.layout().pairs()) = attention_part(flow, x, variant);
  return rate;
}

Truth symbolic_gradient(std::string_view variant) {
  TrainingInstance<Expression> instance;
  SequenceClasses<Expression>& classes = instance.classes;
  classes.tokens = 3;
  classes.query = {0, 0};
  classes.next = {0, 1};
  classes.first = {0, 2, 4};
  classes.token = {0, 1, 0, 2};
  classes.law = symbols("P", 4);
  classes.weight = symbols("w", 2);
  instance.decoder_rate = symbol("eta_Y");
  instance.attention_rate = symbol("eta_Z");
  const PopulationFlow<Expression> flow(instance);
  const Vector<Expression> x = symbols("x", flow.dimension());
  const Vector<Expression> rate = field(flow, x, variant);
  const Expression objective = -flow.loss(x);
  const Index table = flow.layout().rows() * flow.layout().columns();
  Truth all = Truth::yes;
  for (Index i = 0; i < x.size(); ++i) {
    const Expression& eta = i < table ? instance.decoder_rate : instance.attention_rate;
    const Expression slope = objective.diff(GiNaC::ex_to<GiNaC::symbol>(x[i]));
    const Truth one = vanishes(Expression(eta * slope - rate[i]));
    if (one == Truth::no) return Truth::no;
    if (one == Truth::undecided) all = Truth::undecided;
  }
  return all;
}

struct Difference {
  double largest = 0;
  std::string where;
};

// Syn-Small, or random classes of two queries, likely in unequal shares.
SequenceClasses<double> chosen_classes(const Setting& setting) {
  if (!setting.only_what_varies) return syn_small<double>();
  Stream stream(setting.seed, 1, 0);
  SequenceClasses<double> classes =
      random_classes(stream, setting.count(class_count), setting.count(common_count), 3,
                     setting.value(common_weight), 25);
  for (Index n = 0; n < classes.classes(); ++n) {
    classes.query[static_cast<std::size_t>(n)] = static_cast<Index>(stream.index(2));
    classes.weight[n] = stream.uniform();
  }
  classes.weight /= classes.weight.sum();
  return classes;
}

// Largest |central difference - field| over a generic point, relative to the largest component of
// the field, or to 0.01 where training is all but over.
Difference finite_differences(const Setting& setting, double size, std::string_view variant) {
  TrainingInstance<double> instance;
  instance.classes = chosen_classes(setting);
  instance.start = Start::uniform;  // full columns
  const PopulationFlow<double> flow(instance);
  Stream stream(setting.seed, 0, 0);
  Vector<double> x(flow.dimension());
  for (double& value : x) value = size * stream.normal();
  const Vector<double> rate = field(flow, x, variant);
  const double largest = std::max(rate.cwiseAbs().maxCoeff(), 0.01);
  // Two step sizes; their combination has an error of order step^4, in units of 1/size.
  const double step = 1e-3 / std::max(1.0, size);
  const auto slope = [&](Index i, double width) {
    Vector<double> shifted = x;
    shifted[i] += width;
    const double above = flow.loss(shifted);
    shifted[i] -= 2 * width;
    return (flow.loss(shifted) - above) / (2 * width);
  };
  Difference found;
  for (Index i = 0; i < x.size(); ++i) {
    const double extrapolated = (4 * slope(i, step / 2) - slope(i, step)) / 3;
    const double apart = std::fabs(extrapolated - rate[i]) / largest;
    if (apart > found.largest) {
      found = {apart, flow.state_names()[static_cast<std::size_t>(i)]};
    }
  }
  return found;
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const double size = setting.value(state_size);
  result.parameters = {{"symbols", "M = 3, K = 2"},
                       {"instance", setting.only_what_varies ? "random classes" : "syn-small"},
                       {"classes", setting.count(class_count)},
                       {"common tokens", setting.count(common_count)},
                       {"common weight", setting.value(common_weight)},
                       {"size of the state", size},
                       {"seed", setting.seed}};
  if (!setting.only_what_varies) {
    result.evidence.push_back(identity(EvidenceKind::symbolic,
                                       "derivatives of the objective minus the field",
                                       symbolic_gradient(variant), "generic P, w, Y, Z"));
  }
  const Difference apart = finite_differences(setting, size, variant);
  const double enlarged = std::max(1.0, size);
  result.evidence.push_back(bounded(EvidenceKind::numerical,
                                    "central differences minus the field, relative", apart.largest,
                                    1e-9 * enlarged * enlarged,
                                    "rounding 1e-16/step with step 1e-3, and step^4 = 1e-12; for "
                                    "a state of size s > 1 logits and 1/step are s times as large",
                                    "worst at " + apart.where));
  return result;
}

}  // namespace

Statement gradient() {
  return {.id = "scan-snap.gradient",
          .claim = "the training formulas are the gradient of the log-likelihood",
          .paper = "arXiv 2305.16380, Lemma 1",
          .status = "proved in source",
          .hypotheses = {"every class has a positive weight and f_n does not vanish"},
          .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
          .controls = {{"no-projection", "I - f f' left out of the attention part"},
                       {"no-norm", "attention weights in place of normalised features"}},
          .knobs = {class_count, common_count, common_weight, state_size},
          .examine_variant = examine};
}

}  // namespace popgrad::theorems::scan_snap
