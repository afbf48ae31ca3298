#include "presenting/result_table.hpp"

#include <catch2/catch.hpp>

using namespace popgrad;

TEST_CASE("result table: columns are as wide as their widest cells, notes stand below their rows",
          "[report]") {
  ResultTable table({words("run"), words("observable", 12), numbers("rows", 6),
                     numbers("rms", 5, ".3g"), words("what", 0, 2)});
  table.note("(below the headings)\n");
  table.add("a", "loss", 10, 0.123456, "near");
  table.add("longer", "an observable", std::size_t{200}, 1e-7, "");
  table.note("    a note, longer than any column\n");
  table.add("b", "loss", 2, " too few to be compared");
  CHECK(table.text("  ") ==
        "  run    observable      rows   rms  what\n"
        "(below the headings)\n"
        "  a      loss              10 0.123  near\n"
        "  longer an observable    200 1e-07  \n"
        "    a note, longer than any column\n"
        "  b      loss               2  too few to be compared\n");
}

TEST_CASE("result table: without headings only rows", "[report]") {
  ResultTable table({words({}), numbers({}, 4)});
  CHECK(table.text().empty());
  table.add("a", 1);
  CHECK(table.text() == "a    1\n");
}
