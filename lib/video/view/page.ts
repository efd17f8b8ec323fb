import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import de from './locales/de.json';
import enUS from './locales/en-US.json';
import es from './locales/es.json';
import fr from './locales/fr.json';
import ja from './locales/ja.json';
import zhCN from './locales/zh-CN.json';
import type { PageData, PlayerSettings } from './player/settings';
import type { ViewRight } from './signed-address';

/**
 * The page of one right. The page itself opens no video, because messengers fetch it for a preview. It has no inline script or
 * style, so that the policy can forbid both.
 */
export function viewPage(address: string, right: ViewRight, language: Language, assets: ViewAssets): string {
  const { texts } = language;
  const data: PageData = {
    settings: settingsOf(address, right),
    texts: { player: texts.player, fault: texts.fault },
  };
  const body = html`
    <header>
      ${badge(right, language)}
      <h1>${headingOf(right, language)}</h1>
    </header>
    <div id="player" data-view="${JSON.stringify(data)}">
      <noscript><p class="rvm-notice">${texts.page.noScript}</p></noscript>
    </div>
    <dl>${factsOf(right, language)}</dl>
  `;
  return documentOf(titleOf(right, language), language, assets, body);
}

/** The page of an invalid or expired address. */
export function refusedPage(why: 'expired' | 'invalid', language: Language, assets: ViewAssets): string {
  const { page } = language.texts;
  const [said, hint] =
    why === 'expired' ? [page.expired, page.expiredHint] : [page.invalid, page.invalidHint];
  const body = html`<div class="rvm-refused">
    <h1>${said}</h1>
    <p>${hint}</p>
  </div>`;
  return documentOf(said, language, assets, body);
}

function settingsOf(address: string, { recorded, live, expires }: ViewRight): PlayerSettings {
  return {
    ...(recorded && {
      recordedUrl: `${address}/stream?part=recorded`,
      clipUrl: `${address}/clip.mp4`,
    }),
    ...(live && { liveUrl: `${address}/stream?part=live` }),
    pictureUrl: `${address}/picture`,
    expires,
  };
}

function titleOf(right: ViewRight, language: Language): string {
  const { sandbox } = right.facts;
  return (sandbox ? `${language.texts.page.sandbox} · ` : '') + headingOf(right, language);
}

function headingOf({ facts }: ViewRight, { texts }: Language): string {
  const names = [facts.rule, facts.camera].filter((name) => name !== undefined && name !== '');
  return names.length > 0 ? names.join(' · ') : texts.page.title;
}

function badge({ facts }: ViewRight, { texts }: Language): Html {
  if (!facts.sandbox) return html``;
  return html`<p class="rvm-sandbox"><strong>${texts.page.sandbox}</strong> ${texts.page.sandboxHint}</p>`;
}

function factsOf({ facts, expires }: ViewRight, { texts }: Language): Html[] {
  const { page } = texts;
  const rows: [name: string, value: string | Html | undefined][] = [
    [page.time, facts.time === undefined ? undefined : timeOf(facts.time)],
    [page.site, facts.site],
    [page.camera, facts.camera],
    [page.rule, facts.rule],
    [page.expires, timeOf(expires)],
  ];
  return rows.flatMap(([name, value]) =>
    value === undefined || value === ''
      ? []
      : [
          html`<div>
            <dt>${name}</dt>
            <dd>${value}</dd>
          </div>`,
        ],
  );
}

/** In UTC, until the script replaces it with the local time of the reader. */
function timeOf(time: number): Html {
  const text = new Date(time).toISOString();
  return html`<time datetime="${text}">${text.slice(0, 19).replace('T', ' ')} UTC</time>`;
}

/** Addresses are relative: a proxy may serve the pages under another path. */
function documentOf(
  title: string,
  { tag }: Language,
  { script, style, icon }: ViewAssets,
  body: Html,
): string {
  return html`<!doctype html>
    <html lang="${tag}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex, nofollow" />
        <title>${title}</title>
        <link rel="icon" href="assets/${icon.name}" />
        <link rel="stylesheet" href="assets/${style.name}" />
        <script src="assets/${script.name}" defer></script>
      </head>
      <body>
        <main>${body}</main>
      </body>
    </html> `.text;
}

const CODES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text that is HTML already and is not escaped. */
class Html {
  constructor(readonly text: string) {}
}

/** HTML with values, each escaped unless it is `Html`: the only way to put values into a page. */
function html(parts: TemplateStringsArray, ...values: readonly (string | Html | readonly Html[])[]): Html {
  const texts = values.map(textOf);
  return new Html(parts.map((part, index) => part + (texts[index] ?? '')).join(''));
}

function textOf(value: string | Html | readonly Html[]): string {
  if (typeof value === 'string') return escaped(value);
  return value instanceof Html ? value.text : value.map(({ text }) => text).join('');
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => CODES[character] ?? '');
}

/** The texts of the page and of the player. */
type ViewTexts = typeof enUS;

/** Texts, and the tag of their language (BCP 47). */
interface Language {
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
/** Characters read of an `Accept-Language` header; no browser sends more. */
const LONGEST_HEADER = 500;

/**
 * The available language that a reader prefers: `de-AT` gets German. English where none is available.
 * @param accepted an `Accept-Language` header (RFC 9110, section 12.5.4)
 * @param named language in the address; takes precedence over the header
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

/** A file loaded by pages. Its name changes with its content. */
interface Asset {
  name: string;
  type: string;
  body: Buffer;
}

/** All files that a page loads. */
export interface ViewAssets {
  script: Asset;
  style: Asset;
  icon: Asset;
}

/**
 * The player as the build places it in the folder beside this file.
 * @throws Error of Node.js where the package was not built
 */
export function readAssets(): ViewAssets {
  const read = (file: string): Buffer => fs.readFileSync(path.join(__dirname, 'player', file));
  return assetsOf({ script: read('player.js'), style: read('player.css'), icon: read('icon.svg') });
}

export function assetsOf(files: Record<keyof ViewAssets, Buffer>): ViewAssets {
  return {
    script: asset('js', 'text/javascript; charset=utf-8', files.script),
    style: asset('css', 'text/css; charset=utf-8', files.style),
    icon: asset('svg', 'image/svg+xml', files.icon),
  };
}

function asset(ending: string, type: string, body: Buffer): Asset {
  const hash = createHash('sha256').update(body).digest('hex').slice(0, 16);
  return { name: `player-${hash}.${ending}`, type, body };
}
