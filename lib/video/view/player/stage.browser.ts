import { button, make, show } from './elements.browser';
import { PlayFailure } from './failure.browser';
import type { PlayerTexts } from './settings';

export interface StageActions {
  play: () => void;
  toggle: () => void;
  again: () => void;
  picture: () => void;
}

/** What is to be seen in the place of the video, or above it. */
export interface StageView {
  /** The button in the middle: nothing has been opened, or it was paused. */
  offersPlay: boolean;
  isOpening: boolean;
  isLive: boolean;
  /** In words; empty where all is well. */
  said: string;
  offersAgain: boolean;
  offersPicture: boolean;
}

/** The place of the videos, with what is said above them. */
export class Stage {
  readonly element = make('div', 'stage');
  readonly #start: HTMLButtonElement;
  readonly #spinner = make('div', 'spinner', { 'aria-hidden': 'true' });
  readonly #live: HTMLElement;
  readonly #notice = make('div', 'notice');
  /** Read out as it changes, so it is there from the beginning. */
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
    // What is said of a picture stands below it.
    this.#notice.classList.toggle('rvm-central', view.offersAgain && this.#image.hidden === true);
  }

  /** In the place of the video. @throws PlayFailure where it is none */
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
