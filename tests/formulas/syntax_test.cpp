/// The notation of formulas: what is read, how it is printed, and what is refused with which advice.

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formulas/print.hpp"
#include "formulas/syntax.hpp"

namespace formulas_syntax_test {
namespace {

using namespace popgrad;
using namespace popgrad::formulas;

// As its own text in brackets, so that what binds what is seen.
std::string nested(const syntax::Tree& tree, std::size_t k) {
  if (k == syntax::absent) return "_";
  const syntax::Node& n = tree.nodes[k];
  if (n.parts.empty()) return n.kind == syntax::Kind::new_axis ? "None" : n.text;
  std::string all = "(" + (n.kind == syntax::Kind::slice ? ":" : n.text);
  for (const std::size_t part : n.parts) all += " " + nested(tree, part);
  return all + ")";
}
std::string nested(std::string_view text) {
  const syntax::Tree tree = syntax::parse(text);
  return nested(tree, tree.nodes.size() - 1);
}

TEST_CASE("formulas bind as in Python", "[formulas]") {
  const std::vector<std::pair<const char*, const char*>> all{
      {"-2**2", "(- (** 2 2))"},
      {"2**3**2", "(** 2 (** 3 2))"},
      {"-x**-y**2", "(- (** x (- (** y 2))))"},
      {"a - b - c", "(- (- a b) c)"},
      {"a + b * c @ d", "(+ a (@ (* b c) d))"},
      {"a // b % c / d", "(/ (% (// a b) c) d)"},
      {"-a.T @ b[0]", "(@ (- (T a)) ( b 0))"},
      {"--a", "(- (- a))"},
      {"a + 1 <= b * 2", "(<= (+ a 1) (* b 2))"},
      {"x[:, None, 1:-1:2, i]", "( x (: _ _ _) None (: 1 (- 1) 2) i)"},
      {"x[(i, j)]", "( x i j)"},
      {"f(a, (b,), axis=(0, 1))", "(f a ( b) ( 0 1))"},
      {"[[1, 2], [3.5, 1e-3]]", "( ( 1 2) ( 3.5 1e-3))"},
      {"einsum('ij, j -> i', A, x)", "(einsum ij, j -> i A x)"},
      {"`optim/lr` * 1_000", "(* optim/lr 1000)"},
      {"(a\n  + b)", "(+ a b)"},
  };
  for (const auto& [text, bound] : all) CHECK(nested(text) == bound);
  const std::vector<std::string> names{"lr", "optim/lr", "x y"};
  CHECK(syntax::parse("optim/lr*x y", names).nodes.size() == 3);
  CHECK(syntax::parse("lrs", names).root().text == "lrs");
}

TEST_CASE("formulas print with the brackets that they need", "[formulas]") {
  struct Printed {
    const char* text;
    const char* numpy;
    const char* latex;
    const char* cpp;
  };
  const std::vector<Printed> all{
      {"((a)) + ((b*c))", "a + b * c", "a + b \\odot c", "a + b * c"},
      {"a-(b-c)", "a - (b - c)", "a - (b - c)", "a - (b - c)"},
      {"(-a)**2", "(-a)**2", "(-a)^{\\odot 2}", "pow(-a, 2.0)"},
      {"-(a**2)", "-a**2", "-a^{\\odot 2}", "-pow(a, 2.0)"},
      {"(a**b)**c", "(a**b)**c", "(a^{\\odot b})^{\\odot c}", "pow(pow(a, b), c)"},
      {"a * (-b)", "a * -b", "a \\odot (-b)", "a * -b"},
      {"(A @ x) / 2", "A @ x / 2", "\\frac{A x}{2}", "xt::linalg::dot(A, x) / 2.0"},
      {"(a + b).T", "(a + b).T", "(a + b)^{\\top}", "transpose(a + b)"},
      {"x[0, 1:]", "x[0, 1:]", "x_{0, 1:}", "xt::view(x, 0, xt::range(1, xt::placeholders::_))"},
      {"einsum('ij,j->i', A, Lambda_k)", "einsum('ij,j->i', A, Lambda_k)",
       "\\sum_{j} A_{ij} (\\Lambda_{k})_{j}", "einsum(\"ij,j->i\", A, Lambda_k)"},
      {"W1_2 + lambda_0", "W1_2 + lambda_0", "W_{1,2} + \\lambda_{0}", "W1_2 + lambda_0"},
      {"size_W + _x", "size_W + _x", "\\mathrm{size}_{W} + \\mathrm{\\_x}", "size_W + _x"},
      {"2 * 3", "2 * 3", "2 \\cdot 3", "2.0 * 3.0"},
      {"sum(x, axis=0)", "sum(x, axis=0)", "\\operatorname{sum}_{0}(x)", "sum(x, {0})"},
      {"`a b` < 1", "`a b` < 1", "\\text{a b} < 1", "a_b < 1.0"},
      {"(a < b) * (c < d)", "(a < b) * (c < d)", "(a < b) \\odot (c < d)", "(a < b) * (c < d)"},
  };
  for (const Printed& p : all) {
    const syntax::Tree tree = syntax::parse(p.text);
    CHECK(syntax::to_numpy(tree) == p.numpy);
    CHECK(syntax::to_latex(tree) == p.latex);
    CHECK(syntax::to_cpp(tree) == p.cpp);
    CHECK(nested(p.numpy) == nested(p.text));
  }
  // Of known ranks: a product with a scalar, vectors from the left.
  const std::vector<int> ranks{0, 1, 1, 2, 1, 1};
  CHECK(syntax::to_latex(syntax::parse("c * x @ A"), ranks) == "A^{\\top} (c x)");
  CHECK(syntax::to_latex(syntax::parse("c * x @ A @ y"), std::vector<int>{0, 1, 1, 2, 1, 1, 0}) ==
        "(c x)^{\\top} A y");
}

TEST_CASE("what is no formula is refused with its place and what to write", "[formulas]") {
  const std::vector<std::pair<const char*, const char*>> all{
      {"", "line 1, column 1: it ends too early"},
      {"a +\n  ", "line 2, column 3: it ends too early"},
      {"a ^ 2", "line 1, column 3: '^' is no operation here: write ** for a power"},
      {"a &&\nb", "line 1, column 3: '&&' is no operation here: write where(a, b, 0)"},
      {"a = 2", "column 3: '=' is no operation here: write =="},
      {"a < b < c", "column 7: comparisons are not chained"},
      {"a == b != c", "column 8: comparisons are not chained"},
      {"\u00B5 * \u2212a", "column 1: \u00B5 is no part of a formula"},
      {"`\u00B5` * \u2212a", "column 7: '\u2212' is no operation here: write -"},
      {"a \u00D7 b", "column 3: '\u00D7' is no operation here: write *"},
      {"A' @ x", "column 2: ''' is no operation here: write .T"},
      {"a.*b", "write *, which goes by entries"},
      {"x.sum()", "column 2: arrays have no methods: write sum(x)"},
      {"np.exp(x)", "column 3: functions have no prefix: write exp(...)"},
      {"2x", "column 2: an operation is missing, such as *"},
      {"2(x)", "column 2: an operation is missing, such as *"},
      {"(a", "column 3: a ) is missing"},
      {"a)", "column 2: ) closes nothing"},
      {"f(a", "column 4: f has no ) at its end"},
      {"x[1", "column 4: a ] is missing"},
      {"x[,]", "an index is missing"},
      {"x[]", "an index is missing"},
      {"x[1:2:3:4]", "a colon stands in an index only"},
      {"x[..., 0]", "write the slices, as in x[:, 0]"},
      {"a, b", "a comma separates"},
      {"f(b=1, a)", "column 8: an argument without a name stands before"},
      {"f(b=1, b=2)", "column 8: 'b' is given twice"},
      {"f(*x)", "without *"},
      {"1e999999", "the exponent of a number"},
      {"0x10", "write the number as a decimal"},
      {"1j", "complex numbers are not supported"},
      {"007", "does not begin with 0"},
      {"a and b", "'and' is a word of Python: write where(a, b, 0)"},
      {"x if a else b", "write where(condition, a, b)"},
      {"lambda", "'lambda' is a word of Python: take another name, such as lambda_"},
      {"None", "'None' stands in an index only"},
      {"`a", "a ` is missing"},
      {"'ij", "a ' is missing"},
      {"a b", "an operation is missing"},
      {"\xFF", "\\xFF is no part of a formula"},
  };
  for (const auto& [text, reason] : all) {
    CAPTURE(text);
    CHECK_THROWS_WITH(syntax::parse(text), Catch::Contains(reason));
  }
  // In a file the place is that of the file.
  try {
    syntax::parse("a +\n b ^ c", {}, {7, 12});
    FAIL("is no formula");
  } catch (const FormulaError& error) {
    CHECK(error.place() == Place{8, 4});
    CHECK(error.reason() == "'^' is no operation here: write ** for a power");
  }
  for (const char* deep : {"(", "[", "-", "f(", "x[", "2**", "1+", "x.T@", "f(a,", "(a)", "x[0]"}) {
    std::string text;
    for (int k = 0; k < 100'000; ++k) text += deep;
    CAPTURE(deep);
    CHECK_THROWS_AS(syntax::parse(text + "x"), FormulaError);
  }
  std::string many = "f(1";
  for (int k = 0; k < 100'000; ++k) many += ",1";
  CHECK_THROWS_WITH(syntax::parse(many + ")"), Catch::Contains("more than 100000 parts"));
}

}  // namespace
}  // namespace formulas_syntax_test
