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

/** The picture of an alarm, as wide as the sidebar, with its clip below, which plays at once. */
export class EventVideo {
  readonly element = $('<div class="rvm-event-video">');
  readonly #ending = new AbortController();
  readonly #player: MountedPlayer | undefined;
  #picture: string | undefined;

  /** @param name name of the event for users */
  constructor(
    private readonly deliveryId: string,
    name: string,
  ) {
    const container = $('<div class="rvm-video-place">');
    const still = $('<div class="rvm-alarm-picture rvm-awaited rvm-quiet" role="status">').text(
      own('opened.making'),
    );
    this.element.append(still, container);
    const [holder] = container.get();
    const options = { headers: authorization, start: 'recorded' } as const;
    this.#player = holder && mount(holder, settingsOf({ delivery: deliveryId }), playerTexts(), options);
    void this.#showPicture(still, name);
  }

  /** Aborts all downloads. */
  close(): void {
    this.#ending.abort();
    this.#player?.close();
    if (this.#picture !== undefined) URL.revokeObjectURL(this.#picture);
    this.element.remove();
  }

  /** After a failure the clip still shows the event, from its first frame on. */
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

/** Pixels. With less free space the panel covers the sidebar. */
const NARROWEST = 480;

/** Content of a panel, and the element that opened it. */
interface PanelView {
  wanted: Wanted;
  texts: readonly [what: string, where: string, quiet: string];
  opener: HTMLElement;
}

interface Shown extends PanelView {
  element: JQuery;
  player: MountedPlayer;
}

/** Live video of one camera at a time, next to the sidebar. */
export class VideoPanel {
  #shown: Shown | undefined;

  /** @param sidebar element next to which the panel is placed */
  constructor(private readonly sidebar: JQuery) {
    $(window).on('resize', () => this.#position());
    window.addEventListener('pagehide', () => this.close());
    // The dialog of a node opens at the position of the panel.
    RED.events.on('editor:open', () => this.close());
  }

  /** Replaces the current video; closes it where the same element is used again. */
  toggle(view: PanelView): void {
    const isShown = this.#shown?.opener === view.opener;
    this.close();
    if (!isShown) this.#open(view);
  }

  /** Ends the stream. The focus returns to the element that opened the panel, if it was inside. */
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
    const container = $('<div class="rvm-video-place">');
    const below = $('<div class="rvm-video-below">').append($('<div>').append(linesOf('', where, quiet)));
    const element = this.#frame(view).append(container, below).appendTo('body');
    const [holder] = container.get();
    if (holder === undefined) return;
    const options: PlayerOptions = { headers: authorization, start: 'live' };
    const player = mount(holder, settingsOf(view.wanted), playerTexts(), options);
    this.#shown = { ...view, element, player };
    $(view.opener).attr('aria-expanded', 'true');
    this.#position();
    container.find('video').trigger('focus');
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
        // Keys pressed here must not reach the workspace.
        event.stopPropagation();
        if (event.key === 'Escape') this.close();
      });
  }

  /** Places the panel on the side of the sidebar with more free space. */
  #position(): void {
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

/** The requested video: an event, or a camera of a Central Station named by its key. */
type Wanted = { delivery: string } | { station: string; camera: string };

/** URLs and times for the player. */
function settingsOf(wanted: Wanted): PlayerSettings {
  const live = {
    liveUrl: addressOf('stream', { ...wanted, part: 'live' }),
    pictureUrl: addressOf('picture', wanted),
  };
  if (!('delivery' in wanted)) return live;
  return {
    ...live,
    recordedUrl: addressOf('stream', { ...wanted, part: 'recorded' }),
    clipUrl: addressOf('clip.mp4', wanted),
  };
}

/** Builds a URL below the admin root, as the editor does for jQuery requests. */
function addressOf(name: string, query: Record<string, string>): string {
  return `${RED.settings.apiRootUrl ?? ''}rvm/video/${name}?${new URLSearchParams(query).toString()}`;
}

/** Texts of the player in the language of the editor. Some differ here, because there is no link. */
function playerTexts(): PlayerTexts {
  const { player, fault } = english;
  const here = {
    NOT_ALLOWED: said('shared.ask.notAllowed'),
    UNKNOWN_DELIVERY: own('unknownEvent'),
    CONFIG_MISSING: own('noStation'),
  };
  return { player: translated('player', player), fault: { ...translated('fault', fault), ...here } };
}

/** The player fills in the values itself. */
function translated<Texts extends Record<string, string>>(group: string, texts: Texts): Texts {
  const entries = Object.keys(texts).map((key) => [
    key,
    said(`view.${group}.${key}`, { skipInterpolation: true }),
  ]);
  return Object.fromEntries(entries) as Texts;
}
