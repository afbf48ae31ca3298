# Makes a C++ source that holds each script as a string, so that an installed binary has its plots.
function(embed_scripts output)
  set(body "#include \"report/plot_scripts.hpp\"\n\nnamespace popgrad {\n\nstd::string_view plot_script([[maybe_unused]] std::string_view name) {\n")
  foreach(script ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${script})
    get_filename_component(name ${script} NAME_WE)
    file(READ ${script} text)
    string(APPEND body "  if (name == \"${name}\") return R\"__gp(${text})__gp\";\n")
  endforeach()
  string(APPEND body "  return {};\n}\n\n}  // namespace popgrad\n")
  file(CONFIGURE OUTPUT ${output} CONTENT "@body@" @ONLY)
endfunction()

# Makes the C++ source that lists the theories NAME ..., each of which defines popgrad::NAME::theory().
function(list_theories output)
  set(declared "")
  set(listed "")
  foreach(name ${ARGN})
    string(APPEND declared "namespace ${name} {\nTheory theory();\n}\n")
    string(APPEND listed "${name}::theory(), ")
  endforeach()
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT [[
#include <string_view>
#include <vector>

#include "popgrad/theories.hpp"

namespace popgrad {

@declared@
Theories theories() {
  static const std::vector<Theory> all{@listed@};
  return all;
}

const Model& find_model(std::string_view name) { return find_model(theories(), name); }

}  // namespace popgrad
]])
endfunction()

# Makes a C++ source that holds the section "Observables" of each model's page, where every column is
# defined: the pages are the one place that says so. A model without a page has none.
function(embed_observables output)
  set(body "#include \"report/observables.hpp\"\n\nnamespace popgrad {\n\nstd::string_view observables_text([[maybe_unused]] std::string_view model) {\n")
  foreach(page ${ARGN})
    if(NOT EXISTS ${page})
      continue()
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page})
    get_filename_component(folder ${page} DIRECTORY)
    get_filename_component(name ${folder} NAME)
    string(REPLACE "_" "-" name ${name})
    file(READ ${page} text)
    set(heading "## Observables\n")
    string(FIND "${text}" "${heading}" begin)
    if(begin EQUAL -1)
      message(FATAL_ERROR "${page}: has no section Observables")
    endif()
    string(LENGTH "${heading}" length)
    math(EXPR begin "${begin} + ${length}")
    string(SUBSTRING "${text}" ${begin} -1 text)
    string(FIND "${text}" "\n## " end)
    string(SUBSTRING "${text}" 0 ${end} text)
    string(APPEND body "  if (model == \"${name}\") return R\"__md(${text})__md\";\n")
  endforeach()
  string(APPEND body "  return {};\n}\n\n}  // namespace popgrad\n")
  file(CONFIGURE OUTPUT ${output} CONTENT "@body@" @ONLY)
endfunction()
