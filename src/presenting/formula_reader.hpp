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
  bool sure = false;        ///< no running text looks like this
  bool plain_number = false;
  bool scripted = false;  ///< has an index or a power
};

/// Reads a formula from a place of a text on, as far as it goes. `whole`: the text is nothing but a
/// formula; else it may be running text.
class FormulaReader {
 public:
  FormulaReader(View text, bool whole) : text_(text), whole_(whole) { note_primed_indices(); }

  std::size_t at = 0;

  /// From `at` on, as far as it goes; `at` is behind it then. Nothing where no formula begins.
  std::optional<Piece> formula();

 private:
  View text_;
  bool whole_;
  int depth_ = 0;      ///< of groups
  int scripts_ = 0;    ///< of indices and powers
  int arguments_ = 0;  ///< of functions, that are open
  int bars_ = 0;       ///< of absolute values that are open
  std::set<char> primed_indices_;

  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at + ahead < text_.size() ? text_[at + ahead] : '\0';
  }
  [[nodiscard]] bool starts(View what) const { return text_.substr(at).starts_with(what); }
  [[nodiscard]] char before(std::size_t place) const { return place > 0 ? text_[place - 1] : ' '; }
  static std::string space() { return "<mspace width=\"0.17em\"/>"; }

  // Sums and products: formula_reader.cpp.
  static void append(Piece& all, const Piece& more);
  void note_primed_indices();
  bool one_more_side(Piece& all);
  std::optional<std::string> read_relation();
  std::optional<std::string> read_sign();
  std::optional<Piece> sum(bool first);
  [[nodiscard]] bool factor_may_start() const;
  std::optional<Piece> next_factor(const Piece& last);
  std::optional<Piece> product();
  std::optional<Piece> tight();
  [[nodiscard]] Piece fraction(const Piece& above, const Piece& below, bool one_factor) const;

  // Numbers, groups, indices and powers: formula_factors.cpp.
  std::optional<Piece> factor(bool spaced);
  std::optional<Piece> number();
  static std::string decimal(View number);
  std::optional<Piece> group(bool spaced);
  [[nodiscard]] std::string enclosed(char open, std::string_view inside, char close) const;
  std::optional<Piece> list(bool arguments);
  std::optional<Piece> absolute();
  [[nodiscard]] std::size_t angle_end() const;
  std::optional<Piece> angle(std::size_t end);
  std::optional<Piece> with_index(Piece base);
  std::optional<Piece> with_power(Piece base);
  std::string primes();
  [[nodiscard]] bool quote_closes() const;
  std::string power();
  std::optional<std::string> index();
  static std::string index_part(View part);

  // Names, functions and large operators: formula_names.cpp.
  std::optional<Piece> name(bool spaced);
  std::optional<Piece> function_or_sum(View letters);
  [[nodiscard]] std::string word_as_variable(std::size_t begin, View letters, View number,
                                             bool spaced) const;
  bool read_index(std::string& base, std::string& lower, std::string& upper);
  std::optional<Piece> with_arguments(Piece piece);
  static std::string scripted(const std::string& base, const std::string& lower,
                              const std::string& upper);
  static std::string symbol(View letters);
  [[nodiscard]] bool followed_by_factor() const;
  [[nodiscard]] bool star_behind() const;
  [[nodiscard]] bool letter_means_variable(std::size_t place) const;
  std::optional<Piece> big_operator(View letters);
  std::optional<Piece> argument_group();
  std::optional<Piece> applied(View function);
};

}  // namespace popgrad::formula
