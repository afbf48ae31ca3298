/// Formulas in plain notation: what becomes MathML, and what stays text.

#include "presenting/math_text.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

namespace math_text_test {

using popgrad::formula_mathml;
using popgrad::math_html;

namespace {

// The words of a page without its marks: what a reader sees, one after the other.
std::string seen(const std::string& html) {
  std::string text;
  bool inside = false;
  for (const char c : html) {
    if (c == '<') inside = true;
    if (!inside) text += c;
    if (c == '>') inside = false;
  }
  return text;
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("math text: names, indices, powers and fractions", "[report]") {
  CHECK(math_html("`alpha_V`") == "<math><msub><mi>α</mi><mi>V</mi></msub></math>");
  CHECK(math_html("`alpha*` of") == "<math><msup><mi>α</mi><mo>∗</mo></msup></math> of");
  CHECK(math_html("`mu_j^2`") == "<math><msubsup><mi>μ</mi><mi>j</mi><mn>2</mn></msubsup></math>");
  CHECK(math_html("`p_c > 0`") ==
        "<math><msub><mi>p</mi><mi>c</mi></msub><mo>&gt;</mo><mn>0</mn></math>");
  CHECK(math_html("a rate `1/T`") ==
        "a rate <math><mrow><mn>1</mn><mo lspace=\"0\" rspace=\"0\">/</mo>"
        "<mi>T</mi></mrow></math>");
  CHECK(math_html("`sqrt(tau)`") == "<math><msqrt><mi>τ</mi></msqrt></math>");
  CHECK(math_html("`b_bar` is") ==
        "<math><mover accent=\"true\"><mi>b</mi><mo>¯</mo></mover></math> is");
  CHECK(math_html("`T^-0.55`") ==
        "<math><msup><mi>T</mi><mrow><mo>−</mo><mn>0.55</mn></mrow></msup></math>");
  CHECK(math_html("`lambda_max`") == "<math><msub><mi>λ</mi><mtext>max</mtext></msub></math>");
  CHECK(math_html("`M = 3e5`") ==
        "<math><mi>M</mi><mo>=</mo><mrow><mn>3</mn><mo>·</mo><msup><mn>10</mn><mn>5</mn></msup>"
        "</mrow></math>");
}

TEST_CASE("math text: formulas as claims have them", "[report]") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"`z - (1/2T) sum_k v_k^2` is conserved", "z−(1/2T)∑kvk2 is conserved"},
      {"by a factor `e^{(mu_j^2 - mu_k^2)/tau}`", "by a factor e(μj2−μk2)/τ"},
      {"`q = sum_k g_k phi' w_k'f`, with the weights", "q=∑kgkφ′wk′f, with the weights"},
      {"`lambda` below `q_min <V,P>`", "λ below qmin⟨V,P⟩"},
      {"`<w1', P>` with `D` in place", "⟨w1′,P⟩ with D in place"},
      {"stays below `h*` by `<= 2 eta_Y/M`", "stays below h∗ by ≤2ηY/M"},
      {"`mu_l = kappa P[y_l = 1 | y_m = 1]`", "μl=κP[yl=1∣ym=1]"},
      {"`dt = sum a dt_exp`, with two", "dt=∑adtexp, with two"},
      {"`v' = (mu - v) o a` shows entropy", "v′=(μ−v)∘a shows entropy"},
      {"`J = diag(a) - a a'`: when `a_1` is", "J=diag(a)−aa′: when a1 is"},
      {"`Phi(sqrt(2 K_P B/(eta T^2 rate W)))`", "Φ(2KPB/(ηT2rateW))"},
      {"`4 T^2 rate^2.7/K_P` in the time", "4T2rate2.7/KP in the time"},
      {"`|P mu - mu| = 1.57e-16`", "|Pμ−μ|=1.57·10−16"},
      {"`V = mu 1'`, `11'/N`, or from", "V=μ1′, 11′/N, or from"},
      {"`(0, -1/(T K_Q))`", "(0,−1/(TKQ))"},
      {"`(J^2)_11 = a_1^2`", "(J2)11=a12"},
      {"late: `delta_k -> 0`", "late: δk→0"},
      {"`xi_n` without `sum_{k != n} G_nk/(M-1)`", "ξn without ∑k≠nGnk/(M−1)"},
      {"`mu = 1.2..3.8`, `tau = 3`", "μ=1.2…3.8, τ=3"},
      {"`(1 + omega1) ln M`", "(1+ω1)lnM"},
      {"Pr(argmax `alpha_n` is next)", "Pr(argmax αn is next)"},
      {"`u = -1/(a T)`, least norm", "u=−1/(aT), least norm"},
  };
  for (const auto& [text, expected] : cases) {
    INFO(text);
    CHECK(seen(math_html(text)) == expected);
    CHECK(count(math_html(text), "<math>") == count(text, "`") / 2);
  }
  // In running text stacked fractions would be too small to read.
  CHECK(count(math_html("`ln(1 + 4 Gamma/C0)/4`"), "<mfrac>") == 0);
  // The prime of a second index stays with it throughout the formula.
  const std::string indices = math_html("`gamma (iota_n f_n - sum beta_nn' f_n')`");
  CHECK(count(indices, "<mrow><mi>n</mi><mo>′</mo></mrow>") == 1);
  CHECK(count(indices, "<mi>n</mi><mi>n</mi><mo>′</mo>") == 1);
}

TEST_CASE("math text: what is not marked stays text", "[report]") {
  for (const char* text : {"a tenth more variance over documents", "alpha_V^2 = 1", "one `open"}) {
    CHECK(math_html(text) == text);
  }
  CHECK(math_html("a > c & \"d\"") == "a &gt; c &amp; &quot;d&quot;");
}

TEST_CASE("math text: what is marked and reads as no formula is code", "[report]") {
  CHECK(math_html("`value_rate` 10 % larger") == "<code>value_<wbr>rate</code> 10 % larger");
  CHECK(math_html("on `<b>`") == "on <code>&lt;b&gt;</code>");
  for (const std::string code :
       {"scan-snap.eqn10-clock", "popgrad figure joma-audits", "--value normal", "closed-form",
        "reduced", "sgd", "--watch N:L", "a*(b", "x y)"}) {
    CHECK(math_html('`' + code + '`') == "<code>" + code + "</code>");
  }
}

TEST_CASE("math text: whole formulas of expressions", "[report]") {
  CHECK(formula_mathml("w' = 2*x") ==
        "<math display=\"block\"><msup><mi>w</mi><mo>′</mo></msup><mo>=</mo><mn>2</mn><mspace "
        "width=\"0.17em\"/><mi>x</mi></math>");
  const std::string flow = formula_mathml(
      "alpha_V' = ((1/T - K_Q)*alpha_A^2 - 1/T)*alpha_V + 1/T - (1/T - K_Q)*alpha_A");
  CHECK(seen(flow) == "αV′=((1T−KQ)αA2−1T)αV+1T−(1T−KQ)αA");
  CHECK(count(flow, "<mfrac>") == 4);
  CHECK(seen(formula_mathml("exp(v_0_1^2/tau)*(query_0 - v_0_1)/sqrt(2)")) ==
        "exp(v0,12τ)(query0−v0,1)2");
  CHECK(formula_mathml("a*(b + c").empty());
  CHECK(formula_mathml("two words").empty());
}

}  // namespace math_text_test
