#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "server/answers/json_answers.h"
#include "server/endpoint.h"
#include "server/fields/cache_fields.h"
#include "server/fields/json_fields.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

/// What is decoded where in the batch; of other tenants' requests only that one is.
void slots(const Served& served, const HttpRequest&, const std::shared_ptr<Exchange>& exchange) {
  std::vector<std::optional<Slots::Work>> all = served.slots.list();
  all.resize(std::max(all.size(), static_cast<std::size_t>(served.limits.parallel)));
  ordered_json body = ordered_json::array();
  for (std::size_t i = 0; i < all.size(); ++i) {
    ordered_json slot = {
        {"id", i}, {"n_ctx", served.engine.info().context}, {"is_processing", all[i].has_value()}};
    if (all[i] && (served.caller.sees_all || all[i]->owner.tenant == served.caller.tenant)) {
      slot["id_task"] = all[i]->task;
      slot["n_prompt_tokens"] = all[i]->prompt_tokens;
      slot["next_token"] = {{"n_decoded", all[i]->decoded}};
    }
    body.push_back(std::move(slot));
  }
  exchange->answer(200, text_of(body));
}

/// The place in the path, of those that there are.
int slot_of(const Served& served, const std::string& path) {
  const std::string_view text = std::string_view(path).substr(std::string_view("/slots/").size());
  int slot = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), slot);
  if (error != std::errc{} || end != text.data() + text.size() || slot < 0 ||
      slot >= served.limits.parallel) {
    unexpected("id_slot", "an integer from 0 to " + std::to_string(served.limits.parallel - 1));
  }
  return slot;
}

/// What a request says about a saved text.
struct SlotRequest {
  TextOwner owner;
  std::optional<std::string> filename;
};

SlotRequest parse(const Served& served, std::string_view text) {
  SlotRequest to{.owner = {.tenant = served.caller.tenant, .salt = {}}, .filename = {}};
  if (text.empty()) return to;
  const nlohmann::json body = parse_body(text);
  for (const auto& [key, value] : body.items()) {
    if (key == "filename") {
      to.filename = read_string(key, value);
    } else if (key == "cache_salt") {
      to.owner.salt = read_cache_salt(key, value);
    } else {
      unsupported(key);
    }
  }
  return to;
}

/// The path of a file in the owner's folder for saved texts, which its name cannot lead out of.
std::string file_of(const Served& served, const SlotRequest& request) {
  if (!request.filename) throw BadRequest("filename", "is missing");
  constexpr std::size_t kMost = 200;
  const std::string& text = *request.filename;
  const bool fine = std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return c > 0x20 && c != 0x7f && c != '/' && c != '\\' && c != ':';
  });
  if (!fine || text.empty() || text.size() > kMost || text.front() == '.') {
    unexpected("filename",
               "1 to 200 bytes without separators, spaces and control characters, no '.' in front");
  }
  const std::filesystem::path folder = served.options.slot_save_path;
  return (folder / folder_of(request.owner.tenant, request.owner.salt) / text).string();
}

/// For its owner's files only. Where it cannot be made the file cannot be written, which says so.
void make_folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code failed;
  if (!std::filesystem::create_directory(folder, failed)) return;
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all, failed);
}

std::string name_of(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

/// Tells what became of a file, or why nothing did. The file's folder is the server's own affair.
Session::TextFileCallback answer(const std::shared_ptr<Exchange>& exchange, std::string path,
                                 std::function<ordered_json(const TextFile&)> told) {
  return [exchange, path = std::move(path), told = std::move(told)](const TextFile& file) {
    if (file.error.empty()) return exchange->answer(200, text_of(told(file)));
    std::string error = file.error;
    if (const std::size_t at = error.find(path); !path.empty() && at != std::string::npos) {
      error.replace(at, path.size(), name_of(path));
    }
    exchange->answer(400, error_body(400, error, "filename"));
  };
}

void save(const Served& served, int slot, std::vector<TokenId> text, const SlotRequest& request,
          const std::shared_ptr<Exchange>& exchange) {
  const std::string path = file_of(served, request);
  make_folder_of(path);
  const auto told = [slot, name = name_of(path)](const TextFile& file) {
    return ordered_json{{"id_slot", slot},
                        {"filename", name},
                        {"n_saved", file.tokens},
                        {"n_written", file.bytes},
                        {"timings", {{"save_ms", file.ms}}}};
  };
  served.session.save_text(std::move(text), path, answer(exchange, path, told), request.owner);
}

void restore(const Served& served, int slot, const SlotRequest& request,
             const std::shared_ptr<Exchange>& exchange) {
  const std::string path = file_of(served, request);
  const auto told = [slot, name = name_of(path)](const TextFile& file) {
    return ordered_json{{"id_slot", slot},
                        {"filename", name},
                        {"n_restored", file.tokens},
                        {"n_read", file.bytes},
                        {"timings", {{"restore_ms", file.ms}}}};
  };
  served.session.load_text(path, answer(exchange, path, told), request.owner);
}

void erase(const Served& served, int slot, std::vector<TokenId> text, const SlotRequest& request,
           const std::shared_ptr<Exchange>& exchange) {
  const auto told = [slot](const TextFile& file) {
    return ordered_json{{"id_slot", slot}, {"n_erased", file.tokens}};
  };
  served.session.forget_text(std::move(text), answer(exchange, {}, told), request.owner);
}

void act(const Served& served, const HttpRequest& http, const std::shared_ptr<Exchange>& exchange) {
  constexpr std::string_view kAction = "action=";
  const int slot = slot_of(served, http.path);
  const std::string_view action = std::string_view(http.query).starts_with(kAction)
                                      ? std::string_view(http.query).substr(kAction.size())
                                      : std::string_view();
  if (action != "save" && action != "restore" && action != "erase") {
    unexpected("action", "?action=save, restore or erase");
  }
  if (action != "erase" && served.options.slot_save_path.empty()) {
    return exchange->answer(501, error_body(501, "this server saves no texts: it needs --slot-save-path"));
  }
  const SlotRequest request = parse(served, http.body);
  if (action == "restore") return restore(served, slot, request, exchange);
  if (const std::optional<TextOwner> owner = served.slots.owner(slot); owner && *owner != request.owner) {
    return exchange->answer(404, error_body(404, "no text of this client is there", "id_slot"));
  }
  const std::vector<std::optional<Slots::Work>> work = served.slots.list();
  if (static_cast<std::size_t>(slot) < work.size() && work[static_cast<std::size_t>(slot)]) {
    return exchange->answer(409, error_body(409, "a request is being decoded there", "id_slot"),
                            {{"Retry-After", "1"}});
  }
  const std::optional<std::vector<TokenId>> text = served.slots.text(slot);
  if (action == "erase") return erase(served, slot, text.value_or(std::vector<TokenId>()), request, exchange);
  if (!text) throw BadRequest("id_slot", "no request has been decoded there");
  save(served, slot, *text, request, exchange);
}

}  // namespace

std::span<const Endpoint> slot_endpoints() {
  static constexpr std::array kEndpoints = {
      Endpoint{"GET", "/slots", slots},
      Endpoint{"POST", "/slots/{id}", act},
  };
  return kEndpoints;
}

}  // namespace augur
