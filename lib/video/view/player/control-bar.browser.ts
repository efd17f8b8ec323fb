import { button, make, show } from './elements.browser';
import type { PlayerTexts } from './settings';

export interface BarActions {
  toggle: () => void;
  seek: (position: number) => void;
  switchPart: () => void;
  mute: () => void;
  fullScreen: () => void;
}

export interface BarView {
  isPlaying: boolean;
  isLive: boolean;
  /** True where there are both, so that one can be left for the other. */
  canSwitch: boolean;
  hasSound: boolean;
  isMuted: boolean;
  isFullScreen: boolean;
  canFill: boolean;
  /** Seconds. */
  position: number;
  total: number;
}

/** Seconds that an arrow key goes. */
export const STEP = 1;

/** The buttons and the line of time below the video. */
export class ControlBar {
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
    // What is live has no length; the place stays, so that nothing jumps.
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

/** As 1:05. */
function clock(seconds: number): string {
  const whole = Math.floor(seconds + 0.001);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}
