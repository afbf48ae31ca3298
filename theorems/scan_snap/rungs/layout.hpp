#pragma once
/// Which rows, columns and pairs of Y and Z ever move, and where they lie in the state.
///
/// Only tokens of some law have a row in Y, only (query, token) pairs of some class have a logit in
/// Z. From Y = 0 the columns of tokens that never are a next token stay equal, so they are one
/// column of multiplicity M - K. Memory O(nnz(P) + rows + pairs).

#include <string>
#include <vector>

#include "theorems/scan_snap/rungs/instance.hpp"

namespace popgrad::scan_snap {

struct Layout {
  // Y: rows x columns, row after row.
  std::vector<Index> row_token;     ///< token of each row, ascending (R)
  std::vector<Index> column_token;  ///< token of each column; -1: the shared one (C)
  std::vector<Index> class_column;  ///< column of the next token of each class (K)
  std::vector<Index> multiplicity;  ///< tokens that a column stands for (C)
  // Z: pairs, query after query.
  std::vector<Index> query_token;  ///< distinct queries, ascending (Q)
  std::vector<Index> class_query;  ///< index of psi(n) in them (K)
  std::vector<Index> pair_first;   ///< pairs of each query (Q + 1)
  std::vector<Index> pair_token;   ///< token of each pair, ascending within a query
  // Entries of the law.
  std::vector<Index> entry_class, entry_row, entry_pair;  ///< (nnz)
  std::vector<Index> row_first;                           ///< entries of each row (R + 1)
  std::vector<Index> row_entry;                           ///< (nnz)
  std::vector<bool> entry_distinct;                       ///< the token has one class only (nnz)

  [[nodiscard]] Index rows() const { return static_cast<Index>(row_token.size()); }
  [[nodiscard]] Index columns() const { return static_cast<Index>(column_token.size()); }
  [[nodiscard]] Index pairs() const { return static_cast<Index>(pair_token.size()); }
  [[nodiscard]] Index queries() const { return static_cast<Index>(query_token.size()); }
};

/// `share_column`: one column for all tokens that never are a next token.
template <class T>
Layout lay_out(const SequenceClasses<T>& classes, bool share_column);

/// `y_L_N` by rows (`y_L_other` for the shared column), then `z_M_L`.
void add_decoder_names(const Layout& layout, std::vector<std::string>& names);
void add_logit_names(const Layout& layout, std::vector<std::string>& names);

}  // namespace popgrad::scan_snap
