import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A statement that would disturb a release that is still running, or block users of a table (docs/decisions/0057). */
export interface Violation {
  rule: Rule;
  statement: string;
}
export type Rule = (typeof rules)[number]['name'];

/** Returns the statements that a migration sends, without comments; its queries are answered with no rows. */
export async function statementsOf(migration: MigrationInterface): Promise<string[]> {
  const texts: string[] = [];
  const recorder = {
    async query(text: string) {
      texts.push(text);
      return [];
    },
    async startTransaction() {},
    async commitTransaction() {},
    async rollbackTransaction() {},
  };
  await migration.up(recorder as unknown as QueryRunner);
  return texts.flatMap(split);
}

/**
 * Splits at semicolons outside of texts, function bodies and comments. Drops function bodies: a migration does not run
 * them.
 */
export function split(text: string): string[] {
  const tokens = text.matchAll(
    /--[^\n]*|'(?:[^']|'')*'|\$(\w*)\$[\s\S]*?\$\1\$|begin atomic\b[\s\S]*?\bend(?=\s*(?:;|$))|\w+|[\s\S]/gi,
  );
  const statements = [''];
  for (const [token] of tokens) {
    if (token === ';') statements.push('');
    else if (token.startsWith('--')) continue;
    else statements[statements.length - 1] += /^\$\w*\$|^begin atomic/i.test(token) ? ' $body$ ' : token;
  }
  return statements.map((one) => one.replace(/\s+/g, ' ').trim()).filter(Boolean);
}

/** What is known of a migration besides the statement at hand. */
interface Around {
  /** Tables that the same migration creates: nothing uses them yet. */
  made: Set<string>;
  /** Its statements are not rolled back together, and an interrupted migration runs again. */
  isOutsideTransaction: boolean;
  before: readonly string[];
}

const tableOf = (statement: string): string | undefined =>
  /^(?:alter table (?:if exists )?(?:only )?|create (?:unique )?index (?:concurrently )?(?:if not exists )?[\w]+ on (?:only )?)"?(\w+)/i.exec(
    statement,
  )?.[1];

/** Returns the actions of an `alter table`, split at commas outside of brackets. */
function actionsOf(statement: string): string[] {
  const [, list = ''] = /^alter table (?:if exists )?(?:only )?"?\w+"? (.*)$/i.exec(statement) ?? [];
  const actions = [''];
  let depth = 0;
  for (const character of list) {
    depth += Number(character === '(') - Number(character === ')');
    if (character === ',' && depth === 0) actions.push('');
    else actions[actions.length - 1] += character;
  }
  return actions.map((action) => action.trim()).filter(Boolean);
}

const action = (pattern: RegExp) => (statement: string) => actionsOf(statement).some((one) => pattern.test(one));
const isConstraint = /^add (constraint|check|foreign|unique|primary|exclude)\b/i;
const isAddedColumn = (one: string) => /^add\b/i.test(one) && !isConstraint.test(one);
const addedColumn = (isBad: (column: string) => boolean) => (statement: string) =>
  actionsOf(statement).some((one) => isAddedColumn(one) && isBad(one));

const rules = [
  {
    name: 'nothing is dropped that the release before uses',
    breaks: (statement: string) =>
      /^drop (?!index|policy if exists)/i.test(statement) ||
      action(/^drop (?!constraint|not null|default)/i)(statement),
  },
  { name: 'nothing is renamed', breaks: (statement: string) => /^alter .*\brename\b/i.test(statement) },
  {
    name: 'no column changes its type',
    breaks: action(/^alter (column )?"?\w+"? (set data )?type\b/i),
  },
  {
    name: 'an added column has a default or may be null, since the release before does not write it',
    breaks: addedColumn((column) => /\bnot null\b/i.test(column) && !/\bdefault\b/i.test(column)),
  },
  {
    name: 'no column becomes "not null"',
    breaks: action(/^alter (column )?"?\w+"? set not null/i),
  },
  {
    name: 'no table is written anew under a lock',
    breaks: (statement: string) =>
      /^(cluster|vacuum full)\b/i.test(statement) ||
      addedColumn((column) => /\bgenerated\b|\bdefault [\w.]*(random|uuid|clock_timestamp|nextval)\w*\(/i.test(column))(
        statement,
      ),
  },
  {
    name: 'a constraint of what is there begins "not valid", and a key uses an index',
    breaks: (statement: string) =>
      actionsOf(statement).some(
        (one) => isConstraint.test(one) && !/\bnot valid\b|\bunique using index|\bprimary key using index/i.test(one),
      ) || addedColumn((column) => /\bunique\b|\bprimary key\b/i.test(column))(statement),
  },
  {
    name: 'an index is made and dropped concurrently',
    breaks: (statement: string) =>
      /^(create (unique )?index|drop index|reindex)\b/i.test(statement) && !/\bconcurrently\b/i.test(statement),
  },
  {
    name: 'what runs outside of a transaction can be run once more',
    breaks: (statement: string, { isOutsideTransaction, before }: Around) =>
      isOutsideTransaction && !isRepeatable(statement, before),
  },
  { name: 'no table is locked by hand', breaks: (statement: string) => /^(lock|truncate)\b/i.test(statement) },
  {
    name: 'rows that are there are not changed at once',
    breaks: (statement: string) => /^(update|delete|with .*\b(update|delete) )\b/i.test(statement),
  },
  {
    name: 'rights and row security of what is there stay',
    breaks: (statement: string) =>
      /^revoke (?!.*\bon function\b)/i.test(statement) || action(/row level security/i)(statement),
  },
  { name: 'nothing is hidden in a block', breaks: (statement: string) => /^do\b/i.test(statement) },
] as const satisfies readonly { name: string; breaks(statement: string, around: Around): boolean }[];

const isRepeatable = (statement: string, before: readonly string[]): boolean => {
  const [, index] = /^create (?:unique )?index concurrently (\w+)/i.exec(statement) ?? [];
  // "if not exists" would accept an invalid index that an interrupted build left.
  if (index) return before.includes(`drop index concurrently if exists ${index}`);
  const [, policy] = /^create policy (\w+ on \w+)/i.exec(statement) ?? [];
  if (policy) return before.includes(`drop policy if exists ${policy}`);
  if (/^(create|drop)\b/i.test(statement)) return /\bif (not )?exists\b|\bor replace\b/i.test(statement);
  if (/^insert\b/i.test(statement)) return /\bon conflict\b/i.test(statement);
  return actionsOf(statement).every((one) => !/^(add|drop)\b/i.test(one) || /\bif (not )?exists\b/i.test(one));
};

/** Returns the statements of a migration that break a rule. */
export async function violationsOf(migration: MigrationInterface): Promise<Violation[]> {
  const statements = await statementsOf(migration);
  const made = new Set(statements.flatMap((one) => /^create table (?:if not exists )?"?(\w+)/i.exec(one)?.[1] ?? []));
  return statements.flatMap((statement, i) => {
    const around = { made, isOutsideTransaction: migration.transaction === false, before: statements.slice(0, i) };
    const isOfNewTable = made.has(tableOf(statement) ?? '');
    return rules
      .filter(({ name, breaks }) => (!isOfNewTable || name === repeatable) && breaks(statement, around))
      .map(({ name: rule }) => ({ rule, statement }));
  });
}
const repeatable = 'what runs outside of a transaction can be run once more' satisfies Rule;
