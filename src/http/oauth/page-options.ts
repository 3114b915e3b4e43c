import type { Client } from '../../domain/oidc/clients/clients.js';
import type { AuthorizeRequest } from '../../domain/oidc/requests/authorize-request.js';
import type { PageOptions } from '../pages/send-page.js';

/** The options that all pages of a visit share. */
export const pageOptions = ({
  client,
  authorizeRequest,
}: {
  client: Client;
  authorizeRequest: AuthorizeRequest;
}): PageOptions => ({
  client,
  uiLocales: authorizeRequest.parameters.ui_locales,
  formActions: [authorizeRequest.redirectUri],
});
