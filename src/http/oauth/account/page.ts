import type { AccountPages } from '../../pages/account-pages.js';
import { shownClient } from '../../pages/page-client.js';
import type { Pages } from '../../pages/pages.js';
import type { PageScript } from '../../pages/render.js';
import { readerLocaleOf, sendPage } from '../../pages/send-page.js';
import type { AccountVisit } from './visit.js';

/** The language of the person's pages, for what is mailed to them. */
export const accountLocaleOf = ({ request, client, uiLocales }: AccountVisit) =>
  readerLocaleOf(request, { client, uiLocales });

type Common = 'params' | 'query' | 'client';

/** Sends an account page, with the values that all of them share. */
export function sendAccountPage<P extends keyof AccountPages>(
  { request, reply, client, session, params, uiLocales }: AccountVisit,
  name: P,
  values: Omit<AccountPages[P], Common>,
  { status = 200, scripts = [] }: { status?: number; scripts?: readonly PageScript[] } = {},
) {
  const all: unknown = {
    ...values,
    params: { ...params, session: session.id },
    query: new URLSearchParams(params).toString(),
    client: shownClient(client),
  };
  return sendPage(request, reply, name, all as Pages[P], { status, client, uiLocales, scripts });
}
