# kw_prompts(out)   writes prompts/*.md into a source that defines kw::agent::prompt_files(), and sets `out` to its path. The program carries
# its prompts, so that it is one file.
function(kw_prompts out)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE "${CMAKE_SOURCE_DIR}/prompts" "${CMAKE_SOURCE_DIR}/prompts/*.md")
  list(SORT files)
  set(entries "")
  foreach(file ${files})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/prompts/${file}")
    file(READ "${CMAKE_SOURCE_DIR}/prompts/${file}" text)
    string(REGEX REPLACE "\\.md$" "" name "${file}")
    string(APPEND entries "    {\"${name}\", R\"kwprompt(${text})kwprompt\"},\n")
  endforeach()
  set(path "${CMAKE_CURRENT_BINARY_DIR}/prompt_files.cc")
  file(CONFIGURE OUTPUT "${path}" @ONLY CONTENT "#include \"agent/prompt.h\"

namespace kw::agent {

const std::vector<PromptFile>& prompt_files() {
  static const std::vector<PromptFile> files = {
@entries@  };
  return files;
}

}  // namespace kw::agent
")
  set(${out} "${path}" PARENT_SCOPE)
endfunction()
