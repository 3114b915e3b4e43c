import { controls, isColor, palette } from '../colors.js';

/** The brand under which a mail is shown. */
export interface MailBrand {
  name: string;
  /** The color of the button, `#rrggbb`; anything else is ignored. */
  color: string | null;
  /** The address for people's questions. */
  supportEmail: string | null;
}

export const gatehouse: MailBrand = { name: 'Gatehouse', color: null, supportEmail: null };

/** Returns a brand's values for every mail. A brand's color is the same in the dark scheme; our own gets lighter. */
export function valuesOf({ name, color, supportEmail }: MailBrand): Record<string, string> {
  const button = color && isColor(color) ? { color, ...palette(color) } : null;
  return {
    brand_name: name,
    button_color: button?.color ?? '#2f55d4',
    button_text: button?.text ?? '#ffffff',
    button_color_dark: button?.color ?? '#8fa8ff',
    button_text_dark: button?.text ?? '#0b1022',
    // The button's own color, unless it is too close to the card's.
    button_edge: button?.edge.light ? controls.light : (button?.color ?? '#2f55d4'),
    button_edge_dark: button?.edge.dark ? controls.dark : (button?.color ?? '#8fa8ff'),
    ...(supportEmail !== null && { support_email: supportEmail }),
  };
}
