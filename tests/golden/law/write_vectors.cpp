// Writes the golden vectors of docs/law.md: write_vectors FOLDER. Products with float weights are those of
// plain loops, all else is the portable variant's.
#include <cstdio>

#include "base/arithmetic_law.h"
#include "law/law_cases.h"
#include "law/machines.h"

int main(int count, char** arguments) {
  using namespace augur;
  if (count != 2) {
    std::fputs("usage: write_vectors FOLDER\n", stderr);
    return 2;
  }
  for (const ArithmeticLaw law : {ArithmeticLaw::Chain, ArithmeticLaw::Blocks}) {
    std::ofstream file(fmt::format("{}/{}.txt", arguments[1], to_string(law)));
    file << law::text_of(law_number(law), law::compute(law::cases_of(law), law::plain_loops(law)));
    if (!file.flush()) return 1;
  }
  return 0;
}
