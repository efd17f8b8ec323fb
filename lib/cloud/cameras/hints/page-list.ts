import { eachInSlices } from '../../../concurrency/iteration';
import type { DeviceEntry } from '../device-index';
import { isPlainPath } from './telling-address';

/** What of an address may be written down. */
export interface KeptAddresses {
  /** Whether it may be at all. */
  isKept: (address: string) => boolean;
  /** The one address that is fixed. */
  system: URL;
}

/** A page is named by numbers and short words: a longer one may be anything, a session or a token too. */
const PLAIN_VALUE = /^(?:\d{1,12}|[A-Za-z_-]{0,12})$/;
const PLAIN_NAME = /^[\w$.[\]-]{1,24}$/;

/**
 * On which page each camera stands, as a text in which one camera is found without reading all: the addresses of the pages as
 * JSON, and below them a line `["id",page]` for each camera.
 */
export async function pagesText(
  entries: readonly DeviceEntry[],
  { isKept, system }: KeptAddresses,
): Promise<string> {
  const numbers = new Map<string, number>();
  const pages: string[] = [];
  const lines: string[] = [];
  await eachInSlices(entries, ({ device, url }) => {
    const number = numbers.get(url.href) ?? pages.length;
    if (number === pages.length) {
      numbers.set(url.href, number);
      pages.push(isPlain(url, system) && isKept(url.href) ? url.href : '');
    }
    if (pages[number] !== '') lines.push(`[${JSON.stringify(device.id)},${number}]\n`);
  });
  return `${JSON.stringify(pages)}\n${lines.join('')}`;
}

/** The address of the page on which a camera stood; undefined where the text does not tell. */
export function pageIn(text: string, id: string): string | undefined {
  const start = `\n[${JSON.stringify(id)},`;
  const found = text.indexOf(start);
  if (found < 0) return undefined;
  const from = found + start.length;
  const number = Number(text.slice(from, text.indexOf(']', from)));
  const pages: unknown = JSON.parse(text.slice(0, text.indexOf('\n')));
  const page: unknown = Array.isArray(pages) ? pages[number] : undefined;
  return typeof page === 'string' ? page : undefined;
}

/** Whether two lists say the same of where the cameras stand. */
export async function isListedAlike(
  one: readonly DeviceEntry[],
  other: readonly DeviceEntry[],
): Promise<boolean> {
  if (one.length !== other.length) return false;
  let isAlike = true;
  await eachInSlices(one.keys(), (place) => {
    const [first, second] = [one[place], other[place]];
    isAlike &&=
      first === second || (first?.device.id === second?.device.id && first?.url.href === second?.url.href);
  });
  return isAlike;
}

function isPlain(url: URL, system: URL): boolean {
  return (
    isPlainPath(url.pathname, system) &&
    [...url.searchParams].every(([name, value]) => PLAIN_NAME.test(name) && PLAIN_VALUE.test(value))
  );
}
