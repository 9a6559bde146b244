# Tests of the tree itself, label "house": layering by #include, file sizes, the judge's
# mutants that still fit the sources, formatting.
option(KW_CHECK_FORMAT "Also test that sources are formatted (clang-format 19)" OFF)
if(BUILD_TESTING)
  find_package(Python3 COMPONENTS Interpreter)
  if(Python3_Interpreter_FOUND)
    foreach(check layers sizes)
      add_test(NAME house.${check}
               COMMAND "${Python3_EXECUTABLE}" "${CMAKE_SOURCE_DIR}/tools/check_${check}.py" "${CMAKE_SOURCE_DIR}")
      set_tests_properties(house.${check} PROPERTIES LABELS house)
    endforeach()
    add_test(NAME house.mutants COMMAND "${Python3_EXECUTABLE}" "${CMAKE_SOURCE_DIR}/tools/judge_mutants.py" --check)
    set_tests_properties(house.mutants PROPERTIES LABELS house)
  endif()
  if(KW_CHECK_FORMAT)
    add_test(NAME house.format COMMAND "${CMAKE_SOURCE_DIR}/tools/format.sh" check)
    set_tests_properties(house.format PROPERTIES LABELS house SKIP_RETURN_CODE 77)
  endif()
endif()
