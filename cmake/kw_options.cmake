# Compiler settings shared by every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)  # the emulated CUDA runtime is a shared library

option(KW_WERROR "Treat warnings as errors" ON)
set(KW_SANITIZE "" CACHE STRING "Sanitizers to build with: address,undefined or thread")

find_program(KW_CCACHE ccache)
if(KW_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${KW_CCACHE}")
endif()

add_library(kw_flags INTERFACE)
target_include_directories(kw_flags INTERFACE "${CMAKE_SOURCE_DIR}/src")
# No contraction: an emulated `mul` followed by an emulated `add` must round twice.
target_compile_options(kw_flags INTERFACE -Wall -Wextra -Wno-missing-field-initializers
                                          -Wswitch -ffp-contract=off -fno-math-errno)
if(KW_WERROR)
  target_compile_options(kw_flags INTERFACE -Werror)
endif()
if(KW_SANITIZE)
  # Instrumented, <regex> and std::function seem uninitialized to g++-12.
  target_compile_options(kw_flags INTERFACE -fsanitize=${KW_SANITIZE} -fno-omit-frame-pointer -Wno-maybe-uninitialized)
  target_link_options(kw_flags INTERFACE -fsanitize=${KW_SANITIZE})
endif()

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(GTest REQUIRED)
