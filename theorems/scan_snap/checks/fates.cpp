#include <Eigen/QR>

#include "theorems/scan_snap/checks/fates_instance.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/rungs/backprop.hpp"

namespace popgrad::scan_snap::checks::fates {
namespace {

Statement sheet{.id = "scan-snap.fates",
                .paper = "arXiv 2305.16380, Theorem 2",
                .status = "proved in source, here at any overlap of one common token",
                .about = "the reduced flow, the flow of a fast decoder",
                .theorem = R"(
On the reduced flow with one common token c, at any overlap, with
  S_n = f_nc^2/(1 - f_nc^2),  a_n = f_nc/(1 - f_nc^2),
S and A their sums over the classes, and q1 = M/(M-1), q0 = -M/(M-1)^2,
  xi_n = gamma (q1 S_n (S - S_n) - q0 a_n (A - a_n))/(1 + S) > 0,
distinct tokens l of n gain and the common one loses:
  z_l' =  eta_Z w f_nl^2 xi_n > 0
  z_c' = -eta_Z w sum_{n: psi(n) = m} (1 - f_nc^2) xi_n < 0;
fast-decoder has the same z'/eta_Z in the limit eta_Z -> 0.)",
                .hypotheses = {single_common, everywhere, equally_likely},
                .reaches = {EvidenceKind::numerical},
                .false_version = "frequent",
                .knobs = fates_knobs(),
                .reads = "reduced"};

const Clause on_reduced = sheet.clause(
    "distinct tokens gain attention and a single common token loses it, by `xi_n > 0`");
const Clause on_fast_decoder = sheet.clause("on fast-decoder as well, as `eta_Z -> 0`");

const Control own_included = sheet.control("own-included", "`S` in place of `S - S_n`");
const Control overlap_only = sheet.control("overlap-only", "no term `q0`, as if `M` were infinite");
const Control undamped = sheet.control("undamped", "`z_c'` without `1 - f_nc^2`");

const Rival frequent = sheet.rival(
    "frequent", "tokens gain that are frequent in a class and rare ones lose, common or not",
    "a rate and a threshold");

constexpr double tolerance = 1e-10;

enum class Form { claimed, own_included, overlap_only, undamped };

template <class T>
using Array = Eigen::Array<T, Eigen::Dynamic, 1>;

// Sums over all but one: a term that exceeds the others by far would leave roundings of itself if
// it were taken off again.
template <class T>
Array<T> sums_of_others(const Array<T>& terms) {
  Array<T> sums(terms.size());
  for (Index n = 0; n < terms.size(); ++n) {
    Array<T> others = terms;
    others[n] = T(0);
    sums[n] = others.sum();
  }
  return sums;
}

// xi_n/gamma from f_nc of all classes.
template <class T>
Array<T> relative_xi(const Array<T>& f, const T& vocabulary, Form form) {
  const Array<T> a = f / (T(1) - f.square());
  const Array<T> s = f * a;
  const T sum = s.sum();
  const Array<T> others =
      form == Form::own_included ? Array<T>::Constant(f.size(), sum) : sums_of_others(s);
  const T finite = form == Form::overlap_only ? T(0) : T(-cross_scale(vocabulary));
  return (own_scale(vocabulary) * s * others + finite * a * sums_of_others(a)) / (T(1) + sum);
}

// A number for every distinct token, z_l'/f_nl^2, then z_c' for every query; over eta_Z w gamma.
template <class T>
Vector<T> predicted(const FatesInstance& instance, const Vector<T>& f, Form form) {
  const Array<T> common = instance.common_parts(f);
  const Array<T> xi = relative_xi<T>(common, T(instance.vocabulary()), form);
  const Array<T> losses = form == Form::undamped ? xi : Array<T>(xi * (T(1) - common.square()));
  return instance.numbers_by<T>(xi, losses);
}

// `of_form` gives the predictions of a form.
Comparison compared(const char* what, const std::vector<Quantity>& measured, const auto& of_form) {
  return equal(what, measured, of_form(Form::claimed))
      .unless(own_included, of_form(Form::own_included))
      .unless(overlap_only, of_form(Form::overlap_only))
      .unless(undamped, of_form(Form::undamped));
}

template <class T>
void judge_reduced(const FatesInstance& instance, double end, Examination& it) {
  const ReducedFlow<T> flow(training_in<T>(instance.training()));
  const SolvedIn<T> run(forget_type(flow), {end / 64, end / 8, end}, tolerance);
  auto found = read_all(run, instance.numbers(), [&](const Vector<T>& x) {
    const T& h = x[flow.layout().pairs()];
    return instance.measured(flow, x, backprop_scale(T(instance.vocabulary()), h));
  });
  const auto of_form = [&](Form form) {
    return read_all(run, instance.numbers(), [&](const Vector<T>& x) {
      return predicted(instance, flow.features_at(x), form);
    });
  };
  add_rounding_of_gram(run, flow, found);
  // z_l' = r sum_n (f_nl^2 - threshold), by least squares.
  const auto by_frequency = [&] {
    const auto basis = [&](bool squares) {
      const std::vector<Quantity> numbers =
          read_all(run, instance.numbers(), [&](const Vector<T>& x) {
            const Vector<T> f = flow.features_at(x);
            Vector<T> rate = Vector<T>::Zero(flow.layout().pairs());
            for (Index e = 0; e < f.size(); ++e) {
              rate[flow.layout().entry_pair[static_cast<std::size_t>(e)]] +=
                  squares ? T(f[e] * f[e]) : T(-1);
            }
            return instance.measured(rate, f, T(1));
          });
      Vector<double> values(std::ssize(numbers));
      for (Index i = 0; i < values.size(); ++i) {
        values[i] = numbers[static_cast<std::size_t>(i)].value();
      }
      return values;
    };
    Matrix<double> bases(std::ssize(found), 2);
    bases << basis(true), basis(false);
    Vector<double> all(bases.rows());
    for (Index i = 0; i < all.size(); ++i) all[i] = found[static_cast<std::size_t>(i)].value();
    const Vector<double> fitted = bases * bases.colPivHouseholderQr().solve(all);
    return std::vector<Quantity>(fitted.begin(), fitted.end());
  };
  it.judge(on_reduced, compared("`z'/(eta_Z w gamma)` on reduced", found, of_form)
                           .against(frequent, instead(by_frequency)));
}

// From three rates of attention, so small that logits stay below a hundredth.
template <class T>
void judge_fast_decoder(const FatesInstance& instance, double end, Examination& it) {
  TrainingInstance<double> slow = instance.training();
  slow.clock = Clock::consistent;  // w = 1/K in either reading of Eqn 10
  const T draws = T(end) / T(slow.classes.classes());
  const T m(instance.vocabulary());
  const T gamma = backprop_scale(m, decoder_scale(m, T(slow.decoder_rate), draws));
  const auto found = [&](double rate) {
    slow.attention_rate = rate;
    const FatesInstance slowed(slow);
    const PopulationFlow<T> flow(training_in<T>(slow), DecoderRule::fast);
    return read_all(SolvedIn<T>(forget_type(flow), {end}, tolerance), instance.numbers(),
                    [&](const Vector<T>& x) { return slowed.measured(flow, x, gamma); });
  };
  const auto of_form = [&](Form form) {
    std::vector<Quantity> values;
    for (const T& value : predicted(instance, instance.start<T>(), form)) {
      values.emplace_back(to_double(value));
    }
    return values;
  };
  const std::vector<Quantity> limits = limits_of(found, 0.01 / (end * to_double(gamma)), 2, 3);
  it.judge(on_fast_decoder,
           compared("`z'/(eta_Z w gamma)` on fast-decoder as `eta_Z -> 0`", limits, of_form));
}

void examine(const Setting& setting, Examination& it) {
  const FatesInstance instance(setting);
  const double end = setting.value(horizon);
  it.parameters = instance.parameters();
  it.parameters["t"] = end;
  it.parameters["seed"] = setting.seed;
  instance.require_hypotheses(it);
  if (instance.commons() == 0) return;
  in_refined_digits([&]<class T>() {
    judge_reduced<T>(instance, end, it);
    judge_fast_decoder<T>(instance, end, it);
  });
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scan_snap::checks::fates
