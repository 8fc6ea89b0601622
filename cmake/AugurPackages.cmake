# Before anything else of a wheel's build: Debian packages that are missing, in one error. On other systems, and with
# AUGUR_SKIP_BOOTSTRAP=1, nothing is looked for.
execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/../scripts/bootstrap.sh --missing
                OUTPUT_VARIABLE missing OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(missing)
  message(FATAL_ERROR "Augur is built with Debian packages that are not installed: ${missing}\n"
                      "`make bootstrap` in its folder installs them; then run pip again.")
endif()
