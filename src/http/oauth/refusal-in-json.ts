import { type TextKey, type TextValues, text } from '../../platform/mail/texts.js';

/**
 * Returns for a script what a page would say: in English for its developer (RFC 6749 §5.2), and as the name of the
 * text, by which the script can tell texts apart and use words of its own.
 */
export const refusalInJson = (key: TextKey, values?: TextValues) => ({
  error_description: text('en', key, values),
  reason: key,
});
