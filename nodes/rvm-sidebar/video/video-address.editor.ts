import type { PlayerSettings } from '../../../lib/video/view/player/settings';
import { VIEW_PRE_ROLL_S, VIEW_SECONDS } from '../../../lib/limits';

/** What is asked to be seen: an event, or a camera of a Central Station, which goes by its key. */
export type Wanted = { delivery: string } | { station: string; camera: string };

/** What a player may show. */
export function settingsOf(wanted: Wanted): PlayerSettings {
  const live = {
    liveUrl: addressOf('stream', { ...wanted, part: 'live' }),
    pictureUrl: addressOf('picture', wanted),
  };
  if (!('delivery' in wanted)) return live;
  return {
    ...live,
    recorded: {
      url: addressOf('stream', { ...wanted, part: 'recorded' }),
      seconds: VIEW_PRE_ROLL_S + VIEW_SECONDS,
      alarmAt: VIEW_PRE_ROLL_S,
    },
    clipUrl: addressOf('clip.mp4', wanted),
  };
}

/** As the editor makes one of what goes by jQuery. */
function addressOf(name: string, query: Record<string, string>): string {
  return `${RED.settings.apiRootUrl ?? ''}rvm/video/${name}?${new URLSearchParams(query).toString()}`;
}
