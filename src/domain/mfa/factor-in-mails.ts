import type { FactorKind } from '../../../entities/environment-settings.js';
import { type Locale, text } from '../../platform/mail/texts.js';

/** What a factor is called in a mail: without the hyphens that let its button break on a narrow page. */
export const factorInMails = (locale: Locale, kind: FactorKind): string =>
  text(locale, `factor.${kind}`).replaceAll('\u00ad', '');
