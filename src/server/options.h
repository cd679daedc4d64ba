#ifndef FERRY_SERVER_OPTIONS_H_
#define FERRY_SERVER_OPTIONS_H_

#include <string>
#include <variant>
#include <vector>

#include "ferry/server.h"

namespace ferry {

// What the command line asks for: a server, or a text to print (help, version).
struct CommandLine {
  ServerOptions server;
  bool verbose = false;
  std::vector<std::string> warnings;  // flags that are accepted but have no effect
};
struct TextToPrint {
  std::string text;
};

// Reads the command line (without the program's name). Flags are spelled as Triton's where the meaning is the same.
//   INVALID_ARGUMENT  an unknown flag, with the nearest known one; a bad value; no model repository
Result<std::variant<CommandLine, TextToPrint>> ParseCommandLine(std::vector<std::string> arguments);

}  // namespace ferry

#endif  // FERRY_SERVER_OPTIONS_H_
