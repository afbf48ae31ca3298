#include "commands/manual.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "commands/exit_status.hpp"

namespace popgrad::cli {
namespace {

// No word of it is a request of roff; hyphens can be copied into a shell.
std::string roff(const std::string& text) {
  std::string made;
  for (const char c : text) {
    if (c == '\\') {
      made += "\\e";
    } else if (c == '-') {
      made += "\\-";
    } else if ((c == '.' || c == '\'') && (made.empty() || made.back() == '\n')) {
      made += std::string("\\&") + c;
    } else {
      made += c;
    }
  }
  return made;
}

std::vector<std::string> long_options(const CommandText& command) {
  std::vector<std::string> names;
  for (const OptionText& option : command.options) {
    const std::size_t at = option.names.find("--");
    if (at == std::string::npos) continue;
    names.push_back(option.names.substr(at, option.names.find(',', at) - at));
  }
  return names;
}

std::vector<std::string> parameter_options(const Model& model) {
  std::vector<std::string> names;
  for (const ParameterInfo& parameter : model.parameters()) {
    if (parameter.flag) names.push_back("--" + parameter.name);
  }
  return names;
}

}  // namespace

std::string manual_page(const CommandLine& app) {
  const ProgramText program = app.describe();
  std::string text =
      fmt::format(".TH POPGRAD 1 \"\" \"popgrad {}\" \"User Commands\"\n", POPGRAD_VERSION);
  const auto out = std::back_inserter(text);
  fmt::format_to(out, ".SH NAME\npopgrad \\- {}\n", roff(program.help.substr(8)));
  fmt::format_to(out,
                 ".SH SYNOPSIS\n.B popgrad\n.I command\n[\\fIoption\\fR ...]\n.SH DESCRIPTION\n"
                 "{}. Parameters of a model are options too:\n.B popgrad run\n.I model\n"
                 ".B \\-\\-help\nlists those of one, and\n.B popgrad list\nwhat they mean.\n"
                 ".SH COMMANDS\n",
                 roff(program.help));
  for (const CommandText& command : program.commands) {
    std::string usage = command.name;
    for (const OptionText& option : command.options) {
      if (option.positional) usage += " " + option.names;
    }
    fmt::format_to(out, ".SS {}\n{}. Example:\n.PP\n.B popgrad {}\n", roff(usage),
                   roff(command.help), roff(command.example));
    for (const OptionText& option : command.options) {
      fmt::format_to(out, ".TP\n.B {}{}{}\n{}\n", roff(option.names),
                     option.value.empty() ? "" : " ", roff(option.value), roff(option.help));
    }
    if (!command.footer.empty()) fmt::format_to(out, ".PP\n{}\n", roff(command.footer));
  }
  fmt::format_to(out, ".SH EXIT STATUS\nOf several the first of 2, 1, 4, 3, 5.\n");
  for (const StatusMeaning& s : exit_statuses()) {
    fmt::format_to(out, ".TP\n.B {}\n{}\n", static_cast<int>(s.status), roff(s.meaning));
  }
  fmt::format_to(out, ".PP\n{}\n", roff(where_to_read_on));
  return text;
}

std::string bash_completions(const CommandLine& app, Theories theories) {
  const ProgramText program = app.describe();
  std::string text = "# Completions of popgrad for bash: source this file.\n";
  const auto out = std::back_inserter(text);
  std::vector<std::string> commands, models, statements, figures;
  for (const CommandText& command : program.commands) commands.push_back(command.name);
  for (const Theory& theory : theories) {
    models.push_back(theory.model->name());
    for (const Statement& statement : theory.statements) statements.push_back(statement.id);
    for (const FigureMaker& figure : theory.figures) figures.push_back(figure.info.name);
  }
  figures.emplace_back("all");
  fmt::format_to(out,
                 "_popgrad() {{\n"
                 "  local current=${{COMP_WORDS[COMP_CWORD]}} command=${{COMP_WORDS[1]}} "
                 "model=${{COMP_WORDS[2]}} words=\n"
                 "  if ((COMP_CWORD == 1)); then\n"
                 "    COMPREPLY=($(compgen -W \"{} --help --version\" -- \"$current\"))\n"
                 "    return\n  fi\n",
                 fmt::join(commands, " "));
  fmt::format_to(out, "  if [[ $current == -* ]]; then\n    case $command in\n");
  for (const CommandText& command : program.commands) {
    fmt::format_to(out, "      {}) words=\"{}\" ;;\n", command.name,
                   fmt::join(long_options(command), " "));
  }
  fmt::format_to(out, "    esac\n    case $command,$model in\n");
  for (const Theory& theory : theories) {
    fmt::format_to(
        out, "      run,{0}|compare,{0}|ladder,{0}|sweep,{0}|equations,{0}) words+=\" {1}\" ;;\n",
        theory.model->name(), fmt::join(parameter_options(*theory.model), " "));
  }
  fmt::format_to(out,
                 "    esac\n"
                 "  else\n    case $command in\n"
                 "      run|compare|ladder|sweep|equations|list|landscape)\n"
                 "        if ((COMP_CWORD == 2)); then\n          words=\"{}\"\n        else\n"
                 "          case $model in\n",
                 fmt::join(models, " "));
  for (const Theory& theory : theories) {
    std::vector<std::string> rungs;
    for (const RungInfo& rung : theory.model->rungs()) rungs.push_back(rung.name);
    fmt::format_to(out, "            {}) words=\"{}\" ;;\n", theory.model->name(),
                   fmt::join(rungs, " "));
  }
  fmt::format_to(out,
                 "          esac\n        fi ;;\n"
                 "      verify|falsify|instance|frontier|report) words=\"{}\" ;;\n"
                 "      figure) words=\"{}\" ;;\n"
                 "    esac\n  fi\n"
                 "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n}}\n"
                 "complete -o default -F _popgrad popgrad\n",
                 fmt::join(statements, " "), fmt::join(figures, " "));
  return text;
}

}  // namespace popgrad::cli
