#include "server/page.h"

#include <algorithm>
#include <array>
#include <string>

namespace augur {
namespace {

constexpr std::string_view kHtml = "text/html; charset=utf-8";
constexpr std::string_view kCss = "text/css; charset=utf-8";
constexpr std::string_view kScript = "text/javascript; charset=utf-8";

/// Of literals of any size: the compiler counts the letters of others one by one, and not without end.
template <std::size_t kSize>
consteval std::string_view whole(const char (&text)[kSize]) {
  return {text, kSize - 1};
}

// Written in web/, or of libraries; embedded by the build.
constexpr std::array kFiles = {
    PageFile{
        "/",
        kHtml,
#include "page_index.inc"
    },
    PageFile{
        "/theme.css",
        kCss,
#include "page_theme.inc"
    },
    PageFile{
        "/page.css",
        kCss,
#include "page_style.inc"
    },
    PageFile{
        "/content.css",
        kCss,
#include "page_content.inc"
    },
    PageFile{
        "/history.css",
        kCss,
#include "page_history.inc"
    },
    PageFile{
        "/theme.js",
        kScript,
#include "page_colours.inc"
    },
    PageFile{
        "/dom.js",
        kScript,
#include "page_dom.inc"
    },
    PageFile{
        "/tree.js",
        kScript,
#include "page_tree.inc"
    },
    PageFile{
        "/answer.js",
        kScript,
#include "page_module_answer.inc"
    },
    PageFile{
        "/answer_view.js",
        kScript,
#include "page_module_answer_view.inc"
    },
    PageFile{
        "/api.js",
        kScript,
#include "page_module_api.inc"
    },
    PageFile{
        "/attachments.js",
        kScript,
#include "page_module_attachments.inc"
    },
    PageFile{
        "/chat.js",
        kScript,
#include "page_module_chat.inc"
    },
    PageFile{
        "/chat_view.js",
        kScript,
#include "page_module_chat_view.inc"
    },
    PageFile{
        "/composer.js",
        kScript,
#include "page_module_composer.inc"
    },
    PageFile{
        "/context.js",
        kScript,
#include "page_module_context.inc"
    },
    PageFile{
        "/conversation.js",
        kScript,
#include "page_module_conversation.inc"
    },
    PageFile{
        "/copy.js",
        kScript,
#include "page_module_copy.inc"
    },
    PageFile{
        "/facts.js",
        kScript,
#include "page_module_facts.inc"
    },
    PageFile{
        "/failures.js",
        kScript,
#include "page_module_failures.inc"
    },
    PageFile{
        "/figures.js",
        kScript,
#include "page_module_figures.inc"
    },
    PageFile{
        "/frames.js",
        kScript,
#include "page_module_frames.inc"
    },
    PageFile{
        "/history.js",
        kScript,
#include "page_module_history.inc"
    },
    PageFile{
        "/key.js",
        kScript,
#include "page_module_key.inc"
    },
    PageFile{
        "/markdown.js",
        kScript,
#include "page_module_markdown.inc"
    },
    PageFile{
        "/maths.js",
        kScript,
#include "page_module_maths.inc"
    },
    PageFile{
        "/page.js",
        kScript,
#include "page_module_page.inc"
    },
    PageFile{
        "/proposers.js",
        kScript,
#include "page_module_proposers.inc"
    },
    PageFile{
        "/prose.js",
        kScript,
#include "page_module_prose.inc"
    },
    PageFile{
        "/race.js",
        kScript,
#include "page_module_race.inc"
    },
    PageFile{
        "/records.js",
        kScript,
#include "page_module_records.inc"
    },
    PageFile{
        "/rounds.js",
        kScript,
#include "page_module_rounds.inc"
    },
    PageFile{
        "/settings.js",
        kScript,
#include "page_module_settings.inc"
    },
    PageFile{
        "/sidebar.js",
        kScript,
#include "page_module_sidebar.inc"
    },
    PageFile{
        "/state.js",
        kScript,
#include "page_module_state.inc"
    },
    PageFile{
        "/storage.js",
        kScript,
#include "page_module_storage.inc"
    },
    PageFile{
        "/store.js",
        kScript,
#include "page_module_store.inc"
    },
    PageFile{
        "/told.js",
        kScript,
#include "page_module_told.inc"
    },
    PageFile{
        "/text_view.js",
        kScript,
#include "page_module_text_view.inc"
    },
    PageFile{
        "/tokens_view.js",
        kScript,
#include "page_module_tokens_view.inc"
    },
    PageFile{
        "/turn_view.js",
        kScript,
#include "page_module_turn_view.inc"
    },
    PageFile{
        "/views.js",
        kScript,
#include "page_module_views.inc"
    },
    PageFile{
        "/icon.svg",
        "image/svg+xml",
#include "page_icon.inc"
    },
    PageFile{
        "/markdown_it.js",
        kScript,
        whole(
#include "page_markdown_it.inc"
            ),
        true,
    },
    PageFile{
        "/purify.js",
        kScript,
        whole(
#include "page_dompurify.inc"
            ),
        true,
    },
    PageFile{
        "/katex.js",
        kScript,
        whole(
#include "page_katex.inc"
            ),
        true,
    },
};

/// What the page is told before there is a key or a model.
constexpr PageFile kKeeping = {"/options.js", kScript, "export const keepsHistory = true;\n"};
constexpr PageFile kForgetting = {"/options.js", kScript, "export const keepsHistory = false;\n"};

/// Null: there is none.
const PageFile* find_file(std::string_view path, bool keeps_history) {
  if (path == kKeeping.path) return keeps_history ? &kKeeping : &kForgetting;
  const auto file =
      std::find_if(kFiles.begin(), kFiles.end(), [&](const PageFile& f) { return f.path == path; });
  return file == kFiles.end() ? nullptr : &*file;
}

}  // namespace

std::span<const PageFile> page_files() {
  return kFiles;
}

bool is_page_file(std::string_view path) {
  return find_file(path, true) != nullptr;
}

bool answer_page(const HttpRequest& request, Exchange& exchange, bool keeps_history) {
  const PageFile* const file = find_file(request.path, keeps_history);
  if (file == nullptr) return false;
  if (request.method != "GET" && request.method != "HEAD") {
    throw Problem(405, request.path + " takes GET, HEAD", {}, {{"Allow", "GET, HEAD"}});
  }
  exchange.respond(
      200, std::string(file->content),
      {{"Content-Type", std::string(file->type)},
       {"Cache-Control", "no-cache"},
       {"Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
       {"Referrer-Policy", "no-referrer"},
       {"X-Content-Type-Options", "nosniff"}});
  return true;
}

}  // namespace augur
