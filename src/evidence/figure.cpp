#include "popgrad/evidence/figure.hpp"

#include "popgrad/base/failure.hpp"
#include "popgrad/base/stop.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <cmath>
#include <exception>

namespace popgrad {

void FigureRequest::done(double share) const {
  if (progress) progress(share);
  throw_if_stopped();
}

void FigureRequest::each(std::size_t count, const std::function<void(std::size_t)>& part) const {
  const int threads = jobs > 0 ? jobs : omp_get_num_procs();
  std::exception_ptr failed;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (std::size_t i = 0; i < count; ++i) {
    if (stop_asked()) continue;
    try {
      part(i);
    } catch (...) {
#pragma omp critical(popgrad_figure_part)
      failed = std::current_exception();
    }
  }
  throw_if_stopped();
  if (failed) std::rethrow_exception(failed);
}

Cell::Cell(std::string_view column, double number)
    : name(column), text(std::isnan(number) ? std::string{} : fmt::format("{:.17g}", number)) {}

FigureTable& FigureTable::add(const std::vector<Cell>& row) {
  throw_if_stopped();  // where a figure is stopped that calls done() nowhere
  const bool first = columns_.empty();
  if (!first && row.size() != columns_.size()) {
    throw Failure(
        fmt::format("a row has {} columns, not {}", row.size(), fmt::join(columns_, ", ")));
  }
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (first) {
      columns_.push_back(row[i].name);
    } else if (row[i].name != columns_[i]) {
      throw Failure(
          fmt::format("column {} of a row is '{}', not '{}'", i + 1, row[i].name, columns_[i]));
    }
    rows_ += (i > 0 ? "," : "") + row[i].text;
  }
  rows_ += '\n';
  return *this;
}

FigureTable& FigureTable::block(std::string_view label) {
  rows_ += fmt::format("{}# {}\n", rows_.empty() ? "" : "\n\n", label);
  return *this;
}

std::string FigureTable::text() const {
  return fmt::format("{}\n{}", fmt::join(columns_, ","), rows_);
}

FigureFile FigureTable::file(const FigureRequest& figure, std::string_view part) const {
  return {fmt::format("{}{}{}.csv", figure.name, part.empty() ? "" : "-", part), text()};
}

void require_usable(const Outcome& outcome, std::string_view figure) {
  if (outcome.usable()) return;
  throw_if_stopped();
  throw Failure(fmt::format("figure {}: at t = {:.6g}: {}", figure, outcome.t_reached,
                            describe(outcome.ending)));
}

}  // namespace popgrad
