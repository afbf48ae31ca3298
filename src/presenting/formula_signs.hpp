#pragma once
/// What names and signs of formulas in plain notation stand for.

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

namespace popgrad::formula {

using View = std::string_view;
using Pair = std::pair<View, View>;

inline constexpr std::array<Pair, 38> greek_letters{{
    {"alpha", "α"},    {"beta", "β"},   {"gamma", "γ"}, {"delta", "δ"}, {"epsilon", "ε"},
    {"eps", "ε"},      {"zeta", "ζ"},   {"eta", "η"},   {"theta", "θ"}, {"iota", "ι"},
    {"kappa", "κ"},    {"lambda", "λ"}, {"mu", "μ"},    {"nu", "ν"},    {"xi", "ξ"},
    {"pi", "π"},       {"rho", "ρ"},    {"sigma", "σ"}, {"tau", "τ"},   {"phi", "φ"},
    {"chi", "χ"},      {"psi", "ψ"},    {"omega", "ω"}, {"Gamma", "Γ"}, {"Delta", "Δ"},
    {"Theta", "Θ"},    {"Lambda", "Λ"}, {"Mu", "Μ"},    {"Xi", "Ξ"},    {"Pi", "Π"},
    {"Sigma", "Σ"},    {"Phi", "Φ"},    {"Psi", "Ψ"},   {"Omega", "Ω"}, {"inf", "∞"},
    {"infinity", "∞"}, {"ell", "ℓ"},    {"nabla", "∇"},
}};

inline constexpr std::array<Pair, 3> accents{{{"bar", "¯"}, {"hat", "^"}, {"tilde", "~"}}};

// Before a parenthesis, or before a factor that stands behind a space.
inline constexpr std::array<View, 22> functions{
    "exp", "ln",  "log",  "sqrt",    "erf", "sin",  "cos", "tan", "sinh", "cosh", "tanh",
    "max", "min", "diag", "softmax", "abs", "step", "nnz", "Var", "Pr",   "tr",   "sd"};

inline constexpr std::array<Pair, 12> relations{{
    {"<=", "≤"},
    {">=", "≥"},
    {"!=", "≠"},
    {"->", "→"},
    {"<<", "≪"},
    {">>", "≫"},
    {"==", "="},
    {"~", "~"},
    {"=", "="},
    {"<", "&lt;"},
    {">", "&gt;"},
    {"≈", "≈"},
}};

template <class Table>
View found(const Table& table, View name) {
  for (const auto& [key, value] : table) {
    if (key == name) return value;
  }
  return {};
}

template <class List>
bool holds(const List& list, View name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

inline bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
inline bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
inline bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

}  // namespace popgrad::formula
