#include "lab/suite/state_file.h"

#include <utility>

#include "base/error.h"

namespace augur {

using nlohmann::ordered_json;

namespace {

void check_header(const std::string& file, const ordered_json& found, const ordered_json& wanted) {
  const auto value = [](const ordered_json& header, const std::string& key) {
    return header.contains(key) ? header[key].dump() : "unknown";
  };
  for (const ordered_json& keys : {wanted, found}) {
    for (const auto& [key, unused] : keys.items()) {
      if (value(found, key) == value(wanted, key)) continue;
      throw Error("{}: made with {} {}, now {}; remove it to begin anew, or write elsewhere", file, key,
                  value(found, key), value(wanted, key));
    }
  }
}

}  // namespace

StateFile::StateFile(const std::filesystem::path& path, const ordered_json& header) : path_(path) {
  if (path.empty()) return;
  const bool exists = std::filesystem::exists(path) && std::filesystem::file_size(path) > 0;
  if (exists) read(header);
  out_.open(path, std::ios::binary | std::ios::app);
  if (!out_) throw Error("{}: cannot be written", path.string());
  if (!exists) write(header);
}

void StateFile::read(const ordered_json& header) {
  std::ifstream in(path_, std::ios::binary);
  std::string line;
  std::uintmax_t kept = 0;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    if (in.eof()) break;  // without its end: the run was cut off while it wrote
    const ordered_json object = ordered_json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!object.is_object())
      throw Error("{}:{}: damaged; remove the file to begin anew", path_.string(), number);
    if (number == 1) {
      check_header(path_.string(), object, header);
    } else if (object.contains("document") && object["document"].is_string()) {
      documents_[object["document"].get<std::string>()] = object.value("content", ordered_json());
    } else {
      try {
        Cell cell = cell_of(object);
        cells_.insert_or_assign(cell.key, std::move(cell));
      } catch (const Error& error) {
        throw Error("{}:{}: {}; remove the file to begin anew", path_.string(), number, error.what());
      }
    }
    kept += line.size() + 1;
  }
  in.close();
  if (kept == 0) throw Error("{}: damaged; remove the file to begin anew", path_.string());
  std::filesystem::resize_file(path_, kept);
}

void StateFile::write(const ordered_json& line) {
  if (path_.empty()) return;
  out_ << line.dump(-1, ' ', false, ordered_json::error_handler_t::replace) << '\n' << std::flush;
  if (!out_) throw Error("{}: writing failed", path_.string());
}

void StateFile::add(const Cell& cell) {
  write(to_json(cell));
  cells_.insert_or_assign(cell.key, cell);
}

const ordered_json* StateFile::document(const std::string& name) const {
  const auto found = documents_.find(name);
  return found == documents_.end() ? nullptr : &found->second;
}

void StateFile::put(const std::string& name, const ordered_json& document) {
  write({{"document", name}, {"content", document}});
  documents_[name] = document;
}

}  // namespace augur
