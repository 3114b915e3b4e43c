import { builtInRoles, capabilities } from '../../src/domain/capabilities/administrator-roles.js';

/** Returns a Markdown table of the built-in roles and every capability. */
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
