#include "hub/fetch_model.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "base/error.h"
#include "hub/blob_file.h"
#include "hub/choose_files.h"
#include "hub/file_lock.h"
#include "hub/http_client.h"
#include "hub/hub_cache.h"
#include "hub/hub_list.h"

namespace augur {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostListBytes = std::size_t{64} << 20;
constexpr double kLongestWait = 60;                        // seconds
constexpr std::uint64_t kGoesOn = std::uint64_t{1} << 20;  // bytes with which a fetch is not stuck

/// The path of a URL: all but the plain characters as %XX.
std::string url_path(std::string_view path) {
  constexpr std::string_view kPlain = "-_.~/";
  std::string url;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       kPlain.find(c) != std::string_view::npos;
    url += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return url;
}

bool is_busy(long status) {
  return status == 408 || status == 429 || status >= 500;
}

std::vector<std::string> paths_of(const HubList& list) {
  std::vector<std::string> paths;
  for (const HubFile& file : list.files) paths.push_back(file.path);
  return paths;
}

class Fetch {
 public:
  Fetch(const HubModel& model, const HubSettings& settings, const FetchHooks& hooks)
      : model_(model), settings_(settings), hooks_(hooks), cache_(settings.cache, model.repository) {}

  fs::path run() {
    if (settings_.offline) return of_cache("--offline and HF_HUB_OFFLINE ask for no more");
    HubList list;
    try {
      client_.emplace(
          HttpClient::Patience{settings_.connect_seconds, settings_.stall_seconds, settings_.authorities},
          hooks_.stop);
      list = ask_list();
    } catch (const HubUnreachable& error) {
      fs::path found = of_cache(error.what());
      if (hooks_.warning)
        hooks_.warning(fmt::format("{}; {} is as the cache has it", error.what(), model_.name()));
      return found;
    }
    const HubChoice choice = choose_files(paths_of(list), model_);
    std::vector<HubFile> files;
    for (const HubFile& file : list.files) {
      if (std::find(choice.files.begin(), choice.files.end(), file.path) == choice.files.end()) continue;
      files.push_back(file);
      total_ += file.bytes;
    }
    for (const HubFile& file : files) fetch(list.commit, file);
    try {
      cache_.set_commit(list.commit);
    } catch (const Error& error) {  // a cache that may only be read
      if (hooks_.warning) hooks_.warning(error.what());
    }
    return place_of(list.commit, choice);
  }

 private:
  fs::path of_cache(const std::string& why) {
    const auto commit = cache_.commit();
    const std::vector<std::string> paths = commit ? cache_.files(*commit) : std::vector<std::string>();
    if (paths.empty())
      throw Error(ErrorKind::NotFound, "{}: is not in the cache {}: {}", model_.name(),
                  cache_.folder().string(), why);
    try {
      return place_of(*commit, choose_files(paths, model_));
    } catch (const Error& error) {
      throw Error(error.cause(), "in the cache {}: {} ({})", cache_.folder().string(), error.what(), why);
    }
  }

  fs::path place_of(const std::string& commit, const HubChoice& choice) const {
    const fs::path folder = cache_.snapshot(commit);
    return choice.model.empty() ? folder : folder / choice.model;
  }

  /// What is wrong with an answer that is not what was asked for.
  [[noreturn]] void refuse(const HttpHead& head, const std::string& what) const {
    const std::string words = head.error.empty() ? "" : fmt::format(" ({})", head.error);
    if (head.status == 401 || head.status == 403 || head.status == 404) {
      const char* token = settings_.token.empty() ? "none was given: --hf-token or HF_TOKEN"
                                                  : "the token that was given does not do";
      throw Error(ErrorKind::NotFound,
                  "{}: {} answers {}{}: there is no such model, or it takes a token that may read it ({})",
                  what, settings_.endpoint, head.status, words, token);
    }
    throw Error(ErrorKind::NotFound, "{}: {} answers {}{}", what, settings_.endpoint, head.status, words);
  }

  void look_up() const {
    if (hooks_.stop != nullptr && hooks_.stop->load()) throw HubStopped("interrupted");
  }

  /// Before attempt `tried` + 1.
  void wait(int tried, std::optional<double> asked_for) const {
    const double usual = settings_.wait_seconds * static_cast<double>(1 << std::min(tried - 1, 10));
    const auto end = std::chrono::steady_clock::now() +
                     std::chrono::duration<double>(std::min(asked_for.value_or(usual), kLongestWait));
    while (std::chrono::steady_clock::now() < end) {
      look_up();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  HubList ask_list() {
    const std::string url =
        fmt::format("{}/api/models/{}/revision/main?blobs=true", settings_.endpoint, model_.repository);
    if (hooks_.progress) hooks_.progress(model_.name(), 0);
    for (int tried = 1;; ++tried) {
      std::string body;
      std::optional<double> asked_for;
      std::string problem;
      try {
        const HttpHead head = client_->get(
            {.url = url, .token = settings_.token}, [](const HttpHead& h) { return h.status == 200; },
            [&](std::span<const std::byte> bytes) {
              if (body.size() + bytes.size() > kMostListBytes)
                throw Error("{}: answers more than {} bytes", url, kMostListBytes);
              body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
            });
        if (head.status == 200) return parse_hub_list(body, url);
        if (!is_busy(head.status)) refuse(head, model_.repository);
        problem = fmt::format("{} answers {}", url, head.status);
        asked_for = head.retry_after;
      } catch (const HubUnreachable& error) {
        problem = error.what();
      }
      // A server that starts without its hub is not to wait for long.
      if (tried >= std::min(settings_.attempts, 3)) throw HubUnreachable("{}", problem);
      wait(tried, asked_for);
    }
  }

  /// Of all files, where `bytes` of the present one are here.
  double fraction(std::uint64_t bytes) const {
    return total_ == 0 ? 1 : static_cast<double>(done_ + bytes) / static_cast<double>(total_);
  }

  void tell(const HubFile& file, std::uint64_t bytes) const {
    if (!hooks_.progress) return;
    const auto gigabytes = [](std::uint64_t count) { return static_cast<double>(count) / 1e9; };
    hooks_.progress(
        fmt::format("{} ({:.2f} of {:.2f} GB)", file.path, gigabytes(done_ + bytes), gigabytes(total_)),
        fraction(bytes));
  }

  void fetch(const std::string& commit, const HubFile& file) {
    if (!cache_.has(commit, file)) {
      cache_.make_folders();
      const FileLock lock(cache_.lock_file(file.hash), [&] {
        look_up();
        if (hooks_.progress) {
          hooks_.progress(fmt::format("{} (another process fetches it)", file.path), fraction(0));
        }
      });
      if (!cache_.has_blob(file)) download(commit, file);
      cache_.link(commit, file);
    }
    done_ += file.bytes;
    tell(file, 0);
  }

  void download(const std::string& commit, const HubFile& file) {
    BlobFile blob(cache_.incomplete(file.hash), file);
    blob.check_space();
    bool resumed = blob.bytes() > 0;
    while (true) {
      ask_content(commit, file, blob);
      const std::string hash = blob.hash([&] {
        look_up();
        if (hooks_.progress) hooks_.progress(fmt::format("{} (checking)", file.path), fraction(blob.bytes()));
      });
      if (hash == file.hash) return blob.finish(cache_.blob(file.hash));
      if (!resumed) {
        blob.remove();
        throw Error("{}: {}: what came has the hash {}, the hub lists {}", model_.repository, file.path, hash,
                    file.hash);
      }
      blob.start_anew();  // what was there before was another's
      resumed = false;
    }
  }

  /// Until all of it is there.
  void ask_content(const std::string& commit, const HubFile& file, BlobFile& blob) {
    const std::string url = fmt::format("{}/{}/resolve/{}/{}", settings_.endpoint, model_.repository, commit,
                                        url_path(file.path));
    const std::string what = model_.repository + ": " + file.path;
    std::uint64_t mark = blob.bytes();
    for (int tried = 1; blob.left() > 0; ++tried) {
      std::optional<double> asked_for;
      std::string problem = fmt::format("{}: the answer ended early", url);
      try {
        const HttpHead head = client_->get(
            {.url = url, .token = settings_.token, .from = blob.bytes()},
            [&](const HttpHead& h) { return begin(h, what, file, blob); },
            [&](std::span<const std::byte> bytes) {
              blob.add(bytes);
              tell(file, blob.bytes());
            });
        if (head.status != 200 && head.status != 206)
          problem = fmt::format("{} answers {}", url, head.status);
        asked_for = head.retry_after;
      } catch (const HubUnreachable& error) {
        problem = error.what();
      }
      if (blob.left() == 0) return;
      if (blob.bytes() >= mark + kGoesOn) {
        mark = blob.bytes();
        tried = 1;
      }
      if (tried >= settings_.attempts) {
        throw HubUnreachable(
            "{}: {}; the {} of {} bytes that came are kept, the same command goes on from there", what,
            problem, blob.bytes(), file.bytes);
      }
      wait(tried, asked_for);
    }
  }

  /// Whether what an answer holds is wanted.
  bool begin(const HttpHead& head, const std::string& what, const HubFile& file, BlobFile& blob) const {
    if (head.status == 416) {  // nothing from there on: what is here is another file's
      blob.start_anew();
      return false;
    }
    if (head.status != 200 && head.status != 206) {
      if (!is_busy(head.status)) refuse(head, what);
      return false;
    }
    if (head.total && *head.total != file.bytes) {
      throw Error("{}: is of {} bytes, the hub lists {}", what, *head.total, file.bytes);
    }
    if (head.status == 200 && blob.bytes() > 0) blob.start_anew();  // it gives files from the beginning only
    if (head.status == 206 && head.first != blob.bytes()) {
      throw Error("{}: bytes from {} were asked for, {} answers with those from {}", what, blob.bytes(),
                  settings_.endpoint, head.first);
    }
    return true;
  }

  const HubModel& model_;
  const HubSettings& settings_;
  const FetchHooks& hooks_;
  HubCache cache_;
  std::optional<HttpClient> client_;
  std::uint64_t total_ = 0;  ///< bytes of all files
  std::uint64_t done_ = 0;   ///< of those that are here
};

}  // namespace

fs::path fetch_model(const HubModel& model, const HubSettings& settings, const FetchHooks& hooks) {
  if (settings.cache.empty()) {
    throw Error("{}: there is no place to keep it: expected HF_HUB_CACHE, HF_HOME or HOME", model.name());
  }
  return Fetch(model, settings, hooks).run();
}

}  // namespace augur
