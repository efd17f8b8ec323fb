import { html, render } from 'lit/html.js';
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
import { button, linesOf, own, said } from './rows.editor';
import './video.css';

/** The picture of an alarm, as wide as the sidebar, with its clip below, which plays at once. */
export class EventVideo {
  readonly element = document.createElement('div');
  readonly #ending = new AbortController();
  readonly #player: MountedPlayer;
  readonly #place = videoPlace();
  #picture: string | undefined;

  /** @param name name of the event for users */
  constructor(
    private readonly deliveryId: string,
    name: string,
  ) {
    this.element.className = 'rvm-event-video';
    this.#draw('rvm-awaited', own('opened.making'));
    const options = { headers: authorization, start: 'recorded' } as const;
    this.#player = mount(this.#place, settingsOf({ delivery: deliveryId }), playerTexts(), options);
    void this.#showPicture(name);
  }

  /** Aborts all downloads. */
  close(): void {
    this.#ending.abort();
    this.#player.close();
    if (this.#picture !== undefined) URL.revokeObjectURL(this.#picture);
  }

  #draw(state: '' | 'rvm-awaited', content: unknown): void {
    const still = html`<div class="rvm-alarm-picture rvm-quiet ${state}" role="status">${content}</div>`;
    render(html`${still}${this.#place}`, this.element);
  }

  /** After a failure the clip still shows the event, from its first frame on. */
  async #showPicture(name: string): Promise<void> {
    const { pictureUrl = '' } = settingsOf({ delivery: this.deliveryId });
    const { signal } = this.#ending;
    try {
      this.#picture = await stillPicture(pictureUrl, { headers: authorization }, signal);
    } catch (error) {
      if (signal.aborted) return;
      const failure = error instanceof PlayFailure ? error : new PlayFailure('VIDEO_FAILED');
      return this.#draw('', wordsFor(failure, playerTexts()));
    }
    this.#player.setPoster(this.#picture);
    this.#draw('', html`<img src=${this.#picture} alt=${own('opened.pictureOf', { name })} />`);
  }
}

function videoPlace(): HTMLElement {
  const place = document.createElement('div');
  place.className = 'rvm-video-place';
  return place;
}

/** Pixels. With less free space the panel covers the sidebar. */
const NARROWEST = 480;

/** Content of a panel, and the element that opened it. */
interface PanelView {
  wanted: Wanted;
  texts: readonly [what: string, where: string, quiet: string];
  opener: HTMLElement;
}

interface ShownPanel extends PanelView {
  element: HTMLElement;
  player: MountedPlayer;
}

/** Live video of one camera at a time, next to the sidebar. */
export class VideoPanel {
  #shown: ShownPanel | undefined;

  /** @param sidebar element next to which the panel is placed */
  constructor(private readonly sidebar: HTMLElement) {
    window.addEventListener('resize', () => this.#position());
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
    const hadFocus = element.contains(document.activeElement);
    player.close();
    element.remove();
    opener.setAttribute('aria-expanded', 'false');
    if (hadFocus) (opener.isConnected ? opener : this.sidebar).focus({ preventScroll: true });
  }

  #open(view: PanelView): void {
    const place = videoPlace();
    const element = this.#frame(view, place);
    document.body.append(element);
    const options: PlayerOptions = { headers: authorization, start: 'live' };
    const player = mount(place, settingsOf(view.wanted), playerTexts(), options);
    this.#shown = { ...view, element, player };
    view.opener.setAttribute('aria-expanded', 'true');
    this.#position();
    place.querySelector('video')?.focus();
  }

  #frame({ texts: [what, where, quiet] }: PanelView, place: HTMLElement): HTMLElement {
    const frame = document.createElement('div');
    frame.className = 'rvm-video';
    frame.role = 'dialog';
    frame.setAttribute('aria-labelledby', 'rvm-video-title');
    frame.addEventListener('keydown', (event) => {
      // Keys pressed here must not reach the workspace.
      event.stopPropagation();
      if (event.key === 'Escape') this.close();
    });
    const cross = html`<i class="fa fa-times" aria-hidden="true"></i>`;
    const label = own('close');
    const close = button(cross, () => this.close(), { label, title: label, name: 'rvm-video-close' });
    const head = html`<h3 id="rvm-video-title">${what}</h3>
      ${close}`;
    const below = html`<div>${linesOf('', where, quiet)}</div>`;
    const content = html`<div class="rvm-video-head">${head}</div>
      ${place}
      <div class="rvm-video-below">${below}</div>`;
    render(content, frame);
    return frame;
  }

  /** Places the panel on the side of the sidebar with more free space. */
  #position(): void {
    if (this.#shown === undefined) return;
    const { left, right, width } = this.sidebar.getBoundingClientRect();
    const isLeft = width === 0 || left >= window.innerWidth - right;
    const free = isLeft ? left : window.innerWidth - right;
    const { style, classList } = this.#shown.element;
    classList.toggle('rvm-over', free < NARROWEST || width === 0);
    style.setProperty('--rvm-free', `${free}px`);
    style.right = isLeft ? `${window.innerWidth - left}px` : 'auto';
    style.left = isLeft ? 'auto' : `${right}px`;
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
