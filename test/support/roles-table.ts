import { builtInRoles, capabilities } from '../../src/domain/capabilities/administrator-roles.js';

/** The built-in roles against every capability, as a table in Markdown. */
export function rolesTable(): string {
  const roles = Object.values(builtInRoles);
  const cells = (all: readonly (string | number)[]) => `| ${all.join(' | ')} |`;
  return [
    cells(['capability', ...roles.map(({ name }) => name)]),
    cells(['---', ...roles.map(() => ':-:')]),
    ...capabilities.map((capability) =>
      cells([`\`${capability}\``, ...roles.map(({ capabilities: held }) => (held.includes(capability) ? 'yes' : '–'))]),
    ),
    cells(['all', ...roles.map((role) => role.capabilities.length)]),
  ].join('\n');
}
