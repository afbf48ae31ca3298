// Formulas from standard input, for test_numpy.py and test_cpp.py. A line is
//   forget                            removes all arrays
//   real|whole NAME (3,4) VALUES      an array; one without axes that is whole is a size
//   formula TEXT                      answered by a line, fields between tabs: ok, its shape, its numbers, the formula
//                                     as it prints, and in C++; or: no, the reason why it is refused

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <exception>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "formulas/elaborate.hpp"
#include "formulas/evaluator.hpp"
#include "formulas/print.hpp"
#include "formulas/written.hpp"

namespace {

using namespace popgrad;
using namespace popgrad::formulas;

struct Given {
  Type type = Type::real;
  Shape shape;
  std::vector<double> numbers;
};
using Arrays = std::map<std::string, Given>;

std::vector<double> numbers_of(std::istringstream& words) {
  std::vector<double> all;
  for (double x = 0; words >> x;) all.push_back(x);
  return all;
}

void read_array(std::istringstream& words, const std::string& kind, Arrays& arrays) {
  std::string name, shape;
  words >> name >> shape;
  Given& given = arrays[name];
  given = {kind == "whole" ? Type::whole : Type::real, {}, {}};
  for (char& c : shape) {
    if (c == '(' || c == ')' || c == ',') c = ' ';
  }
  std::istringstream extents(shape);
  for (const double extent : numbers_of(extents))
    given.shape.push_back({static_cast<Index>(extent), ""});
  given.numbers = numbers_of(words);
}

std::string answer(const std::string& text, const Arrays& arrays) {
  Graph graph;
  Scope scope;
  for (const auto& [name, given] : arrays) {
    const bool is_size = given.type == Type::whole && given.shape.empty();
    scope.emplace(name, is_size ? graph.size(name, static_cast<Index>(given.numbers.front()))
                                : graph.variable(name, given.shape, given.type));
  }
  const syntax::Tree tree = syntax::parse(text);
  const Array array = elaborate(tree, graph, scope);
  Evaluator<double> evaluator({array});
  for (const auto& [name, given] : arrays) {
    const std::span<double> numbers = evaluator.variable(name);
    std::copy(given.numbers.begin(),
              given.numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size()), numbers.begin());
  }
  evaluator.run();
  evaluator.require_defined();
  std::vector<Index> shape;
  for (const Dimension& d : array.shape()) shape.push_back(d.extent);
  const Written made = written(array);
  const std::string printed = syntax::to_numpy(made.tree);
  // What is printed is the same node of the graph.
  if (elaborate(syntax::parse(printed), graph, scope) != array)
    return "no\tprints as another formula: " + printed;
  return fmt::format("ok\t{}\t{:.17g}\t{}\t{}", fmt::join(shape, ","),
                     fmt::join(evaluator.output(0), " "), syntax::to_numpy(tree),
                     syntax::to_cpp(made.tree, made.ranks));
}

}  // namespace

int main() {
  Arrays arrays;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "forget") {
      arrays.clear();
    } else if (kind != "formula") {
      read_array(words, kind, arrays);
    } else {
      try {
        std::cout << answer(line.substr(line.find(' ') + 1), arrays) << '\n';
      } catch (const std::exception& error) {
        std::cout << "no\t" << error.what() << '\n';
      }
    }
  }
}
