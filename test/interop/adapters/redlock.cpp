// redlock-cpp as an adapter (adapter.ts has the protocol): one attempt for each request. It has two
// interfaces, as two implementations: Lock, and ContinueLock, which acquires as well and extends
// what it has acquired itself.

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <memory>
#include <sstream>
#include <string>
#include "redlock-cpp/redlock.h"

static CRedLock locks;
static bool continues;
static std::string resource;
static std::unique_ptr<CLock> held;

/** Acquires, or extends; what it had before is forgotten. */
static bool attempt(int ttlMs) {
  held.reset(new CLock());
  return continues ? locks.ContinueLock(resource.c_str(), ttlMs, *held)
                   : locks.Lock(resource.c_str(), ttlMs, *held);
}

static const char *answer(const std::string &line) {
  std::istringstream words(line);
  std::string verb;
  int ttlMs = 0;
  words >> verb;
  if (verb == "acquire") {
    words >> resource >> ttlMs;
    return attempt(ttlMs) ? "yes" : "no";
  }
  if (verb == "extend") {
    words >> ttlMs;
    if (!continues) return "none";
    return attempt(ttlMs) ? "yes" : "no";
  }
  if (!held) return "no";
  locks.Unlock(*held);
  return "yes";
}

int main(int argc, char **argv) {
  // The library tells what it does on stdout, which is for the answers.
  FILE *answers = fdopen(dup(1), "w");
  dup2(2, 1);
  continues = strcmp(argv[1], "redlock-cpp-continue") == 0;
  for (int index = 2; index < argc; index += 1) {
    const std::string url(argv[index]); // redis://HOST:PORT
    const size_t host = url.find("//") + 2, port = url.rfind(':') + 1;
    locks.AddServerUrl(url.substr(host, port - 1 - host).c_str(), atoi(url.c_str() + port));
  }
  locks.SetRetry(1, 1);
  fprintf(answers, "ready\n");
  fflush(answers);
  for (std::string line; std::getline(std::cin, line);) {
    fprintf(answers, "%s\n", answer(line));
    fflush(answers);
  }
  return 0;
}
