#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace augur::cli {

/// Values of a subcommand's options that come from elsewhere than its command line: from the environment, as
/// AUGUR_ and the option's name in capitals (--ctx-size: AUGUR_CTX_SIZE), and from a file of TOML, with the
/// names as keys (ctx-size = 4096). The command line goes before the environment, and that before the file.
///
/// What is not known, has the wrong form, or is there twice is a usage error that names the variable, or the
/// file, its line and the key. Values then pass the options' own checks, whose errors name the same.
class Settings {
 public:
  /// Adds --config and --print-config. Before all other options: their callbacks are called in the order in
  /// which they were added, and this one gives the others their values.
  static std::shared_ptr<Settings> add_to(CLI::App& command);

  /// Whether --print-config asks for text().
  bool wants_text() const { return wants_text_; }
  /// All options as the command has understood them, in TOML that --config takes: what is set, with where
  /// that was; what is not, as a comment with its default. Secrets are not shown.
  std::string text() const;

 private:
  explicit Settings(CLI::App& command) : command_(command) {}
  void read(const std::string& config);
  void read_environment();
  void read_file(const std::string& path);
  CLI::Option* option_of(const std::string& name) const;
  void set(CLI::Option& option, const std::string& name, const std::vector<std::string>& values,
           const std::string& origin);
  void run_callbacks();

  CLI::App& command_;
  bool wants_text_ = false;
  std::map<const CLI::Option*, std::string> origins_;  ///< of what the command line does not say
};

}  // namespace augur::cli
