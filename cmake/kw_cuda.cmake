# KW_CUDA_INCLUDE: the folder of the CUDA toolkit's headers (cuda_runtime_api.h), which the emulated CUDA runtime is
# compiled against. Looked for, in this order, through CUDA_HOME, nvcc on PATH, and .venv (tools/setup.sh).
# No CUDA library is ever linked.
if(NOT KW_CUDA_INCLUDE OR NOT EXISTS "${KW_CUDA_INCLUDE}/cuda_runtime_api.h")
  unset(KW_CUDA_INCLUDE CACHE)
  execute_process(COMMAND "${CMAKE_SOURCE_DIR}/tools/cuda_env.sh" include
                  OUTPUT_VARIABLE kw_cuda_include ERROR_VARIABLE kw_cuda_error
                  OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE kw_cuda_result)
  if(NOT kw_cuda_result EQUAL 0)
    message(FATAL_ERROR "${kw_cuda_error}")
  endif()
  set(KW_CUDA_INCLUDE "${kw_cuda_include}" CACHE PATH "Folder of cuda_runtime_api.h")
endif()
