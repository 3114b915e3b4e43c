/** Longer texts, and more values, are made for a single occasion. */
const maxTextLength = 8_000;
const maxValues = 40;
/** Each connection keeps a plan for each name. */
const maxNames = 400;
const maxCandidates = 2_000;

/** The comment at the beginning of a text that is planned for its values. */
export const forItsValues = 'planned for its values';

/**
 * Returns a text that is never kept prepared, so that PostgreSQL plans it for the values at hand each time. For
 * statements that read more of a large tenant than of a small one: after five plans of a prepared one PostgreSQL
 * compares what they cost with a plan for the average tenant, which costs less since that one is small, and keeps it
 * for all.
 */
export const plannedForItsValues = (text: string): string => `/* ${forItsValues} */ ${text}`;

/**
 * Decides which statements PostgreSQL keeps prepared: those whose text recurs. Texts that contain a page's numbers
 * would only fill its memory, and a `select *` would break when a migration adds a column.
 */
export function createPreparedTexts() {
  const names = new Map<string, string>();
  const seenOnce = new Set<string>();
  return {
    /** Returns the name under which to prepare `text`; undefined if that is not worthwhile, or not yet. */
    nameOf(text: string, values: readonly unknown[]): string | undefined {
      const known = names.get(text);
      if (known !== undefined) return known;
      if (text.startsWith(`/* ${forItsValues}`)) return undefined;
      if (text.length > maxTextLength || values.length > maxValues || names.size >= maxNames) return undefined;
      if (!seenOnce.delete(text)) {
        if (seenOnce.size >= maxCandidates) seenOnce.clear();
        seenOnce.add(text);
        return undefined;
      }
      if (passing.test(text)) return undefined;
      const name = `prepared_${names.size + 1}`;
      names.set(text, name);
      return name;
    },
  };
}

export type PreparedTexts = ReturnType<typeof createPreparedTexts>;

const passing = /\boffset \d|\blimit (?!(1|20|50|100)\b)\d|\*\s+from\b|returning \*/i;
