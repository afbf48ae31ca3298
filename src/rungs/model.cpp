#include "popgrad/rungs/model.hpp"

#include "popgrad/base/error.hpp"
#include "popgrad/rungs/rung.hpp"

namespace popgrad {

AnyRung<Real> Model::rung_in_digits(std::string_view name, const Parameters& /*p*/,
                                    std::uint64_t /*seed*/) const {
  reject(this->name() + " " + std::string(name), "--digits", std::to_string(digits()),
         "is not offered by this rung; it runs in double");
}

AnyRung<Expression> Model::symbolic_rung(std::string_view name, const Parameters& /*p*/) const {
  reject(this->name(), "rung", name, "has no form over symbols");
}

RungInfo find_rung(const Model& model, std::string_view name) {
  std::vector<std::string> names;
  for (RungInfo& info : model.rungs()) {
    if (info.name == name) return info;
    names.push_back(info.name);
  }
  reject(model.name(), "rung", name,
         "is not known" + suggestion(name, names) + "; see 'popgrad list'");
}

}  // namespace popgrad
