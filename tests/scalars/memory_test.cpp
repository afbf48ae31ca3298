#include "popgrad/base/memory.hpp"

#include <catch2/catch.hpp>
#include <limits>

#include "popgrad/base/error.hpp"

namespace memory_test {

using namespace popgrad;

TEST_CASE("memory: a size is a number and a unit", "[memory]") {
  CHECK(bytes_from_text("4GB") == 4e9);
  CHECK(bytes_from_text("500MB") == 500e6);
  CHECK(bytes_from_text("1.5GiB") == 1.5 * 1024 * 1024 * 1024);
  for (const char* wrong :
       {"", "4", "GB", "4 G", "nanGB", "infGB", "-1GB", "0GB", "1kB", "1e400GB", "4gb", "4GBs"}) {
    CHECK_THROWS_WITH(bytes_from_text(wrong),
                      Catch::Contains("--memory") && Catch::Contains("500MB, 4GB"));
  }
}

TEST_CASE("memory: what is beyond the limit is refused with the amount", "[memory]") {
  set_memory_limit(100e6);
  CHECK_NOTHROW(require_memory(99e6, "tables", "lower --save"));
  CHECK_THROWS_WITH(
      require_memory(2.5e9, "tables", "lower --save"),
      "popgrad: tables need 2.5 GB, and 100 MB may be taken (--memory): lower --save");
  CHECK_THROWS_AS(require_memory(std::numeric_limits<double>::infinity(), "tables", ""),
                  InputError);
  CHECK_THROWS_AS(require_memory(std::numeric_limits<double>::quiet_NaN(), "tables", ""),
                  InputError);
  set_memory_limit({});
  CHECK_NOTHROW(require_memory(1e6, "tables", "lower --save"));
  CHECK_THROWS_WITH(require_memory(1e18, "tables", "lower --save"), Catch::Contains("80 %"));
}

}  // namespace memory_test
