/** The application that a person signs in to. */
export interface PageClient {
  name: string;
  logoUrl: string | null;
}
