import english from '../../../lib/video/view/locales/en-US.json';
import type { PlayerTexts } from '../../../lib/video/view/player/settings';
import { own, said } from '../list/row.editor';

/** What the player says, in the language of the editor. Some things are said otherwise here, where there is no link. */
export function playerTexts(): PlayerTexts {
  const { player, fault } = english;
  const here = {
    NOT_ALLOWED: said('shared.ask.notAllowed'),
    UNKNOWN_DELIVERY: own('unknownEvent'),
    CONFIG_MISSING: own('noStation'),
  };
  return { player: translated('player', player), fault: { ...translated('fault', fault), ...here } };
}

/** The player fills the places for values itself. */
function translated<Texts extends Record<string, string>>(group: string, texts: Texts): Texts {
  const entries = Object.keys(texts).map((key) => [
    key,
    said(`view.${group}.${key}`, { skipInterpolation: true }),
  ]);
  return Object.fromEntries(entries) as Texts;
}
