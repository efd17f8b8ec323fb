import type { ViewAssets } from './assets';
import { html, type Html } from './html';
import type { Language } from './language';
import type { PageData, PlayerSettings } from './player/settings';
import type { ViewRight } from './right';

/**
 * The page of one right. It holds nothing that opens a video: messengers fetch it for a preview. No script and no style stands in
 * it, so that the policy can forbid both.
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

/** The page of an address that opens nothing. */
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

function settingsOf(address: string, { recorded, live, expires, facts }: ViewRight): PlayerSettings {
  return {
    ...(recorded && {
      recorded: {
        url: `${address}/stream?part=recorded`,
        seconds: (recorded.to - recorded.from) / 1000,
        ...alarmIn(recorded, facts.time),
      },
      clipUrl: `${address}/clip.mp4`,
    }),
    ...(live && { liveUrl: `${address}/stream?part=live` }),
    pictureUrl: `${address}/picture`,
    expires,
  };
}

function alarmIn({ from, to }: { from: number; to: number }, time: number | undefined): { alarmAt?: number } {
  return time !== undefined && time >= from && time <= to ? { alarmAt: (time - from) / 1000 } : {};
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

/** In UTC, until the script has put the time of the reader there. */
function timeOf(time: number): Html {
  const text = new Date(time).toISOString();
  return html`<time datetime="${text}">${text.slice(0, 19).replace('T', ' ')} UTC</time>`;
}

/** Names are relative: proxies may put the pages elsewhere. */
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
