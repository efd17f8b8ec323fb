import { type Asking, fetchVideo, isFinal, isOfBrowser, PlayFailure, wordsFor } from './feed.browser';
import { Playback } from './playback.browser';
import type { PlayerSettings, PlayerTexts } from './settings';

export interface PlayerOptions extends Asking {
  /** Plays at once, because the user has clicked elsewhere. */
  start?: 'recorded' | 'live';
}

export interface MountedPlayer {
  /** Sets the picture shown until the recording plays. @param url of a picture */
  setPoster(url: string): void;
  /** Stops fetching and empties the element. */
  close(): void;
}

/** Milliseconds after which the player explains a long wait. */
const LONG_WAIT = 4000;

/**
 * Puts a player with the controls of the browser into an element. Nothing is opened before the user presses *play*.
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
  readonly #recorded: Playback | undefined;
  readonly #live: Playback | undefined;
  readonly #start = make('button', 'start');
  readonly #liveMark = make('span', 'live-mark');
  /** A status region: present from the beginning, so that screen readers announce its changes. */
  readonly #words = make('p', 'words');
  readonly #pictureButton = make('button', 'action');
  readonly #switch = make('button', 'switch');
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
    const { recordedUrl, liveUrl, clipUrl } = settings;
    const { player } = texts;
    if (recordedUrl !== undefined)
      this.#recorded = this.#playback(player.region, { isLive: false, url: recordedUrl, clipUrl });
    if (liveUrl !== undefined) this.#live = this.#playback(player.liveRegion, { isLive: true, url: liveUrl });
    this.#isLive = this.#live !== undefined && (this.#recorded === undefined || options.start === 'live');
    this.#liveMark.textContent = player.live;
    this.#words.setAttribute('role', 'status');
    for (const button of [this.#start, this.#pictureButton, this.#switch]) button.type = 'button';
    this.#start.setAttribute('aria-label', player.play);
    this.#start.addEventListener('click', () => this.#play());
    this.#pictureButton.textContent = player.showPicture;
    this.#pictureButton.addEventListener('click', () => void this.#showPicture());
    this.#switch.addEventListener('click', () => this.#switchPart());
    this.#switch.hidden = this.#recorded === undefined || this.#live === undefined;
    const [screen, below] = [make('div', 'screen'), make('div', 'below')];
    screen.append(...this.#playbacks.map(({ video }) => video), this.#liveMark, this.#start);
    below.append(this.#words, this.#pictureButton, this.#switch);
    const root = make('div', 'player');
    root.append(screen, below);
    element.replaceChildren(root);
    this.#draw();
    if (options.start !== undefined) this.#shown?.play();
  }

  setPoster(url: string): void {
    if (this.#recorded !== undefined) this.#recorded.video.poster = url;
  }

  close(): void {
    for (const playback of this.#playbacks) playback.close();
    this.#dropPicture();
    clearTimeout(this.#slowTimer);
    this.element.replaceChildren();
  }

  #playback(label: string, part: { isLive: boolean; url: string; clipUrl?: string | undefined }): Playback {
    const { headers } = this.options;
    const playback = new Playback({
      ...part,
      ...(headers && { headers }),
      onOpen: () => this.#opens(),
      onChange: () => this.#draw(),
      onFailure: (failure) => this.#failed(part.isLive, failure),
    });
    playback.video.setAttribute('aria-label', label);
    return playback;
  }

  get #playbacks(): Playback[] {
    return [this.#recorded, this.#live].flatMap((playback) => playback ?? []);
  }

  get #shown(): Playback | undefined {
    return this.#isLive ? this.#live : this.#recorded;
  }

  /** The keys of the browser's controls work where the video has the focus. */
  #play(): void {
    this.#shown?.play();
    this.#shown?.video.focus();
  }

  #switchPart(): void {
    const [from, to] = this.#isLive ? [this.#live, this.#recorded] : [this.#recorded, this.#live];
    if (from === undefined || to === undefined) return;
    from.leave();
    to.video.muted = from.video.muted;
    to.video.volume = from.video.volume;
    this.#isLive = !this.#isLive;
    this.#failure = undefined;
    to.play();
    this.#draw();
  }

  /** Explains a wait that is long. */
  #opens(): void {
    this.#failure = undefined;
    this.#dropPicture();
    clearTimeout(this.#slowTimer);
    this.#isSlow = false;
    this.#slowTimer = setTimeout(() => {
      this.#isSlow = true;
      this.#draw();
    }, LONG_WAIT);
  }

  /** Failures of the hidden video are ignored. */
  #failed(isLive: boolean, failure: PlayFailure): void {
    if (isLive !== this.#isLive) return;
    const { expires = Infinity } = this.settings;
    const isOver = Date.now() >= expires && !isOfBrowser(failure);
    this.#failure = isOver ? new PlayFailure('EXPIRED') : failure;
    if (isOfBrowser(failure)) void this.#showPicture();
    this.#draw();
  }

  /** Shows the picture in place of the video. The message about the video stays, unless the picture itself fails. */
  async #showPicture(): Promise<void> {
    const { pictureUrl } = this.settings;
    const shown = this.#shown;
    if (pictureUrl === undefined || shown === undefined) return;
    this.#dropPicture();
    const asking = new AbortController();
    this.#asking = asking;
    this.#draw();
    try {
      this.#picture = await stillPicture(pictureUrl, this.options, asking.signal);
      await decoded(this.#picture);
      if (!asking.signal.aborted) shown.showPoster(this.#picture);
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
  }

  readonly #draw = (): void => {
    const shown = this.#shown;
    if (shown === undefined) return;
    const { player } = this.texts;
    const failure = this.#failure;
    for (const { video, isIdle } of this.#playbacks) {
      video.hidden = video !== shown.video;
      video.controls = !isIdle;
    }
    const isFutile = failure !== undefined && (isFinal(failure) || isOfBrowser(failure));
    this.#start.hidden = !shown.isIdle || isFutile;
    this.#liveMark.hidden = !this.#isLive || !shown.isPlaying;
    this.#say(failure === undefined ? this.#waitWords(shown) : wordsFor(failure, this.texts));
    this.#pictureButton.hidden = !this.#offersPicture();
    this.#switch.textContent = this.#isLive ? player.showAlarm : player.showLive;
  };

  /** The same words again would be announced again. */
  #say(words: string): void {
    if (this.#words.textContent !== words) this.#words.textContent = words;
  }

  #waitWords(shown: Playback): string {
    if (!shown.isOpening) return '';
    return this.#isSlow && !this.#isLive ? this.texts.player.waiting : this.texts.player.opening;
  }

  #offersPicture(): boolean {
    const failure = this.#failure;
    if (failure === undefined || this.settings.pictureUrl === undefined) return false;
    const isAsked = this.#picture !== undefined || this.#asking !== undefined;
    return !isFinal(failure) && failure.code !== 'DECODER_MISSING' && !isAsked;
  }
}

/** Creates an element with a class of the player. */
function make<Tag extends 'div' | 'span' | 'p' | 'button'>(
  tag: Tag,
  name: string,
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  element.className = `rvm-${name}`;
  return element;
}

/** @throws PlayFailure where it is no picture */
async function decoded(url: string): Promise<void> {
  const image = new Image();
  image.src = url;
  try {
    await image.decode();
  } catch {
    throw new PlayFailure('PLAYBACK');
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
