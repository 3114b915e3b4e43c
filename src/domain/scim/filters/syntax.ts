import { ScimRefused } from '../refusal.js';

export type Comparison = 'eq' | 'ne' | 'co' | 'sw' | 'ew' | 'gt' | 'ge' | 'lt' | 'le';
export type FilterValue = string | number | boolean | null;

/** A parsed filter of RFC 7644 §3.4.2.2. Paths are kept as they were written. */
export type Filter =
  | { op: 'and'; filters: Filter[] }
  | { op: 'or'; filters: Filter[] }
  | { op: 'not'; filter: Filter }
  | { op: 'pr'; path: string }
  | { op: Comparison; path: string; value: FilterValue }
  | { op: '[]'; path: string; filter: Filter };

const comparisons = new Set<string>(['eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le']);
const maxLength = 4000;
const deepest = 20;
const maxTerms = 100;

interface Token {
  kind: 'sign' | 'text' | 'word' | 'end';
  text: string;
  /** The position where it begins. */
  at: number;
}

// Each alternative begins with a different character, so that nothing is tried twice.
const patterns = /\s+|[()[\]]|"(?:[^"\\\n]|\\.)*"|\.[\w$-]+|[\w$+-][\w$.:+%/-]*/y;

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    patterns.lastIndex = at;
    const found = patterns.exec(text)?.[0];
    if (!found) throw invalid(`cannot be parsed from character ${at + 1}`);
    if (found.trim() !== '') tokens.push({ kind: kindOf(found), text: found, at });
    at += found.length;
  }
  return [...tokens, { kind: 'end', text: '', at }];
}

const kindOf = (text: string): Token['kind'] =>
  /^[()[\]]/.test(text) ? 'sign' : text.startsWith('"') ? 'text' : 'word';
const invalid = (problem: string) => new ScimRefused('invalidFilter', `The filter ${problem}`);

/**
 * Reads a filter. `not` binds tightest, then `and`, then `or`.
 * @throws ScimRefused invalidFilter
 */
export function parseFilter(text: string): Filter {
  if (text.length > maxLength) throw invalid(`is longer than ${maxLength} characters`);
  const reader = createReader(tokensOf(text));
  const filter = reader.or(0);
  reader.end();
  return filter;
}

function createReader(tokens: Token[]) {
  let next = 0;
  let terms = 0;
  const peek = () => tokens[next] as Token;
  const take = () => tokens[next++] as Token;
  const isWord = (word: string) => peek().kind === 'word' && peek().text.toLowerCase() === word;
  const expectSign = (sign: string) => {
    if (peek().kind !== 'sign' || peek().text !== sign) throw invalid(`lacks a ${sign} at character ${peek().at + 1}`);
    take();
  };

  function chain(op: 'and' | 'or', of: (depth: number) => Filter, depth: number): Filter {
    const filters = [of(depth)];
    while (isWord(op)) {
      take();
      filters.push(of(depth));
    }
    return filters.length === 1 ? (filters[0] as Filter) : { op, filters };
  }
  const or = (depth: number): Filter => chain('or', and, depth);
  const and = (depth: number): Filter => chain('and', term, depth);

  function term(depth: number): Filter {
    if (depth > deepest) throw invalid(`is nested more than ${deepest} levels deep`);
    if (++terms > maxTerms) throw invalid(`has more than ${maxTerms} terms`);
    if (isWord('not') && tokens[next + 1]?.text === '(') {
      take();
      return { op: 'not', filter: grouped(depth) };
    }
    return peek().text === '(' ? grouped(depth) : comparison(depth);
  }

  function grouped(depth: number): Filter {
    expectSign('(');
    const filter = or(depth + 1);
    expectSign(')');
    return filter;
  }

  function comparison(depth: number): Filter {
    const { kind, text: path, at } = take();
    if (kind !== 'word' || path.startsWith('.')) throw invalid(`needs the name of an attribute at character ${at + 1}`);
    if (peek().text === '[' && peek().kind === 'sign') {
      take();
      const filter = or(depth + 1);
      expectSign(']');
      return { op: '[]', path, filter: ofSubAttribute(filter) };
    }
    return compared(path);
  }

  /**
   * `emails[type eq "work"].value eq "x"`, as Entra ID asks for who has an address: RFC 7644 has such paths in PATCH
   * alone.
   */
  function ofSubAttribute(filter: Filter): Filter {
    const { kind, text } = peek();
    if (kind !== 'word' || !text.startsWith('.')) return filter;
    take();
    if (++terms > maxTerms) throw invalid(`has more than ${maxTerms} terms`);
    return { op: 'and', filters: [filter, compared(text.slice(1))] };
  }

  function compared(path: string): Filter {
    const operator = take();
    const op = operator.kind === 'word' ? operator.text.toLowerCase() : '';
    if (op === 'pr') return { op, path };
    if (!comparisons.has(op)) throw invalid(`needs an operator at character ${operator.at + 1}`);
    return { op: op as Comparison, path, value: literalOf(take()) };
  }

  return {
    or,
    end() {
      if (peek().kind !== 'end') throw invalid(`has unexpected text at character ${peek().at + 1}`);
    },
  };
}

/** `false`, `null`, `true`, a number or a string, each as in JSON (RFC 7644 figure 1). */
function literalOf({ kind, text, at }: Token): FilterValue {
  const isJson = kind === 'text' || /^(true|false|null|-?\d+(\.\d+)?([eE][+-]?\d+)?)$/i.test(text);
  try {
    if (isJson) return JSON.parse(kind === 'text' ? text : text.toLowerCase());
  } catch {
    // Reported below, with the other faults of a literal.
  }
  throw invalid(`needs a JSON value at character ${at + 1}`);
}
