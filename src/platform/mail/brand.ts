import { controls, isColor, palette } from '../colors.js';

/** As whose a mail is shown. */
export interface MailBrand {
  name: string;
  /** Of the button, `#rrggbb`; anything else is ignored. */
  color: string | null;
  /** Where people may ask. */
  supportEmail: string | null;
}

export const gatehouse: MailBrand = { name: 'Gatehouse', color: null, supportEmail: null };

/** The values of a brand in every mail. A brand's color is the same in the dark; ours is lighter there. */
export function valuesOf({ name, color, supportEmail }: MailBrand): Record<string, string> {
  const button = color && isColor(color) ? { color, ...palette(color) } : null;
  return {
    brand_name: name,
    button_color: button?.color ?? '#2f55d4',
    button_text: button?.text ?? '#ffffff',
    button_color_dark: button?.color ?? '#8fa8ff',
    button_text_dark: button?.text ?? '#0b1022',
    // Of the button's own color, but where that is too near to the card's.
    button_edge: button?.edge.light ? controls.light : (button?.color ?? '#2f55d4'),
    button_edge_dark: button?.edge.dark ? controls.dark : (button?.color ?? '#8fa8ff'),
    ...(supportEmail !== null && { support_email: supportEmail }),
  };
}
