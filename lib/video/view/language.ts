import de from './locales/de.json';
import enUS from './locales/en-US.json';
import es from './locales/es.json';
import fr from './locales/fr.json';
import ja from './locales/ja.json';
import zhCN from './locales/zh-CN.json';

/** What stands on the page, and what the player says. */
export type ViewTexts = typeof enUS;

/** The texts, and the name of their language (BCP 47). */
export interface Language {
  tag: string;
  texts: ViewTexts;
}

const LANGUAGES: readonly Language[] = [
  { tag: 'en-US', texts: enUS },
  { tag: 'de', texts: de },
  { tag: 'es', texts: es },
  { tag: 'fr', texts: fr },
  { tag: 'ja', texts: ja },
  { tag: 'zh-CN', texts: zhCN },
];
const [ENGLISH] = LANGUAGES;
/** Longer headers than any browser sends are not read to their end. */
const LONGEST_HEADER = 500;

/**
 * The language that a reader wants most, of those that we speak: `de-AT` gets German. English where we speak none of them.
 * @param accepted an `Accept-Language` header (RFC 9110, section 12.5.4)
 * @param named by the address; it goes before all that the browser wants
 */
export function languageFor(accepted: string | undefined, named?: string): Language {
  const wanted = [...(named === undefined ? [] : [named]), ...inOrder(accepted ?? '')];
  const found = wanted.map(spoken).find((language) => language !== undefined);
  return found ?? ENGLISH ?? { tag: 'en-US', texts: enUS };
}

function inOrder(header: string): string[] {
  const ranges = header
    .slice(0, LONGEST_HEADER)
    .split(',')
    .map((range) => {
      const [tag = '', ...parameters] = range.split(';').map((part) => part.trim());
      const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
      return { tag, weight: Number(weight) };
    });
  const usable = ranges.filter(({ weight }) => weight > 0);
  return usable.sort((one, other) => other.weight - one.weight).map(({ tag }) => tag);
}

function spoken(tag: string): Language | undefined {
  const primary = primaryOf(tag);
  return LANGUAGES.find((language) => primaryOf(language.tag) === primary);
}

function primaryOf(tag: string): string {
  return tag.toLowerCase().split('-', 1).join('');
}
