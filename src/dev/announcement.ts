import type { Demo } from './demo.js';

/** Returns the text that a person reads when everything is running. */
export function announce(demo: Demo): string {
  return `
  Gatehouse is ready.

    Sign in as an end user   ${demo.sign_in_url}
      ${demo.identities[0]?.email}  /  ${demo.identities[0]?.password}
    Example relying party    ${demo.relying_party_url}
    Administrator            ${demo.admin.email}  /  ${demo.admin.password}   (POST ${demo.base_url}/v1/auth/login)
    API reference            ${demo.base_url}/docs
${demo.api_urls.length > 1 ? `    Apis                     ${demo.api_urls.join(', ')}\n` : ''}    Temporal web UI          ${demo.temporal_ui_url ?? 'none here'}
    Inbox                    ${demo.inbox_url ?? 'configured elsewhere'}

  All of it, with an API key, is in ${demo.file}.
  Ctrl-C stops everything; the data stays.
`;
}
