#include "theory_files/written_theory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "formulas/elaborate.hpp"
#include "formulas/graph.hpp"
#include "formulas/print.hpp"
#include "formulas/syntax.hpp"
#include "formulas/written.hpp"
#include "learning/laws.hpp"
#include "learning/loss_arrays.hpp"
#include "learning/written_field.hpp"
#include "popgrad/base/error.hpp"

namespace popgrad::theory_files {
namespace written_theory_cpp {
namespace {

using formulas::Written;
using formulas::syntax::Kind;
using formulas::syntax::Node;
using formulas::syntax::Tree;
using learning::LossArrays;
using learning::Motion;
using learning::WrittenLaw;

std::string latex_name(const std::string& name) {
  return formulas::syntax::to_latex({{Node{.kind = Kind::name, .text = name}}});
}

std::string text_in(const Written& line, Notation notation) {
  switch (notation) {
    case Notation::latex:
      return formulas::syntax::to_latex(line.tree, line.ranks);
    case Notation::cpp:
      return formulas::syntax::to_cpp(line.tree, line.ranks);
    case Notation::text:
    case Notation::python:
      break;
  }
  return formulas::syntax::to_numpy(line.tree);
}

std::string left_in_latex(Motion motion, const std::string& state) {
  const std::string name = latex_name(state);
  if (motion == Motion::rate) return fmt::format("\\dot{{{}}}", name);
  return motion == Motion::next ? name + "^{+}" : name + "(t)";
}

// Prose between formulas: what LaTeX would read as commands is escaped.
std::string prose(std::string_view text) {
  std::string made;
  for (const char c : text) {
    if (std::string_view("_#$%&{}").find(c) != std::string_view::npos) made += '\\';
    if (c == '\\' || c == '^' || c == '~') {
      made += fmt::format("\\char{} ", static_cast<int>(c));
    } else {
      made += c;
    }
  }
  return made;
}

// Formulas of the file as they are written there, with names in the place of what stands under them.
class Document {
 public:
  Document(const TheoryFile& file, const Parameters& given)
      : loss_(file.loss), given_(given), arrays_(file.loss, given) {
    for (const LossSize& size : loss_.sizes) scope_.emplace(size.name, graph_.size(size.name, 2));
    for (const learning::NamedEntry& entry : arrays_.entries) add(entry.name, entry.array);
    scope_.emplace(learning::time_name, graph_.variable(learning::time_name, {}));
    scope_.emplace(learning::step_size_name, graph_.variable(learning::step_size_name, {}));
  }

  std::string text(const std::string& title) {
    std::string made = fmt::format(
        "\\documentclass{{article}}\n\\usepackage{{amsmath}}\n\\begin{{document}}\n"
        "\\section*{{{}}}\n",
        prose(title.empty() ? loss_.name : title));
    made += prose(loss_.paper) + ".\n";
    std::string lines;
    for (const LossSize& size : loss_.sizes)
      lines +=
          line(latex_name(size.name), " = ",
               std::to_string(given_.count(size.name, size.value, 1, most_size)), size.meaning);
    for (const LossParameter& p : loss_.parameters) {
      const auto* formula = p.value.as<std::string>();
      const bool numbers = given_.values().find(p.name) != nullptr || formula == nullptr;
      lines += line(latex_name(p.name), numbers ? " \\in " : " = ",
                    numbers ? space_of(scope_.at(p.name).shape()) : latex(*formula), p.meaning);
    }
    for (const NamedFormula& c : loss_.constants) lines += equation(c);
    made += section("Parameters", lines);
    made += section("One sample", equations(loss_.draws));
    lines.clear();
    for (const LossState& s : loss_.states)
      lines += line(fmt::format("{}(0)", latex_name(s.name)), sign_of(s.start),
                    latex(s.start.empty() ? "0" : s.start), "");
    made += section("States and their starts", lines);
    made += section("Loss of one sample", equations(loss_.loss));
    if (!loss_.loss.empty()) made += law("flow", "Gradient flow of the expected loss");
    for (const LossRung& rung : loss_.rungs) {
      made += law(rung.name, fmt::format("Rung {}{}", rung.name,
                                         rung.of.empty() ? "" : ", a reduction of " + rung.of));
      add_rung(rung, made);
    }
    lines.clear();
    for (const LossObservable& o : loss_.observables) lines += equation({o.name, o.formula});
    made += section("Observables", lines);
    return made + "\\end{document}\n";
  }

 private:
  static constexpr long most_size = 1'000'000'000;
  const SampleLoss& loss_;
  const Parameters& given_;
  LossArrays arrays_;
  formulas::Graph graph_;
  formulas::Scope scope_;

  void add(const std::string& name, const formulas::Array& array) {
    scope_.insert_or_assign(name, graph_.variable(name, array.shape(), array.node().type));
  }

  // In array notation if it can be typed by itself, else as it is written: laws and `expected` are not of formulas.
  std::string latex(const std::string& formula) {
    Tree tree = formulas::syntax::parse(formula);
    const bool mean = tree.root().kind == Kind::call && tree.root().text == "expected" &&
                      tree.root().parts.size() == 1;
    if (mean) tree.nodes.pop_back();
    const std::string text = latex(tree);
    return mean ? fmt::format("\\operatorname{{E}}\\left[{}\\right]", text) : text;
  }
  std::string latex(const Tree& tree) {
    try {
      return text_in(formulas::written(formulas::elaborate(tree, graph_, scope_)), Notation::latex);
    } catch (const InputError&) {
      return formulas::syntax::to_latex(tree);
    }
  }
  static std::string space_of(const formulas::Shape& shape) {
    std::string extents;
    for (const formulas::Dimension& d : shape)
      extents += fmt::format("{}{}", extents.empty() ? "" : " \\times ", d.extent);
    return extents.empty() ? "\\mathbf{R}" : fmt::format("\\mathbf{{R}}^{{{}}}", extents);
  }
  static std::string sign_of(const std::string& formula) {
    if (formula.empty()) return " = ";
    const Tree tree = formulas::syntax::parse(formula);
    const Node& root = tree.root();
    const std::vector<std::string>& laws = learning::law_names();
    const bool law =
        root.kind == Kind::call && std::find(laws.begin(), laws.end(), root.text) != laws.end();
    return law ? " \\sim " : " = ";
  }
  static std::string line(const std::string& left, const std::string& sign,
                          const std::string& right, const std::string& meaning) {
    return fmt::format("{} &{}{}{} \\\\\n", left, sign, right,
                       meaning.empty() ? "" : fmt::format(" && \\text{{{}}}", prose(meaning)));
  }
  std::string equation(const NamedFormula& f) {
    return line(latex_name(f.name), sign_of(f.formula), latex(f.formula), "");
  }
  std::string equations(const std::vector<NamedFormula>& all) {
    std::string lines;
    for (const NamedFormula& f : all) lines += equation(f);
    return lines;
  }
  static std::string section(const std::string& title, const std::string& lines) {
    if (lines.empty()) return {};
    return fmt::format("\\subsection*{{{}}}\n\\begin{{align*}}\n{}\\end{{align*}}\n", title, lines);
  }
  std::string law(const std::string& rung, const std::string& title) {
    try {
      std::string lines;
      for (const std::string& one : equations_of(loss_, rung, given_, Notation::latex))
        lines += one + "\n";
      return section(prose(title), lines);
    } catch (const InputError& error) {
      return fmt::format("\\subsection*{{{}}}\n{}.\n", prose(title), prose(error.what()));
    }
  }
  void add_rung(const LossRung& rung, std::string& made) {
    std::string lines;
    for (const NamedFormula& f : rung.map) lines += equation(f);
    if (!rung.time.empty()) lines += equation({"time", rung.time});
    made += section("Map", lines);
  }
};

}  // namespace
}  // namespace written_theory_cpp

std::vector<std::string> equations_of(const SampleLoss& loss, const std::string& rung,
                                      const Parameters& given, Notation notation) {
  using namespace written_theory_cpp;
  const WrittenLaw law = learning::written_law(loss, rung, given);
  std::vector<std::string> lines;
  const auto add = [&](const Written& line, const std::string& left) {
    const std::string right = text_in(line, notation);
    switch (notation) {
      case Notation::latex:
        lines.push_back(fmt::format("{} &= {} \\\\", left, right));
        break;
      case Notation::cpp:
        lines.push_back(fmt::format("const auto {} = {};", line.name, right));
        break;
      case Notation::text:
      case Notation::python:
        lines.push_back(fmt::format("{} = {}", line.name, right));
        break;
    }
  };
  for (const Written& part : law.parts) add(part, latex_name(part.name));
  for (std::size_t k = 0; k < law.results.size(); ++k)
    add(law.results[k], left_in_latex(law.motion, law.states[k]));
  return lines;
}

std::string latex_document(const TheoryFile& file, const Parameters& given) {
  return written_theory_cpp::Document(file, given).text(file.title);
}

}  // namespace popgrad::theory_files
