#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "commands/commands.hpp"
#include "commands/exit_status.hpp"
#include "commands/host.hpp"
#include "commands/options.hpp"
#include "io/atomic_file.hpp"
#include "io/input_files.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/evidence/theory.hpp"
#include "theory_files/account.hpp"

namespace popgrad::cli {

Action add_check(CommandLine& app, const Invocation& /*call*/) {
  Command* command = app.add_subcommand(
      "check", "a theory file: its shapes, laws, expectations and costs, before anything runs");
  auto file = std::make_shared<std::string>();
  command->add_option("file", *file, "theory, .toml").required().kind("input file");
  command->introduce("check law.toml");
  return [file]() -> int {
    theory_files::TheoryFile read = theory_files::parse_theory_file(read_file(*file), *file);
    std::fputs(theory_files::account_of(read).c_str(), standard_output());
    return success;
  };
}

Action add_new(CommandLine& app, const Invocation& /*call*/) {
  Command* command = app.add_subcommand("new", "write a theory file to begin with, which runs");
  auto file = std::make_shared<std::string>();
  command->add_option("file", *file, "FILE.toml, which must not be there yet")
      .required()
      .kind("output file");
  command->introduce("new law.toml");
  return [file]() -> int {
    const std::filesystem::path path = *file;
    if (path.extension() != ".toml") reject("popgrad new", "file", *file, "must end in .toml");
    if (std::filesystem::exists(std::filesystem::symlink_status(path)))
      reject("popgrad new", "file", *file, "is there already; give another name");
    const std::string name = path.stem().string();
    if (!theory_files::is_theory_name(name)) {
      reject("popgrad new", "file", *file,
             "must have a name that begins with a letter and has letters, digits, - and _");
    }
    write_atomically(path, theory_files::skeleton(name));
    return success;
  };
}

Action add_export(CommandLine& app, const Invocation& call) {
  Command* command = app.add_subcommand(
      "export", "a theory file as a script that trains (PyTorch, NumPy), or as a LaTeX document");
  auto torch = std::make_shared<bool>(false), numpy = std::make_shared<bool>(false),
       latex = std::make_shared<bool>(false);
  auto output = std::make_shared<std::string>("-");
  command->add_option("model", "theory, .toml").required();
  command->add_flag("--torch", *torch, "a PyTorch script, whose log 'compare --with' reads");
  command->add_flag("--numpy", *numpy, "the same with NumPy only, gradients as formulas");
  command->add_flag("--latex", *latex, "law, loss, field and rungs as a LaTeX document");
  command->add_option("-o,--output", *output, "file (default -: standard output)")
      .kind("output file");
  auto common =
      add_common_options(*command, call, {OptionGroup::law, OptionGroup::seed, OptionGroup::quiet});
  command->introduce("export law.toml --torch -o train.py");
  return [=]() -> int {
    common->model = command->get_option("model").as<std::string>();
    apply_config(*command, *common);
    const Theory& theory = find_theory(common->theories, common->model);
    if (!theory.exported)
      reject("popgrad export", "model", common->model, "is no theory file; give FILE.toml");
    if (int{*torch} + int{*numpy} + int{*latex} != 1)
      throw InputError("popgrad export: give one of --torch, --numpy and --latex");
    const std::string form = *torch ? "torch" : *numpy ? "numpy" : "latex";
    const Parameters parameters = gather_parameters(*common, *theory.model, "sgd");
    const std::string text = theory.exported(form, parameters, common->seed);
    if (*output == "-") {
      std::fputs(text.c_str(), standard_output());
    } else {
      write_atomically(*output, text);
    }
    return success;
  };
}

}  // namespace popgrad::cli
