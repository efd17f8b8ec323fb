import { type Asking, fetchVideo, isFinal, isOfBrowser, PlayFailure, wordsFor } from './feed.browser';
import { Playback } from './playback.browser';
import type { PlayerSettings, PlayerTexts } from './settings';

export interface PlayerOptions extends Asking {
  /** Plays at once, because the user has clicked elsewhere. */
  start?: 'recorded' | 'live';
  /** Element whose keys control the player: the whole page, or a part of it. Default: the player itself. */
  keysOf?: Document | HTMLElement;
}

export interface MountedPlayer {
  /** Sets the picture shown until the recording plays. @param url of a picture */
  setPoster(url: string): void;
  /** Pauses the video and shows the picture in its place. */
  showPicture(): void;
  /** Stops fetching and empties the element. */
  close(): void;
}

/** Milliseconds after which the player explains a long wait. */
const LONG_WAIT = 4000;

/**
 * Puts a player into an element. Nothing is opened before the user presses *play*.
 * @param settings with a recording, live video, or both
 */
export function mount(
  element: HTMLElement,
  settings: PlayerSettings,
  texts: PlayerTexts,
  options: PlayerOptions = {},
): MountedPlayer {
  return new VideoPlayer(element, settings, texts, options);
}

class VideoPlayer implements MountedPlayer {
  readonly #root = make('section', 'player', { tabindex: '-1' });
  readonly #recorded: Playback | undefined;
  readonly #live: Playback | undefined;
  readonly #stage: Stage;
  readonly #bar: ControlBar;
  readonly #keysOf: Document | HTMLElement;
  #isLive: boolean;
  #failure: PlayFailure | undefined;
  #isSlow = false;
  #slowTimer: ReturnType<typeof setTimeout> | undefined;
  #asking: AbortController | undefined;
  #picture: string | undefined;

  constructor(
    private readonly element: HTMLElement,
    private readonly settings: PlayerSettings,
    private readonly texts: PlayerTexts,
    private readonly options: PlayerOptions,
  ) {
    const { recorded, liveUrl, clipUrl } = settings;
    this.#recorded =
      recorded && this.#playback({ isLive: false, url: recorded.url, seconds: recorded.seconds, clipUrl });
    this.#live =
      liveUrl === undefined ? undefined : this.#playback({ isLive: true, url: liveUrl, seconds: 0 });
    this.#isLive = this.#live !== undefined && (recorded === undefined || options.start === 'live');
    this.#stage = new Stage(
      [this.#recorded, this.#live].flatMap((playback) => playback?.video ?? []),
      texts,
      {
        play: () => this.#play(),
        toggle: () => this.#toggle(),
        again: () => this.#play(),
        picture: () => void this.#showPicture(),
      },
    );
    this.#bar = new ControlBar(
      texts,
      {
        toggle: () => this.#toggle(),
        seek: (position) => this.#seek(position),
        switchPart: () => this.#switch(),
        mute: () => this.#mute(),
        fullScreen: () => void this.#fullScreen(),
      },
      recorded?.alarmAt,
    );
    this.#root.append(this.#stage.element, this.#bar.element);
    element.replaceChildren(this.#root);
    this.#keysOf = options.keysOf ?? this.#root;
    this.#keysOf.addEventListener('keydown', this.#onKey);
    document.addEventListener('fullscreenchange', this.#draw);
    this.#draw();
    if (options.start !== undefined) this.#play();
  }

  setPoster(url: string): void {
    if (this.#recorded !== undefined) this.#recorded.video.poster = url;
  }

  showPicture(): void {
    this.#failure = undefined;
    this.#shown?.pause();
    void this.#showPicture();
  }

  close(): void {
    this.#keysOf.removeEventListener('keydown', this.#onKey);
    document.removeEventListener('fullscreenchange', this.#draw);
    this.#recorded?.close();
    this.#live?.close();
    this.#dropPicture();
    clearTimeout(this.#slowTimer);
    this.element.replaceChildren();
  }

  #playback(part: { isLive: boolean; url: string; seconds: number; clipUrl?: string | undefined }): Playback {
    const { headers } = this.options;
    return new Playback({
      ...part,
      ...(headers && { headers }),
      onChange: () => this.#draw(),
      onFailure: (failure) => this.#failed(part.isLive, failure),
    });
  }

  get #shown(): Playback | undefined {
    return this.#isLive ? this.#live : this.#recorded;
  }

  #play(): void {
    this.#failure = undefined;
    this.#dropPicture();
    this.#shown?.play();
    this.#watchWait();
    this.#draw();
  }

  #toggle(): void {
    if (this.#shown?.isPlaying === true) this.#shown.pause();
    else this.#play();
  }

  #seek(position: number): void {
    if (!this.#isLive) this.#recorded?.seek(position);
  }

  #switch(): void {
    if (this.#recorded === undefined || this.#live === undefined) return;
    this.#shown?.leave();
    if (this.#isLive) this.#live.close();
    this.#isLive = !this.#isLive;
    this.#play();
  }

  #mute(): void {
    const muted = this.#shown?.video.muted !== true;
    for (const playback of [this.#recorded, this.#live]) if (playback) playback.video.muted = muted;
    this.#draw();
  }

  async #fullScreen(): Promise<void> {
    try {
      if (document.fullscreenElement === null) await this.#root.requestFullscreen();
      else await document.exitFullscreen();
    } catch {
      // A frame may not be allowed full screen: then nothing changes.
    }
  }

  /** Failures of the hidden video are ignored. */
  #failed(isLive: boolean, failure: PlayFailure): void {
    if (isLive !== this.#isLive) return;
    const { expires = Infinity, pictureUrl } = this.settings;
    const isOver = Date.now() >= expires && !isOfBrowser(failure);
    this.#failure = isOver ? new PlayFailure('EXPIRED') : failure;
    this.#draw();
    if (isOfBrowser(failure) && pictureUrl !== undefined) void this.#showPicture();
  }

  /** Shows the picture in place of the video. The message about the video stays, unless the picture itself fails. */
  async #showPicture(): Promise<void> {
    const { pictureUrl } = this.settings;
    if (pictureUrl === undefined) return;
    this.#dropPicture();
    const asking = new AbortController();
    this.#asking = asking;
    this.#draw();
    try {
      this.#picture = await stillPicture(pictureUrl, this.options, asking.signal);
      await this.#stage.showPicture(this.#picture);
    } catch (error) {
      if (asking.signal.aborted) return;
      this.#dropPicture();
      const failure = error instanceof PlayFailure ? error : new PlayFailure('VIDEO_FAILED');
      if (this.#failure === undefined || !isOfBrowser(this.#failure)) this.#failure = failure;
    }
    this.#asking = undefined;
    this.#draw();
  }

  #dropPicture(): void {
    this.#asking?.abort();
    this.#asking = undefined;
    if (this.#picture !== undefined) URL.revokeObjectURL(this.#picture);
    this.#picture = undefined;
    this.#stage.hidePicture();
  }

  #watchWait(): void {
    clearTimeout(this.#slowTimer);
    this.#isSlow = false;
    this.#slowTimer = setTimeout(() => {
      this.#isSlow = true;
      this.#draw();
    }, LONG_WAIT);
  }

  readonly #onKey = (event: Event): void => {
    const action = event instanceof KeyboardEvent ? actionOf(event) : undefined;
    if (action === undefined) return;
    event.preventDefault();
    this.#act(action);
  };

  #act(action: KeyAction): void {
    const position = this.#recorded?.position ?? 0;
    const acts: Record<KeyAction, () => void> = {
      toggle: () => this.#toggle(),
      back: () => this.#seek(position - STEP),
      forward: () => this.#seek(position + STEP),
      begin: () => this.#seek(0),
      live: () => this.#switch(),
      fullScreen: () => void this.#fullScreen(),
    };
    acts[action]();
  }

  readonly #draw = (): void => {
    const shown = this.#shown;
    if (shown === undefined) return;
    const { player } = this.texts;
    const failure = this.#failure;
    for (const playback of [this.#recorded, this.#live])
      if (playback) playback.video.hidden = playback !== shown || this.#picture !== undefined;
    this.#root.setAttribute('role', 'region');
    this.#root.setAttribute('aria-label', this.#isLive ? player.liveRegion : player.region);
    const isOpening = failure === undefined ? shown.isOpening : this.#asking !== undefined;
    this.#stage.draw({
      offersPlay: !shown.isPlaying && failure === undefined && this.#picture === undefined,
      isOpening,
      isLive: this.#isLive && shown.isPlaying && !isOpening,
      said: failure === undefined ? this.#waitWords(shown) : wordsFor(failure, this.texts),
      offersAgain: failure !== undefined && !isFinal(failure) && !isOfBrowser(failure),
      offersPicture: this.#offersPicture(),
    });
    this.#bar.draw({
      isPlaying: shown.isPlaying,
      isLive: this.#isLive,
      canSwitch: this.#recorded !== undefined && this.#live !== undefined,
      hasSound: shown.hasSound,
      isMuted: shown.video.muted,
      isFullScreen: document.fullscreenElement === this.#root,
      canFill: document.fullscreenEnabled,
      position: shown.position,
      total: shown.total,
    });
  };

  #waitWords(shown: Playback): string {
    if (!shown.isOpening) return '';
    return this.#isSlow && !this.#isLive ? this.texts.player.waiting : this.texts.player.opening;
  }

  #offersPicture(): boolean {
    const failure = this.#failure;
    if (failure === undefined || this.settings.pictureUrl === undefined) return false;
    return !isFinal(failure) && failure.code !== 'DECODER_MISSING' && this.#picture === undefined;
  }
}

interface BarActions {
  toggle: () => void;
  seek: (position: number) => void;
  switchPart: () => void;
  mute: () => void;
  fullScreen: () => void;
}

interface BarView {
  isPlaying: boolean;
  isLive: boolean;
  /** True with both recording and live video. */
  canSwitch: boolean;
  hasSound: boolean;
  isMuted: boolean;
  isFullScreen: boolean;
  canFill: boolean;
  /** Seconds. */
  position: number;
  total: number;
}

/** Seconds that an arrow key moves. */
const STEP = 1;

/** The buttons and the time line below the video. */
class ControlBar {
  readonly element = make('div', 'bar');
  readonly #play: HTMLButtonElement;
  readonly #line = make('div', 'line');
  readonly #seek = make('input', 'seek', { type: 'range', min: '0', step: '0.1' });
  readonly #mark = make('span', 'mark', { 'aria-hidden': 'true' });
  readonly #time = make('span', 'time');
  readonly #switch: HTMLButtonElement;
  readonly #mute: HTMLButtonElement;
  readonly #full: HTMLButtonElement;

  constructor(
    private readonly texts: PlayerTexts,
    actions: BarActions,
    private readonly alarmAt?: number,
  ) {
    const { player } = texts;
    this.#play = button('play', actions.toggle, 'Space');
    this.#switch = button('switch', actions.switchPart, 'L');
    this.#mute = button('mute', actions.mute);
    this.#full = button('full', actions.fullScreen, 'F');
    this.#switch.title = 'L';
    this.#seek.setAttribute('aria-label', player.seek);
    this.#seek.addEventListener('input', () => actions.seek(Number(this.#seek.value)));
    this.#mark.title = player.atAlarm;
    this.#mark.hidden = alarmAt === undefined;
    this.#line.append(this.#seek, this.#mark);
    this.element.append(this.#play, this.#line, this.#time, this.#switch, this.#mute, this.#full);
  }

  draw(view: BarView): void {
    const { player } = this.texts;
    show(this.#play, view.isPlaying ? 'pause' : 'play', view.isPlaying ? player.pause : player.play);
    show(this.#mute, view.isMuted ? 'silent' : 'sound', view.isMuted ? player.unmute : player.mute);
    show(
      this.#full,
      view.isFullScreen ? 'smaller' : 'larger',
      view.isFullScreen ? player.exitFullScreen : player.fullScreen,
    );
    this.#mute.hidden = !view.hasSound;
    this.#full.hidden = !view.canFill;
    this.#switch.hidden = !view.canSwitch;
    const label = view.isLive ? player.showAlarm : player.showLive;
    if (this.#switch.textContent !== label) this.#switch.textContent = label;
    this.#drawTime(view);
  }

  #drawTime({ isLive, position, total }: BarView): void {
    // Live video has no length; the line keeps its space, so that the layout does not jump.
    this.#line.classList.toggle('rvm-gone', isLive);
    this.#seek.disabled = isLive;
    this.#time.hidden = isLive;
    if (isLive) return;
    const [at, all] = [clock(position), clock(total)];
    this.#seek.max = String(total);
    this.#seek.value = String(position);
    const words = this.texts.player.position.replace('__position__', at).replace('__total__', all);
    this.#seek.setAttribute('aria-valuetext', words);
    this.#time.textContent = `${at} / ${all}`;
    const share = total > 0 ? Math.min(1, position / total) : 0;
    this.#line.style.setProperty('--rvm-share', String(share));
    if (this.alarmAt !== undefined && total > 0)
      this.#line.style.setProperty('--rvm-alarm', String(Math.min(1, this.alarmAt / total)));
  }
}

/** Format 1:05. */
function clock(seconds: number): string {
  const whole = Math.floor(seconds + 0.001);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}

const SVG = 'http://www.w3.org/2000/svg';

/** Paths of 24 by 24, filled with the text colour. */
const ICONS = {
  play: 'M8 5v14l11-7z',
  pause: 'M7 5h3.5v14H7zM13.5 5H17v14h-3.5z',
  sound: 'M4 9.5v5h3.5L12 19V5L7.5 9.5zM14.5 8.2v1.9a2.4 2.4 0 0 1 0 3.8v1.9a4.2 4.2 0 0 0 0-7.6z',
  silent:
    'M4 9.5v5h3.5L12 19V5L7.5 9.5zM19.8 9.4l-1.2-1.2-2.1 2.1-2.1-2.1-1.2 1.2 2.1 2.1-2.1 2.1 1.2 1.2 2.1-2.1 2.1 2.1 1.2-1.2-2.1-2.1z',
  larger: 'M5 5h6v2H7v4H5zM13 5h6v6h-2V7h-4zM5 13h2v4h4v2H5zM17 13h2v6h-6v-2h4z',
  smaller: 'M9 5h2v6H5V9h4zM13 5h2v4h4v2h-6zM5 13h6v6H9v-4H5zM13 13h6v2h-4v4h-2z',
} as const;
type IconName = keyof typeof ICONS;

/** Creates an element with a class of the player and attributes. */
function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  name: string,
  attributes: Record<string, string> = {},
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  element.className = `rvm-${name}`;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

/** @param key shortcut for the same action */
function button(name: string, act: () => void, key?: string): HTMLButtonElement {
  const made = make('button', name, {
    type: 'button',
    ...(key !== undefined && { 'aria-keyshortcuts': key }),
  });
  made.addEventListener('click', act);
  return made;
}

/** Sets icon and label of a button; changes nothing where both are set. */
function show(element: HTMLButtonElement, icon: IconName, label: string): void {
  if (element.dataset['icon'] === icon && element.getAttribute('aria-label') === label) return;
  element.dataset['icon'] = icon;
  element.setAttribute('aria-label', label);
  element.title = label;
  element.replaceChildren(drawn(icon));
}

function drawn(icon: IconName): SVGElement {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(SVG, 'path');
  path.setAttribute('d', ICONS[icon]);
  svg.append(path);
  return svg;
}

/** The action of a key, independent of the focus. */
type KeyAction = 'toggle' | 'back' | 'forward' | 'begin' | 'live' | 'fullScreen';

const ACTIONS: Readonly<Record<string, KeyAction>> = {
  ' ': 'toggle',
  ArrowLeft: 'back',
  ArrowRight: 'forward',
  Home: 'begin',
  l: 'live',
  f: 'fullScreen',
};
/** Keys with a meaning of their own for the focused element. */
const OF_BUTTONS = new Set([' ']);
const OF_FIELDS = new Set(['ArrowLeft', 'ArrowRight', 'Home', 'l', 'f']);

/** Undefined for keys not meant for the player: with Ctrl or another modifier, or used by the focused element. */
function actionOf(event: KeyboardEvent): KeyAction | undefined {
  if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return undefined;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const action = Object.hasOwn(ACTIONS, key) ? ACTIONS[key] : undefined;
  if (action === undefined || !(event.target instanceof Element)) return action;
  if (OF_BUTTONS.has(key) && event.target.matches('button, a, summary')) return undefined;
  const isText = event.target.matches('textarea, select, input:not([type=range])');
  return isText && (OF_FIELDS.has(key) || key === ' ') ? undefined : action;
}

interface StageActions {
  play: () => void;
  toggle: () => void;
  again: () => void;
  picture: () => void;
}

/** The overlays on the video. */
interface StageView {
  /** Shows the button in the middle: before the first *play*, and while paused. */
  offersPlay: boolean;
  isOpening: boolean;
  isLive: boolean;
  /** The message; empty without a problem. */
  said: string;
  offersAgain: boolean;
  offersPicture: boolean;
}

/** The area of the videos with their overlays. */
class Stage {
  readonly element = make('div', 'stage');
  readonly #start: HTMLButtonElement;
  readonly #spinner = make('div', 'spinner', { 'aria-hidden': 'true' });
  readonly #live: HTMLElement;
  readonly #notice = make('div', 'notice');
  /** A status region: present from the beginning, so that screen readers announce its changes. */
  readonly #words = make('p', 'words', { role: 'status' });
  readonly #again: HTMLButtonElement;
  readonly #picture: HTMLButtonElement;
  readonly #image = make('img', 'picture');

  constructor(videos: readonly HTMLVideoElement[], texts: PlayerTexts, actions: StageActions) {
    const { player } = texts;
    this.#start = button('start', actions.play);
    show(this.#start, 'play', player.play);
    this.#live = make('span', 'live-mark');
    this.#live.textContent = player.live;
    this.#again = button('action', actions.again);
    this.#again.textContent = player.again;
    this.#picture = button('action', actions.picture);
    this.#picture.textContent = player.showPicture;
    this.#image.alt = player.picture;
    this.#image.hidden = true;
    for (const video of videos) video.addEventListener('click', actions.toggle);
    this.#notice.append(this.#words, this.#again, this.#picture);
    this.element.append(...videos, this.#image, this.#live, this.#spinner, this.#start, this.#notice);
  }

  draw(view: StageView): void {
    this.#start.hidden = !view.offersPlay;
    this.#spinner.hidden = !view.isOpening;
    this.#live.hidden = !view.isLive;
    this.#again.hidden = !view.offersAgain;
    this.#picture.hidden = !view.offersPicture;
    if (this.#words.textContent !== view.said) this.#words.textContent = view.said;
    this.#notice.classList.toggle('rvm-empty', view.said === '');
    // The message about a picture is shown below it.
    this.#notice.classList.toggle('rvm-central', view.offersAgain && this.#image.hidden === true);
  }

  /** Shows the picture in place of the video. @throws PlayFailure where it is no picture */
  async showPicture(url: string): Promise<void> {
    this.#image.src = url;
    try {
      await this.#image.decode();
    } catch {
      throw new PlayFailure('PLAYBACK');
    }
    this.#image.hidden = false;
  }

  hidePicture(): void {
    this.#image.hidden = true;
    this.#image.removeAttribute('src');
  }
}

/**
 * Requests a picture by fetch, because an image element does not report why there is none.
 * @returns an object URL, to be revoked
 * @throws PlayFailure; the reason of the signal
 */
export async function stillPicture(url: string, asking: Asking, signal: AbortSignal): Promise<string> {
  const response = await fetchVideo(url, asking, signal);
  try {
    return URL.createObjectURL(await response.blob());
  } catch (error) {
    if (signal.aborted) throw error;
    throw new PlayFailure('NETWORK');
  }
}
