#include "theorems/scan_snap/rungs/layout.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "popgrad/scalars/dual.hpp"
#include "popgrad/scalars/expression.hpp"
#include "popgrad/scalars/rational.hpp"
#include "popgrad/scalars/real.hpp"

namespace popgrad::scan_snap {
namespace {

std::vector<Index> sorted_unique(std::vector<Index> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

Index position(const std::vector<Index>& sorted, Index value) {
  return std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin();
}

}  // namespace

template <class T>
Layout lay_out(const SequenceClasses<T>& classes, bool share_column) {
  Layout layout;
  const auto at = [](Index i) { return static_cast<std::size_t>(i); };
  layout.row_token = sorted_unique(classes.token);
  layout.column_token = sorted_unique(classes.next);
  const auto live = static_cast<Index>(layout.column_token.size());
  if (!share_column) {
    layout.column_token.resize(at(classes.tokens));
    for (Index c = 0; c < classes.tokens; ++c) layout.column_token[at(c)] = c;
  }
  for (const Index token : classes.next) {
    layout.class_column.push_back(position(layout.column_token, token));
  }
  layout.multiplicity.assign(layout.column_token.size(), 1);
  if (share_column && classes.tokens > live) {
    layout.column_token.push_back(-1);
    layout.multiplicity.push_back(classes.tokens - live);
  }

  layout.query_token = sorted_unique(classes.query);
  for (const Index token : classes.query) {
    layout.class_query.push_back(position(layout.query_token, token));
  }
  std::vector<std::vector<Index>> tokens_of_query(layout.query_token.size());
  for (Index n = 0; n < classes.classes(); ++n) {
    std::vector<Index>& tokens = tokens_of_query[at(layout.class_query[at(n)])];
    tokens.insert(tokens.end(), classes.token.begin() + classes.first[at(n)],
                  classes.token.begin() + classes.first[at(n + 1)]);
  }
  layout.pair_first = {0};
  for (std::vector<Index>& tokens : tokens_of_query) {
    tokens = sorted_unique(std::move(tokens));
    layout.pair_token.insert(layout.pair_token.end(), tokens.begin(), tokens.end());
    layout.pair_first.push_back(layout.pairs());
  }

  const std::vector<Index> owners = classes_of_tokens(classes);
  std::vector<Index> count(layout.row_token.size() + 1, 0);
  for (Index n = 0; n < classes.classes(); ++n) {
    const Index q = layout.class_query[at(n)];
    for (Index e = classes.first[at(n)]; e < classes.first[at(n + 1)]; ++e) {
      const Index token = classes.token[at(e)];
      layout.entry_class.push_back(n);
      layout.entry_row.push_back(position(layout.row_token, token));
      layout.entry_pair.push_back(layout.pair_first[at(q)] +
                                  position(tokens_of_query[at(q)], token));
      layout.entry_distinct.push_back(owners[at(token)] == 1);
      ++count[at(layout.entry_row.back() + 1)];
    }
  }
  for (std::size_t r = 1; r < count.size(); ++r) count[r] += count[r - 1];
  layout.row_first = count;
  layout.row_entry.resize(layout.entry_row.size());
  for (std::size_t e = 0; e < layout.entry_row.size(); ++e) {
    layout.row_entry[at(count[at(layout.entry_row[e])]++)] = static_cast<Index>(e);
  }
  return layout;
}

void add_decoder_names(const Layout& layout, std::vector<std::string>& names) {
  for (const Index row : layout.row_token) {
    for (const Index column : layout.column_token) {
      names.push_back(column < 0 ? fmt::format("y_{}_other", row)
                                 : fmt::format("y_{}_{}", row, column));
    }
  }
}

void add_logit_names(const Layout& layout, std::vector<std::string>& names) {
  for (std::size_t q = 0; q < layout.query_token.size(); ++q) {
    for (Index p = layout.pair_first[q]; p < layout.pair_first[q + 1]; ++p) {
      names.push_back(fmt::format("z_{}_{}", layout.query_token[q],
                                  layout.pair_token[static_cast<std::size_t>(p)]));
    }
  }
}

template Layout lay_out(const SequenceClasses<double>&, bool);
template Layout lay_out(const SequenceClasses<Real>&, bool);
template Layout lay_out(const SequenceClasses<Expression>&, bool);

}  // namespace popgrad::scan_snap
