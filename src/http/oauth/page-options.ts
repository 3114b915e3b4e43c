import type { AuthorizeRequest } from '../../domain/oidc/authorize-request.js';
import type { Client } from '../../domain/oidc/clients.js';
import type { PageOptions } from '../pages/send-page.js';

/** What the pages of a visit have in common. */
export const pageOptions = ({ client, asked }: { client: Client; asked: AuthorizeRequest }): PageOptions => ({
  client,
  uiLocales: asked.parameters.ui_locales,
  formActions: [asked.redirectUri],
});
