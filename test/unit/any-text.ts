// Text of any code points for the tests of properties, half of it ASCII with its controls. *Note:*
// the unit `binary` of fast-check takes two seconds to be made, in each process, and hardly ever
// makes a character that a terminal or a shell acts on.

import fc from 'fast-check';

const point = fc.oneof(
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 0x7f }) },
  fc.integer({ min: 0x80, max: 0xd7ff }),
  fc.integer({ min: 0xe000, max: 0x10ffff }),
);
const unit = point.map((number) => String.fromCodePoint(number));

export function anyText(limits: { readonly minLength?: number } = {}): fc.Arbitrary<string> {
  return fc.string({ unit, ...limits });
}
