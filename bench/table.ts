/** Markdown. @param head and lines: cells with ` | ` between */
export const tableOf = (head: string, lines: readonly string[]): string =>
  [head, head.replace(/[^|]+/g, ' --- ').trim(), ...lines].map((line) => `| ${line} |`).join('\n');
