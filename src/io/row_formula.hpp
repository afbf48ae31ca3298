#pragma once
/// A formula of a user over the columns of a table, in doubles and NumPy's notation; names of columns stand as they
/// are, with any characters, the longest first, or between backticks.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace popgrad {

class RowFormula {
 public:
  /// Throws InputError saying what is wrong and where.
  RowFormula(std::string_view text, std::span<const std::string> columns);
  ~RowFormula();
  RowFormula(RowFormula&&) noexcept;
  RowFormula& operator=(RowFormula&&) noexcept;

  /// Columns that it reads, by number; each once.
  [[nodiscard]] const std::vector<std::size_t>& reads() const { return reads_; }
  /// Numbers that are written in it, in their order.
  [[nodiscard]] const std::vector<double>& literals() const { return literals_; }
  /// Of a row, `value(column)` being its number in a column.
  template <class F>
  double operator()(const F& value) const {
    for (std::size_t k = 0; k < reads_.size(); ++k) *numbers_[k] = value(reads_[k]);
    return computed();
  }

 private:
  struct Computation;
  std::unique_ptr<Computation> computation_;
  std::vector<std::size_t> reads_;
  std::vector<double> literals_;
  std::vector<double*> numbers_;  // of the columns, in the computation

  [[nodiscard]] double computed() const;
};

}  // namespace popgrad
