# What the chat page has from Debian's packages: Markdown (markdown-it), the sanitiser (DOMPurify), and maths (KaTeX), which
# the page loads for answers that have some. Each AUGUR_... is the file as the package has it.
set(AUGUR_PAGE_PACKAGES "node-markdown-it, node-punycode, node-dompurify and libjs-katex")

function(augur_page_library variable file)
  find_file(${variable} ${file} PATHS /usr/share/nodejs /usr/share/javascript ${ARGN} NO_DEFAULT_PATH
            DOC "${file} of the chat page")
  if(NOT ${variable})
    message(FATAL_ERROR "The chat page needs ${file}, which is in no known folder. Expected the packages "
                        "${AUGUR_PAGE_PACKAGES} (scripts/bootstrap.sh installs them), or its path as ${variable}.")
  endif()
endfunction()

augur_page_library(AUGUR_MARKDOWN_IT markdown-it/lib/index.js)
augur_page_library(AUGUR_PUNYCODE punycode/punycode.js)
augur_page_library(AUGUR_DOMPURIFY dompurify/dist/purify.min.js)
augur_page_library(AUGUR_KATEX katex/katex.js)

# markdown-it as one module of a browser: its files and those of what it is made with.
cmake_path(GET AUGUR_MARKDOWN_IT PARENT_PATH lib)
cmake_path(GET lib PARENT_PATH markdown_it)
set(AUGUR_MARKDOWN_IT_MODULE ${CMAKE_BINARY_DIR}/page/markdown_it.js)
file(GLOB_RECURSE markdown_it_files CONFIGURE_DEPENDS ${markdown_it}/lib/*.js ${markdown_it}/lib/*.json)
foreach(needed linkify-it mdurl uc.micro)
  if(NOT EXISTS ${markdown_it}/node_modules/${needed}/index.js)
    message(FATAL_ERROR "${markdown_it} has no node_modules/${needed}. Expected Debian's package node-markdown-it.")
  endif()
  file(GLOB_RECURSE needed_files CONFIGURE_DEPENDS ${markdown_it}/node_modules/${needed}/*.js)
  list(APPEND markdown_it_files ${needed_files})
endforeach()
list(JOIN markdown_it_files "|" joined)
add_custom_command(
  OUTPUT ${AUGUR_MARKDOWN_IT_MODULE}
  COMMAND ${CMAKE_COMMAND} -DROOT=${markdown_it} -DIN=${joined} -DPUNYCODE=${AUGUR_PUNYCODE} -DOUT=${AUGUR_MARKDOWN_IT_MODULE}
          -P ${CMAKE_SOURCE_DIR}/cmake/BundleModules.cmake
  DEPENDS ${markdown_it_files} ${AUGUR_PUNYCODE} ${CMAKE_SOURCE_DIR}/cmake/BundleModules.cmake
  VERBATIM)
