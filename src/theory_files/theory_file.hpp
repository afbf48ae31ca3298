#pragma once
/// A theory as one TOML file: sizes, parameters, laws, loss and rungs (theorems/files/README.md).
///
/// A file computes nothing by itself: it runs no code and reads only arrays of its own folder that it names.

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "popgrad/base/error.hpp"
#include "popgrad/evidence/theory.hpp"
#include "popgrad/learning/sample_loss.hpp"
#include "theory_files/entry_reader.hpp"
#include "theory_files/statement_text.hpp"

namespace popgrad::theory_files {

/// The expected loss over two numbers, which set states of a rung by formulas; the others stay at their start. States of
/// a rung of its own are lifted to those of the loss.
struct FileLandscape {
  struct Axis {
    std::string name, low, high;
  };
  std::string name;
  std::array<Axis, 2> axes;
  std::vector<NamedFormula> set;
  std::string rung = "flow";
  std::vector<std::string> paths;  ///< rungs whose training is shown in the plane
};

struct TheoryFile {
  std::string file;  ///< as given
  std::string
      about;  ///< the file with statements about this theory that was given in place of `file`; or empty
  std::string title;
  SampleLoss loss;
  std::vector<FileLandscape> landscapes;
  bool gives_samples = false;       ///< `samples` of [training]
  std::vector<std::string> unread;  ///< sections of later versions, such as statement.limit
  std::vector<StatementText> statements;
  Places places;
};

/// Numbers row after row as lists of lists.
Value shaped(std::span<const double> numbers, std::span<const std::size_t> shape);

/// Whether a theory may be called so.
bool is_theory_name(const std::string& name);

/// Throws InputError "FILE:LINE:COLUMN: ENTRY: REASON" for what the text may not have; formulas are not read here.
TheoryFile parse_theory_file(const std::string& text, const std::string& file);

/// Sets samples where parts of the loss need them and none are given. Throws InputError for a mistake in a formula.
void complete(TheoryFile& file);

/// The mistake in an entry, or another of the same text, with its place in the file.
InputError located(const TheoryFile& file, const InputError& error);

/// Completes the file. Cost: the samples of its laws are drawn; of statements those of statements_of and
/// residual_statements. Throws InputError, also for laws that memory does not allow.
Theory theory_of(TheoryFile& file, bool with_statements = true);

}  // namespace popgrad::theory_files
