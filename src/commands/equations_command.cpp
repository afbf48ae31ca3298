#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "commands/exit_status.hpp"
#include "commands/host.hpp"
#include "commands/options.hpp"
#include "commands/statement_choice.hpp"
#include "popgrad/rungs/rung.hpp"

namespace popgrad::cli {
namespace {

constexpr std::array<const char*, 4> notations{"text", "latex", "cpp", "python"};  // of Notation

// One line an equation, so that a diff against a paper's source is possible.
std::string equation(const std::string& name, const Expression& x, const Expression& rate,
                     Notation notation) {
  const std::string right = to_text(rate, notation);
  switch (notation) {
    case Notation::latex:
      return fmt::format("\\dot{{{}}} &= {} \\\\", to_text(x, notation), right);
    case Notation::cpp:
      return fmt::format("const double d{} = {};", name, right);
    case Notation::python:
      return fmt::format("d{} = {}", name, right);
    case Notation::text:
      break;
  }
  return fmt::format("{}' = {}", name, right);
}

void print_lines(const std::vector<std::string>& lines, Notation notation) {
  if (notation == Notation::latex) fmt::print(standard_output(), "\\begin{{align}}\n");
  for (const std::string& line : lines) fmt::print(standard_output(), "{}\n", line);
  if (notation == Notation::latex) fmt::print(standard_output(), "\\end{{align}}\n");
}

}  // namespace

Action add_equations(CommandLine& app, const Invocation& call) {
  Command* command = app.add_subcommand(
      "equations", "the right-hand side that is integrated, from the rung's own code on symbols");
  auto rung_name = std::make_shared<std::string>();
  auto format = std::make_shared<std::string>("text");
  command->add_option("model", example_model(call.theories)).required();
  command->add_option("rung", *rung_name, "rung of the model").required();
  auto common = add_common_options(*command, call, {OptionGroup::law, OptionGroup::quiet});
  command->add_option("--format", *format, Choice{{notations.begin(), notations.end()}, "text"},
                      "notation");
  command->introduce("equations " + example_rung(call.theories) + " --format latex");
  return [=]() -> int {
    common->model = command->get_option("model").as<std::string>();
    apply_config(*command, *common);
    const auto chosen = std::find(notations.begin(), notations.end(), *format);
    const auto notation = static_cast<Notation>(chosen - notations.begin());
    const Model& model = find_model(common->theories, common->model);
    const RungInfo& info = find_rung(model, *rung_name);
    const Parameters parameters = gather_parameters(*common, model, info.name);
    if (const auto& written = find_theory(common->theories, common->model).written) {
      print_lines(written(info.name, parameters, notation), notation);
      return success;
    }
    const AnyRung<Expression> rung = model.symbolic_rung(info.name, parameters);
    Vector<Expression> rate(rung.dimension);
    rung.field.value(rung.initial, rate, Expression(0));
    std::vector<std::string> lines;
    for (Index i = 0; i < rung.dimension; ++i) {
      lines.push_back(equation(rung.state_names[static_cast<std::size_t>(i)], rung.initial[i],
                               rate[i], notation));
    }
    print_lines(lines, notation);
    return success;
  };
}

}  // namespace popgrad::cli
