#include "theory_files/training_script.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "formulas/gradient.hpp"
#include "formulas/print.hpp"
#include "formulas/written.hpp"
#include "learning/loss_rung.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/scalars/scalar.hpp"

namespace popgrad::theory_files {
namespace training_script_cpp {
namespace {

using formulas::Array;
using formulas::syntax::absent;
using formulas::syntax::Kind;
using formulas::syntax::Node;
using formulas::syntax::Tree;
using learning::Draw;
using learning::Law;
using learning::LossArrays;

using Definitions = std::map<std::string, std::string, std::less<>>;

// Definitions of the functions that formulas print, by name. `index` is of array indices.
Definitions torch_definitions() {
  Definitions made{
      {"where",
       "def where(condition, a, b):\n    return torch.where(torch.as_tensor(condition), "
       "array(a), array(b))"},
      {"index", "def index(i):\n    return array(i).round().long()"},
      {"sum",
       "def sum(x, axis=None):\n    return torch.sum(x) if axis is None else torch.sum(x, axis)"},
      {"mean",
       "def mean(x, axis=None):\n    return torch.mean(x) if axis is None else torch.mean(x, "
       "axis)"},
      {"prod",
       "def prod(x, axis=None):\n    return torch.prod(x) if axis is None else torch.prod(x, "
       "axis)"},
      {"max",
       "def max(x, axis=None):\n    return torch.amax(x) if axis is None else torch.amax(x, "
       "axis)"},
      {"min",
       "def min(x, axis=None):\n    return torch.amin(x) if axis is None else torch.amin(x, "
       "axis)"},
      {"argmax",
       "def argmax(x, axis=None):\n    return torch.argmax(x, "
       "axis).to(torch.get_default_dtype())"},
      {"norm",
       "def norm(x, axis=None):\n    return torch.sqrt(torch.sum(x**2) if axis is None else "
       "torch.sum(x**2, axis))"},
      {"logsumexp",
       "def logsumexp(x, axis=None):\n    return torch.logsumexp(x.reshape(-1), 0) if axis is "
       "None else torch.logsumexp(x, axis)"},
      {"cumsum", "def cumsum(x, axis=0):\n    return torch.cumsum(x, axis)"},
      {"softmax", "def softmax(x, axis=0):\n    return torch.softmax(x, axis)"},
      {"log_softmax", "def log_softmax(x, axis=0):\n    return torch.log_softmax(x, axis)"},
      {"concatenate",
       "def concatenate(parts, axis=0):\n    return torch.cat([array(x) for x in parts], axis)"},
      {"one_hot", "def one_hot(i, n):\n    return torch.eye(n)[index(i)]"},
      {"arange", "def arange(*n):\n    return torch.arange(*n).to(torch.get_default_dtype())"},
      {"stop_gradient", "def stop_gradient(x):\n    return array(x).detach()"},
      {"softplus", "def softplus(x):\n    return torch.logaddexp(array(x), torch.zeros(()))"},
      {"gelu", "def gelu(x):\n    return torch.nn.functional.gelu(array(x))"},
      {"inv", "inv = torch.linalg.inv"},
      {"cholesky", "cholesky = torch.linalg.cholesky"},
      {"solve", "solve = torch.linalg.solve"},
      {"eigvalsh", "eigvalsh = torch.linalg.eigvalsh"},
  };
  for (const char* name : {"eye", "ones", "zeros", "diag", "einsum", "outer", "trace", "reshape"})
    made.emplace(name, fmt::format("{0} = torch.{0}", name));
  for (const char* name : {"exp", "log", "sqrt", "sin", "cos", "tanh", "sigmoid", "erf", "asin",
                           "atan2", "abs", "sign", "relu", "floor", "minimum", "maximum"})
    made.emplace(name, fmt::format("def {0}(*x):\n    return torch.{0}(*map(array, x))", name));
  return made;
}

Definitions numpy_definitions() {
  Definitions made{
      {"index", "def index(i):\n    return np.rint(i).astype(int)"},
      {"argmax", "def argmax(x, axis=None):\n    return np.argmax(x, axis).astype(float)"},
      {"norm", "def norm(x, axis=None):\n    return np.sqrt(np.sum(x**2, axis))"},
      {"logsumexp",
       "def logsumexp(x, axis=None):\n    return np.logaddexp.reduce(np.ravel(x) if axis is None "
       "else x, 0 if axis is None else axis)"},
      {"cumsum", "def cumsum(x, axis=0):\n    return np.cumsum(x, axis)"},
      {"softmax",
       "def softmax(x, axis=0):\n    e = np.exp(x - np.max(x, axis, keepdims=True))\n    return e "
       "/ np.sum(e, axis, keepdims=True)"},
      {"log_softmax",
       "def log_softmax(x, axis=0):\n    return x - np.logaddexp.reduce(x, axis, keepdims=True)"},
      {"one_hot", "def one_hot(i, n):\n    return np.eye(n)[index(i)]"},
      {"arange", "def arange(*n):\n    return np.arange(*n, dtype=float)"},
      {"ones", "def ones(*shape):\n    return np.ones(np.ravel(shape).astype(int))"},
      {"zeros", "def zeros(*shape):\n    return np.zeros(np.ravel(shape).astype(int))"},
      {"stop_gradient", "def stop_gradient(x):\n    return x"},
      {"sigmoid", "def sigmoid(x):\n    return np.exp(-np.logaddexp(0, -x))"},
      {"softplus", "def softplus(x):\n    return np.logaddexp(0, x)"},
      {"relu", "def relu(x):\n    return np.maximum(x, 0)"},
      {"erf", "erf = np.vectorize(math.erf, otypes=[float])"},
      {"gelu",
       "gelu = np.vectorize(lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2, otypes=[float])"},
      {"asin", "asin = np.arcsin"},
      {"atan2", "atan2 = np.arctan2"},
  };
  for (const char* name :
       {"where", "sum",   "mean",  "prod",    "max",   "min",     "eye",     "concatenate",
        "diag",  "outer", "trace", "reshape", "exp",   "log",     "sqrt",    "sin",
        "cos",   "tanh",  "abs",   "sign",    "floor", "minimum", "maximum", "einsum"})
    made.emplace(name, fmt::format("{0} = np.{0}", name));
  for (const char* name : {"inv", "solve", "eigvalsh", "cholesky"})
    made.emplace(name, fmt::format("{0} = np.linalg.{0}", name));
  return made;
}

// How a library writes what is not in formulas.
struct Dialect {
  std::string name;  // in messages
  Definitions definitions;
  std::string head;    // imports, `array` and `generator`
  std::string normal;  // of a shape, from `random`
  std::string uniform;
  std::string truth;       // of a comparison, as numbers
  std::string categories;  // of probabilities and uniform numbers
};

Dialect dialect_of(Library library) {
  if (library == Library::torch) {
    return {.name = "PyTorch",
            .definitions = torch_definitions(),
            .head = R"py(import torch

torch.set_default_dtype(torch.float64)
pi = torch.pi


def array(x):
    return x if torch.is_tensor(x) else torch.tensor(x, dtype=torch.float64)


def generator(seed):
    return torch.Generator().manual_seed(seed)
)py",
            .normal = "torch.randn({}, generator=random)",
            .uniform = "torch.rand({}, generator=random)",
            .truth = "({}).to(torch.float64)",
            .categories =
                "torch.searchsorted(torch.cumsum(array({}), 0)[:-1], {}, "
                "right=True).to(torch.float64)"};
  }
  return {.name = "NumPy",
          .definitions = numpy_definitions(),
          .head = R"py(import math

import numpy as np

pi = math.pi


def array(x):
    return np.asarray(x, dtype=float)


def generator(seed):
    return np.random.default_rng(seed)
)py",
          .normal = "random.standard_normal(({}))",
          .uniform = "random.random(({}))",
          .truth = "({}).astype(float)",
          .categories = "np.searchsorted(np.cumsum({})[:-1], {}, side=\"right\").astype(float)"};
}

// A name that Python takes, of a variable such as "block of x call 0".
std::string plain_name(const std::string& text) {
  std::string made;
  for (const char c : text) made += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return made;
}

class ScriptWriter {
 public:
  ScriptWriter(const SampleLoss& loss, const Parameters& given, std::uint64_t seed, Library library)
      : loss_(loss),
        given_(given),
        library_(library),
        dialect_(dialect_of(library)),
        arrays_(loss, given, {}, seed),
        start_(loss, given, seed) {
    static const std::set<std::string, std::less<>> own{
        "torch",     "np",        "math",         "csv",         "argparse",  "itertools",
        "array",     "generator", "draw_batch",   "drawn",       "random",    "mean_loss",
        "each_loss", "observed",  "first_states", "state_rates", "gradients", "row_of",
        "train",     "states",    "directions"};
    for (const learning::NamedEntry& entry : arrays_.entries) {
      if (own.contains(entry.name))
        throw InputError(fmt::format("{}: {} {} is a name of the script; give it another",
                                     loss.name, entry.kind, entry.name));
    }
  }

  std::string script() {
    const std::string law = constants();
    const std::string drawn = draws() + gradients();
    const std::string observed = observables();
    const std::string begun = starts();
    std::string text = head();
    for (const std::string& name : used_) text += "\n\n" + dialect_.definitions.at(name) + "\n";
    text += "\n\n" + law;
    text += drawn + observed + begun + training();
    return text;
  }

 private:
  // Of a batch while formulas are made; scripts have its name.
  static constexpr Index drawn_size = 2;

  // The numbers of the states at first.
  struct Start {
    Start(const SampleLoss& loss, const Parameters& given, std::uint64_t seed)
        : x(learning::LossFlow<double>(learning::loss_instance(loss, given, seed)).initial()) {}
    Vector<double> x;
  };

  // As a line of the script: names that Python takes, and indices that PyTorch takes.
  std::string line_of(const formulas::Written& written) {
    const Tree& from = written.tree;
    Tree made;
    std::vector<std::size_t> place(from.nodes.size());
    for (std::size_t k = 0; k < from.nodes.size(); ++k) {
      Node node = from.nodes[k];
      for (std::size_t& part : node.parts) {
        if (part != absent) part = place[part];
      }
      if (node.kind == Kind::name) node.text = plain_name(node.text);
      if (node.kind == Kind::call) use(node.text);
      if (library_ == Library::torch && node.kind == Kind::slice && node.parts[2] != absent) {
        throw InputError(fmt::format("{}: PyTorch has no slices with steps", loss_.name));
      }
      if (node.kind == Kind::subscript) {
        for (std::size_t i = 1; i < node.parts.size(); ++i) {
          const Kind kind = made.nodes[node.parts[i]].kind;
          if (kind == Kind::slice || kind == Kind::new_axis || kind == Kind::number ||
              kind == Kind::unary)
            continue;
          use("index");
          made.nodes.push_back({Kind::call, {}, "index", {node.parts[i]}, {}});
          node.parts[i] = made.nodes.size() - 1;
        }
      }
      made.nodes.push_back(std::move(node));
      place[k] = made.nodes.size() - 1;
    }
    return formulas::syntax::to_numpy(made);
  }
  void use(const std::string& function) {
    if (!dialect_.definitions.contains(function)) {
      throw InputError(
          fmt::format("{}: {} cannot be exported to {}", loss_.name, function, dialect_.name));
    }
    used_.insert(function);
    if (function == "one_hot") used_.insert("index");
  }

  std::string lines(const std::vector<formulas::NamedArray>& outputs, const char* indent) {
    std::string text;
    for (const formulas::Written& one : formulas::written(outputs))
      text += fmt::format("{}{} = {}\n", indent, plain_name(one.name), line_of(one));
    return text;
  }

  static std::string numbers(const auto& texts, const formulas::Shape& shape) {
    std::vector<Index> extents;
    for (const formulas::Dimension& d : shape) extents.push_back(d.extent);
    const bool number = extents.empty();
    return number ? fmt::format("array({})", fmt::join(texts, ", "))
                  : fmt::format("array([{}]).reshape({})", fmt::join(texts, ", "),
                                fmt::join(extents, ", "));
  }

  std::string constants() {
    std::string text = "# sizes and parameters\n";
    for (const LossSize& size : loss_.sizes)
      text += fmt::format("{} = {}\n", size.name,
                          given_.count(size.name, size.value, 1, 1'000'000'000));
    for (const learning::ParameterArray& p : arrays_.parameters) {
      const std::string& name = p.variable.node().text;
      text += p.formula ? lines({{name, *p.formula}}, "")
                        : fmt::format("{} = {}\n", name, numbers(p.numbers, p.variable.shape()));
      if (p.formula) text += fmt::format("{0} = array({0})\n", name);
    }
    return text;
  }
  // draw_batch makes the raw numbers of the laws; block_ is what formulas make of those of a batch.
  std::string draws() {
    read_ = learning::read_draws(arrays_.loss, arrays_.draws);
    // Any number, printed by its name.
    block_ = learning::drawn_block(arrays_, read_, formulas::Dimension{drawn_size, "batch"});
    std::string text =
        "\n\n# one sample, batch times\ndef draw_batch(batch, random):\n    drawn = {}\n";
    for (std::size_t k = 0; k < read_.size(); ++k) {
      text += fmt::format("    drawn[\"{}\"] = {}\n", plain_name(block_.variables[k].node().text),
                          drawn_numbers(read_[k], block_.variables[k]));
    }
    return text + "    return drawn\n";
  }
  std::string drawn_numbers(const Draw& draw, const Array& variable) {
    std::string shape = "batch";
    for (const formulas::Dimension& d : draw.variable.shape())
      shape += fmt::format(", {}", d.extent);
    if (draw.law == Law::normal) return fmt::format(fmt::runtime(dialect_.normal), shape);
    const std::string uniform = fmt::format(fmt::runtime(dialect_.uniform), shape);
    if (draw.law == Law::index) {
      use("floor");
      return fmt::format("floor({} * {})", draw.categories, uniform);
    }
    // What depends on other draws is made from uniform numbers by the loss.
    const bool conditional = variable.node().type == formulas::Type::real;
    if (draw.law == Law::uniform || conditional) return uniform;
    const std::string p = line_of(formulas::written(*draw.probabilities));
    if (draw.law == Law::bernoulli)
      return fmt::format(fmt::runtime(dialect_.truth), fmt::format("{} < {}", uniform, p));
    return fmt::format(fmt::runtime(dialect_.categories), p, uniform);
  }

  // Of the mean loss of a batch, one a state.
  std::string gradients() {
    std::string drawn;
    for (const Array& variable : block_.variables)
      drawn += fmt::format("    {0} = drawn[\"{0}\"]\n", plain_name(variable.node().text));
    const Array each = formulas::over_batch(arrays_.loss, block_.samples);
    if (library_ == Library::torch) {
      return fmt::format("\n\n# mean loss of a batch\ndef mean_loss(batch, drawn{}):\n",
                         state_list()) +
             drawn + lines({{"each_loss", each}}, "    ") +
             R"py(    return torch.mean(array(each_loss))


def gradients(batch, drawn, *states):
    states = [x.detach().requires_grad_() for x in states]
    return torch.autograd.grad(mean_loss(batch, drawn, *states), states)
)py";
    }
    // The size of the batch is printed by its name, which `mean` would not do.
    const Array mean =
        each.rank() == 0 ? each
                         : formulas::reduce("sum", each) / arrays_.graph->size("batch", drawn_size);
    const std::vector<Array> slopes =
        formulas::in_numpy(formulas::gradient(mean, arrays_.state_variables()));
    std::vector<formulas::NamedArray> outputs;
    std::string names;
    for (std::size_t k = 0; k < slopes.size(); ++k) {
      outputs.push_back({"d_" + arrays_.states[k].variable.node().text, slopes[k]});
      names += (k == 0 ? "" : ", ") + outputs.back().name;
    }
    return fmt::format("\n\n# of the mean loss of a batch\ndef gradients(batch, drawn{}):\n",
                       state_list()) +
           drawn + lines(outputs, "    ") + "    return [" + names + "]\n";
  }

  [[nodiscard]] std::string state_list() const {
    std::string text;
    for (const learning::StateArray& s : arrays_.states) text += ", " + s.variable.node().text;
    return text;
  }

  std::string observables() {
    const learning::ExpectedLoss expected(arrays_, loss_);
    std::vector<formulas::NamedArray> outputs;
    if (!expected.sampled) outputs.push_back({"loss", expected.summed});
    for (const learning::ObservableArray& o : expected.observables.shown) {
      const bool sampled = std::ranges::any_of(expected.observables.sampled, [&](const auto& s) {
        return learning::reads(o.array, s.variable);
      });
      if (!sampled) outputs.push_back({o.name, o.array});
    }
    if (outputs.empty()) {
      throw InputError(fmt::format(
          "{}: the expected loss is sampled, so that nothing is left to log; add observables",
          loss_.name));
    }
    std::string text = fmt::format(
        "\n\n# what is logged, of a state at time t\ndef observed(t{}):\n", state_list());
    text += lines(outputs, "    ") + "    return {";
    for (const formulas::NamedArray& output : outputs)
      text += fmt::format("{}\"{}\": {}", &output == outputs.data() ? "" : ", ", output.name,
                          output.name);
    return text + "}\n";
  }

  std::string starts() {
    std::string text = "\n\ndef first_states():\n";
    Index begin = 0;
    std::string names;
    for (const learning::StateArray& s : arrays_.states) {
      const std::string& name = s.variable.node().text;
      const Index entries = formulas::entries(s.variable.shape());
      const bool drawn =
          std::any_of(arrays_.start_draws.begin(), arrays_.start_draws.end(),
                      [&](const Draw& draw) { return learning::reads(s.start, draw.variable); });
      if (drawn) {
        std::vector<std::string> texts;
        for (Index i = 0; i < entries; ++i) texts.push_back(to_text(start_.x[begin + i]));
        text += fmt::format("    {} = {}\n", name, numbers(texts, s.variable.shape()));
      } else {
        text += lines({{name, s.start}}, "    ");
      }
      begin += entries;
      names += fmt::format("{}array({})", names.empty() ? "" : ", ", name);
    }
    text += fmt::format("    return [{}]\n", names);
    return text + (arrays_.gradients.empty() ? rates() : directions());
  }

  std::string rates() {
    std::string text = "\n\n# times eta the learning rates of the states\n";
    std::string rates;
    for (const learning::StateArray& s : arrays_.states)
      rates += fmt::format("{}{}", rates.empty() ? "" : ", ", line_of(formulas::written(s.rate)));
    return text + fmt::format("state_rates = [{}]\n", rates);
  }

  // What gradients are turned to at time t, where states have moves or rates that depend on it.
  std::string directions() {
    std::string given, made;
    for (const Array& gradient : arrays_.gradients)
      given += plain_name(gradient.node().text) + ", ";
    std::vector<formulas::NamedArray> outputs;
    for (const Array& direction : arrays_.directions(arrays_.gradients)) {
      outputs.push_back(
          {fmt::format("d_{}", arrays_.states[outputs.size()].variable.node().text), direction});
      made += (made.empty() ? "" : ", ") + outputs.back().name;
    }
    return fmt::format(
               "\n\n# the states' derivatives at time t, from these gradients\n"
               "def directions(t, {}):\n",
               given.substr(0, given.size() - 2)) +
           lines(outputs, "    ") + fmt::format("    return [{}]\n", made);
  }

  [[nodiscard]] std::string training() const {
    const char* step = arrays_.gradients.empty() ? R"py(states = [x - asked.eta * rate * slope
                          for x, rate, slope in zip(states, state_rates, slopes)])py"
                                                 : R"py(states = [x + asked.eta * slope
                          for x, slope in zip(states, directions(asked.eta * step, *slopes))])py";
    return fmt::format(R"py(

def row_of(values):
    row = {{}}
    for name, value in values.items():
        value = array(value)
        if value.ndim == 0:
            row[name] = float(value)
        else:
            for place in itertools.product(*map(range, value.shape)):
                row["_".join([name, *map(str, place)])] = float(value[place])
    return row


def train():
    parser = argparse.ArgumentParser()
    parser.add_argument("--eta", type=float, default={:g})
    parser.add_argument("--batch", type=int, default={})
    parser.add_argument("--steps", type=int, default={:g})
    parser.add_argument("--every", type=int, default=1, help="steps between rows")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", default="log.csv")
    asked = parser.parse_args()
    with open(asked.output, "w", newline="", encoding="utf-8") as file:
        writer = None
        for run in range(asked.runs):
            random = generator(asked.seed + run)
            states = first_states()
            for step in range(asked.steps + 1):
                if step % asked.every == 0:
                    row = {{"run": run, "step": step, "lr": asked.eta}}
                    row.update(row_of(observed(asked.eta * step, *states)))
                    if writer is None:
                        writer = csv.DictWriter(file, row)
                        writer.writeheader()
                    writer.writerow(row)
                slopes = gradients(asked.batch, draw_batch(asked.batch, random), *states)
                {}


train()
)py",
                       loss_.step, loss_.batch, std::max(1.0, loss_.end / loss_.step), step);
  }

  [[nodiscard]] std::string head() const {
    return fmt::format(R"py("""Training of {0} by SGD, as popgrad writes it. Its log is judged by

    popgrad compare {0}.toml sgd --with log.csv --group run --clock 'lr*step' --eta {1:g} --batch {2}
"""
import argparse
import csv
import itertools
{3})py",
                       loss_.name, loss_.step, loss_.batch, dialect_.head);
  }

  const SampleLoss& loss_;
  const Parameters& given_;
  Library library_;
  Dialect dialect_;
  LossArrays arrays_;
  Start start_;
  std::vector<Draw> read_;  // by the loss
  learning::DrawnBlock block_;
  std::set<std::string> used_;
};

}  // namespace
}  // namespace training_script_cpp

std::string training_script(const SampleLoss& loss, const Parameters& given, std::uint64_t seed,
                            Library library) {
  return training_script_cpp::ScriptWriter(loss, given, seed, library).script();
}

}  // namespace popgrad::theory_files
