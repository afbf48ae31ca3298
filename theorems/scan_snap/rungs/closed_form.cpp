#include "theorems/scan_snap/rungs/closed_form.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "popgrad/base/error.hpp"
#include "popgrad/scalars/real.hpp"
#include "theorems/scan_snap/rungs/equal_classes.hpp"
#include "theorems/scan_snap/rungs/features.hpp"
#include "theorems/scan_snap/rungs/layout.hpp"
#include "theorems/scan_snap/rungs/observables.hpp"

namespace popgrad::scan_snap {
namespace {

constexpr const char* of_closed_form = "scan-snap closed-form";
/// Classes count as alike if their parts of the common token agree to this, which is what inputs
/// are given to.
constexpr double parts_alike = 1e-9;

}  // namespace

template <class T>
CommonToken<T> common_token(const TrainingInstance<T>& instance) {
  const SequenceClasses<T>& classes = instance.classes;
  require_equal_classes(classes, of_closed_form);
  const Layout layout = lay_out(classes, true);
  const std::vector<Index> owners = classes_of_tokens(classes);
  const auto common = std::count_if(owners.begin(), owners.end(), [](Index k) { return k > 1; });
  if (common != 1) {
    reject(of_closed_form, "P", fmt::format("with {} common tokens", common),
           "must have exactly one, such as --preset growth; use the rung 'reduced'");
  }
  if (instance.start != Start::zero) {
    reject(of_closed_form, "--start", "uniform", "must be zero: h describes Y = 0 at t = 0");
  }
  for (const auto& [name, given] :
       {std::pair{"Y", &instance.decoder_start}, {"Z", &instance.logit_start}}) {
    if (given->size() == 0) continue;
    reject(of_closed_form, name, "given",
           "must be 0 at t = 0; leave it out, or take the rung 'flow'");
  }
  const Index k = classes.classes();
  const Index token =
      std::find_if(owners.begin(), owners.end(), [](Index n) { return n > 1; }) - owners.begin();
  if (owners[static_cast<std::size_t>(token)] != k) {
    reject(of_closed_form, "P",
           fmt::format("whose common token is in {} of {} classes",
                       owners[static_cast<std::size_t>(token)], k),
           "must have it in all of them; use the rung 'reduced'");
  }
  std::vector<int> members(layout.query_token.size(), 0);
  for (const Index q : layout.class_query) ++members[static_cast<std::size_t>(q)];
  if (std::any_of(members.begin(), members.end(), [&](int m) { return m != members.front(); })) {
    reject(of_closed_form, "psi", "of unequal shares",
           "must give every query as many classes; use the rung 'reduced'");
  }
  Vector<T> f;
  features(classes, layout, Vector<T>(Vector<T>::Constant(layout.pairs(), T(0))), f);
  CommonToken<T> found;
  bool first = true;
  for (Index e = 0; e < classes.entries(); ++e) {
    if (classes.token[static_cast<std::size_t>(e)] != token) continue;
    if (first) found.component = f[e];
    first = false;
    if (!(std::fabs(to_double(T(f[e] / found.component)) - 1) <= parts_alike)) {
      reject(of_closed_form, "P", "with a common token of unequal parts of f",
             "must have it alike in all classes; use the rung 'reduced'");
    }
  }
  found.vocabulary = T(static_cast<int>(classes.tokens));
  found.decoder_rate = instance.decoder_rate;
  found.attention_rate = instance.attention_rate;
  found.classes = static_cast<int>(k);
  found.classes_of_query = members.front();
  found.weight = instance.clock == Clock::consistent ? T(T(1) / T(found.classes)) : T(1);
  return found;
}

namespace {

template <class T>
struct Readings {
  using Scalar = T;
  T h{}, gamma{}, Gamma{}, B{}, B_paper{}, B_eqn_13{};
};

template <class T>
const std::vector<Observable<Readings<T>>>& observable_table() {
  using R = Readings<T>;
  static const std::vector<ObservableInfo> decoder = decoder_observables();
  static const std::vector<Observable<R>> table{
      {decoder[0], &R::h},
      {decoder[1], &R::gamma},
      {{"Gamma", "`eta_Z int_0^t gamma = (eta_Z/eta_Y) K (M-1)^2 h^2/2`", "`>= 0`",
        "driving accumulated"},
       &R::Gamma},
      {{"B", "`ln(1 + 4 w K_m Gamma/C0)/(4 K_m)`, `C0 = 1/((K-1) f_c^4)`", "`>= 0`",
        "Theorem 4, constant and `K_m` corrected; `z` of the common token is `-K_m B`"},
       &R::B},
      {{"B_paper", "`ln(C0 + 4 Gamma)/4` with the paper's `C0 = 1/(K f_c^4)`", "real",
        "Eqn 14, not 0 at `t = 0`"},
       &R::B_paper},
      {{"B_eqn_13", "`ln(1 + 4 Gamma/C0)/4` with the paper's `C0`", "`>= 0`",
        "Theorem 4, constant corrected only: Eqn 13 integrated from 0"},
       &R::B_eqn_13}};
  return table;
}

}  // namespace

std::vector<ObservableInfo> closed_form_observables() {
  return infos_of(observable_table<double>());
}

template <class T>
AnyRung<T> closed_form_rung(const TrainingInstance<T>& instance) {
  const CommonToken<T> token = common_token(instance);
  AnyRung<T> rung;
  rung.dimension = 4;
  rung.initial = Vector<T>::Constant(4, T(0));
  rung.observables.columns = names_of(closed_form_observables());
  rung.state_names = {"h", "Gamma", "B", "z_common"};
  rung.field.state_at = [token](const T& t) {
    const T h = decoder_scale(token.vocabulary, token.decoder_rate, T(t / T(token.classes)));
    const T accumulated = accumulated_scale(token, h);
    Vector<T> state(4);
    state << h, accumulated, growth_exponent(token, accumulated), common_logit(token, accumulated);
    return state;
  };
  rung.observables.read = [token](const Vector<T>& state, const T& /*t*/, std::span<T> row) {
    write_row(observable_table<T>(),
              Readings<T>{state[0], backprop_scale(token.vocabulary, state[0]), state[1], state[2],
                          growth_exponent_of_paper(token, state[1]),
                          growth_exponent_of_eqn_13(token, state[1])},
              row);
  };
  rung.clone = [instance] { return closed_form_rung(instance); };
  return rung;
}

template CommonToken<double> common_token(const TrainingInstance<double>&);
template CommonToken<Real> common_token(const TrainingInstance<Real>&);
template AnyRung<double> closed_form_rung(const TrainingInstance<double>&);
template AnyRung<Real> closed_form_rung(const TrainingInstance<Real>&);

}  // namespace popgrad::scan_snap
