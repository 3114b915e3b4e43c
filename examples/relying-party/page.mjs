// The only page of the example, rendered on the server: all external data is escaped, and no script runs.
import { createHash } from 'node:crypto';

const styles = `
:root { color-scheme: light dark; --ink: #16202e; --soft: #566070; --line: #dde1e8; --page: #f6f7f9; --card: #fff; --accent: #2f4fd0; --on-accent: #fff; --bad: #a61b1b }
@media (prefers-color-scheme: dark) { :root { --ink: #e9ecf1; --soft: #a3acba; --line: #2b313b; --page: #0e1013; --card: #16191e; --accent: #9db0ff; --on-accent: #10142a; --bad: #ff9c9c } }
body { margin: 0; padding: 3rem 1rem; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, sans-serif }
main { max-width: 44rem; margin: auto; padding: 2rem; background: var(--card); border: 1px solid var(--line); border-radius: 12px }
h1 { margin: 0 0 .5rem; font-size: 1.5rem } h2 { margin: 2rem 0 .5rem; font-size: 1rem }
p { margin: .5rem 0 } .soft { color: var(--soft) } .bad { color: var(--bad) }
table { width: 100%; border-collapse: collapse; font-size: .875rem }
th, td { padding: .4rem .75rem .4rem 0; border-top: 1px solid var(--line); text-align: left; vertical-align: top; overflow-wrap: anywhere }
th { width: 9rem; color: var(--soft); font-weight: 500 } td { font-family: ui-monospace, monospace }
.actions { display: flex; flex-wrap: wrap; gap: .5rem; margin-top: 1.5rem }
.button { display: inline-block; padding: .5rem 1rem; border: 1px solid var(--accent); border-radius: 8px; background: none; color: var(--accent); font: inherit; font-weight: 600; text-decoration: none; cursor: pointer }
.button.main { background: var(--accent); color: var(--on-accent) }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
`;
const styleHash = createHash('sha256').update(styles).digest('base64');

/**
 * Allows only our own style sheet, and an empty icon instead of the one that browsers request. Forms may lead to the
 * issuer, since signing out redirects there.
 */
export const pageHeaders = (issuer) => ({
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; img-src data:; form-action 'self' ${issuer}; base-uri 'none'; frame-ancestors 'none'`,
  'cache-control': 'no-store',
  'referrer-policy': 'same-origin',
});

/**
 * @param {{ issuer: string, notice?: string, error?: string, claims?: object, userinfo?: object, expiresAt?: Date }} view
 */
export function renderPage({ issuer, notice, error, claims, userinfo, expiresAt }) {
  const title = error
    ? 'That did not work'
    : claims
      ? `Hello, ${claims.name ?? claims.email ?? claims.sub}`
      : 'You are signed out';
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>${escaped(title)} · Example relying party</title>
<style>${styles}</style>
</head>
<body>
<main>
<h1>${escaped(title)}</h1>
${notice ? `<p role="status">${escaped(notice)}</p>` : ''}
${error ? `<p class="bad" role="alert">${escaped(error)}</p>` : ''}
${claims ? signedIn({ claims, userinfo, expiresAt }) : signedOut(issuer, error)}
</main>
</body>
</html>`;
}

const signedOut = (issuer, error) => `
<p class="soft">This example keeps no passwords. ${escaped(issuer)} asks who you are and tells it.</p>
<div class="actions"><a class="button main" href="/login">${error ? 'Try again' : 'Sign in'}</a></div>`;

const signedIn = ({ claims, userinfo, expiresAt }) => `
${userinfo.error ? '' : validity(expiresAt)}
<div class="actions">${button('/refresh', 'Refresh tokens')}${button('/revoke', 'Revoke tokens')}${button('/logout', 'Sign out', ' main')}</div>
<h2 id="claims">Claims of the ID token</h2>
${table('claims', claims)}
<h2 id="userinfo">Answer of the userinfo endpoint</h2>
${table('userinfo', userinfo)}`;

const validity = (until) =>
  `<p class="soft">The access token is valid until <time datetime="${until.toISOString()}">${until.toUTCString()}</time>.</p>`;

const button = (action, label, kind = '') =>
  `<form method="post" action="${action}"><button class="button${kind}">${label}</button></form>`;

const table = (id, values) => `<table aria-labelledby="${id}">${Object.entries(values).map(row).join('')}</table>`;

const row = ([name, value]) =>
  `<tr><th scope="row">${escaped(name)}</th><td>${escaped(typeof value === 'string' ? value : JSON.stringify(value))}</td></tr>`;

const entities = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escaped = (value) => String(value).replace(/[&<>"']/g, (character) => entities[character]);
