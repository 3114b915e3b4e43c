/** The application that a person signs in to. */
export interface PageClient {
  name: string;
  logoUrl: string | null;
}

/** Returns what pages show of a client. */
export const shownClient = ({ name, logoUrl }: PageClient): PageClient => ({ name, logoUrl });
