# Sweeps under mpirun, where the program is built for it.
if(POPGRAD_MPI)
  add_test(NAME mpi COMMAND ${CMAKE_CURRENT_LIST_DIR}/check.sh $<TARGET_FILE:popgrad_cli>
                            ${MPIEXEC_EXECUTABLE})
  set_tests_properties(mpi PROPERTIES TIMEOUT 1800 RUN_SERIAL ON LABELS slow)
endif()
