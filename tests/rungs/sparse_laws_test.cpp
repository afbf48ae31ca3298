#include "popgrad/rungs/sparse_laws.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "base/json.hpp"
#include "theorems/scan_snap/rungs/instance.hpp"
#include "theorems/scan_snap/rungs/instance_record.hpp"
#include "theorems/scb/rungs/instance.hpp"
#include "theorems/scb/rungs/instance_record.hpp"

namespace sparse_laws_test {

using namespace popgrad;

namespace {

Parameters parsed(const std::string& model, const std::string& text) {
  return Parameters::parse(model, text, "test");
}

}  // namespace

TEST_CASE("sparse laws: a sum that misses 1 by its rounding is one, by more is not",
          "[parameters]") {
  for (const Index count : {2, 8, 1024}) {
    const double rounding = static_cast<double>(count) * machine_epsilon<double>();
    for (const double sign : {-1.0, 1.0}) {
      CHECK(is_rounded_one(1 + sign * rounding, count));
      CHECK_FALSE(is_rounded_one(1 + 1.5 * sign * rounding, count));
    }
  }
}

TEST_CASE("sparse laws: lists and rows with zeros are the same instance", "[parameters]") {
  const auto dense = scb::training<double>(
      parsed("scb", R"({"P": [[0.5, 0.3], [0.5, 0.7]], "q": [[0, 1, 0], [0.25, 0, 0.75]]})"), 1);
  const auto sparse = scb::training<double>(parsed("scb", R"({"P": [[0.5, 0.3], [0.5, 0.7]], "T": 3,
                        "q_positions": [[1], [0, 1, 2]], "q_weights": [[1], [0.25, 0, 0.75]]})"),
                                            1);
  CHECK(sparse.bigrams.context == 3);
  CHECK(sparse.bigrams.position == dense.bigrams.position);
  CHECK(sparse.bigrams.first == dense.bigrams.first);
  CHECK(sparse.bigrams.law == dense.bigrams.law);
  const auto rows = scan_snap::training_instance<double>(
      parsed("scan-snap", R"({"P": [[0.5, 0.5, 0], [0.5, 0, 0.5]], "M": 9})"), 1);
  const auto lists = scan_snap::training_instance<double>(
      parsed("scan-snap", R"({"P_tokens": [[0, 1], [0, 2]], "P_weights": [[0.5, 0.5], [0.5, 0.5]],
                              "M": 9})"),
      1);
  CHECK(lists.classes.tokens == 9);
  CHECK(lists.classes.token == rows.classes.token);
  CHECK(lists.classes.law == rows.classes.law);
  CHECK(lists.classes.next == rows.classes.next);
}

TEST_CASE("sparse laws: a billion positions cost no memory", "[parameters]") {
  const auto made =
      scb::training<double>(parsed("scb", R"({"P": [[0.5, 0.3], [0.5, 0.7]], "T": 1000000000,
                        "q_positions": [[0], [999999999]], "q_weights": [[1], [1]]})"),
                            1);
  CHECK(made.bigrams.context == 1'000'000'000);
  CHECK(made.bigrams.position.back() == 999'999'999);
}

TEST_CASE("sparse laws: what does not fit is named", "[parameters]") {
  const auto refuses = [](const std::string& lists, const std::string& message) {
    const std::string text = R"({"P": [[0.5, 0.3], [0.5, 0.7]], )" + lists + "}";
    CAPTURE(lists);
    CHECK_THROWS_WITH(scb::training<double>(parsed("scb", text), 1), Catch::Contains(message));
  };
  refuses(R"("T": 3, "q_positions": [[0], [1]])", "q_weights");
  refuses(R"("T": 3, "q_positions": [[0], [1]], "q_weights": [[1]])", "must have as many as");
  refuses(R"("T": 3, "q_positions": [[0], [1]], "q_weights": [[1], [0.5, 0.5]])", "list 1");
  refuses(R"("T": 3, "q_positions": [[0], [3]], "q_weights": [[1], [1]])",
          "whole numbers from 0 to 2, ascending");
  refuses(R"("T": 3, "q_positions": [[0], [1, 0]], "q_weights": [[1], [0.5, 0.5]])", "ascending");
  refuses(R"("T": 3, "q_positions": [[0], [0.5]], "q_weights": [[1], [1]])", "whole numbers");
  refuses(R"("T": 3, "q_positions": [[0], [1]], "q_weights": [[1], [0.9]])", "sums to 0.9");
  refuses(R"("T": 3, "q_positions": [[0], [1, 2]], "q_weights": [[1], [-1, 2]])", "is negative");
  refuses(R"("T": 3, "q_positions": [[0]], "q_weights": [[1]])", "one for each of the 2 tokens");
  refuses(R"("q_positions": [[0], [1]], "q_weights": [[1], [1]])", "give T");
  refuses(
      R"("T": 3, "q": [[1, 0, 0], [1, 0, 0]], "q_positions": [[0], [1]], "q_weights": [[1], [1]])",
      "exclude each other");
}

TEST_CASE("a law is made to sum to 1, unless rounding is all that it misses", "[parameters]") {
  Vector<double> rounded(3);
  rounded << 0.1, 0.7, 0.2;
  rounded[0] += 1e-16;
  const Vector<double> kept = rounded;
  make_sum_one<double>(rounded, "m", "law", "the list");
  CHECK(rounded == kept);
  Vector<double> off(2);
  off << 0.5, 0.5 + 1e-10;
  make_sum_one<double>(off, "m", "law", "the list");
  CHECK(off.sum() == Approx(1).margin(1e-15));
}

}  // namespace sparse_laws_test
