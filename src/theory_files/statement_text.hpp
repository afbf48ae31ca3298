#pragma once
/// [statement.NAME] of a theory file, as written: formulas are not read here.

#include <optional>
#include <string>
#include <vector>

#include "popgrad/evidence/examination.hpp"
#include "popgrad/evidence/knob.hpp"
#include "popgrad/learning/sample_loss.hpp"
#include "theory_files/entry_reader.hpp"

namespace popgrad::theory_files {

/// What is measured on a rung, or predicted by it.
struct MeasureText {
  enum class Kind {
    formula,   ///< of parameters, of the start, and of `t` along a rung
    value,     ///< at the start
    along,     ///< at given times
    limit,     ///< where the rung comes to rest
    event,     ///< the first time at which a comparison is true
    residual,  ///< of a rung, a closed form or an invariant, largest along its flow
  };
  Kind kind = Kind::formula;
  std::string entry;  ///< for messages: "statement limit measure"
  std::string formula;
  std::string rung = "flow";
  std::vector<std::string> times = {};  ///< of `along`: formulas, each of one or many times
  std::optional<double> eta = {};       ///< of a rung that steps, in place of that of the instance
};

struct KnobText {
  std::string name;
  double low = 0, high = 1;
  std::optional<double> usual;  ///< nothing: that of the parameter or size
  std::optional<Spacing> spacing;
  std::string breaks = {};  ///< the name of an assumption
};

/// One mistake: another prediction, another measure, or text that is replaced in an entry.
struct ControlText {
  std::string name, entry;
  std::optional<MeasureText> predict = {}, measure = {};
  std::string in, replace, by;  ///< `in` empty: in the prediction
};

struct StatementText {
  std::string name, claim, source;
  std::vector<KnobText> knobs = {};
  std::vector<NamedFormula> set = {}, assume = {};
  MeasureText measure, predict;
  Relation relation = Relation::equal;
  std::string scale = {};
  std::vector<ControlText> controls = {};
};

/// Nothing for one that is of a later version. Throws InputError at the place of a mistake.
std::optional<StatementText> read_statement(const std::string& file, const TomlNode& node,
                                            Places& places);

}  // namespace popgrad::theory_files
