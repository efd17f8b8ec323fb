import { VIEW_PRE_ROLL_S, VIEW_SECONDS } from '../../lib/limits';
import english from '../../lib/video/view/locales/en-US.json';
import { PlayFailure, wordsFor } from '../../lib/video/view/player/feed.browser';
import {
  mount,
  type MountedPlayer,
  type PlayerOptions,
  stillPicture,
} from '../../lib/video/view/player/player.browser';
import '../../lib/video/view/player/player.css';
import type { PlayerSettings, PlayerTexts } from '../../lib/video/view/player/settings';
import { authorization } from '../support/editor/requests';
import './opened/event-video.css';
import { linesOf, own, said } from './rows.editor';
import './video/video-panel.css';

/** The picture of an alarm, as wide as the sidebar, and its clip below, which plays at once. */
export class EventVideo {
  readonly element = $('<div class="rvm-event-video">');
  readonly #ending = new AbortController();
  readonly #player: MountedPlayer | undefined;
  #picture: string | undefined;

  /** @param name by which people know the event */
  constructor(
    private readonly deliveryId: string,
    name: string,
  ) {
    const place = $('<div class="rvm-video-place">');
    const still = $('<div class="rvm-alarm-picture rvm-awaited rvm-quiet" role="status">').text(
      own('opened.making'),
    );
    this.element.append(still, place);
    const [holder] = place.get();
    const options = { headers: authorization, start: 'recorded' } as const;
    this.#player = holder && mount(holder, settingsOf({ delivery: deliveryId }), playerTexts(), options);
    void this.#showPicture(still, name);
  }

  /** Ends all that is fetched. */
  close(): void {
    this.#ending.abort();
    this.#player?.close();
    if (this.#picture !== undefined) URL.revokeObjectURL(this.#picture);
    this.element.remove();
  }

  /** Without one the clip shows what there was all the same, from its first frame on. */
  async #showPicture(still: JQuery, name: string): Promise<void> {
    const { pictureUrl = '' } = settingsOf({ delivery: this.deliveryId });
    const { signal } = this.#ending;
    try {
      this.#picture = await stillPicture(pictureUrl, { headers: authorization }, signal);
    } catch (error) {
      if (signal.aborted) return;
      const failure = error instanceof PlayFailure ? error : new PlayFailure('VIDEO_FAILED');
      still.removeClass('rvm-awaited').text(wordsFor(failure, playerTexts()));
      return;
    }
    this.#player?.setPoster(this.#picture);
    still.removeClass('rvm-awaited').empty();
    still.append($('<img>').attr({ src: this.#picture, alt: own('opened.pictureOf', { name }) }));
  }
}

/** Pixels; on less the panel lies above the sidebar, too. */
const NARROWEST = 480;

/** What a panel shows, and what was pressed to open it. */
interface PanelView {
  wanted: Wanted;
  texts: readonly [what: string, where: string, quiet: string];
  opener: HTMLElement;
}

interface Shown extends PanelView {
  element: JQuery;
  player: MountedPlayer;
}

/** What a camera sees now, beside the sidebar: of one at a time. */
export class VideoPanel {
  #shown: Shown | undefined;

  /** @param sidebar beside which it stands */
  constructor(private readonly sidebar: JQuery) {
    $(window).on('resize', () => this.#place());
    window.addEventListener('pagehide', () => this.close());
    // The dialog of a node opens where the panel is.
    RED.events.on('editor:open', () => this.close());
  }

  /** In the place of what is shown; what is shown already is closed. */
  toggle(view: PanelView): void {
    const isShown = this.#shown?.opener === view.opener;
    this.close();
    if (!isShown) this.#open(view);
  }

  /** Ends what is fetched. What was pressed to open it has the focus again, unless that is elsewhere. */
  close(): void {
    const shown = this.#shown;
    if (shown === undefined) return;
    this.#shown = undefined;
    const { element, player, opener } = shown;
    const hadFocus = element.is(':focus-within');
    player.close();
    element.remove();
    $(opener).attr('aria-expanded', 'false');
    if (hadFocus) (opener.isConnected ? opener : this.sidebar[0])?.focus({ preventScroll: true });
  }

  #open(view: PanelView): void {
    const [, where, quiet] = view.texts;
    const place = $('<div class="rvm-video-place">');
    const below = $('<div class="rvm-video-below">').append($('<div>').append(linesOf('', where, quiet)));
    const element = this.#frame(view).append(place, below).appendTo('body');
    const [[holder], [keysOf]] = [place.get(), element.get()];
    if (holder === undefined || keysOf === undefined) return;
    const options: PlayerOptions = { headers: authorization, start: 'live', keysOf };
    const player = mount(holder, settingsOf(view.wanted), playerTexts(), options);
    this.#shown = { ...view, element, player };
    $(view.opener).attr('aria-expanded', 'true');
    this.#place();
    place.find('.rvm-player').trigger('focus');
  }

  #frame({ texts: [what] }: PanelView): JQuery {
    const close = $('<button type="button" class="red-ui-button red-ui-button-small rvm-video-close">')
      .append('<i class="fa fa-times" aria-hidden="true">')
      .attr({ 'aria-label': own('close'), title: own('close') })
      .on('click', () => this.close());
    const head = $('<div class="rvm-video-head">').append($('<h3 id="rvm-video-title">').text(what), close);
    return $('<div class="rvm-video" role="dialog" aria-labelledby="rvm-video-title">')
      .append(head)
      .on('keydown', (event) => {
        // What is pressed here is not meant for the workspace.
        event.stopPropagation();
        if (event.key === 'Escape') this.close();
      });
  }

  /** Where there is most room beside the sidebar, on its side. */
  #place(): void {
    const [box] = this.sidebar.get();
    if (this.#shown === undefined || box === undefined) return;
    const { left, right, width } = box.getBoundingClientRect();
    const isLeft = width === 0 || left >= window.innerWidth - right;
    const free = isLeft ? left : window.innerWidth - right;
    const { element } = this.#shown;
    element.toggleClass('rvm-over', free < NARROWEST || width === 0);
    element.css({
      '--rvm-free': `${free}px`,
      right: isLeft ? `${window.innerWidth - left}px` : 'auto',
      left: isLeft ? 'auto' : `${right}px`,
    });
  }
}

/** What is asked to be seen: an event, or a camera of a Central Station, which goes by its key. */
type Wanted = { delivery: string } | { station: string; camera: string };

/** What a player may show. */
function settingsOf(wanted: Wanted): PlayerSettings {
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

/** What the player says, in the language of the editor. Some things are said otherwise here, where there is no link. */
function playerTexts(): PlayerTexts {
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
