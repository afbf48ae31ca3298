#include "scan_snap/kernels.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "popgrad/random.hpp"
#include "popgrad/scan_snap/instance.hpp"

using namespace popgrad;
using namespace popgrad::scan_snap;

TEST_CASE("scan-snap kernels agree with the plain loops", "[scan_snap]") {
  Stream stream(1, 0, 0);
  for (const Index columns : {1, 2, 3, 5, 8, 11, 15, 16, 17, 64, 241}) {
    const Index rows = 23;
    std::vector<double> table(static_cast<std::size_t>(rows * columns));
    for (double& x : table) x = stream.normal();
    for (const Index count : {1, 3, 4, 9, 20}) {
      std::vector<Index> row;
      std::vector<double> f, v;
      for (Index i = 0; i < count; ++i) {
        row.push_back(static_cast<Index>(stream.index(rows)));
        f.push_back(stream.normal());
      }
      for (Index c = 0; c < columns; ++c) v.push_back(stream.normal());
      std::vector<double> fast(v.size()), plain(v.size());
      weighted_rows(row.data(), f.data(), count, table.data(), columns, fast.data());
      weighted_rows<double>(row.data(), f.data(), count, table.data(), columns, plain.data());
      // Sums of up to 20 products of size 1, in another order.
      for (std::size_t c = 0; c < v.size(); ++c) CHECK(fast[c] == Approx(plain[c]).margin(1e-13));
      std::vector<double> fast_dots(f.size()), plain_dots(f.size());
      row_products(row.data(), count, table.data(), columns, v.data(), fast_dots.data());
      row_products<double>(row.data(), count, table.data(), columns, v.data(), plain_dots.data());
      for (std::size_t i = 0; i < f.size(); ++i) {
        CHECK(fast_dots[i] == Approx(plain_dots[i]).margin(1e-12));
      }
      std::vector<double> added = table;
      add_to_rows(row.data(), f.data(), count, v.data(), columns, added.data());
      std::vector<double> expected = table;
      for (std::size_t i = 0; i < f.size(); ++i) {
        for (std::size_t c = 0; c < v.size(); ++c) {
          expected[static_cast<std::size_t>(row[i] * columns) + c] += f[i] * v[c];
        }
      }
      for (std::size_t i = 0; i < table.size(); ++i) {
        CHECK(added[i] == Approx(expected[i]).margin(1e-13));
      }
    }
  }
}

TEST_CASE("scan-snap softmax kernel agrees with the plain one", "[scan_snap]") {
  Stream stream(2, 0, 0);
  for (const Index columns : {1, 2, 7, 30, 240}) {
    for (const double size : {1e-8, 1.0, 50.0, 900.0}) {
      Vector<double> logits(columns), fast(columns), plain(columns);
      for (double& x : logits) x = size * stream.normal();
      Vector<double> multiplicity = Vector<double>::Ones(columns);
      multiplicity[columns - 1] = 1000;
      const double fast_loss = respond_fast(logits.data(), multiplicity, 0, fast.data());
      const double plain_loss = respond(logits.data(), multiplicity, 0, plain.data());
      CHECK(fast_loss == Approx(plain_loss).epsilon(1e-13).margin(1e-13));
      for (Index c = 0; c < columns; ++c) CHECK(fast[c] == Approx(plain[c]).margin(1e-14));
    }
  }
}

TEST_CASE("scan-snap transposed product agrees with the plain one", "[scan_snap]") {
  const SequenceClasses<double> classes = syn_medium<double>(3);
  const Layout layout = lay_out(classes, true);
  Stream stream(3, 0, 0);
  Vector<double> f(classes.entries());
  for (double& x : f) x = stream.normal();
  // Widths on either side of those that are held in registers.
  for (const Index columns : {1, 7, 8, 11, 16, 17, 21}) {
    RowMatrix<double> pull(classes.classes(), columns);
    for (double& x : pull.reshaped()) x = stream.normal();
    RowMatrix<double> fast(layout.rows(), columns);
    RowMatrix<double> plain = fast;
    scatter_rows(layout, 0, layout.rows(), f.data(), pull.data(), columns, fast.data());
    scatter_rows<double>(layout, 0, layout.rows(), f.data(), pull.data(), columns, plain.data());
    CHECK((fast - plain).cwiseAbs().maxCoeff() < 1e-14);
  }
}

TEST_CASE("alias table: counts pass a chi-square test, zeros never come out", "[random]") {
  const std::vector<double> law{0.5, 0.0, 0.2, 0.05, 0.25};
  const AliasTable table(law);
  Stream stream(4, 0, 0);
  std::vector<std::uint32_t> counts(law.size(), 0);
  constexpr double draws = 1e6;
  stream.count(table, static_cast<std::size_t>(draws), counts);
  CHECK(counts[1] == 0);
  double square = 0;
  for (std::size_t i = 0; i < law.size(); ++i) {
    if (law[i] == 0) continue;
    square += std::pow(counts[i] - draws * law[i], 2) / (draws * law[i]);
  }
  CHECK(square < 16.27);  // chi^2 with 3 degrees of freedom, level 1e-3
}
