#pragma once
/// Named parameters of an instance, from flags, a TOML file and an instance file, checked by name.
///
/// Numbers are kept as the text they were given in, so `0.05` is exactly 1/20 for rationals and
/// right to the last digit with `--digits 50`.

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "popgrad/base/range.hpp"
#include "popgrad/base/record.hpp"
#include "popgrad/scalars/scalar.hpp"
#include "popgrad/scalars/vector.hpp"

namespace popgrad {

/// Declaration of a parameter of a model, or of an option of a command: what the command line,
/// --config, --over, instance files and the help know of it.
struct ParameterInfo {
  std::string name;                  ///< flag `--name`, key in files
  std::string kind;                  ///< number, count, choice, switch, text, vector, matrix or
                                     ///< components (of a state, by name)
  std::string default_value;         ///< as text; empty: none
  std::string help;                  ///< meaning, unit, allowed range
  std::vector<std::string> choices;  ///< for a choice
  std::vector<std::string> rungs;    ///< that read it; empty: all of the model
  bool flag = true;          ///< can be given on the command line (vectors: files only, if false)
  Range range = {};          ///< of a number, a count, and each number of a list
  std::string unit = {};     ///< empty: pure numbers
  bool usual_fault = false;  ///< `compare --with` looks for other values of it without being asked
  std::string limit = {};    ///< its value in the limit: `compare` reports what others cost
  /// `--t1` and `--rtol` of a flow where it is given and they are not; empty: as without it.
  std::string flow_end = {}, flow_tolerance = {};
  /// Rungs that read a state on the way as a start have this switch off for it.
  std::vector<std::string> off_midway = {};

  [[nodiscard]] bool is_read_by(std::string_view rung) const;
};

class Parameters {
 public:
  Parameters() = default;
  explicit Parameters(std::string model, Record values = {});
  /// From the JSON text of an instance file. Throws InputError, with line and column for a truncated
  /// file, a duplicate name, or NaN.
  static Parameters parse(std::string model, std::string_view text, std::string_view file_name);

  [[nodiscard]] bool has(std::string_view name) const;
  void set(std::string_view name, Value value);
  void set_default(std::string_view name, Value value);
  [[nodiscard]] const Record& values() const { return values_; }
  [[nodiscard]] const std::string& model() const { return model_; }

  /// Throws InputError with the place in a file and a suggestion if a name is not among `known`.
  void check_names(std::span<const ParameterInfo> known, std::string_view rung) const;

  /// A number of at most `largest_number` in size; InputError otherwise.
  template <class T>
  [[nodiscard]] T number(std::string_view name, std::string_view fallback) const;
  /// Whole number in [low, high].
  [[nodiscard]] long count(std::string_view name, long fallback, long low, long high) const;
  [[nodiscard]] bool flag(std::string_view name, bool fallback) const;
  /// As given.
  [[nodiscard]] std::string text(std::string_view name, std::string_view fallback) const;
  /// One of `allowed`; InputError with a suggestion otherwise.
  [[nodiscard]] std::string choice(std::string_view name, std::string_view fallback,
                                   std::span<const std::string> allowed) const;
  /// A list of numbers (n), or a single number as a list of one.
  template <class T>
  [[nodiscard]] Vector<T> vector(std::string_view name) const;
  /// A list of lists of equal length, rows x columns; a flat list gives one row.
  template <class T>
  [[nodiscard]] Matrix<T> matrix(std::string_view name) const;

 private:
  std::string model_;
  Record values_;
  std::map<std::string, std::string, std::less<>>
      places_;  // "FILE: line N: " of names that a file gave
};

}  // namespace popgrad
