// Documents in LaTeX: groups, environments and delimiters close in order, and all commands are of LaTeX or amsmath.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "commands/shell.hpp"
#include "places.hpp"

namespace latex_document_test {
namespace {

using namespace command_line;

const std::set<std::string>& known_commands() {
  static const std::set<std::string> known{
      "ast",        "begin",        "beta",   "bmod",   "cdot",       "char",    "documentclass",
      "dot",        "end",          "eta",    "frac",   "Gamma",      "ge",      "in",
      "infty",      "Lambda",       "lambda", "land",   "le",         "left",    "lfloor",
      "lVert",      "lvert",        "mathbf", "mathrm", "min",        "max",     "ne",
      "odot",       "operatorname", "pi",     "rfloor", "right",      "rVert",   "rvert",
      "section",    "sigma",        "sim",    "sqrt",   "subsection", "sum",     "text",
      "Theta",      "theta",        "times",  "top",    "usepackage", "mu",      "tau",
      "exp",        "log",          "sin",    "cos",    "tanh",       "alpha",   "delta",
      "epsilon",    "gamma",        "kappa",  "nu",     "omega",      "phi",     "psi",
      "rho",        "xi",           "zeta",   "chi",    "Delta",      "Omega",   "Phi",
      "Pi",         "Psi",          "Sigma",  "Xi",     "bigl",       "bigr",    "quad",
      "varepsilon", "lnot",         "lor",    "arg",    "det",        "mathcal", "chi"};
  return known;
}

// What is wrong first, or nothing.
std::string mistake_in(const std::string& text) {
  std::vector<std::string> open;
  const auto close = [&](const std::string& what) {
    if (open.empty() || open.back() != what) return false;
    open.pop_back();
    return true;
  };
  for (std::size_t k = 0; k < text.size(); ++k) {
    const std::string place = " at " + text.substr(k, 40);
    if (text[k] == '{') open.emplace_back("{");
    if (text[k] == '}' && !close("{")) return "}" + place;
    if (text[k] == '%' || text[k] == '#' || text[k] == '$' || text[k] == '~') return place;
    const bool aligns = std::find_if(open.begin(), open.end(), [](const std::string& o) {
                          return o.starts_with("align") || o == "cases" || o == "pmatrix";
                        }) != open.end();
    if (text[k] == '&' && !aligns) return "&" + place;
    if (text[k] != '\\') continue;
    std::size_t end = ++k;
    while (end < text.size() && std::isalpha(static_cast<unsigned char>(text[end])) != 0) ++end;
    const std::string command = text.substr(k, end - k);
    if (command.empty()) continue;  // a sign, which is no group
    if (!known_commands().contains(command)) return command + place;
    k = end - 1;
    if (command == "left") open.emplace_back("left");
    if (command == "right" && !close("left")) return "right" + place;
    if (command == "begin" || command == "end") {
      const std::size_t last = text.find('}', end);
      const std::string name = text.substr(end + 1, last - end - 1);
      if (command == "begin") open.push_back(name);
      if (command == "end" && !close(name)) return "end" + place;
      k = last;
    }
  }
  return open.empty() ? "" : open.back() + " is not closed";
}

TEST_CASE("exported documents are valid LaTeX", "[theory_files][latex]") {
  CHECK(mistake_in("\\left( a \\right) {b} \\{").empty());
  CHECK(mistake_in("\\frac{a}{b") == "{ is not closed");
  CHECK(mistake_in("\\left( {a \\right) }") == "right at \\right) }");
  CHECK(mistake_in("\\nosuch").starts_with("nosuch"));
  CHECK(mistake_in("a & b").starts_with("&"));
  const Folder folder;
  std::vector<std::string> files;
  for (const char* name : {"regression", "logistic", "network", "edge", "icl", "dln", "unit"})
    files.push_back(places::sources() + "/theorems/files/" + name + ".toml");
  files.push_back(folder.file(
      "signs.toml",
      "theory = { title = '50% of A&B_1 #2 {x} \\ ~ ^ $', paper = 'x_y & z' }\n"
      "parameters = { a_b = { value = 1, meaning = '50% of A_1 & b # {c} $ ~ ^ \\ end' } }\n"
      "state = { W_out = { start = 'a_b', meaning = 'x_1' } }\nloss = { loss = 'W_out**2 / 2' }\n"
      "[training]\nrate = { W_out = 'where(t < 10, 1, 0) / a_b' }\n"));
  for (const std::string& file : files) {
    const Answer answer = run_popgrad("export " + file + " --latex");
    INFO(file);
    CHECK(answer.status == 0);
    const std::size_t begin = answer.out.find("\\documentclass");
    REQUIRE(begin != std::string::npos);
    CHECK(mistake_in(answer.out.substr(begin)).empty());
  }
}

}  // namespace
}  // namespace latex_document_test
