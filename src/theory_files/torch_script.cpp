#include "theory_files/torch_script.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "formulas/print.hpp"
#include "formulas/written.hpp"
#include "learning/loss_rung.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/scalars/scalar.hpp"

namespace popgrad::theory_files {
namespace torch_script_cpp {
namespace {

using formulas::Array;
using formulas::syntax::absent;
using formulas::syntax::Kind;
using formulas::syntax::Node;
using formulas::syntax::Tree;
using learning::Draw;
using learning::Law;
using learning::LossArrays;

// Definitions of the functions that formulas print, by name. `index` is of array indices.
const std::map<std::string, std::string, std::less<>>& definitions() {
  static const std::map<std::string, std::string, std::less<>> all = [] {
    std::map<std::string, std::string, std::less<>> made{
        {"where",
         "def where(condition, a, b):\n    return torch.where(torch.as_tensor(condition), "
         "tensor(a), tensor(b))"},
        {"index", "def index(i):\n    return tensor(i).round().long()"},
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
         "def concatenate(parts, axis=0):\n    return torch.cat([tensor(x) for x in parts], axis)"},
        {"one_hot", "def one_hot(i, n):\n    return torch.eye(n)[index(i)]"},
        {"arange", "def arange(*n):\n    return torch.arange(*n).to(torch.get_default_dtype())"},
        {"eye", "eye = torch.eye"},
        {"ones", "ones = torch.ones"},
        {"zeros", "zeros = torch.zeros"},
        {"diag", "diag = torch.diag"},
        {"einsum", "einsum = torch.einsum"},
        {"outer", "outer = torch.outer"},
        {"trace", "trace = torch.trace"},
        {"reshape", "reshape = torch.reshape"},
        {"inv", "inv = torch.linalg.inv"},
        {"solve", "solve = torch.linalg.solve"},
        {"eigvalsh", "eigvalsh = torch.linalg.eigvalsh"},
        {"cholesky", "cholesky = torch.linalg.cholesky"},
        {"stop_gradient", "def stop_gradient(x):\n    return tensor(x).detach()"},
        {"softplus", "def softplus(x):\n    return torch.logaddexp(tensor(x), torch.zeros(()))"},
        {"gelu", "def gelu(x):\n    return torch.nn.functional.gelu(tensor(x))"},
    };
    for (const char* name : {"exp", "log", "sqrt", "sin", "cos", "tanh", "sigmoid", "erf", "asin",
                             "atan2", "abs", "sign", "relu", "floor", "minimum", "maximum"}) {
      made.emplace(name, fmt::format("def {0}(*x):\n    return torch.{0}(*map(tensor, x))", name));
    }
    return made;
  }();
  return all;
}

// A name that Python takes, of a variable such as "block of x call 0".
std::string plain_name(const std::string& text) {
  std::string made;
  for (const char c : text) made += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return made;
}

class ScriptWriter {
 public:
  ScriptWriter(const SampleLoss& loss, const Parameters& given, std::uint64_t seed)
      : loss_(loss), given_(given), arrays_(loss, given, seed), start_(loss, given, seed) {
    static const std::set<std::string, std::less<>> own{
        "torch",      "csv",          "argparse",    "itertools", "tensor",
        "draw_batch", "drawn",        "random",      "mean_loss", "each_loss",
        "observed",   "first_states", "state_rates", "row_of",    "train"};
    for (const learning::NamedEntry& entry : arrays_.entries) {
      if (own.contains(entry.name))
        throw InputError(fmt::format("{}: {} {} is a name of the script; give it another",
                                     loss.name, entry.kind, entry.name));
    }
  }

  std::string script() {
    const std::string law = constants();
    const std::string drawn = draws();
    const std::string observed = observables();
    const std::string begun = starts();
    std::string text = head();
    for (const std::string& name : used_) text += "\n\n" + definitions().at(name) + "\n";
    text += "\n\n" + law;
    text += drawn + observed + begun + training();
    return text;
  }

 private:
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
      if (node.kind == Kind::slice && node.parts[2] != absent) {
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
    if (!definitions().contains(function))
      throw InputError(fmt::format("{}: {} cannot be exported to PyTorch", loss_.name, function));
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
    return number ? fmt::format("tensor({})", fmt::join(texts, ", "))
                  : fmt::format("tensor([{}]).reshape({})", fmt::join(texts, ", "),
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
      if (p.formula) text += fmt::format("{0} = tensor({0})\n", name);
    }
    return text;
  }
  // draw_batch makes the raw numbers of the laws, mean_loss the mean loss of these samples.
  std::string draws() {
    const formulas::Dimension batch{2, "batch"};  // any number, printed by its name
    const std::vector<Draw> read = learning::read_draws(arrays_.loss, arrays_.draws);
    const learning::DrawnBlock block = learning::drawn_block(arrays_, read, batch);
    std::string text =
        "\n\n# one sample, batch times\ndef draw_batch(batch, random):\n    drawn = {}\n";
    for (std::size_t k = 0; k < read.size(); ++k) text += drawn_line(read[k], block.variables[k]);
    text += "    return drawn\n\n\n# mean loss of a batch\ndef mean_loss(batch, ";
    text += fmt::format("drawn{}):\n", state_list());
    for (const Array& variable : block.variables)
      text += fmt::format("    {0} = drawn[\"{0}\"]\n", plain_name(variable.node().text));
    const Array each = formulas::over_batch(arrays_.loss, block.samples);
    text += lines({{"each_loss", each}}, "    ");
    return text + "    return torch.mean(tensor(each_loss))\n";
  }
  std::string drawn_line(const Draw& draw, const Array& variable) {
    std::string shape = "batch";
    for (const formulas::Dimension& d : draw.variable.shape())
      shape += fmt::format(", {}", d.extent);
    const std::string to = fmt::format("    drawn[\"{}\"] = ", plain_name(variable.node().text));
    const std::string uniform = fmt::format("torch.rand({}, generator=random)", shape);
    if (draw.law == Law::normal)
      return fmt::format("{}torch.randn({}, generator=random)\n", to, shape);
    if (draw.law == Law::index)
      return fmt::format("{}torch.floor({} * {})\n", to, draw.categories, uniform);
    // What depends on other draws is made from uniform numbers by the loss.
    const bool conditional = variable.node().type == formulas::Type::real;
    if (draw.law == Law::uniform || conditional) return fmt::format("{}{}\n", to, uniform);
    const std::string p = line_of(formulas::written(*draw.probabilities));
    if (draw.law == Law::bernoulli)
      return fmt::format("{}({} < {}).to(torch.float64)\n", to, uniform, p);
    return fmt::format(
        "{}torch.searchsorted(torch.cumsum(tensor({}), 0)[:-1], {}, "
        "right=True).to(torch.float64)\n",
        to, p, uniform);
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
      names += fmt::format("{}tensor({}).clone()", names.empty() ? "" : ", ", name);
    }
    text +=
        fmt::format("    return [{}]\n\n\n# times eta the learning rates of the states\n", names);
    std::string rates;
    for (const learning::StateArray& s : arrays_.states)
      rates += fmt::format("{}{}", rates.empty() ? "" : ", ", line_of(formulas::written(s.rate)));
    return text + fmt::format("state_rates = [{}]\n", rates);
  }

  [[nodiscard]] std::string training() const {
    return fmt::format(R"py(

def row_of(values):
    row = {{}}
    for name, value in values.items():
        value = tensor(value)
        if value.dim() == 0:
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
            random = torch.Generator().manual_seed(asked.seed + run)
            states = [x.requires_grad_() for x in first_states()]
            for step in range(asked.steps + 1):
                if step % asked.every == 0:
                    with torch.no_grad():
                        row = row_of(observed(asked.eta * step, *states))
                    row = {{"run": run, "step": step, "lr": asked.eta, **row}}
                    if writer is None:
                        writer = csv.DictWriter(file, row)
                        writer.writeheader()
                    writer.writerow(row)
                loss = mean_loss(asked.batch, draw_batch(asked.batch, random), *states)
                gradients = torch.autograd.grad(loss, states)
                with torch.no_grad():
                    for x, rate, gradient in zip(states, state_rates, gradients):
                        x -= asked.eta * rate * gradient


train()
)py",
                       loss_.step, loss_.batch, std::max(1.0, loss_.end / loss_.step));
  }

  [[nodiscard]] std::string head() const {
    return fmt::format(R"py("""Training of {0} by SGD, as popgrad writes it. Its log is judged by

    popgrad compare {0}.toml sgd --with log.csv --group run --clock 'lr*step' --eta {1:g} --batch {2}
"""
import argparse
import csv
import itertools

import torch

torch.set_default_dtype(torch.float64)
pi = torch.pi


def tensor(x):
    return x if torch.is_tensor(x) else torch.tensor(x, dtype=torch.float64)
)py",
                       loss_.name, loss_.step, loss_.batch);
  }

  const SampleLoss& loss_;
  const Parameters& given_;
  LossArrays arrays_;
  Start start_;
  std::set<std::string> used_;
};

}  // namespace
}  // namespace torch_script_cpp

std::string torch_script(const SampleLoss& loss, const Parameters& given, std::uint64_t seed) {
  return torch_script_cpp::ScriptWriter(loss, given, seed).script();
}

}  // namespace popgrad::theory_files
