#pragma once
/// A reader of formulas in plain notation, which writes MathML.
///
///   formula  = sum { relation sum },   sum = [sign] product { sign product }
///   product  = factor { factor | "*" factor | " o " factor | "/" tight }
///   tight    = factor { factor without a space between }
///   factor   = number | name | function | group, then primes, index, power

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "presenting/formula_signs.hpp"

namespace popgrad::formula {

std::string tag(View name, View content);
std::string name_element(View text);
std::string operator_element(View text);
/// One element needs no row around it.
std::string row(View content);

/// A piece of a formula as MathML.
struct Piece {
  std::string markup = {};
  std::string inside = {};  ///< of one pair of parentheses that is all of it; or empty
  bool plain_number = false;
  bool scripted = false;  ///< has an index or a power
};

/// Reads a text that is nothing but a formula. `displayed`: on a line of its own, as the program writes
/// expressions; else as people write formulas within a sentence.
class FormulaReader {
 public:
  FormulaReader(View text, bool displayed) : text_(text), displayed_(displayed) {
    note_primed_indices();
  }

  /// Nothing where the text is no formula.
  std::optional<std::string> whole_formula();

 private:
  View text_;
  bool displayed_;
  std::size_t at_ = 0;
  int depth_ = 0;    ///< of groups
  int scripts_ = 0;  ///< of indices and powers
  int bars_ = 0;     ///< of absolute values that are open
  std::set<char> primed_indices_;

  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  [[nodiscard]] bool starts(View what) const { return text_.substr(at_).starts_with(what); }
  [[nodiscard]] char before(std::size_t place) const { return place > 0 ? text_[place - 1] : ' '; }
  static std::string space() { return "<mspace width=\"0.17em\"/>"; }

  // Sums and products: formula_reader.cpp.
  std::optional<Piece> formula();
  static void append(Piece& all, const Piece& more);
  void note_primed_indices();
  bool one_more_side(Piece& all);
  std::optional<std::string> read_relation();
  std::optional<std::string> read_sign();
  std::optional<Piece> sum();
  [[nodiscard]] bool factor_may_start() const;
  std::optional<Piece> next_factor(const Piece& last);
  std::optional<Piece> product();
  std::optional<Piece> tight();
  [[nodiscard]] Piece fraction(const Piece& above, const Piece& below, bool one_factor) const;

  // Numbers, groups, indices and powers: formula_factors.cpp.
  std::optional<Piece> factor();
  std::optional<Piece> number();
  static std::string decimal(View number);
  std::optional<Piece> group();
  [[nodiscard]] std::string enclosed(char open, std::string_view inside, char close) const;
  std::optional<Piece> list(bool arguments);
  std::optional<Piece> absolute();
  std::optional<Piece> angle();
  std::optional<Piece> with_index(Piece base);
  std::optional<Piece> with_power(Piece base);
  std::string primes();
  std::string power();
  std::optional<std::string> index();
  static std::string index_part(View part);

  // Names, functions and large operators: formula_names.cpp.
  std::optional<Piece> name();
  std::optional<Piece> function_or_sum(View letters);
  [[nodiscard]] std::string word_as_variable(std::size_t begin, View letters) const;
  bool read_index(std::string& base, std::string& lower, std::string& upper);
  std::optional<Piece> with_arguments(Piece piece);
  static std::string scripted(const std::string& base, const std::string& lower,
                              const std::string& upper);
  static std::string symbol(View letters);
  [[nodiscard]] bool star_behind() const;
  std::optional<Piece> big_operator(View letters);
  std::optional<Piece> argument_group();
  std::optional<Piece> applied(View function);
};

}  // namespace popgrad::formula
