// Theories written in TOML against the same ones in C++, and what the reader refuses, with its place.

#include "theory_files/theory_file.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "commands/shell.hpp"
#include "io/npz.hpp"
#include "learning/loss_rung.hpp"
#include "places.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/scalars/rational.hpp"

namespace theory_file_test {
namespace {

using namespace popgrad;
using namespace popgrad::theory_files;

const std::string regression = R"toml(format = 1
theory = { name = "regression", title = "On four points", paper = "derived here" }
[sizes]
d = { value = 2, meaning = "inputs" }
[parameters]
X    = [[1, 0.5], [-0.5, 2], [0, -1], [3, 1]]
p    = { value = [0.1, 0.2, 0.3, 0.4], require = ">= 0" }
w    = { value = "1 / (1 + arange(d))", shape = "d" }
flip = { value = 0.1, require = ">= 0 and <= 1" }
[draw]
i = "categorical(p)"
e = "bernoulli(flip)"
[state]
v = { start = "ones(d) / 3" }
[loss]
x    = "X[i]"
loss = "(v @ x - w @ x - e)**2 / 2"
[training]
rate = { v = "1/2" }
t1   = 20
[observables]
distance = { formula = "sum((v - w)**2)", meaning = "to the teacher" }
)toml";

SampleLoss written() {
  return {.name = "regression",
          .paper = "derived here",
          .sizes = {{"d", 2}},
          .parameters = {{.name = "X", .value = {{1, 0.5}, {-0.5, 2}, {0, -1}, {3, 1}}},
                         {.name = "p", .value = {"0.1", "0.2", "0.3", "0.4"}},
                         {.name = "w", .value = "1 / (1 + arange(d))", .shape = "d"},
                         {.name = "flip", .value = "0.1"}},
          .draws = {{"e", "bernoulli(flip)"}, {"i", "categorical(p)"}},
          .states = {{.name = "v", .start = "ones(d) / 3", .rate = "1/2"}},
          .loss = {{"loss", "(v @ X[i] - w @ X[i] - e)**2 / 2"}},
          .observables = {{.name = "distance", .formula = "sum((v - w)**2)"}},
          .end = 20};
}

template <class T>
Vector<T> field(const SampleLoss& loss, Vector<T>& x) {
  const learning::LossFlow<T> flow(learning::loss_instance(loss, Parameters(loss.name), 1));
  if (x.size() == 0) x = flow.initial();
  Vector<T> dx(x.size());
  flow.rhs(x, dx, T(0));
  return dx;
}

TEST_CASE("theory files: a theory has exactly the field of the same one in C++", "[theory_files]") {
  const TheoryFile read = parse_theory_file(regression, "r.toml");
  CHECK(read.loss.end == 20);
  CHECK(read.loss.parameters.at(3).range.high == 1);
  CHECK(read.unread.empty());
  Vector<Rational> x, y;
  const Vector<Rational> by_file = field(read.loss, x), by_hand = field(written(), y);
  CHECK(x == y);
  CHECK(by_file == by_hand);
  // E (v - w).x x - E e E x at v = (1/3, 1/3), w = (1, 1/2); times the rate.
  const Rational tenth(1, 10);
  const std::vector<std::pair<Rational, Rational>> points{
      {1, Rational(1, 2)}, {Rational(-1, 2), 2}, {0, -1}, {3, 1}};
  Vector<Rational> expected(2);
  expected << Rational(0), Rational(0);
  for (std::size_t k = 0; k < points.size(); ++k) {
    const auto& [a, b] = points[k];
    const Rational weight = tenth * Rational(static_cast<long>(k) + 1);
    const Rational residual = a * Rational(-2, 3) + b * Rational(-1, 6) - tenth;
    expected[0] -= weight * residual * a / 2;
    expected[1] -= weight * residual * b / 2;
  }
  CHECK(by_file == expected);
}

// Oja's rule: E (x - (w.x) w) w.x = C w - (w C w) w, C the covariance of x.
TEST_CASE("theory files: stopped gradients of normal draws have their exact expectation",
          "[theory_files]") {
  const TheoryFile read = parse_theory_file(R"toml(
[parameters]
A = [[2, 0], [1, 1]]
[draw]
x = "A @ normal(2)"
[state]
w = { start = "ones(2) / 3" }
[loss]
y = "w @ x"
loss = "-stop_gradient(y * (x - stop_gradient(y) * w)) @ w"
[observables]
variance = "expected(y**2)"
)toml",
                                            "oja.toml");
  Vector<Rational> w;
  const Vector<Rational> rate = field(read.loss, w);
  Matrix<Rational> c(2, 2);
  c << 4, 2, 2, 2;
  const Vector<Rational> cw = c * w;
  const Rational variance = w.dot(cw);
  CHECK(rate == Vector<Rational>(cw - variance * w));
  const learning::LossFlow<Rational> flow(
      learning::loss_instance(read.loss, Parameters(read.loss.name), 1));
  std::vector<Rational> row(2);
  flow.observe(w, 0, row);
  CHECK(row[1] == variance);
}

std::string refusal(const std::string& text) {
  try {
    TheoryFile file = parse_theory_file(text, "r.toml");
    static_cast<void>(theory_of(file));
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

std::string changed(const std::string& from, const std::string& to) {
  std::string text = regression;
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("theory files: what is wrong is refused with its place and what to do",
          "[theory_files]") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {changed("format = 1", "format = 2"), "r.toml:1:10: format: 2 must be 1"},
      {changed("[observables]", "[observable]"),
       "r.toml:21:2: observable: is no section; did you mean 'observables'?"},
      {changed("[sizes]", "[sises]"), "r.toml:3:2: sises: is no section; did you mean 'sizes'?"},
      {changed("meaning = \"inputs\"", "meanin = \"inputs\""),
       "r.toml:4:18: sizes.d: has no key 'meanin'; did you mean 'meaning'?"},
      {changed("value = 2, meaning", "value = 2.5, meaning"),
       "r.toml:4:15: sizes.d: 2.5 must be a whole number from 1"},
      {changed("d = { value = 2", "d = { value = 0"), "r.toml:4:15: sizes.d: 0 must be a whole"},
      {changed("{ value = 2, meaning = \"inputs\" }", "{ meaning = \"inputs\" }"),
       "r.toml:4:5: sizes.d: has no value; give one"},
      {changed("[0, -1]", "[0, true]"),
       "r.toml:6:34: parameters.X: true is true or false; lists hold numbers"},
      {changed("[0, -1]", "[0]"), "r.toml:6:8: parameters.X: has lists of 2 and of 1 entries"},
      {changed("value = [0.1, 0.2, 0.3, 0.4]", "value = [0.1, 0.2, 0.3, 0.5]"),
       "r.toml:11:5: draw.i: "},
      {changed("\">= 0\"", "\"positive\""),
       "r.toml:7:50: parameters.p: \"positive\" must be \"positive_definite\" or a bound"},
      {changed("\">= 0\"", "\"< Q\""), "r.toml:7:53: parameters.p: unknown name Q"},
      {changed("\">= 0\"", "\"< 1/d - 0.2\""),
       "r.toml:7:18: parameters.p: does not meet its requirement: < 1/d - 0.2"},
      {changed("[state]", "[law.noisy]\ne = \"bernoulli(Q)\"\n[state]"),
       "r.toml:14:16: law.noisy.e: unknown name Q"},
      {changed("[state]", "[law.noisy]\nE = \"bernoulli(flip)\"\n[state]"),
       "r.toml:14:5: law.noisy.E: replaces no draw"},
      {changed("[draw]", "[fixed]\nG = \"normal(D)\"\n[draw]"), "r.toml:11:13: fixed.G: "},
      {changed("bernoulli(flip)", "bernouli(flip)"),
       "r.toml:12:6: draw.e: unknown function bernouli; did you mean 'bernoulli'?"},
      {changed("\"ones(d) / 3\"", "\"normall(d) / 3\""), "did you mean 'normal'?"},
      {changed("\"X[i]\"", "\"X[i] + normal(d)\""), "normal is a law; it stands in draws"},
      {changed("value = 2, meaning", "value = 99999999999999999999, meaning"),
       "is not TOML: a whole number is beyond 64 bits"},
      {changed("arange(d))", "arange(D))"),
       "r.toml:8:35: parameters.w: unknown name D; did you mean 'd'?"},
      {changed("shape = \"d\"", "shape = \"d + 1\""), "parameters.w: "},
      {changed("flip = { value = 0.1", "flip = { value = 1.5"),
       "r.toml:9:18: parameters.flip: 1.5 must be >= 0 and <= 1"},
      {changed("categorical(p)", "categorical(q)"), "r.toml:11:18: draw.i: "},
      {changed("bernoulli(flip)", "bernoulli(flip"), "r.toml:12:"},
      {changed("\"ones(d) / 3\"", "\"ones(d) / (v @ v)\""), "state.v: "},
      {changed("start = \"ones(d) / 3\"", "begin = \"ones(d) / 3\""),
       "r.toml:14:7: state.v: has no key 'begin'; there are start"},
      {changed("v @ x - w @ x - e", "v @ x - w - e"), "loss.loss: "},
      {changed("loss = \"(v", "lose = \"(v"), "no step is called 'loss'"},
      {changed("x    = \"X[i]\"", "x    = \"X[i + loss]\""), "depends on itself"},
      {changed("\"X[i]\"", "\"\""), "r.toml:16:8: loss.x: is empty; give a formula"},
      {changed("\"X[i]\"", "[1, 2]"), "r.toml:16:8: loss.x: is a list; give a formula"},
      {changed("rate = { v", "rate = { u"),
       "r.toml:19:10: training.rate: has no key 'u'; there is v"},
      {changed("t1   = 20", "t1   = -1"), "r.toml:20:8: training.t1: -1 must be a number > 0"},
      {changed("t1   = 20", "samples = 1"),
       "r.toml:20:11: training.samples: 1 must be a whole number from 2"},
      {changed("t1   = 20", "move = { v = \"v\" }"),
       "r.toml:20:14: training.move.v: may not depend on state v"},
      {changed("sum((v - w)**2)", "sum((v - w)^2)"), "r.toml:22:36: observables.distance: "},
      {changed("formula = \"sum", "formla = \"sum"), "observables.distance: has no key 'formla'"},
      {changed("flip = {", "t = {"), "r.toml:9:15: parameters.t: is a reserved name"},
      {changed("distance", "v"), "is a state already"},
      {changed("name = \"regression\"", "name = \"a b\""),
       "r.toml:2:19: theory.name: \"a b\" must begin"},
      {changed("flip = { value", "flip = { data = \"../x.npz\", value"),
       "parameters.flip: has a value and data; leave one out"},
      {changed("flip = { value = 0.1", "flip = { data = \"../x.npz\""),
       "r.toml:9:17: parameters.flip: must be the name of an .npz in the folder of this file"},
      {changed("flip = { value = 0.1", "flip = { data = \"none.npz\""),
       "r.toml:9:17: parameters.flip: none.npz"},
      {changed("shape = \"d\"", "shape = \"(d\""), "parameters.w: shape \"(d\": "},
      {changed("t1   = 20",
               "t1 = 20\n[landscape.l]\nover = { a = [0, 1], b = [0, 1] }\nset = { v = "
               "\"stack([a, b])\" }\npaths = [\"flo\"]"),
       "landscape.l: flo is no rung; did you mean 'flow'?"},
      {changed("[draw]", "[draw"), "r.toml:10:6: is not TOML: a ] is missing"},
      {changed("flip = {", "p = {"), "r.toml:9:5: is not TOML: 'p' is there already"},
      {changed("\"X[i]\"", "\"X[i]"),
       "r.toml:16:13: is not TOML: a quote is missing at the end of a text"},
      {changed("\"X[i]\"", "X[i]"), "is no number, and a text stands between quotes"},
      {changed("meaning = \"inputs\" }", "meaning = \"inputs\""), "a , or } is missing"},
  };
  for (const auto& [text, expected] : cases) {
    const std::string refused = refusal(text);
    INFO(expected);
    CHECK_THAT(refused, Catch::StartsWith("r.toml") && Catch::Contains(expected));
    CHECK(refused.find('\n') == std::string::npos);
  }
}

TEST_CASE("theory files: letters that are not ASCII and texts of several lines keep their columns",
          "[theory_files]") {
  CHECK_THAT(refusal(changed("paper = \"derived here\"", "paper = \"\xC3\xA9\", autor = 1")),
             Catch::StartsWith("r.toml:2:72: theory: has no key 'autor'"));
  CHECK_THAT(refusal(changed("\"X[i]\"", "\"\"\"\nX[i %\n  2 +\n  nothing]\"\"\"")),
             Catch::StartsWith("r.toml:19:3: loss.x: "));
}

TEST_CASE("theory files: arrays come from the folder of the file", "[theory_files]") {
  const command_line::Folder folder;
  write_npz(folder.path / "law.npz", {{"p", {0.1, 0.2, 0.3, 0.4}}}, "");
  const std::string text = changed("value = [0.1, 0.2, 0.3, 0.4]", "data = \"law.npz\"");
  const TheoryFile read = parse_theory_file(text, (folder.path / "r.toml").string());
  Vector<Rational> x, y;
  CHECK((field(read.loss, x) - field(written(), y)).cast<double>().norm() < 1e-16);
  CHECK_THAT(([&]() -> std::string {
               try {
                 static_cast<void>(parse_theory_file(
                     changed("value = [0.1, 0.2, 0.3, 0.4]", "data = \"law.npz\", array = \"q\""),
                     (folder.path / "r.toml").string()));
               } catch (const InputError& error) {
                 return error.what();
               }
               return "";
             }()),
             Catch::Contains(":7:17: parameters.p: law.npz has no array q; it has p"));
}

// Keys of a table, as the reader lists them where one is not there.
std::set<std::string> keys_of_reader(const std::string& text) {
  const std::string refused = refusal(text);
  const std::size_t begin = refused.find("; there ");
  INFO(refused);
  REQUIRE(begin != std::string::npos);
  // "; there is KEY", "; there are KEY, KEY"
  std::istringstream in(refused.substr(refused.find(' ', begin + 8) + 1));
  std::set<std::string> keys;
  for (std::string key; std::getline(in >> std::ws, key, ',');) keys.insert(key);
  return keys;
}
std::set<std::string> keys_of(const nlohmann::json& table) {
  std::set<std::string> keys;
  for (const auto& [key, value] : table.at("properties").items()) keys.insert(key);
  return keys;
}

TEST_CASE("theory files: the schema for editors has the keys that the reader has",
          "[theory_files]") {
  const nlohmann::json schema = nlohmann::json::parse(
      command_line::content(places::sources() + "/theorems/files/theory.schema.json"));
  CHECK(keys_of(schema) == keys_of_reader("qqqqqqqq = 1\n"));
  std::size_t tables = 0;
  for (const auto& [section, described] : schema.at("properties").items()) {
    INFO(section);
    for (const nlohmann::json& kind :
         described.value("anyOf", nlohmann::json::array({described}))) {
      if (!kind.contains("properties")) continue;
      ++tables;
      const bool about = kind.at("properties").contains("of");  // of another file
      const std::string key = about ? "of = \"x.toml\", " : "";
      CHECK(keys_of(kind) == keys_of_reader(section + " = { " + key + "qqqqqqqq = 1 }\n"));
    }
    if (!described.contains("additionalProperties")) continue;
    const nlohmann::json& entry = described.at("additionalProperties");
    if (!entry.is_object()) continue;
    for (const nlohmann::json& kind : entry.value("anyOf", nlohmann::json::array({entry}))) {
      if (!kind.contains("properties")) continue;
      ++tables;
      CHECK(keys_of(kind) == keys_of_reader(section + " = { q = { qqqqqqqq = 1 } }\n"));
    }
  }
  CHECK(tables >= 15);
}

TEST_CASE("theory files: any change of some bytes is read or refused in one line",
          "[theory_files]") {
  using namespace std::string_literals;
  std::mt19937_64 draws(3);
  const std::string marks = "=[]{}\"'#.,\n\\\0\xC3 tn1e-@*"s;
  for (int k = 0; k < 2000; ++k) {
    std::string text = regression;
    for (std::size_t changes = 1 + draws() % 3; changes > 0; --changes) {
      const std::size_t at = draws() % text.size();
      text.replace(at, draws() % 3, draws() % 3, marks[draws() % marks.size()]);
    }
    std::string refused;
    try {
      static_cast<void>(parse_theory_file(text, "r.toml"));
    } catch (const InputError& error) {
      refused = error.what();
    }
    const bool one_line = refused.empty() || (refused.starts_with("r.toml:") &&
                                              refused.find('\n') == std::string::npos);
    INFO(text << "\n" << refused);
    CHECK(one_line);
  }
}

}  // namespace
}  // namespace theory_file_test
