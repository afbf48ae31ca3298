#include "scalars/latex_name.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace popgrad {
namespace latex_name_cpp {
namespace {

constexpr std::string_view digits = "0123456789";
constexpr std::array<std::string_view, 34> greek{
    "alpha",   "beta",   "gamma", "delta",   "epsilon", "zeta",  "eta",   "theta", "iota",
    "kappa",   "lambda", "mu",    "nu",      "xi",      "pi",    "rho",   "sigma", "tau",
    "upsilon", "phi",    "chi",   "psi",     "omega",   "Gamma", "Delta", "Theta", "Lambda",
    "Xi",      "Pi",     "Sigma", "Upsilon", "Phi",     "Psi",   "Omega"};

bool is_greek(std::string_view word) {
  return std::find(greek.begin(), greek.end(), word) != greek.end();
}

std::string upright(std::string_view word) {
  std::string text = "\\mathrm{";
  for (const char c : word) text += c == '_' ? std::string("\\_") : std::string(1, c);
  return text + "}";
}

std::string sign_of(std::string_view part) {
  if (is_greek(part)) return "\\" + std::string(part);
  const bool plain = part.size() == 1 || part.find_first_not_of(digits) == std::string_view::npos;
  return plain ? std::string(part) : upright(part);
}

}  // namespace
}  // namespace latex_name_cpp

std::string latex_name(std::string_view name) {
  using namespace latex_name_cpp;
  std::vector<std::string_view> parts;
  for (std::string_view rest = name;;) {
    const std::size_t end = rest.find('_');
    parts.push_back(rest.substr(0, end));
    if (parts.back().empty()) return upright(name);
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  // The digits of W1 are its first index.
  const std::string_view stem = parts.front();
  const std::size_t letters = stem.find_last_not_of(digits) + 1;
  const std::string_view letter = stem.substr(0, letters);
  if (letters < stem.size() && (letters == 1 || is_greek(letter))) {
    parts.front() = letter;
    parts.insert(parts.begin() + 1, stem.substr(letters));
  }
  std::string text = sign_of(parts.front());
  for (std::size_t k = 1; k < parts.size(); ++k) {
    text += (k == 1 ? "_{" : ",") + sign_of(parts[k]);
  }
  return parts.size() > 1 ? text + "}" : text;
}

}  // namespace popgrad
