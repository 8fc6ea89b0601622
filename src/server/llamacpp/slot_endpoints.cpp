#include "server/llamacpp/slot_endpoints.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "server/answers/json_answers.h"
#include "server/endpoint.h"
#include "server/fields/body_parser.h"
#include "server/fields/field_table.h"
#include "server/llamacpp/saved_texts.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

/// What is decoded where in the batch; of other tenants' requests only that one is.
void slots(const Served& served, const HttpRequest&, const std::shared_ptr<Exchange>& exchange) {
  if (!served.options.serves_slots) {
    throw Problem(501, "this server was started with --no-slots");
  }
  std::vector<std::optional<Slots::Work>> all = served.slots.list();
  all.resize(std::max(all.size(), static_cast<std::size_t>(served.session_options.parallel)));
  ordered_json body = ordered_json::array();
  for (std::size_t i = 0; i < all.size(); ++i) {
    ordered_json slot = {
        {"id", i}, {"n_ctx", served.engine.info().context}, {"is_processing", all[i].has_value()}};
    if (all[i] && (served.caller.sees_all || all[i]->owner.tenant == served.caller.tenant)) {
      slot["id_task"] = all[i]->task;
      slot["n_prompt_tokens"] = all[i]->prompt_tokens;
      slot["next_token"] = ordered_json::array({{{"has_next_token", true}, {"n_decoded", all[i]->decoded}}});
    }
    body.push_back(std::move(slot));
  }
  exchange->respond(200, text_of(body));
}

/// The place in the path, of those that there are.
int slot_of(const Served& served, const std::string& path) {
  const std::string_view text = std::string_view(path).substr(std::string_view("/slots/").size());
  int slot = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), slot);
  if (error != std::errc{} || end != text.data() + text.size() || slot < 0 ||
      slot >= served.session_options.parallel) {
    unexpected("id_slot", "an integer from 0 to " + std::to_string(served.session_options.parallel - 1));
  }
  return slot;
}

/// What a request says about a saved text.
struct SlotRequest {
  TextOwner owner;
  std::optional<std::string> filename;
};

const FieldTable<SlotRequest>& slot_fields() {
  static const FieldTable<SlotRequest> table = {
      {{"filename", FieldType::text(&Limits::saved_name_bytes, R"(^[^. /\\:][^ /\\:]*$)"),
        "in the folder for saved texts"},
       [](const FieldValue& v, SlotRequest& to) { to.filename = v.text(); }},
      {{"cache_salt", FieldType::text(&Limits::salt_bytes)},
       [](const FieldValue& v, SlotRequest& to) { to.owner.salt = v.text(); }},
      ignored_field<SlotRequest>("model", FieldType::text())};
  return table;
}

SlotRequest parse(const Served& served, std::string_view text, Exchange& exchange) {
  SlotRequest to{.owner = {.tenant = served.caller.tenant, .salt = {}}, .filename = {}};
  if (text.empty()) return to;
  FieldNotes notes = field_notes(served);
  read_object(slot_fields(), "", parse_body(text, served.options.limits), notes, to);
  tell_ignored(notes, served, exchange);
  return to;
}

SavedTexts saved_texts(const Served& served) {
  return {served.options.slot_save_path, served.options.limits.saved_bytes};
}

std::string file_of(const Served& served, const SlotRequest& request) {
  if (!request.filename) throw BadRequest("filename", "is missing");
  return saved_texts(served).path_of(request.owner, *request.filename);
}

std::string name_of(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

/// An error without the file's folder, which is the server's own affair.
std::string without_folder(std::string error, const std::string& path) {
  if (const std::size_t at = error.find(path); !path.empty() && at != std::string::npos) {
    error.replace(at, path.size(), name_of(path));
  }
  return error;
}

/// Tells what became of a file, or why nothing did.
Session::TextFileCallback tell_outcome(const std::shared_ptr<Exchange>& exchange, std::string path,
                                       std::function<ordered_json(const TextFile&)> told) {
  return [exchange, path = std::move(path), told = std::move(told)](const TextFile& file) {
    if (file.error.empty()) return exchange->respond(200, text_of(told(file)));
    exchange->fail(Problem(400, without_folder(file.error, path), "filename"));
  };
}

/// The same of a file that was written: what is wrong with it is the disk's fault, not the client's.
Session::TextFileCallback written(const std::shared_ptr<Exchange>& exchange, const std::string& path,
                                  const SavedTexts& texts,
                                  std::function<ordered_json(const TextFile&)> told) {
  return [exchange, path, texts,
          otherwise = tell_outcome(exchange, path, std::move(told))](const TextFile& file) {
    if (file.error.starts_with(path)) return exchange->fail(Problem(507, without_folder(file.error, path)));
    if (!file.error.empty() || !texts.is_too_full()) return otherwise(file);
    std::error_code gone;
    std::filesystem::remove(path, gone);
    exchange->fail(Problem(507, "the text does not fit into what saved texts may take (--slot-save-quota)"));
  };
}

void save(const Served& served, int slot, std::vector<TokenId> text, const SlotRequest& request,
          const std::shared_ptr<Exchange>& exchange) {
  const std::string path = file_of(served, request);
  const SavedTexts texts = saved_texts(served);
  texts.check_room();
  texts.make_folder(request.owner);
  const auto told = [slot, name = name_of(path)](const TextFile& file) {
    return ordered_json{{"id_slot", slot},
                        {"filename", name},
                        {"n_saved", file.tokens},
                        {"n_written", file.bytes},
                        {"timings", {{"save_ms", file.ms}}}};
  };
  served.session.save_text(std::move(text), path, written(exchange, path, texts, told), request.owner);
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
  served.session.load_text(path, tell_outcome(exchange, path, told), request.owner);
}

void erase(const Served& served, int slot, std::vector<TokenId> text, const SlotRequest& request,
           const std::shared_ptr<Exchange>& exchange) {
  const auto told = [slot](const TextFile& file) {
    return ordered_json{{"id_slot", slot}, {"n_erased", file.tokens}};
  };
  served.session.forget_text(std::move(text), tell_outcome(exchange, {}, told), request.owner);
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
  if (action != "erase") saved_texts(served).check_enabled();
  const SlotRequest request = parse(served, http.body, *exchange);
  if (action == "restore") return restore(served, slot, request, exchange);
  if (const std::optional<TextOwner> owner = served.slots.owner(slot); owner && *owner != request.owner) {
    throw Problem(404, "no text of this client is there", "id_slot");
  }
  const std::vector<std::optional<Slots::Work>> work = served.slots.list();
  if (static_cast<std::size_t>(slot) < work.size() && work[static_cast<std::size_t>(slot)]) {
    throw Problem(409, "a request is being decoded there", "id_slot", {{"Retry-After", "1"}});
  }
  const std::optional<std::vector<TokenId>> text = served.slots.text(slot);
  if (action == "erase") return erase(served, slot, text.value_or(std::vector<TokenId>()), request, exchange);
  if (!text) throw BadRequest("id_slot", "no request has been decoded there");
  save(served, slot, *text, request, exchange);
}

}  // namespace

ordered_json slot_schema() {
  return object_schema(specs_of(slot_fields()));
}

std::span<const Endpoint> slot_endpoints() {
  static constexpr std::array kEndpoints = {
      Endpoint{"GET", "/slots", slots},
      Endpoint{"POST", "/slots/{id}", act},
  };
  return kEndpoints;
}

}  // namespace augur
