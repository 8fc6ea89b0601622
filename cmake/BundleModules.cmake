# Run as a script: writes markdown-it (package folder ROOT, its files IN, separated by '|') and PUNYCODE as one module for
# browsers into OUT. Each file is in it as it is, without comments that have lines of their own, within the function that
# Node.js would call it in.
set(out "// markdown-it, linkify-it, mdurl, uc.micro, punycode and the table of entities: files of Debian's packages node-markdown-it
// and node-punycode, without their comments. Their licence (MIT) is in those packages' copyright files and in Augur's releases.
const files = {\n")
string(REPLACE "|" ";" files "${IN}")
foreach(file IN LISTS files PUNYCODE)
  file(READ "${file}" text)
  if("${file}" STREQUAL "${PUNYCODE}")
    set(name "node_modules/punycode/index.js")
  else()
    file(RELATIVE_PATH name "${ROOT}" "${file}")
  endif()
  string(REGEX REPLACE "(^|\n)[ \t]*/\\*([^*]|\\*+[^*/])*\\*+/" "\\1" text "${text}")
  string(REGEX REPLACE "(^|\n)[ \t]*//[^\n]*" "\\1" text "${text}")
  string(REGEX REPLACE "\n[ \n]*\n" "\n" text "${text}")
  if(name MATCHES "\\.json$")
    string(PREPEND text "module.exports = ")
  endif()
  string(APPEND out "\"${name}\"(require, module, exports) {\n${text}\n},\n")
endforeach()
string(APPEND out [=[};
const loaded = new Map();
function load(path) {
  if (!loaded.has(path)) {
    const module = { exports: {} };
    loaded.set(path, module);
    files[path].call(module.exports, (name) => load(find(path, name)), module, module.exports);
  }
  return loaded.get(path).exports;
}
function find(from, name) {
  const whole = name.startsWith(".") ? new URL(name, `file:///${from}`).pathname.slice(1) : `node_modules/${name}`;
  return [whole, `${whole}.js`, `${whole}.json`, `${whole}/index.js`].find((path) => path in files);
}
export default load("lib/index.js");
]=])
file(WRITE "${OUT}" "${out}")
