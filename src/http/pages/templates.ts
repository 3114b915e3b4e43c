import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../platform/root.js';

export const templatesFolder = join(projectRoot, 'templates/pages');

/** The text of each template by its name: of pages, and of parts that they include. */
export const templates: ReadonlyMap<string, string> = new Map(
  readdirSync(templatesFolder)
    .filter((file) => file.endsWith('.eta'))
    .map((file) => [file.slice(0, -4), readFileSync(join(templatesFolder, file), 'utf8')]),
);
