#include "theory_files/account.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <string_view>
#include <vector>

#include "formulas/print.hpp"
#include "formulas/written.hpp"
#include "learning/entry_error.hpp"
#include "learning/loss_rung.hpp"
#include "popgrad/base/memory.hpp"
#include "popgrad/learning/residual.hpp"
#include "theory_files/file_statements.hpp"
#include "theory_files/loss_symmetries.hpp"

namespace popgrad::theory_files {
namespace account_cpp {
namespace {

using learning::Draw;
using learning::LossArrays;

std::string law_of(const Draw& draw) {
  const auto entries = static_cast<double>(formulas::entries(draw.variable.shape()));
  return draw.is_finite() ? fmt::format("finite, {:.6g} values", draw.values())
                          : fmt::format("a density of {:g} numbers", entries);
}

// Whether an observable or a statement has `law='NAME'`.
bool is_read(const LossLaw& law, const TheoryFile& file) {
  std::vector<std::string> formulas;
  for (const LossObservable& o : file.loss.observables) formulas.push_back(o.formula);
  for (const StatementText& s : file.statements) {
    formulas.push_back(s.measure.formula);
    formulas.push_back(s.predict.formula);
  }
  return std::ranges::any_of(formulas, [&](const std::string& formula) {
    return formula.find("'" + law.name + "'") != std::string::npos ||
           formula.find("\"" + law.name + "\"") != std::string::npos;
  });
}

// In one line, as the file would have it; not where it is too long to read.
std::string text_of(const formulas::Array& part) {
  constexpr std::size_t longest = 60;
  const std::string text = formulas::syntax::to_numpy(formulas::written(part).tree);
  return text.size() <= longest ? text : text.substr(0, longest) + "...";
}

void add_parts(std::string& text, const LossArrays& arrays,
               const learning::ExpectedLoss& expected) {
  text += "\nexpectation of each summand of the loss\n";
  const std::vector<formulas::Array> parts = arrays.parts();
  for (std::size_t k = 0; k < parts.size(); ++k)
    text += fmt::format("  {:<62} {}\n", text_of(parts[k]), expected.ways[k]);
  if (!expected.observables.ways.empty()) text += "\nexpectations of observables\n";
  for (const std::string& way : expected.observables.ways) text += fmt::format("  {}\n", way);
}

// Seconds of an evaluation of the field at the start.
double seconds_of_field(const learning::LossFlow<double>& flow) {
  const Vector<double> x = flow.initial();
  Vector<double> dx(x.size());
  double least = 1e300;
  constexpr int times = 3;
  for (int k = 0; k < times; ++k) {
    const auto begin = std::chrono::steady_clock::now();
    flow.rhs(x, dx, 0);
    least = std::min(
        least, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return least;
}

// Directions in which second derivatives vanish at every critical point.
std::string symmetries_text(const LossArrays& arrays, const learning::ExpectedLoss& expected) {
  formulas::Evaluator<double> gradient =
      learning::prepared(expected.slopes, arrays, learning::parameter_values<double>(arrays));
  const LossSymmetries found(arrays, [&](const Vector<double>& x, Vector<double>& slope) {
    learning::set_states(gradient, arrays, x);
    gradient.run();
    learning::read_outputs(gradient, expected.slopes.size(), slope);
  });
  std::string text;
  const auto add = [&](int count, const char* what, const std::vector<std::string>& states) {
    if (count > 0) {
      text += fmt::format("loss: {} {}{} of {}\n", what, count,
                          count > 1 ? " directions" : " direction", fmt::join(states, ", "));
    }
  };
  add(found.unread, "does not read", found.unread_of);
  add(found.others, "symmetric along", found.others_of);
  return text;
}

void add_costs(std::string& text, const TheoryFile& file, const LossArrays& arrays,
               const learning::ExpectedLoss& expected) {
  const SampleLoss& loss = file.loss;
  const auto instance = learning::loss_instance(loss, Parameters(loss.name), 1);
  double numbers = 0;
  for (const Draw& draw : expected.draws)
    numbers += static_cast<double>(formulas::entries(draw.variable.shape()));
  text += fmt::format("\nstate: {} numbers\n", arrays.dimension());
  if (expected.sampled) {
    text += fmt::format("memory: {} for {} samples of {:g} numbers\n",
                        bytes_text(numbers * sizeof(double) * static_cast<double>(loss.samples)),
                        loss.samples, numbers);
  }
  text += fmt::format("field: {:.2g} s an evaluation, measured at the start\n",
                      seconds_of_field(learning::LossFlow<double>(instance)));
  const std::string jumps = arrays.no_gradient();
  text += jumps.empty() ? "field: minus the gradient of the expected loss, times the rates\n"
                        : "field: no gradient of the expected loss: " + jumps + "\n";
  if (jumps.empty() && !expected.sampled) text += symmetries_text(arrays, expected);
}

void add_residuals(std::string& text, const TheoryFile& file) {
  const std::vector<Residual> all = residuals(file.loss);
  if (!all.empty()) text += "\nreductions, closed forms and invariants\n";
  for (const Residual& residual : all) text += fmt::format("  {}\n", to_text(residual));
}

// Whether the file types where one size is another.
void add_other_sizes(std::string& text, const TheoryFile& file) {
  const SampleLoss& loss = file.loss;
  if (loss.sizes.empty()) return;
  text += "\nother sizes\n";
  for (const LossSize& size : loss.sizes) {
    const long other =
        static_cast<double>(size.value) + 1 <= size.range.high ? size.value + 1 : size.value - 1;
    if (static_cast<double>(other) < size.range.low) continue;
    Parameters given(loss.name);
    given.set(size.name, other);
    std::string found = "all shapes match";
    try {
      const LossArrays arrays(loss, given);
    } catch (const learning::EntryError& error) {
      const bool numbers = error.reason().starts_with("numbers of shape");
      found = numbers ? fmt::format("needs other numbers for {}", error.entry())
                      : located(file, error).what();
    }
    text += fmt::format("  {} = {}: {}\n", size.name, other, found);
  }
}

}  // namespace
}  // namespace account_cpp

std::string account_of(TheoryFile& file) {
  using namespace account_cpp;
  const Theory theory = theory_of(file, false);
  const SampleLoss& loss = file.loss;
  LossArrays arrays(loss, Parameters(loss.name));
  std::string text =
      fmt::format("{}: {}\n", loss.name, file.title.empty() ? "no title" : file.title);
  if (!file.unread.empty())
    text += fmt::format("of a later version and not read: {}\n", fmt::join(file.unread, ", "));
  text += "\nshapes\n";
  for (const learning::NamedEntry& entry : arrays.entries) {
    text +=
        fmt::format("  {:<12} {:<16} {}\n", entry.kind, entry.name,
                    entry.array.rank() == 0 ? "a number" : formulas::to_text(entry.array.shape()));
  }
  if (!arrays.draws.empty()) text += "\nlaws\n";
  for (const Draw& draw : arrays.draws)
    text += fmt::format("  {:<16} {}\n", draw.name(), law_of(draw));
  for (const LossLaw& law : loss.laws) {
    if (!is_read(law, file))
      text += fmt::format("  law.{}: not used; an observable reads expected(..., law='{}')\n",
                          law.name, law.name);
  }
  if (!loss.loss.empty()) {
    const learning::ExpectedLoss expected(arrays, loss);
    add_parts(text, arrays, expected);
    add_costs(text, file, arrays, expected);
  }
  std::vector<std::string> names;
  for (const RungInfo& rung : theory.model->rungs()) names.push_back(rung.name);
  text += fmt::format("rungs: {}\n", fmt::join(names, ", "));
  try {
    check_statements(file);
    add_residuals(text, file);
  } catch (const InputError& error) {  // of laws that do not follow from their map
    throw located(file, error);
  }
  add_other_sizes(text, file);
  return text;
}

std::string skeleton(const std::string& name) {
  return fmt::format(R"toml(# A theory for popgrad. Try:
#   popgrad check {0}.toml
#   popgrad run {0}.toml flow -o -
#   popgrad compare {0}.toml sgd gd --eta 0.05
#   popgrad equations {0}.toml flow
# Formulas are strings in NumPy's notation. Order means nothing; indices count from 0.
format = 1
theory = {{ name = "{0}", title = "Logistic regression on random bits", paper = "derived here" }}

[sizes]                            # whole numbers; --d 5 changes one
d = {{ value = 3, meaning = "inputs" }}

[parameters]                       # numbers become flags (--beta 3), arrays keys of --instance
beta  = {{ value = 2, require = "> 0", meaning = "inverse temperature of the teacher" }}
scale = {{ value = 0, meaning = "size of the weights at first" }}

[constants]                        # formulas of parameters and sizes
teacher = "beta * ones(d) / sqrt(d)"

[draw]                             # one sample; each call of a law is a new variable
b = "bernoulli(1/2, d)"            # also: index(n), categorical(p), normal(d), uniform(d)
y = "bernoulli(sigmoid(teacher @ (2 * b - 1)))"

[state]                            # what is trained, with its start; without one it starts at 0
w = {{ start = "scale * ones(d)", meaning = "weights" }}

[loss]                             # of one sample; its last step is called loss
x      = "2 * b - 1"
margin = "w @ x"
loss   = "softplus(margin) - y * margin"

[training]
t1   = 20                          # where --t1 is not given
rate = {{ w = 1 }}                   # times the learning rate

[observables]                      # columns of the results; `loss` is there already
overlap  = {{ formula = "w @ teacher / beta", meaning = "with the teacher's direction" }}
accuracy = "expected(where(margin > 0, y, 1 - y))"
)toml",
                     name);
}

}  // namespace popgrad::theory_files
