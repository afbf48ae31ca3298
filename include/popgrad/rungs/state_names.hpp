#pragma once
/// Names of the components of a state, made when they are first asked for: of fifty million components they
/// take more memory than the states of a training.

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace popgrad {

/// Copies share the names. Safe for threads.
class StateNames {
 public:
  using Names = std::vector<std::string>;

  StateNames() : StateNames(Names{}) {}
  /// Without 'explicit', as what is set to a list of names reads like one.
  StateNames(Names names) : made_(std::make_shared<Made>(nullptr, std::move(names))) {}
  StateNames(std::initializer_list<std::string> names) : StateNames(Names(names)) {}
  /// `make` is called once at most.
  static StateNames made_by(std::function<Names()> make) {
    StateNames later;
    later.made_ = std::make_shared<Made>(std::move(make), Names{});
    return later;
  }

  [[nodiscard]] const Names& all() const {
    std::call_once(made_->once, [this] {
      if (made_->make) made_->names = std::exchange(made_->make, nullptr)();
    });
    return made_->names;
  }
  operator const Names&() const { return all(); }

  [[nodiscard]] auto begin() const { return all().begin(); }
  [[nodiscard]] auto end() const { return all().end(); }
  [[nodiscard]] std::size_t size() const { return all().size(); }
  [[nodiscard]] const std::string& operator[](std::size_t i) const { return all()[i]; }
  [[nodiscard]] const std::string& at(std::size_t i) const { return all().at(i); }
  [[nodiscard]] const std::string& front() const { return all().front(); }
  [[nodiscard]] const std::string& back() const { return all().back(); }
  friend bool operator==(const StateNames& a, const StateNames& b) { return a.all() == b.all(); }

 private:
  struct Made {
    Made(std::function<Names()> how, Names already)
        : make(std::move(how)), names(std::move(already)) {}
    std::function<Names()> make;
    Names names;
    std::once_flag once;
  };
  std::shared_ptr<Made> made_;
};

}  // namespace popgrad
