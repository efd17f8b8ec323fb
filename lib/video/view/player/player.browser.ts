import { ControlBar, STEP } from './control-bar.browser';
import { make } from './elements.browser';
import { isFinal, isOfBrowser, PlayFailure, wordsFor } from './failure.browser';
import type { Asking } from './fetch-video.browser';
import { actionOf, type KeyAction } from './keyboard.browser';
import { Playback } from './playback.browser';
import type { PlayerSettings, PlayerTexts } from './settings';
import { Stage } from './stage.browser';
import { stillPicture } from './still-picture.browser';

export interface PlayerOptions extends Asking {
  /** Plays at once, where the click was made elsewhere. */
  start?: 'recorded' | 'live';
  /** Whose keys are meant: the whole page's, those of a part of it, or, unless said, only those pressed in the player. */
  keysOf?: Document | HTMLElement;
}

export interface MountedPlayer {
  /** What stands in the place of the recording until that plays. @param url of a picture */
  setPoster(url: string): void;
  /** Shows the picture in the place of the video, which halts. */
  showPicture(): void;
  /** Ends all that is fetched, and leaves the element empty. */
  close(): void;
}

/** Milliseconds after which it is said what the wait may be for. */
const LONG_WAIT = 4000;

/**
 * Puts a player into an element. It opens nothing before somebody presses *play*.
 * @param settings with a recording, live video, or both
 */
export function mount(
  element: HTMLElement,
  settings: PlayerSettings,
  texts: PlayerTexts,
  options: PlayerOptions = {},
): MountedPlayer {
  return new Player(element, settings, texts, options);
}

class Player implements MountedPlayer {
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
      // A frame may not be allowed to: then it stays as it is.
    }
  }

  /** The video that is not shown has nothing to say. */
  #failed(isLive: boolean, failure: PlayFailure): void {
    if (isLive !== this.#isLive) return;
    const { expires = Infinity, pictureUrl } = this.settings;
    const isOver = Date.now() >= expires && !isOfBrowser(failure);
    this.#failure = isOver ? new PlayFailure('EXPIRED') : failure;
    this.#draw();
    if (isOfBrowser(failure) && pictureUrl !== undefined) void this.#showPicture();
  }

  /** In the place of the video; what was said of that stays, unless the picture is what fails. */
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
