#pragma once
/// Rungs of theory files against built-in ones.

#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/file_bytes.hpp"
#include "places.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"
#include "theory_files/theory_file.hpp"

namespace file_against_rung {

/// Of a path from the top folder of the sources.
inline popgrad::AnyRung<double> rung_of_file(const std::string& path, const std::string& rung) {
  using namespace popgrad;
  const std::string file = (std::filesystem::path(places::sources()) / path).string();
  theory_files::TheoryFile read = theory_files::parse_theory_file(bytes_of_file(file), file);
  return theory_files::theory_of(read).model->rung(rung, Parameters(read.loss.name), 1);
}

/// Columns of both at `times`, solved alike, to 1e-12 of their size.
inline void require_equal(const popgrad::AnyRung<double>& file,
                          const popgrad::AnyRung<double>& built_in,
                          const std::vector<std::pair<std::string, std::string>>& columns,
                          const std::vector<double>& times) {
  using namespace popgrad;
  SolveRequest<double> request;
  request.end = times.back();
  request.save_at = times;
  request.relative_tolerance = request.absolute_tolerance = 1e-14;
  const auto found = solve(file, request), expected = solve(built_in, request);
  REQUIRE(found.rows.size() == times.size());
  REQUIRE(expected.rows.size() == times.size());
  for (const auto& [own, other] : columns) {
    const std::size_t a = place_of(file.observables.columns, own),
                      b = place_of(built_in.observables.columns, other);
    for (std::size_t k = 0; k < times.size(); ++k) {
      INFO(own << " at " << times[k]);
      CHECK(std::abs(found.rows[k].at(a) - expected.rows[k].at(b)) <
            1e-12 * (1 + std::abs(expected.rows[k].at(b))));
    }
  }
}

}  // namespace file_against_rung
