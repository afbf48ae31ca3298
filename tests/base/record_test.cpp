#include "popgrad/base/record.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <stdexcept>

#include "base/json.hpp"
#include "popgrad/rungs/parameters.hpp"

namespace record_test {

using namespace popgrad;

TEST_CASE("a record keeps the order of its names and the kinds of its values", "[record]") {
  const double half = 0.5;
  Record record{{"z", 1},
                {"a", 1.0},
                {"text", "1"},
                {"truth", true},
                {"list", {half, half / 2}},
                {"two texts", {"a", "b"}},
                {"rows", {{"a", 1}, {"b", 2}}},
                {"inner", Record{{"b", 2}, {"a", {}}}}};
  CHECK(json_text(record) ==
        R"({"z":1,"a":1.0,"text":"1","truth":true,"list":[0.5,0.25],"two texts":["a","b"],)"
        R"("rows":[["a",1],["b",2]],"inner":{"b":2,"a":null}})");
  record["a"] = "changed in its place";
  CHECK(record.entries()[1].name == "a");
  CHECK(record.entries()[1].value == Value("changed in its place"));
  CHECK(json_text(Record{{"a", 1}, {"b", 2}, {"a", 3}}) == R"({"a":3,"b":2})");
  CHECK(json_text(Record{}) == "{}");
}

TEST_CASE("numbers and texts are written as the JSON library writes its own", "[record]") {
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  CHECK(json_text(most) == Json(most).dump());
  CHECK(json_text(least) == Json(least).dump());
  CHECK(json_text(7U) == "7");
  CHECK(json_text(7LL) == "7");
  CHECK(json_text(7ULL) == "7");
  for (const double x : {0.1, 1.0, -0.0, 1e-5, 1e16, 1e300, 5e-324, 1.0 / 3, 123456789.0}) {
    CHECK(json_text(x) == Json(x).dump());
  }
  CHECK(json_text(std::numeric_limits<double>::infinity()) == "null");
  CHECK(json_text("\"\n\u00e9") == Json("\"\n\u00e9").dump());
  CHECK(json_text(std::vector<double>{1, 0.5}) == "[1.0,0.5]");
  CHECK(json_text(std::vector<long>{1, 2}) == "[1,2]");
  CHECK(json_text(std::vector<std::string>{"a"}) == R"(["a"])");
  CHECK(json_text(std::vector<std::string>{}) == "[]");
}

TEST_CASE("names that are missing are added where they are asked for", "[record]") {
  Record record;
  CHECK(record.empty());
  CHECK(record.find("a") == nullptr);
  record["a"] = 1.5;
  record["list"].push_back(1);
  record["list"].push_back("two");
  record["pair"] = {1, 2};
  CHECK(json_text(record) == R"({"a":1.5,"list":[1,"two"],"pair":[1,2]})");
  REQUIRE(record.find("a") != nullptr);
  REQUIRE(record.find("a")->as<double>() != nullptr);
  CHECK(*record.find("a")->as<double>() == 1.5);
  CHECK(record.find("a")->as<std::string>() == nullptr);
  CHECK_THROWS_AS(record["a"].push_back(1), std::logic_error);
}

TEST_CASE("records come back from JSON as they went", "[record]") {
  const Record record{{"null", {}},
                      {"truth", false},
                      {"whole", -3},
                      {"count", std::uint64_t{3}},
                      {"number", 3.0},
                      {"text", ""},
                      {"empty", Value::List{}},
                      {"list", {1, 2.5, "x", {true}}},
                      {"record", Record{{"b", 1}, {"a", Record{}}}}};
  CHECK(value_from(to_json(record)) == Value(record));
  CHECK_FALSE(Value(1) == Value(1.0));
  CHECK_FALSE(Record{{"a", 1}, {"b", 2}} == Record{{"b", 2}, {"a", 1}});
}

TEST_CASE("copies of parameters are independent, and their numbers stay text", "[record]") {
  const Parameters one = Parameters::parse("m", R"({"x": 0.10, "rows": [[1, 2e0]]})", "test");
  Parameters other = one;
  other.set("x", "2");
  other.set_default("x", "3");
  other.set_default("on", true);
  CHECK(json_text(one.values()) == R"({"x":"0.10","rows":[["1","2e0"]]})");
  CHECK(json_text(other.values()) == R"({"x":"2","rows":[["1","2e0"]],"on":true})");
  CHECK_THROWS_WITH(Parameters::parse("m", "[1]", "test"), Catch::Contains("m: the instance must"));
  CHECK_THROWS_WITH(Parameters::parse("m", R"({"x": 1, "x": 2})", "test"),
                    Catch::Contains("test: line 1") && Catch::Contains("'x' occurs twice"));
}

}  // namespace record_test
