import { beginOf } from '../text';

/** Group of events that do not say where they belong, and of those beyond the most groups there may be. */
export const UNKNOWN_GROUP = 'unknown';

/** Characters; a slot of the store is named after it. */
const LONGEST = 200;
const CLEAN = /^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/;
const UNCLEAN = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\s]+/gu;

/** The name of a group as events and controls have it: one line, so that two that look alike are one. */
export function groupName(text: string): string {
  if (text.length <= LONGEST && CLEAN.test(text)) return text;
  const clean = text
    .slice(0, 4 * LONGEST)
    .replace(UNCLEAN, ' ')
    .trim();
  return beginOf(clean, LONGEST) || UNKNOWN_GROUP;
}
