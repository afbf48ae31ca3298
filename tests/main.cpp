#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include "register_case.hpp"

int main(int argc, char** argv) {
  popgrad::register_statement_cases();
  popgrad::register_figure_cases();
  popgrad::register_instance_cases();
  return Catch::Session().run(argc, argv);
}
