#pragma once
/// A theory file in place of the name of a model.

#include <optional>
#include <vector>

#include "commands/commands.hpp"
#include "theory_files/theory_file.hpp"

namespace popgrad::cli {

/// The theories of a command: those of the program, or only that of the file FILE.toml among its words.
class TheoriesOfWords {
 public:
  /// Reads the file. Throws InputError, also for FILE.py and for commands that take no file.
  explicit TheoriesOfWords(const Invocation& call);
  /// As given, with these theories; not longer than this.
  [[nodiscard]] const Invocation& call() const { return call_; }
  /// An error with its place in the file, where it is of an entry there.
  [[nodiscard]] InputError placed(const InputError& error) const;

 private:
  std::optional<theory_files::TheoryFile> file_;
  std::vector<Theory> own_;
  Invocation call_;
};

}  // namespace popgrad::cli
