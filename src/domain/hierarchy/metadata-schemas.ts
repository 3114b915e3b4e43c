import { createHash } from 'node:crypto';
import { createContext, Script } from 'node:vm';
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { weightOf } from './metadata-schema-weight.js';
import { maxMatchedLength } from './patterns.js';
import { UnusableSchema } from './unusable-schema.js';

/**
 * JSON Schemas that tenants write, and which are therefore treated as hostile: what a schema may contain is bounded
 * before it is compiled (`metadata-schema-weight`), and compiling and checking have a time limit, which also ends a
 * regular expression.
 */
export interface CompiledSchema {
  /** The first finding; null if there is none. */
  check(metadata: object): ErrorObject | 'too slow' | null;
}

const limitMs = 250;
/** After a check that had to be ended, no other one with the same schema is begun for this long. */
const restMs = 60_000;
const cacheSize = 500;
const formats = ['date', 'time', 'date-time', 'email', 'hostname', 'ipv4', 'ipv6', 'uri', 'uuid'] as const;
const withFormats = addFormats as unknown as (ajv: Ajv2020, options: object) => Ajv2020;

// Ajv only needs `code` to write modules.
const regExp = Object.assign(
  (pattern: string, flags: string) => {
    const expression = new RegExp(pattern, flags);
    return {
      test: (text: string) => text.length <= maxMatchedLength && expression.test(text),
      toString: () => String(expression), // Ajv tells expressions apart by this text
    };
  },
  { code: '' },
);

function newAjv(): Ajv2020 {
  const made = withFormats(
    new Ajv2020({
      strict: true,
      strictTypes: false,
      strictTuples: false,
      strictRequired: false,
      ownProperties: true,
      addUsedSchema: false,
      logger: false,
      code: { regExp },
    }),
    { formats, mode: 'fast' },
  );
  void made.validateSchema({}); // the meta-schema takes longest, and is our own
  return made;
}

let ajv = newAjv();

/** By the schema's text, so that it is compiled once for all versions, Environments and nodes. */
const cache = new Map<string, CompiledSchema>();

/** @throws UnusableSchema */
export function compiledSchema(schema: object): CompiledSchema {
  const text = JSON.stringify(schema);
  const key = createHash('sha256').update(text).digest('base64');
  const known = cache.get(key);
  if (known) cache.delete(key);
  const compiled = known ?? compile(schema, text);
  cache.set(key, compiled); // the most recently used ones come last
  const [oldest] = cache.keys();
  if (cache.size > cacheSize && oldest !== undefined) cache.delete(oldest);
  return compiled;
}

function compile(schema: object, text: string): CompiledSchema {
  weightOf(schema, text);
  const validate = compiledBy(ajv, schema);
  let restsUntil = 0;
  return {
    check(metadata) {
      if (performance.now() < restsUntil) return 'too slow';
      const isValid = withinLimit(() => validate(metadata));
      if (isValid === 'too slow') restsUntil = performance.now() + restMs;
      return isValid === 'too slow' ? isValid : isValid ? null : ((validate.errors?.[0] as ErrorObject) ?? null);
    },
  };
}

function compiledBy(compiler: Ajv2020, schema: object): ValidateFunction {
  try {
    const validate = withinLimit(() => compiler.compile(schema));
    if (validate === 'too slow') throw new UnusableSchema('takes too long to compile');
    return validate;
  } catch (error) {
    ajv = newAjv(); // it was interrupted in any state
    throw error instanceof UnusableSchema ? error : new UnusableSchema(messageOf(error));
  } finally {
    compiler.removeSchema(schema);
  }
}

// V8 ends a script at its time limit wherever it is, also in a function from outside, or in a regular expression.
const sandbox = createContext({ work: null as unknown });
const script = new Script('work()');
function withinLimit<T>(work: () => T): T | 'too slow' {
  sandbox.work = work;
  try {
    return script.runInContext(sandbox, { timeout: limitMs });
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return 'too slow';
    throw error;
  } finally {
    sandbox.work = null;
  }
}

const messageOf = (error: unknown): string => {
  const text = error instanceof Error ? error.message : String(error);
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
};
