/** Returns the message that a page shows above its form. */
export const messageOf = (body: string) => /id="message" role="alert">([^<]*)</.exec(body)?.[1];

/** Returns where the button of a page leads. */
export const nextOf = (body: string) =>
  /<a class="button" href="([^"]+)"/.exec(body)?.[1]?.replaceAll('&amp;', '&').replaceAll('&#39;', "'") ?? '';
