import type { Random } from '../random.js';

/** Texts that are hard to search, to compare and to sort, and random ones made of their parts. */

const parts = [
  'Ana',
  'ana',
  'ANA',
  'Änne',
  'änne',
  'A\u0308nne', // the same to a reader, with a combining character
  'İpek',
  'ıpek',
  'ipek',
  'Straße',
  'STRASSE',
  'ΣΑΣ',
  'σας',
  'Иван',
  '山田',
  '👩‍👩‍👧',
  '🇩🇪',
  'zero\u200bwidth',
  '\u2060x',
  '%',
  '_',
  '100%',
  'a_b',
  'a-b',
  '\\',
  '\\%',
  "O'Hara",
  '"quoted"',
  '$1',
  ':pattern',
  '$$',
  '?',
  '&lt;',
  'ﬁn',
  'K', // the Kelvin sign
  '0',
  '00',
  'null',
];

/** Returns a text that shows something, with no blank at either end; seldom a long one. */
export function hardText(random: Random, maxLength = 200): string {
  const count = random.below(12) === 0 ? maxLength : random.between(1, 3);
  let text = random.of(parts);
  for (let i = 1; i < count; i++) {
    const longer = `${text}${random.of(['', ' ', '  ', '\u00a0'])}${random.of(parts)}`;
    if ([...longer].length > maxLength) break;
    text = longer;
  }
  return text.trim();
}

/** Returns an address; several may differ in case only. */
export function hardEmail(random: Random): string {
  const local = random.of(['ana', 'Ana', 'ANA', 'a_a', 'a%a', 'a+a', "o'hara", 'a.b', 'aXa', '0']);
  const host = random.of(['example.com', 'Example.com', 'mail.example', 'xn--strae-oqa.example']);
  return `${local}${random.of(['', String(random.below(1000))])}@${host}`;
}
