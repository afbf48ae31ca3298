#include "theorems/scan_snap/rungs/kernels.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "popgrad/scalars/random.hpp"
#include "theorems/scan_snap/rungs/instance.hpp"
#include "theorems/scan_snap/rungs/population_flow.hpp"

namespace kernels_test {

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
      std::vector<double> fast_dots(f.size(), 0.5), plain_dots(f.size(), 0.5);
      add_row_products(row.data(), count, table.data(), columns, v.data(), fast_dots.data());
      add_row_products<double>(row.data(), count, table.data(), columns, v.data(),
                               plain_dots.data());
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
    const Index stride = columns + 3;
    RowMatrix<double> fast = RowMatrix<double>::Constant(layout.rows(), stride, 0.5);
    RowMatrix<double> plain = fast;
    scatter_rows(layout, 0, layout.rows(), f.data(), pull.data(), columns, fast.data(), stride);
    scatter_rows<double>(layout, 0, layout.rows(), f.data(), pull.data(), columns, plain.data(),
                         stride);
    CHECK((fast - plain).cwiseAbs().maxCoeff() < 1e-14);
    CHECK((fast.rightCols(3).array() == 0.5).all());
  }
}

TEST_CASE(
    "scan-snap flow: a decoder beyond the cache moves as plain loops over all columns move it",
    "[scan_snap]") {
  // Y of 9000 x 700 numbers is gone through by panels of columns.
  constexpr Index count = 700;
  constexpr Index tokens = 9000;
  TrainingInstance<double> instance;
  SequenceClasses<double>& classes = instance.classes;
  classes.tokens = tokens;
  classes.first = {0};
  std::vector<double> law;
  for (Index n = 0; n < count; ++n) {
    for (Index i = 0; i < 8; ++i) {
      classes.token.push_back((37 * n + 11 * i * i) % tokens);
      law.push_back(static_cast<double>(i + 1) / 36);
    }
    classes.first.push_back(static_cast<Index>(law.size()));
    classes.query.push_back(n % 7);
    classes.next.push_back(n);
  }
  // Every row of Y.
  for (Index l = 0; l < tokens; ++l) {
    classes.token.push_back(l);
    law.push_back(1.0 / static_cast<double>(tokens));
  }
  classes.first.push_back(static_cast<Index>(law.size()));
  classes.query.push_back(7);
  classes.next.push_back(0);
  classes.law = Eigen::Map<Vector<double>>(law.data(), static_cast<Index>(law.size()));
  classes.weight = Vector<double>::Constant(count + 1, 1 / static_cast<double>(count + 1));
  instance.decoder_rate = 2;
  instance.attention_rate = 0.5;
  const PopulationFlow<double> flow(instance);
  const Layout& layout = flow.layout();
  const Index columns = layout.columns();
  REQUIRE(layout.rows() * columns > 6'000'000);
  Vector<double> x = flow.initial();
  Stream stream(5, 0, 0);
  for (double& number : x) number = stream.uniform() - 0.5;
  Vector<double> dx(x.size());
  flow.rhs(x, dx, 0.0);

  const Vector<double> f = flow.features_at(x);
  Vector<double> multiplicity(columns);
  for (Index c = 0; c < columns; ++c) {
    multiplicity[c] = static_cast<double>(layout.multiplicity[static_cast<std::size_t>(c)]);
  }
  RowMatrix<double> pull(count + 1, columns);
  Vector<double> expected = Vector<double>::Zero(x.size());
  Vector<double> logits(columns), counted(columns);
  for (Index n = 0; n <= count; ++n) {
    const Index begin = classes.first[static_cast<std::size_t>(n)];
    const Index entries = classes.first[static_cast<std::size_t>(n + 1)] - begin;
    const Index* const row = layout.entry_row.data() + begin;
    weighted_rows<double>(row, f.data() + begin, entries, x.data(), columns, logits.data());
    respond(logits.data(), multiplicity, layout.class_column[static_cast<std::size_t>(n)],
            pull.row(n).data());
    counted = pull.row(n).transpose().cwiseProduct(multiplicity);
    Vector<double> products = Vector<double>::Zero(entries);
    add_row_products<double>(row, entries, x.data(), columns, counted.data(), products.data());
    pull_back<double>(f.data() + begin, entries, products.data());
    for (Index e = 0; e < entries; ++e) {
      expected[layout.rows() * columns + layout.entry_pair[static_cast<std::size_t>(begin + e)]] +=
          instance.attention_rate * classes.weight[n] * products[e];
    }
    pull.row(n) *= instance.decoder_rate * classes.weight[n];
  }
  scatter_rows<double>(layout, 0, layout.rows(), f.data(), pull.data(), columns, expected.data(),
                       columns);
  // Sums of up to 701 products, in another order.
  const double scale = expected.cwiseAbs().maxCoeff();
  CHECK((dx - expected).cwiseAbs().maxCoeff() < 1e-13 * scale);
  CHECK(scale > 1e-6);
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

}  // namespace kernels_test
