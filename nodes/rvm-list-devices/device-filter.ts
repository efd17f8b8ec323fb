import type { Device } from '../../lib/device';

/**
 * Tells the devices to show: by their state, and by a text that is part of name, site or id, in any case of letters.
 * An empty text is part of all.
 */
export function deviceFilter(
  show: 'all' | 'online' | 'not-online',
  search: string,
): (device: Device) => boolean {
  const sought = comparable(search.trim());
  return ({ online, name, site, id }) => {
    if (show !== 'all' && online !== (show === 'online')) return false;
    return sought === '' || [name, site, id].some((text) => comparable(text).includes(sought));
  };
}

/** One form for a letter with its accent and for the two characters that look the same. */
function comparable(text: string): string {
  return text.normalize('NFC').toLowerCase();
}
