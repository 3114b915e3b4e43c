import { type TextKey, type TextValues, text } from '../../platform/mail/texts.js';

/**
 * What a page would say, for a script that asked for JSON: in English words for its developer (RFC 6749 §5.2), and as the name of
 * the text, by which the script tells one from another and finds words of its own.
 */
export const refusalInJson = (key: TextKey, values?: TextValues) => ({
  error_description: text('en', key, values),
  reason: key,
});
