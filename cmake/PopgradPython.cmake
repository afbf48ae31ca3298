# The Python module (src/python): one source, linked to the same static libraries as the program.
#
# build/python is a folder for PYTHONPATH: the package's Python sources by links, and the compiled part
# beside them.
if(POPGRAD_SANITIZE)
  message(FATAL_ERROR "POPGRAD_PYTHON does not go with POPGRAD_SANITIZE: an "
                      "interpreter that is not instrumented would load the module")
endif()
# Debian's own Python: it has the packages; another that comes first in PATH often has not. One that pip
# was run by may have been in an environment that is gone.
if(NOT EXISTS "${Python_EXECUTABLE}")
  unset(Python_EXECUTABLE CACHE)
  if(EXISTS /usr/bin/python3)
    set(Python_EXECUTABLE /usr/bin/python3 CACHE FILEPATH "Python that the module is for")
  endif()
endif()
# What was found for another interpreter is looked for again.
if(DEFINED POPGRAD_PYTHON_FOUND_FOR AND NOT POPGRAD_PYTHON_FOUND_FOR STREQUAL Python_EXECUTABLE)
  get_cmake_property(cached CACHE_VARIABLES)
  list(FILTER cached INCLUDE REGEX "^_?Python_|^PYTHON_(MODULE|INCLUDE|LIB)|^PYBIND11_PYTHON")
  list(REMOVE_ITEM cached Python_EXECUTABLE)
  foreach(name ${cached})
    unset(${name} CACHE)
  endforeach()
endif()
set(POPGRAD_PYTHON_FOUND_FOR "${Python_EXECUTABLE}" CACHE INTERNAL "")
find_package(Python 3.9 REQUIRED COMPONENTS Interpreter Development.Module)
find_package(pybind11 2.10 CONFIG QUIET)
if(NOT pybind11_FOUND)
  message(FATAL_ERROR "POPGRAD_PYTHON needs pybind11 from 2.10 on: apt-get install pybind11-dev python3-dev")
endif()

set(python_sources ${CMAKE_CURRENT_SOURCE_DIR}/src/python)
set(python_package ${CMAKE_BINARY_DIR}/python/popgrad)
pybind11_add_module(popgrad_python MODULE NO_EXTRAS ${python_sources}/module.cpp)
set_target_properties(popgrad_python PROPERTIES
  OUTPUT_NAME _popgrad EXCLUDE_FROM_ALL OFF
  LIBRARY_OUTPUT_DIRECTORY ${python_package})
target_compile_definitions(popgrad_python PRIVATE POPGRAD_VERSION="${PROJECT_VERSION}")
target_compile_options(popgrad_python PRIVATE ${popgrad_cold})
target_link_libraries(popgrad_python PRIVATE popgrad_tool popgrad_warnings)
popgrad_prefers_library(popgrad_python popgrad popgrad_theorems popgrad_tool)
# Symbols of the static libraries stay inside: another module may bring other versions of them.
target_link_options(popgrad_python PRIVATE -Wl,--exclude-libs,ALL)

file(GLOB python_files CONFIGURE_DEPENDS ${python_sources}/popgrad/*.py
     ${python_sources}/popgrad/*.pyi ${python_sources}/popgrad/py.typed)
file(MAKE_DIRECTORY ${python_package})
foreach(file ${python_files})
  cmake_path(GET file FILENAME name)
  file(CREATE_LINK ${file} ${python_package}/${name} SYMBOLIC)
endforeach()

# For the package of Debian's Python, which looks there; elsewhere pip knows the place.
set(python_installed lib/python3/dist-packages/popgrad)
install(TARGETS popgrad_python LIBRARY DESTINATION ${python_installed} COMPONENT python EXCLUDE_FROM_ALL)
install(FILES ${python_files} DESTINATION ${python_installed} COMPONENT python EXCLUDE_FROM_ALL)
